"""Converts items of a journal to records and events of a cassette, one for one.

Secret input is hidden; nothing else is scrubbed. Times are floored to a resolution, as the format
requires.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from ptycassette.model.answers import LATENCY_US, AnswerReader
from ptycassette.model.events import (
    Event,
    FinalRecord,
    InputRecord,
    OutputRecord,
    ServiceEventRecord,
)
from ptycassette.model.journal import (
    Begun,
    Finished,
    JournalEvent,
    Noted,
    Output,
    Probed,
    Resized,
    Signalled,
    Traffic,
    Typed,
)

_MOST_HELD = 64


def answers_apart(events: Iterable[JournalEvent]) -> Iterator[JournalEvent]:
    """The same events, where answers of a terminal are ``Typed`` events of their own.

    A real terminal answers in the same stream in which somebody types, in any pieces. What may
    continue an answer is held back with what follows, for at most ``LATENCY_US``.

    Args:
        events: of a session whose stdin is a terminal.
    """
    reader = AnswerReader()
    held: list[JournalEvent] = []
    last_us = 0
    for event in events:
        late = event.t_us - last_us > LATENCY_US or len(held) >= _MOST_HELD
        typed = isinstance(event, Typed) and event.source != "terminal" and not event.paste
        if held and (
            late or isinstance(event, Finished) or (isinstance(event, Typed) and not typed)
        ):
            yield from _apart(held, reader)
            held = []
        match event:
            case Typed() if typed:
                held.append(event)
                last_us = event.t_us
                if not reader.typed(event.data, focus=event.source == "user"):
                    yield from _apart(held, reader)
                    held = []
                continue
            case Output(stream=None):
                reader.output(event.data)
        if held:
            held.append(event)
        else:
            yield event
    yield from _apart(held, reader)


def _apart(held: list[JournalEvent], reader: AnswerReader) -> Iterator[JournalEvent]:
    """Events that were held back, with the stretches that ``reader`` found in what was typed."""
    pieces = iter(reader.take())
    for event in held:
        if not isinstance(event, Typed):
            yield event
            continue
        stretches = next(pieces)
        if not any(stretch.answer for stretch in stretches):
            yield event
            continue
        for number, stretch in enumerate(stretches, 1):
            last = number == len(stretches)
            part = msgspec.structs.replace(
                event, data=stretch.data, key=None, eof=event.eof and last
            )
            if stretch.answer:
                part = msgspec.structs.replace(part, source="terminal", masked=False)
            yield part


def event_of(item: JournalEvent, seq: int, offset: int) -> Event | None:
    """One item of a journal as the event of a cassette; None if it makes none.

    Args:
        item: the item.
        seq: its number in the cassette.
        offset: the start of its output in ``output.raw``.
    """
    t_us = item.t_us
    match item:
        case Output(data=data):
            output = OutputRecord(
                seq=seq,
                t_ms=floored_ms(t_us),
                t_us=t_us,
                offset=offset,
                length=len(data),
                stream=item.stream,
                eof=item.eof,
            )
            return Event(seq, t_us, "output", output, data)
        case Finished():
            return Event(seq, t_us, "final", final_record(item, seq=seq, t_us=t_us))
        case Probed() | Begun() | Traffic():
            return None
    record = record_of(item, seq=seq, t_us=t_us)
    if isinstance(record, InputRecord):
        return Event(seq, t_us, "input", record, record.bytes or b"")
    return Event(seq, t_us, "service-event", record)


def record_of(
    item: Typed | Resized | Signalled | Noted, *, seq: int, t_us: int, resolution_ms: int = 1
) -> InputRecord | ServiceEventRecord:
    """The record of any event except output and the end; secret input is hidden in it.

    Args:
        item: the item.
        seq: its number in the cassette.
        t_us: its time in the cassette, which never goes back, as the item's may.
        resolution_ms: to which ``t_ms`` is floored.
    """
    t_ms = floored_ms(t_us, resolution_ms)
    match item:
        case Noted(_, payload):
            return ServiceEventRecord(seq=seq, t_ms=t_ms, t_us=t_us, payload=payload)
        case Typed():
            shown = item.hidden()
            return InputRecord(
                seq=seq,
                t_ms=t_ms,
                t_us=t_us,
                kind="input",
                bytes=shown.data,
                key=shown.key,
                source=shown.source,
                paste=shown.paste,
                masked=shown.masked,
                eof=shown.eof,
            )
        case Resized(_, size):
            return InputRecord(seq=seq, t_ms=t_ms, t_us=t_us, kind="resize", size=size)
        case Signalled(_, signal):
            return InputRecord(seq=seq, t_ms=t_ms, t_us=t_us, kind="signal", signal=signal)


def final_record(item: Finished, *, seq: int, t_us: int, resolution_ms: int = 1) -> FinalRecord:
    """The final record."""
    return FinalRecord(
        seq=seq,
        t_ms=floored_ms(t_us, resolution_ms),
        t_us=t_us,
        duration_ms=t_us // 1000,
        exit=item.exit,
        metadata=item.metadata,
        usage=item.usage,
        cost_usd=item.cost_usd,
        routing_actual=item.routing_actual,
        session_log_path=item.session_log_path,
        final_text=item.final_text,
    )


def floored_ms(t_us: int, resolution_ms: int = 1) -> int:
    """Microseconds as whole milliseconds, floored to a multiple of the resolution."""
    t_ms = t_us // 1000
    return t_ms - t_ms % resolution_ms
