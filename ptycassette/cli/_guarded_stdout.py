"""A stdout whose errors can be recognised as its own.

A full disk under stdout is the user's problem; one anywhere else that was not handled is a bug
of ours. Both are an ``OSError`` without a file name, so the top level cannot tell them apart.
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
    """Writing to stdout failed: its disk is full or broken."""


@contextmanager
def direct_writes() -> Iterator[None]:
    """A context for code that writes only to the descriptor of stdout.

    Raises:
        StdoutError: writing failed.
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
    """While entered, ``sys.stdout`` raises ``StdoutError`` if writing fails.

    A replacement of ``sys.stdout`` (by a test or an embedding program) is not changed.
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
