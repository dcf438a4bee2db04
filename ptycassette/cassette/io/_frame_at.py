"""The stored frame at a given time, found by binary search in the file, without an index.

Lines are in order of time, so a few reads lead to the right one. Only lines that
were read are checked, and whether the file is in order is for ``verify`` to say.
"""

from __future__ import annotations

from collections.abc import Iterator

from ptycassette.cassette._records import FRAME_CODEC
from ptycassette.errors import LimitError
from ptycassette.model.events import FrameRecord, moment_us
from ptycassette.model.limits import Limits
from ptycassette.system.files.directory_handle import FileHandle

_NEAR_BYTES = 1 << 16
"""So much is read line by line; more is halved."""


def frame_at(file: FileHandle, t_us: int, *, limits: Limits) -> FrameRecord | None:
    """The last frame at or before ``t_us`` (microseconds); None when there is none.

    Raises:
        InvalidCassetteError: a line on the way is not valid.
        LimitError: a line on the way is too long.
    """
    low, high = 0, file.size
    while high - low > _NEAR_BYTES:
        middle = (low + high) // 2
        start = middle + len(_line(file, middle - 1, limits))  # of the line here or behind
        line = _line(file, start, limits) if start < high else b""
        if line and moment_us(_record(line, file, limits)) <= t_us:
            low = start
        else:
            high = middle
    found = None
    for line in _lines(file, low, limits):
        record = _record(line, file, limits)
        if moment_us(record) > t_us:
            break
        found = record
    return found


def _record(line: bytes, file: FileHandle, limits: Limits) -> FrameRecord:
    (record,) = FRAME_CODEC.decode(line + b"\n", place=file.place, limits=limits)
    return record


def _lines(file: FileHandle, start: int, limits: Limits) -> Iterator[bytes]:
    while start < file.size:
        line = _line(file, start, limits)
        yield line
        start += len(line) + 1


def _line(file: FileHandle, start: int, limits: Limits) -> bytes:
    """The bytes from ``start`` up to the next newline or the end, without it."""
    parts: list[bytes] = []
    length = 0
    while start < file.size:
        block = file.read_at(start, min(_NEAR_BYTES, file.size - start))
        head, newline, _ = block.partition(b"\n")
        parts.append(head)
        length += len(head)
        if newline:
            break
        if length > limits.max_line_bytes:
            raise LimitError(f"a line of more than {limits.max_line_bytes} bytes", where=file.place)
        start += len(block)
    return b"".join(parts)
