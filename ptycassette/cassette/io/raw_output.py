"""Copy the recorded output to a file descriptor, with the system's own copying."""

from __future__ import annotations

import os
import select
from collections.abc import Iterator
from typing import Protocol


class RawSource(Protocol):
    """An open ``Cassette``, or anything else with raw output."""

    def raw(self) -> Iterator[bytes]:
        """All of it, in blocks."""
        ...


def write_raw(source: RawSource, fd: int) -> int:
    """Write all recorded output to ``fd``; returns how many bytes.

    Raises:
        BrokenPipeError: the reader of ``fd`` is gone.
        OSError: the system refused.
    """
    return sum(write_all(fd, block) for block in source.raw())


def write_all(fd: int, data: bytes) -> int:
    """Write all of ``data``, also when each write takes only a part; returns its length."""
    rest = memoryview(data)
    while rest:
        try:
            rest = rest[os.write(fd, rest) :]
        except BlockingIOError:
            select.select([], [fd], [])
    return len(data)
