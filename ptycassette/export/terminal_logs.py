"""Cassettes as ttyrec, and as a typescript with its timing, as script(1) of util-linux writes them.

Formats: see ``importing/ttyrec.py`` and ``importing/typescript.py``. A typescript with input is
what ``script --log-io`` writes: input stands between the output, and the timing tells them apart.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from ptycassette.export._imported import command_line
from ptycassette.export.registry import ExportSource
from ptycassette.model.events import Event, FinalRecord, InputRecord
from ptycassette.model.manifest import Manifest
from ptycassette.model.streams import painted_bytes

_HEAD = struct.Struct("<III")
_SECOND_US = 1_000_000
_UINT32 = 1 << 32
_STAMP = "%Y-%m-%d %H:%M:%S+00:00"
_FIRST = datetime(1970, 1, 1, tzinfo=UTC)


def recording_ttyrec(source: ExportSource) -> Iterator[bytes]:
    """The output of a recording as ttyrec."""
    began_us = (_began(source.manifest) - _FIRST) // timedelta(microseconds=1)
    for event in source.events():
        if event.kind == "output" and (data := painted_bytes(event)):
            seconds, micros = divmod(began_us + event.t_us, _SECOND_US)
            yield _HEAD.pack(seconds % _UINT32, micros, len(data)) + data


def recording_typescript(source: ExportSource, *, with_input: bool = False) -> Iterator[bytes]:
    """The typescript of a recording; with input it belongs to a timing with input."""
    began = _began(source.manifest)
    said = {name: value for name, value in _facts(source.manifest) if '"' not in value}
    attributes = " ".join(
        f'{name}="{said[name]}"' for name in ("COMMAND", "TERM", "COLUMNS", "LINES") if name in said
    )
    yield f"Script started on {began.strftime(_STAMP)} [{attributes}]\n".encode()
    end_us, status = 0, ""
    for event in source.events():
        end_us = event.t_us
        match event.record:
            case FinalRecord(exit=ended) if ended is not None and ended.exited:
                status = f' [COMMAND_EXIT_CODE="{ended.code}"]'
            case _ if event.kind == "output":
                yield painted_bytes(event)
            case _ if _typed(event, with_input=with_input):
                yield event.data
    done = began + timedelta(microseconds=end_us)
    yield f"\nScript done on {done.strftime(_STAMP)}{status}\n".encode()


def recording_timing(source: ExportSource, *, with_input: bool = False) -> Iterator[bytes]:
    """The timing of a typescript, in the advanced form of util-linux 2.35 and later."""
    yield _entry("H", 0, f"START_TIME {_began(source.manifest).strftime(_STAMP)}")
    for name, value in _facts(source.manifest):
        yield _entry("H", 0, f"{name} {value}")
    if with_input:
        yield _entry("H", 0, "OUTPUT_LOG typescript") + _entry("H", 0, "INPUT_LOG typescript")
    last_us = 0
    for event in source.events():
        entry = _what(event, with_input=with_input)
        if entry is not None:
            yield _entry(entry[0], event.t_us - last_us, entry[1])
            last_us = event.t_us
        elif isinstance(event.record, FinalRecord):
            yield _entry("H", 0, f"DURATION {event.t_us / _SECOND_US:.6f}")
            if (ended := event.record.exit) is not None and ended.exited:
                yield _entry("H", 0, f"EXIT_CODE {ended.code}")


def _what(event: Event, *, with_input: bool) -> tuple[str, str] | None:
    """The kind and the value of the entry for an event; None where there is none."""
    match event.record:
        case InputRecord(kind="resize", size=size) if size is not None:
            return "S", f"SIGWINCH ROWS={size.rows} COLS={size.cols}"
        case InputRecord(kind="signal", signal=str() as signal):
            return "S", f"SIG{signal.upper()}"
        case _ if event.kind == "output":
            return "O", str(len(painted_bytes(event)))
        case _ if _typed(event, with_input=with_input):
            return "I", str(len(event.data))
        case _:
            return None


def _typed(event: Event, *, with_input: bool) -> bool:
    record = event.record
    return (
        with_input
        and isinstance(record, InputRecord)
        and record.kind == "input"
        and record.source != "terminal"
    )


def _entry(kind: str, interval_us: int, value: str) -> bytes:
    seconds, micros = divmod(interval_us, _SECOND_US)
    return f"{kind} {seconds}.{micros:06} {value}\n".encode()


def _facts(manifest: Manifest) -> Iterator[tuple[str, str]]:
    """What both files say of the session; a command of several lines is left out."""
    command = command_line(manifest.command.argv or ())
    if command and command.isprintable():
        yield "COMMAND", command
    if manifest.terminal.term and manifest.terminal.term.isprintable():
        yield "TERM", manifest.terminal.term
    yield "COLUMNS", str(manifest.terminal.initial_cols)
    yield "LINES", str(manifest.terminal.initial_rows)


def _began(manifest: Manifest) -> datetime:
    """When it was recorded; 1970 where the manifest has no RFC 3339 time."""
    try:
        return datetime.fromisoformat(manifest.provenance.recorded_at).astimezone(UTC)
    except (ValueError, OverflowError):
        return _FIRST
