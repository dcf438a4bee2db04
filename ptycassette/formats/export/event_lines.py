"""Export events as JSON, one object on a line. ``docs/json.md`` describes them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import msgspec

from ptycassette.formats.export.registry import ExportSource
from ptycassette.model.records import (
    Event,
    ExitStatus,
    FinalRecord,
    FrameRecord,
    InputRecord,
    OutputRecord,
    ServiceEventRecord,
)
from ptycassette.model.screen import Cursor, Size


class EventLine(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One line of ``events --json`` and of the export ``jsonl``.

    Fields that are null, or of other kinds, are left out.

    ``kind`` is ``input``, ``resize``, ``signal``, ``output``, ``frame``,
    ``service-event``, ``final``, or ``terminal-signal``, which has the ``seq`` of an output.
    """

    seq: int
    t_us: int
    t_ms: int
    kind: str
    data: bytes | None = msgspec.field(name="bytes", default=None)
    key: str | None = None
    source: str | None = None
    paste: bool | None = None
    masked: bool | None = None
    stream: str | None = None
    eof: bool | None = None
    size: Size | None = None
    signal: str | None = None
    offset: int | None = None
    text: tuple[str, ...] | None = None
    cursor: Cursor | None = None
    title: str | None = None
    payload: Any = None
    exit: ExitStatus | None = None
    name: str | None = None
    signal_data: dict[str, str] | None = msgspec.field(name="told", default=None)


def recording_json_lines(source: ExportSource) -> Iterator[bytes]:
    """All events as JSON in ASCII, so that nothing in them acts on a terminal."""
    for event in source.events():
        yield json.dumps(msgspec.to_builtins(event_line(event))).encode() + b"\n"


def event_kind(event: Event) -> str:
    """The kind for display; resizes and signals have kinds of their own, not ``input``."""
    kind = getattr(event.record, "kind", None)
    return kind if isinstance(kind, str) else event.kind


def event_line(event: Event) -> EventLine:
    """An event as a line."""
    fields: dict[str, object] = {}
    match event.record:
        case OutputRecord(offset=offset) as output:
            fields = {
                "data": event.data,
                "offset": offset,
                "stream": output.stream,
                "eof": output.eof or None,
            }
        case InputRecord(kind="resize", size=size):
            fields = {"size": size}
        case InputRecord(kind="signal", signal=signal):
            fields = {"signal": signal}
        case InputRecord() as record:
            fields = {
                "data": event.data,
                "key": record.key,
                "source": record.source,
                "paste": record.paste,
                "masked": record.masked,
                "eof": record.eof or None,
            }
        case FrameRecord() as record:
            fields = {
                "size": record.size,
                "text": record.text,
                "cursor": record.cursor,
                "title": record.title,
            }
        case ServiceEventRecord(payload=payload):
            fields = {"payload": payload}
        case FinalRecord(exit=status):
            fields = {"exit": status}
    return EventLine(
        seq=event.seq,
        t_us=event.t_us,
        t_ms=event.record.t_ms,
        kind=event_kind(event),
        **fields,  # type: ignore[arg-type]
    )
