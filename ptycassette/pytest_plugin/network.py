"""Hold tests that replay off the network, as far as one process can.

What is reached: Python's own sockets of the test process may connect to this
machine only. Programs that a test starts, and libraries with sockets of their own,
are not held back; the header of the test run says so.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["LEVEL", "NetworkBlockedError", "blocked_network"]

LEVEL = "Python sockets of the test process (not of programs that it starts)"


class NetworkBlockedError(RuntimeError):
    """A test that replays tried to reach another machine."""


@contextmanager
def blocked_network() -> Iterator[None]:
    """Within it, connecting to anything but this machine raises ``NetworkBlockedError``."""
    before = {name: getattr(socket.socket, name) for name in ("connect", "connect_ex", "sendto")}
    own = {name for name in before if name in vars(socket.socket)}
    for name, method in before.items():
        setattr(socket.socket, name, _guarded(method))
    try:
        yield
    finally:
        for name, method in before.items():
            if name in own:
                setattr(socket.socket, name, method)
            else:
                delattr(socket.socket, name)


def _guarded(method: Callable[..., Any]) -> Callable[..., Any]:
    def guarded(self: socket.socket, *args: Any) -> Any:
        address = args[-1] if args else None
        if self.family in {socket.AF_INET, socket.AF_INET6} and not _is_local(address):
            raise NetworkBlockedError(
                f"connecting to {address!r} is blocked while a cassette is replayed; "
                "allow it with --ptycassette-network=allow"
            )
        return method(self, *args)

    return guarded


def _is_local(address: Any) -> bool:
    if not isinstance(address, tuple) or not address:
        return True
    host = str(address[0])
    if host in {"", "localhost"}:
        return True
    try:
        return ipaddress.ip_address(host.split("%", maxsplit=1)[0]).is_loopback
    except ValueError:
        return False
