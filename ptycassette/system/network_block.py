"""Blocks the network for tests that replay, as far as one process can.

Python's own sockets of the test process may connect to this machine only, and look up
no other name. Programs that a test starts, and libraries with their own sockets, are not blocked;
the header of the test run warns about that.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

NETWORK_LEVEL = "Python sockets of the test process (not of programs that it starts)"


_SENDING = ("connect", "connect_ex", "sendto", "sendmsg")
_TO = {"sendmsg": 3}
"""Where the address is among the arguments; it is the last one of the others."""
_LOOKING_UP = ("getaddrinfo", "gethostbyname", "gethostbyname_ex", "gethostbyaddr")


class NetworkBlockedError(RuntimeError):
    """A test that replays tried to reach another machine."""


def _always() -> bool:
    return True


@contextmanager
def blocked_network(
    applies: Callable[[], bool] = _always,
    *,
    advice: str = "allow it with --ptycassette-network=allow",
) -> Iterator[None]:
    """While entered, connecting to another machine raises ``NetworkBlockedError``.

    Args:
        applies: asked at each attempt: whether the code that makes it is blocked.
        advice: what to do about it, for the message.
    """
    before = {
        name: getattr(socket.socket, name) for name in _SENDING if hasattr(socket.socket, name)
    }
    own = {name for name in before if name in vars(socket.socket)}
    look_ups = {name: getattr(socket, name) for name in _LOOKING_UP}
    for name, method in before.items():
        setattr(socket.socket, name, _guarded(method, applies, advice))
    for name, look_up in look_ups.items():
        setattr(socket, name, _guarded_look_up(look_up, applies, advice))
    try:
        yield
    finally:
        for name, look_up in look_ups.items():
            setattr(socket, name, look_up)
        for name, method in before.items():
            if name in own:
                setattr(socket.socket, name, method)
            else:
                delattr(socket.socket, name)


def _guarded(
    method: Callable[..., Any], applies: Callable[[], bool], advice: str
) -> Callable[..., Any]:
    at = _TO.get(method.__name__, -1)

    def guarded(self: socket.socket, *args: Any) -> Any:
        address = args[at] if len(args) > at else None
        internet = self.family in {socket.AF_INET, socket.AF_INET6}
        if internet and not _is_local(address) and applies():
            raise _blocked(f"connecting to {address!r}", advice)
        return method(self, *args)

    return guarded


def _guarded_look_up(
    method: Callable[..., Any], applies: Callable[[], bool], advice: str
) -> Callable[..., Any]:
    def guarded(host: Any, *args: Any, **kwargs: Any) -> Any:
        name = host.decode("ascii", "replace") if isinstance(host, bytes) else host
        remote = name not in {None, "", socket.gethostname()} and not _is_local((name,))
        if remote and applies():
            try:
                ipaddress.ip_address(name.split("%", maxsplit=1)[0])
            except ValueError:
                raise _blocked(f"looking up {name!r}", advice) from None
        return method(host, *args, **kwargs)

    return guarded


def _blocked(what: str, advice: str) -> NetworkBlockedError:
    return NetworkBlockedError(f"{what} is blocked while a cassette is replayed; {advice}")


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
