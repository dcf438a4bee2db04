"""Copy the recorded output to a file descriptor, as fast as the system copies."""

from __future__ import annotations

import os
import select
from collections.abc import Iterator
from typing import Protocol


class RawSource(Protocol):
    """What has raw output: an open ``Cassette``."""

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
    """Write all of ``data``, however little is taken at once; returns its length."""
    rest = memoryview(data)
    while rest:
        try:
            rest = rest[os.write(fd, rest) :]
        except BlockingIOError:
            select.select([], [fd], [])
    return len(data)
