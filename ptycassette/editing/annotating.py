"""Adds what somebody says about a moment of a session."""

from __future__ import annotations

from collections.abc import Iterator

from ptycassette.editing.session import BadEditError, Take
from ptycassette.keys.quantities import time_text
from ptycassette.model.journal import Finished, JournalEvent, Noted
from ptycassette.model.json_values import storable_text


def annotate(take: Take, t_us: int, text: str) -> Take:
    """Add a marker: a service event with a label, as an asciicast has them.

    Raises:
        BadEditError: the session is over by then, or there is no text.
    """
    if not 0 <= t_us <= take.end_us:
        raise BadEditError(
            f"{time_text(t_us / 1e6)} is not within {take.name or 'the recording'}, which ends at"
            f" {time_text(take.end_us / 1e6)}"
        )
    if not text.strip():
        raise BadEditError("an annotation has a text")
    marker = Noted(t_us, {"type": "marker", "label": storable_text(text)})

    def events() -> Iterator[JournalEvent]:
        waiting = True
        for event in take.source():
            if waiting and (event.t_us > t_us or isinstance(event, Finished)):
                waiting = False
                yield marker
            yield event

    return take.changed(events)
