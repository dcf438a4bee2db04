"""Keeps a program off the network: in a network namespace of its own, with nothing but loopback.

One guard for everything that starts a program. What enters the namespace is a process of its own
(``network_launch.py``), which becomes the program, so that it works in a process with threads.

``PTYCASSETTE_DISABLE_NETWORK=1`` wants it for every program; a recording with a tape, a rerun, a
fork and a blame want it in any case.
"""

from __future__ import annotations

import contextlib
import functools
import os
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from ptycassette.errors import PreflightError
from ptycassette.system.interpreter import python_command

NETWORK_VARIABLE = "PTYCASSETTE_DISABLE_NETWORK"
_FALSE = {"", "0", "false", "no", "off"}
_LAUNCH = Path(__file__).with_name("network_launch.py")
_TRY_S = 20.0
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
        """What to start in place of ``argv``, and becomes it, with the same process id.

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
    """``argv``, behind the guard that PTYCASSETTE_DISABLE_NETWORK wants, if it is set.

    A program that is not found is left to who starts it.

    Args:
        argv: the program.
        environment: with which it is started.
        ports: of servers that it may reach, as for ``required_guard``.

    Raises:
        PreflightError: the program cannot be taken off the network here.
    """
    guard = required_guard(argv, environment, ports)
    if guard is None:
        return list(argv)
    import shutil  # noqa: PLC0415 - as above

    path = shutil.which(argv[0], path=environment.get("PATH", os.defpath))
    return list(argv) if path is None else guard.command(path, argv)
