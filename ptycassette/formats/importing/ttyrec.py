"""Import ttyrec files, as ttyrec, termrec and many games write them.

A record is three little-endian words of 32 bits (seconds and microseconds since 1970, and a
length), followed by ``length`` bytes of output. There is no header. termrec and game servers write
the size into the output, at the start and at each change, as the sequence that resizes a window
(``CSI 8 ; ROWS ; COLS t``, XTWINOPS of xterm).
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from ptycassette.formats.importing.session import (
    BadImportError,
    ImportedSession,
    Skipped,
    checked_session,
)
from ptycassette.model.records import JournalEvent, Output, Resized
from ptycassette.model.screen import Size
from ptycassette.model.stored_screen import MAX_SIDE

_HEAD = struct.Struct("<III")
_RESIZE = re.compile(rb"\x1b\[8;(\d{1,5});(\d{1,5})t")
_SECOND_US = 1_000_000
_MAX_RECORD_BYTES = 16 << 20


def read_ttyrec(data: bytes, *, partial: bool = False) -> ImportedSession:
    """The session of a ttyrec; the terminal is 80x24 if its output has no size.

    Args:
        data: the file.
        partial: read a broken file up to the fault.

    Raises:
        BadImportError: it is broken; the message has the offset of the record.
    """
    if len(data) < _HEAD.size:
        raise BadImportError("byte 0: it ends within the head of a record")
    seconds, micros, _ = _HEAD.unpack_from(data)
    began = datetime.fromtimestamp(seconds, UTC) + timedelta(microseconds=micros)
    size = _first_size(data)
    return checked_session(
        lambda: _events(data, size or Size(24, 80)),
        partial=partial,
        file_bytes=len(data),
        recorded_at=began,
        size=size or Size(24, 80),
        size_known=size is not None,
    )


def _first_size(data: bytes) -> Size | None:
    """The size in the first record that has output."""
    at = 0
    while at + _HEAD.size <= len(data):
        *_, length = _HEAD.unpack_from(data, at)
        at += _HEAD.size
        if length:
            return next(_sizes(data[at : at + min(length, _MAX_RECORD_BYTES)]), None)
    return None


def _sizes(output: bytes) -> Iterator[Size]:
    """The sizes to which a program sets its window, without those that are too large."""
    for match in _RESIZE.finditer(output):
        rows, cols = int(match[1]), int(match[2])
        if 1 <= rows <= MAX_SIDE and 1 <= cols <= MAX_SIDE:
            yield Size(rows, cols)


def _events(data: bytes, size: Size) -> Iterator[JournalEvent | Skipped]:
    at = t_us = 0
    origin_us: int | None = None
    while at < len(data):
        where = f"byte {at}"
        if len(data) - at < _HEAD.size:
            raise BadImportError(f"{where}: it ends within the head of a record")
        seconds, micros, length = _HEAD.unpack_from(data, at)
        begin = at + _HEAD.size
        if micros >= _SECOND_US:
            raise BadImportError(f"{where}: {micros} microseconds are more than a second")
        if length > _MAX_RECORD_BYTES:
            raise BadImportError(f"{where}: a record of {length} bytes is longer than 16 MB")
        if length > len(data) - begin:
            missing = length - (len(data) - begin)
            raise BadImportError(
                f"{where}: {missing} of the {length} bytes of a record are missing"
            )
        moment_us = seconds * _SECOND_US + micros
        origin_us = moment_us if origin_us is None else origin_us
        if moment_us - origin_us < t_us:
            raise BadImportError(
                f"{where}: the time goes back by {origin_us + t_us - moment_us} us"
            )
        t_us = moment_us - origin_us
        if length:
            output = data[begin : begin + length]
            for now in _sizes(output):
                if now != size:
                    yield Resized(t_us, now)
                size = now
            yield Output(t_us, output)
        at = begin + length
