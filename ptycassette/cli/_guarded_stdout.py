"""A stdout whose errors can be recognised as its own.

A full disk under stdout is the user's affair; one anywhere else that nobody handled is a
fault of ours. Both are an ``OSError`` without a file's name, so at the top nobody can tell.
"""

from __future__ import annotations

import errno
import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

_REFUSES = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
"""What writing to stdout says when its disk is full or broken."""


class StdoutError(OSError):
    """Stdout refuses: its disk is full or broken."""


@contextmanager
def direct_writes() -> Iterator[None]:
    """Around what writes to the descriptor of stdout, and to nothing else.

    Raises:
        StdoutError: it refuses.
    """
    try:
        yield
    except OSError as exc:
        if exc.errno in _REFUSES:
            raise StdoutError(exc.errno, exc.strerror) from exc
        raise


class _Guarded(io.FileIO):
    """The descriptor of stdout."""

    def write(self, data: ReadableBuffer, /) -> int | None:  # type: ignore[override]
        """As ``FileIO``; raises as ``direct_writes``."""
        with direct_writes():
            return super().write(data)


@contextmanager
def guarded_stdout() -> Iterator[None]:
    """While entered, ``sys.stdout`` raises ``StdoutError`` where it refuses.

    What somebody else put in its place (a test, an embedding program) is left alone.
    """
    before = sys.stdout
    buffer = getattr(before, "buffer", None)
    raw = getattr(buffer, "raw", buffer)  # with PYTHONUNBUFFERED there is no buffer in between
    if not isinstance(before, io.TextIOWrapper) or type(raw) is not io.FileIO:
        yield
        return
    before.flush()  # what was printed until now comes first
    sys.stdout = io.TextIOWrapper(
        io.BufferedWriter(_Guarded(raw.fileno(), "w", closefd=False)),
        encoding=before.encoding,
        errors=before.errors,
        line_buffering=before.line_buffering,
        write_through=before.write_through,
    )
    try:
        yield
    finally:
        sys.stdout = before
