"""The timed records of a cassette, exactly as the format writes them, and the event around them.

Order is by ``seq``, one counter over all streams. ``t_ms`` is monotonic elapsed
time floored to the resolution; ``t_us``, when recorded live, is the same moment
in whole microseconds and is what replay uses.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from ptycassette.model.geometry import Cursor, Size
from ptycassette.model.screen import StyleRun

# In a class body the field ``bytes`` hides the builtin, and msgspec resolves annotations there.
_Bytes = bytes

OutputStream = Literal["stdout", "stderr", "stdin"]
"""Which stream of the program an output record is about, where that is not its terminal."""

EventKind = Literal["input", "output", "frame", "service-event", "final"]


class InputRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A line of ``input.jsonl``: bytes typed, a resize, or a signal sent.

    ``source`` is who sent it: ``user``, ``driver``, or ``terminal`` for an answer to
    a terminal query. ``masked``: the bytes are not what was typed (a password prompt).
    ``eof``: after the bytes comes the end of a stdin that is not a terminal.
    """

    seq: int
    t_ms: int
    kind: Literal["input", "resize", "signal"]
    bytes: _Bytes | None = None
    key: str | None = None
    size: Size | None = None
    signal: str | None = None
    t_us: int | None = None
    source: str | None = None
    paste: bool = False
    masked: bool = False
    eof: bool = False


class OutputRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A line of ``output.jsonl``: ``length`` bytes of ``output.raw`` from ``offset``.

    ``stream`` is where the program wrote them, if not to its terminal. ``eof``: the program closed
    this stream and went on; it can close ``stdin``, too.
    """

    seq: int
    t_ms: int
    offset: int
    length: int
    sha256: str | None = None
    t_us: int | None = None
    stream: OutputStream | None = None
    eof: bool = False


class FrameRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A line of ``frames.jsonl``: a rendered screen and the bytes that led to it.

    ``raw_start``/``raw_end`` is the stretch of ``output.raw`` since the frame
    before; ``parser_offset`` is how far the parser had consumed it (less than
    ``raw_end`` while an escape sequence or a character is incomplete).
    """

    seq: int
    t_ms: int
    size: Size
    text: tuple[str, ...]
    cells: Any = None
    cursor: Cursor
    title: str = ""
    raw_start: int
    raw_end: int
    parser_offset: int
    t_us: int | None = None
    styles: tuple[tuple[StyleRun, ...], ...] | None = None
    alt_screen: bool = False
    hash: str | None = None


EVENTS_VARIABLE = "PTYCASSETTE_EVENTS"
"""Set for the recorded program: a path that takes service events, one JSON line each."""


class ServiceEventRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A line of ``service-events.jsonl``: any JSON payload."""

    seq: int
    t_ms: int
    payload: Any
    t_us: int | None = None


class ExitStatus(msgspec.Struct, frozen=True, kw_only=True):
    """How the program ended. ``code`` is -1 after a signal, as the reference writes it."""

    code: int = msgspec.field(name="Code")
    signal: str = msgspec.field(name="Signal", default="")
    exited: bool = msgspec.field(name="Exited")
    signaled: bool = msgspec.field(name="Signaled")
    err: None = msgspec.field(name="Err", default=None)


class FinalRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """``final.json``: the last event of a cassette."""

    seq: int
    t_ms: int
    exit: ExitStatus | None = None
    duration_ms: int
    metadata: dict[str, Any] | None = None
    usage: dict[str, Any] | None = None
    cost_usd: float | None = None
    routing_actual: str | None = None
    session_log_path: str | None = None
    final_text: str | None = None
    t_us: int | None = None


TimedRecord = InputRecord | OutputRecord | FrameRecord | ServiceEventRecord | FinalRecord


def moment_us(record: TimedRecord) -> int:
    """The time of a record in microseconds since the start, as exactly as the cassette has it."""
    return record.t_ms * 1000 if record.t_us is None else record.t_us


class Event(msgspec.Struct, frozen=True):
    """One event of a cassette in the order of ``seq``.

    ``t_us`` is the moment in microseconds since the start (``t_ms * 1000``
    where the cassette has no better). ``data`` holds the output bytes of an
    output event, the input bytes of an input event, and is empty otherwise.
    """

    seq: int
    t_us: int
    kind: EventKind
    record: TimedRecord
    data: bytes = b""
