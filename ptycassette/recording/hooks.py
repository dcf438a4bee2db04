"""``before_record``: a function of the caller that gets each event before it is scrubbed.

It gets an event (``Output``, ``Typed``, ``Resized``, ``Signalled``, ``Noted``, ``Probed``,
``Finished``) and returns it, one of the same kind and time in its place, or None to leave it
out. It is called several times for the same event, because a recording is read more than once, so
the result must depend on the event alone. The journal keeps the original events.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ptycassette.errors import UsageError
from ptycassette.model.ports import EventSource
from ptycassette.model.records import Begun, Finished, JournalEvent

BeforeRecord = Callable[[Any], Any]


def hooked(source: EventSource, before_record: BeforeRecord | None) -> EventSource:
    """``source`` with its events as ``before_record`` returns them.

    The passes over the result raise ``UsageError`` where the function fails or returns something
    that cannot take the event's place.
    """
    if before_record is None:
        return source

    def events() -> Iterator[JournalEvent]:
        for event in source():
            if isinstance(event, Begun):  # ours: it carries nothing of the program
                yield event
                continue
            kept = _asked(before_record, event)
            if kept is not None:
                yield kept

    return events


def _asked(before_record: BeforeRecord, event: JournalEvent) -> JournalEvent | None:
    kind = type(event).__name__
    try:
        kept = before_record(event)
    except Exception as exc:
        raise UsageError(
            f"before_record fails at {kind} at {event.t_us} us: {type(exc).__name__}: {exc}",
            hint="correct the function; the journal is kept",
        ) from exc
    if kept is None and not isinstance(event, Finished):
        return None
    if type(kept) is not type(event) or kept.t_us != event.t_us:
        raise UsageError(
            f"before_record returned {type(kept).__name__} for {kind} at {event.t_us} us",
            hint="return the event, one of the same kind with the same t_us, or None"
            " (Finished cannot be left out)",
        )
    found: JournalEvent = kept
    return found
