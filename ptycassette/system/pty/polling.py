"""Descriptors: waiting for many, with poll(2) on Linux and select(2) elsewhere; moving one.

poll and kqueue have had faults with terminals on macOS, and select has none there.
"""

from __future__ import annotations

import fcntl
import os
import select
import sys
from typing import Protocol

PURE_PYTHON = "PTYCASSETTE_PURE_PYTHON"
"""Environment variable: if it is not empty, nothing compiled is used."""

_HIGH = 16  # above the numbers that a started process gets


class Poll(Protocol):
    """What we use of ``select.poll``."""

    def register(self, fd: int, eventmask: int = ..., /) -> None:
        """Watch ``fd`` for ``POLLIN``, ``POLLOUT``, both or (0) only its end."""
        ...

    def modify(self, fd: int, eventmask: int, /) -> None:
        """Watch for something else."""
        ...

    def unregister(self, fd: int, /) -> None:
        """Watch no more."""
        ...

    def poll(self, timeout: float | None = ..., /) -> list[tuple[int, int]]:
        """What is ready, after at most ``timeout`` milliseconds."""
        ...


class SelectPoll:
    """``Poll`` over select(2). Descriptors below 1024; 0 as a mask watches for nothing."""

    def __init__(self) -> None:
        self._masks: dict[int, int] = {}

    def register(self, fd: int, eventmask: int = select.POLLIN, /) -> None:
        """See ``Poll``."""
        self._masks[fd] = eventmask

    def modify(self, fd: int, eventmask: int, /) -> None:
        """See ``Poll``."""
        if fd not in self._masks:
            raise FileNotFoundError(f"descriptor {fd} is not registered")
        self._masks[fd] = eventmask

    def unregister(self, fd: int, /) -> None:
        """See ``Poll``."""
        del self._masks[fd]

    def poll(self, timeout: float | None = None, /) -> list[tuple[int, int]]:
        """See ``Poll``."""
        reading = [fd for fd, mask in self._masks.items() if mask & select.POLLIN]
        writing = [fd for fd, mask in self._masks.items() if mask & select.POLLOUT]
        seconds = None if timeout is None else timeout / 1000
        readable, writable, _ = select.select(reading, writing, [], seconds)
        return [
            (fd, select.POLLIN * (fd in readable) | select.POLLOUT * (fd in writable))
            for fd in self._masks
            if fd in readable or fd in writable
        ]


def new_poll(platform: str = sys.platform) -> Poll:
    """The one for this system."""
    return select.poll() if platform == "linux" else SelectPoll()


def raised_fd(fd: int, *, blocking: bool = True) -> int:
    """A copy of ``fd`` with a high number, which no other program inherits."""
    copy = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, _HIGH)
    if not blocking:
        os.set_blocking(copy, False)
    return copy
