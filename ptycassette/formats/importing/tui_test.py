"""Import traces of tui-test, Microsoft's test runner for terminal programs (``trace: true``).

A trace is one JSON document, packed by zlib: ``tracePoints``, each ``{"data": TEXT, "time": MS}``
for output or ``{"rows": N, "cols": N}`` for a size, ``testName`` and ``testPath``. It does not
contain the input, the program or its exit status. Source: ``lib/trace/tracer.js`` and
``lib/runner/worker.js`` of the npm package ``@microsoft/tui-test``, version 0.0.2.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from datetime import UTC, datetime

import msgspec

from ptycassette.errors import LimitError
from ptycassette.formats.importing.session import (
    BadImportError,
    ImportedSession,
    Skipped,
    checked_session,
    checked_size,
    microseconds,
)
from ptycassette.model.limits import check_density
from ptycassette.model.records import JournalEvent, Output, Resized, foreign_json
from ptycassette.model.resolved_types import resolved
from ptycassette.model.screen import Size

_MAX_BYTES = 64 << 20
_MAX_VALUES = 1_000_000
_LATEST_MS = 1e14


class _Point(msgspec.Struct, kw_only=True):
    data: str | None = None
    time: float | None = None
    rows: int | None = None
    cols: int | None = None


class _Trace(msgspec.Struct, kw_only=True, rename="camel"):
    trace_points: list[_Point]
    test_name: list[str] = []
    attempt: int = 0


def read_tui_test(data: bytes, *, partial: bool = False) -> ImportedSession:
    """The session of a trace.

    Args:
        data: the file.
        partial: take the points before an invalid one.

    Raises:
        BadImportError: it is not a trace; the message has the number of the point.
    """
    whole = _unpacked(data)
    trace = _decoded(whole)
    points = trace.trace_points
    times = [point.time for point in points if point.time is not None]
    if not times or not 0 <= times[0] < _LATEST_MS:
        raise BadImportError("tracePoints: none has a time since 1970")
    first = next((one for one in points if one.rows is not None and one.cols is not None), None)
    size = Size(24, 80)
    if first is not None:
        size = checked_size(first.rows or 0, first.cols or 0, "tracePoints")
    return checked_session(
        lambda: _events(points, times[0], size),
        partial=partial,
        file_bytes=len(whole),
        size=size,
        title=" > ".join(trace.test_name) or None,
        recorded_at=datetime.fromtimestamp(times[0] / 1000, UTC),
        harness="tui-test",
    )


def _unpacked(data: bytes) -> bytes:
    unpacker = zlib.decompressobj()
    try:
        whole = unpacker.decompress(data, _MAX_BYTES)
    except zlib.error as exc:
        raise BadImportError(f"byte 0: it is not packed by zlib: {exc}") from exc
    if unpacker.unconsumed_tail:
        raise BadImportError(f"unpacked it is larger than {_MAX_BYTES >> 20} MB")
    if not unpacker.eof:
        raise BadImportError(f"byte {len(data)}: it ends within the packed document")
    return whole


def _decoded(data: bytes) -> _Trace:
    try:
        check_density(data, _MAX_VALUES, "the document")
        trace: _Trace = foreign_json(data, resolved(_Trace))
    except LimitError as exc:
        raise BadImportError(exc.message) from exc
    except (msgspec.DecodeError, ValueError, RecursionError) as exc:
        raise BadImportError(f"the document: {exc}") from exc
    return trace


def _events(points: list[_Point], origin: float, size: Size) -> Iterator[JournalEvent | Skipped]:
    t_us = 0
    for number, point in enumerate(points):
        where = f"tracePoints[{number}]"
        if point.rows is not None and point.cols is not None:
            now = checked_size(point.rows, point.cols, where)
            if now != size:
                yield Resized(t_us, now)
            size = now
        elif point.data is not None and point.time is not None:
            now_us = microseconds((point.time - origin) / 1000, where)
            if now_us < t_us:
                raise BadImportError(f"{where}: the time goes back by {t_us - now_us} us")
            t_us = now_us
            if point.data:
                yield Output(t_us, point.data.encode("utf-8", "replace"))
        else:
            raise BadImportError(f"{where}: neither output with its time nor a size")
