"""Keeps the real program off the network while it is run again, and says what keeps it.

A network namespace of its own where the kernel lets this user make one; elsewhere, proxy variables
that point at a port where nobody listens. Works in a process with threads, such as a test run:
what enters the namespace is a process of its own (``launch.py``), which becomes the program.
"""

from __future__ import annotations

import contextlib
import functools
import os
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from ptycassette.errors import PreflightError, SpawnError
from ptycassette.rerun.io.launch import NO_FOLDER, SOCKET_NAME
from ptycassette.system import Closing, python_command
from ptycassette.tape.io import NETWORK_VARIABLE, network_disabled

NAMESPACE = "a network namespace of its own, with loopback alone"
PROXIES = "proxy variables that point at a port where nobody listens"
_LAUNCH = Path(__file__).with_name("launch.py")
_DIRECT = "127.0.0.1,localhost,::1"
_REFUSING = "http://127.0.0.1:9"  # discard: nobody listens there
_MOST_SOCKETS = 8
_TRY_S = 20.0


@functools.cache
def may_isolate() -> bool:
    """Whether this user can make network namespaces here."""
    if sys.platform != "linux":
        return False
    words = python_command(str(_LAUNCH), isolated=True)
    with contextlib.suppress(OSError, subprocess.TimeoutExpired):
        tried = subprocess.run(words, capture_output=True, timeout=_TRY_S, check=False)
        return tried.returncode == 0
    return False


class Guard(Closing):
    """What keeps one program off the network.

    Args:
        folder: a private folder, for a socket.
        serve: called, in a thread, with each socket that was made inside: serve it, too.
        ports: of the servers outside that the program may reach.
        shared: leave it on the network, with proxy variables alone.

    Attributes:
        text: which guard holds.
        environment: what the program's environment needs for it.

    Raises:
        PreflightError: PTYCASSETTE_DISABLE_NETWORK is set, and only a namespace would be a fact.
    """

    def __init__(
        self,
        folder: Path,
        serve: Callable[[socket.socket], None],
        ports: Sequence[int],
        *,
        shared: bool = False,
    ) -> None:
        self._serve, self._ports = serve, ports
        self.isolated = not shared and may_isolate()
        self.text = NAMESPACE if self.isolated else PROXIES
        self.environment: Mapping[str, str] = {} if self.isolated else _refusing_proxies()
        if not self.isolated and network_disabled(os.environ):
            raise PreflightError(
                "the program cannot be taken off the network here, and the network is disabled",
                where=NETWORK_VARIABLE,
                hint="a network namespace is needed: Linux, without --shared-network",
            )
        self._folder = folder
        self._listener = socket.socket(socket.AF_UNIX)
        if self.isolated:
            # As in the launcher: the path of a socket must be short.
            within = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            self._listener.bind(f"/proc/self/fd/{within}/{SOCKET_NAME}")
            os.close(within)
            self._listener.listen(1)
            threading.Thread(target=self._take, name="rerun guard", daemon=True).start()

    def argv(self, argv: Sequence[str], environment: Mapping[str, str]) -> tuple[str, ...]:
        """What to start in place of ``argv``.

        Raises:
            SpawnError: there is no such program.
        """
        path = environment.get("PATH", os.environ.get("PATH", os.defpath))
        found = shutil.which(argv[0], path=path)
        if found is None:
            raise SpawnError(f"{argv[0]} is not there, or cannot be executed")
        if not self.isolated:
            return tuple(argv)
        return _launched(str(self._folder), self._ports, argv)

    def close(self) -> None:
        """Take no sockets any more."""
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _take(self) -> None:
        """Take the sockets of the program's namespace, and have them served."""
        with contextlib.suppress(OSError):
            inside, _ = self._listener.accept()
            with inside:
                _, fds, _, _ = socket.recv_fds(inside, 1, _MOST_SOCKETS)
                for fd in fds:
                    self._serve(socket.socket(fileno=fd))
                inside.sendall(b"s")


def kept_off(
    argv: Sequence[str], *, isolated: bool
) -> tuple[tuple[str, ...], Mapping[str, str]] | None:
    """How to start a program that needs no tape: what to start, and its additional environment.

    Args:
        argv: the program.
        isolated: in a network namespace, as ``Guard.isolated`` says of another program.

    Returns:
        None where it must not be started: the network is disabled, and there is no namespace.
    """
    if isolated:
        return _launched(NO_FOLDER, (), argv), {}
    return None if network_disabled(os.environ) else (tuple(argv), _refusing_proxies())


def _launched(folder: str, ports: Sequence[int], argv: Sequence[str]) -> tuple[str, ...]:
    numbers = ",".join(map(str, ports))
    return (*python_command(str(_LAUNCH), folder, numbers, isolated=True), *argv)


def _refusing_proxies() -> dict[str, str]:
    names = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
    direct = dict.fromkeys(("NO_PROXY", "no_proxy"), _DIRECT)
    return {**{name: _REFUSING for pair in names for name in (pair, pair.lower())}, **direct}
