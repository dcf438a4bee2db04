"""A session that is edited: its head and its events, and what was done to it."""

from __future__ import annotations

from typing import Any

import msgspec

from ptycassette.model.journal import JournalEvent, SessionMeta
from ptycassette.model.ports import EventSource


class BadEditError(ValueError):
    """The edit does not fit the recording. The message says why."""


class Take(msgspec.Struct, frozen=True, kw_only=True):
    """One recorded session, as an edit gets it and gives it back.

    Attributes:
        meta: its head.
        source: its events, from the first to ``Finished``.
        end_us: when it ended.
        name: what messages call it.
        keeps_tape: whether its model traffic is still that of the session: of what was cut out,
            questions and answers would be left that nobody asked.
    """

    meta: SessionMeta
    source: EventSource
    end_us: int
    name: str = ""
    keeps_tape: bool = True

    @property
    def on_terminal(self) -> bool:
        """Whether the program's output went to a terminal."""
        return self.meta.streams is None or self.meta.streams.stdout == "terminal"

    def changed(self, source: EventSource, *, end_us: int | None = None, **fields: Any) -> Take:
        """The same session with other events."""
        return msgspec.structs.replace(
            self, source=source, end_us=self.end_us if end_us is None else end_us, **fields
        )


def at(event: JournalEvent, t_us: int) -> JournalEvent:
    """The event at another time."""
    return event if event.t_us == t_us else msgspec.structs.replace(event, t_us=t_us)
