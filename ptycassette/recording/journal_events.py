"""Converts items of a journal to events of a cassette, one by one, without rendering.

Input that was typed without echo is masked; nothing else is scrubbed.
"""

from __future__ import annotations

from typing import Any

from ptycassette.model import (
    Event,
    FinalRecord,
    Finished,
    InputRecord,
    JournalEvent,
    Noted,
    Output,
    OutputRecord,
    Resized,
    ServiceEventRecord,
    Signalled,
    Typed,
)

__all__ = ["event_of"]


def event_of(  # noqa: PLR0911 - one per kind
    item: JournalEvent, seq: int, offset: int
) -> Event | None:
    """One item of a journal as the event that a reader returns; None for a probe.

    Args:
        item: the item.
        seq: its number in the cassette.
        offset: the start of its output in ``output.raw``.
    """
    t_us = item.t_us
    at: dict[str, Any] = {"seq": seq, "t_ms": t_us // 1000, "t_us": t_us}
    match item:
        case Output(data=data):
            output = OutputRecord(**at, offset=offset, length=len(data))
            return Event(seq, t_us, "output", output, data)
        case Typed():
            item = item.hidden()
            data = item.data
            typed = InputRecord(
                **at,
                kind="input",
                bytes=data,
                key=item.key,
                source=item.source,
                paste=item.paste,
                masked=item.masked,
            )
            return Event(seq, t_us, "input", typed, data)
        case Resized(size=size):
            return Event(seq, t_us, "input", InputRecord(**at, kind="resize", size=size))
        case Signalled(signal=signal):
            return Event(seq, t_us, "input", InputRecord(**at, kind="signal", signal=signal))
        case Noted(payload=payload):
            return Event(seq, t_us, "service-event", ServiceEventRecord(**at, payload=payload))
        case Finished(exit=status):
            final = FinalRecord(**at, duration_ms=t_us // 1000, exit=status)
            return Event(seq, t_us, "final", final)
    return None
