"""Keeps a program off the network: it gets its own network namespace with only loopback.

All code that starts a program uses this guard. A separate process (``network_launch.py``) enters
the namespace and then becomes the program, so the guard works in a process with threads.

``PTYCASSETTE_DISABLE_NETWORK=1`` applies it to every program; a recording with a tape, a rerun, a
fork and a blame always apply it.

If the kernel does not let this user make a namespace, ``ConnectionWatch`` looks at the program's
connections instead.
"""

from __future__ import annotations

import contextlib
import functools
import ipaddress
import os
import re
import sys
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from ptycassette.errors import PreflightError
from ptycassette.system.interpreter import python_command
from ptycassette.system.ownership import Closing

NETWORK_VARIABLE = "PTYCASSETTE_DISABLE_NETWORK"
_FALSE = {"", "0", "false", "no", "off"}
_LAUNCH = Path(__file__).with_name("network_launch.py")
_TRY_S = 20.0
_LOOK_S = 0.05
_NAME_SERVER = 53
_LOCAL_URL = re.compile(
    r"\b[a-z][a-z0-9+.-]*://(?:[^/@\s]*@)?(?:localhost|127(?:\.\d{1,3}){3}|\[::1\]):(\d{1,5})\b",
    re.IGNORECASE,
)


def network_disabled() -> bool:
    """Whether PTYCASSETTE_DISABLE_NETWORK is set."""
    return os.environ.get(NETWORK_VARIABLE, "").lower() not in _FALSE


@functools.cache
def may_isolate() -> bool:
    """Whether this user can take a program off the network here; tried once."""
    if sys.platform != "linux":
        return False
    import subprocess  # noqa: PLC0415 - few programs are guarded

    words = python_command(str(_LAUNCH), isolated=True)
    with contextlib.suppress(OSError, subprocess.TimeoutExpired):
        tried = subprocess.run(words, capture_output=True, timeout=_TRY_S, check=False)
        return tried.returncode == 0
    return False


class Guard(msgspec.Struct, frozen=True):
    """Takes a program off the network.

    Attributes:
        ports: of servers on this machine's loopback that the program may reach, at the same port
            of its own loopback.
    """

    ports: tuple[int, ...] = ()

    def command(self, path: str, argv: Sequence[str]) -> list[str]:
        """The command to start in place of ``argv``; it becomes ``argv``, with the same process id.

        Args:
            path: the file of the program.
            argv: its command line.
        """
        numbers = ",".join(map(str, self.ports))
        return [*python_command(str(_LAUNCH), numbers, path, isolated=True), *argv]


def required_guard(
    argv: Sequence[str], environment: Mapping[str, str], ports: Sequence[int] = ()
) -> Guard | None:
    """The guard that PTYCASSETTE_DISABLE_NETWORK wants for a program; None if it is not set.

    The program may reach the servers on this machine's loopback whose URL is in its command line or
    its environment, such as a fake provider. An HTTP proxy there could lead out, and is not one.

    Args:
        argv: the program.
        environment: with which it is started.
        ports: of other servers that it may reach.

    Raises:
        PreflightError: the program cannot be taken off the network here.
    """
    if not network_disabled():
        return None
    require_isolation()
    before = ["", *argv]
    words = [(f"{option} {word}", word) for option, word in zip(before, argv, strict=False)]
    named = [
        int(port)
        for name, text in (*words, *environment.items())
        if "proxy" not in name.lower()
        for port in _LOCAL_URL.findall(text)
    ]
    return Guard(tuple(sorted({port for port in (*named, *ports) if 0 < port < 1 << 16})))


def require_isolation(*, shared: bool = False) -> None:
    """Refuse to start a program that PTYCASSETTE_DISABLE_NETWORK, if set, cannot be enforced for.

    Args:
        shared: the program is to stay on the network: the caller's wish.

    Raises:
        PreflightError: the program would be on the network.
    """
    if not network_disabled() or not (shared or not may_isolate()):
        return
    raise PreflightError(
        "the program would not be off the network, and the network is disabled",
        where=NETWORK_VARIABLE,
        hint="leave out --shared-network, or unset the variable"
        if shared
        else "a network namespace is needed: Linux, with user namespaces allowed"
        " (user.max_user_namespaces, kernel.apparmor_restrict_unprivileged_userns); or unset the"
        " variable",
    )


def guarded_command(
    argv: Sequence[str], environment: Mapping[str, str], ports: Sequence[int] = ()
) -> list[str]:
    """``argv``, with the guard that PTYCASSETTE_DISABLE_NETWORK sets, if any.

    If the program is not found, the caller must report that.

    Args:
        argv: the program.
        environment: the environment in which it starts.
        ports: the ports of servers that it may reach, as for ``required_guard``.

    Raises:
        PreflightError: the program cannot be taken off the network here.
    """
    guard = required_guard(argv, environment, ports)
    if guard is None:
        return list(argv)
    import shutil  # noqa: PLC0415 - as above

    path = shutil.which(argv[0], path=environment.get("PATH", os.defpath))
    return list(argv) if path is None else guard.command(path, argv)


class _Socket(msgspec.Struct, frozen=True):
    """A row of ``/proc/PID/net/tcp`` and its like (proc_pid_net(5)).

    ``remote`` is empty for a socket that is connected to nothing.
    """

    inode: int
    local: tuple[str, int]
    remote: tuple[str, int] | tuple[()]


class ConnectionWatch(Closing):
    """Notes what a program is connected to, besides a proxy and itself. For Linux.

    It looks at the kernel's tables twenty times a second, which needs no privileges. A connection
    that is shorter than that may be missed; so are datagrams of sockets that are connected to
    nothing, and questions to name servers are left out.

    Args:
        processes: lists the program and all that it started.
        proxy: the port of the proxy, on this machine's loopback.

    Attributes:
        seen: the addresses, as ``HOST:PORT``.
    """

    def __init__(self, processes: Callable[[], Collection[int]], *, proxy: int) -> None:
        self.seen: set[str] = set()
        self._processes, self._proxy = processes, proxy
        self._judged: set[int] = set()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop looking. Idempotent."""
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._over.wait(_LOOK_S):
            self._look()

    def _look(self) -> None:
        sockets = list(_sockets())
        connected = {one.inode for one in sockets if one.remote and not self._allowed(one.remote)}
        self._judged &= connected
        if connected <= self._judged:
            return
        ours = _inodes_of(self._processes())
        here = {one.local[1] for one in sockets if one.inode in ours and not one.remote}
        ends = {one.local for one in sockets if one.inode in ours}
        for one in sockets:
            if one.inode not in connected - self._judged or one.inode not in ours:
                continue
            assert one.remote  # noqa: S101 - narrows the type
            host, port = one.remote
            itself = one.remote in ends or (ipaddress.ip_address(host).is_loopback and port in here)
            if not itself and one.local[1] not in here:  # or another process connected to it
                self.seen.add(f"[{host}]:{port}" if ":" in host else f"{host}:{port}")
        self._judged |= connected

    def _allowed(self, remote: tuple[str, int]) -> bool:
        host, port = remote
        return port == self._proxy and ipaddress.ip_address(host).is_loopback


def _sockets() -> Iterator[_Socket]:
    for table in ("tcp", "tcp6", "udp", "udp6"):
        with contextlib.suppress(OSError):
            for line in Path("/proc/net", table).read_bytes().splitlines()[1:]:
                words = line.split()
                local, remote = _address(words[1]), _address(words[2])
                asks_names = table.startswith("udp") and remote[1] == _NAME_SERVER
                if inode := int(words[9]):
                    other = remote if remote[1] and not asks_names else ()
                    yield _Socket(inode, local, other)


def _address(word: bytes) -> tuple[str, int]:
    """Host and port: the host is hexadecimal, in words of 32 bits in this machine's order."""
    host, _, port = word.partition(b":")
    raw = bytes.fromhex(host.decode())
    if sys.byteorder == "little":
        raw = b"".join(raw[at : at + 4][::-1] for at in range(0, len(raw), 4))
    address = ipaddress.ip_address(raw)
    mapped = getattr(address, "ipv4_mapped", None)
    return str(mapped or address), int(port, 16)


def _inodes_of(processes: Collection[int]) -> set[int]:
    """The sockets of processes, as far as this user may look."""
    found = set()
    for pid in processes:
        with contextlib.suppress(OSError):
            for entry in os.scandir(f"/proc/{pid}/fd"):
                with contextlib.suppress(OSError):
                    kind, _, inode = os.readlink(entry.path).partition(":[")  # noqa: PTH115 - no path
                    if kind == "socket":
                        found.add(int(inode.rstrip("]")))
    return found
