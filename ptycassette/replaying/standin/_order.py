"""Reorders exchanges when the driver sends one early.

Rules of the order ``loose``:

- An exchange is what was recorded from the first key of an entry up to the next one.
  Entries that share an input record stay together.
- What came before the first entry is played first, the end of the recording last.
- An exchange that is moved to the front is played whole, except for the echo of its first
  keys if that was played already, because another exchange begins with the same keys.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ptycassette.model.events import Event
from ptycassette.timeline.match_entries import Entry


class ExchangeOrder:
    """The events of a recording by exchange.

    Args:
        events: inputs, outputs and the end, in order; all of them are kept.
        entries: the recorded entries.
    """

    def __init__(self, events: Iterable[Event], entries: Sequence[Entry]) -> None:
        self._groups: list[tuple[Entry, ...]] = []
        for entry in entries:
            if self._groups and entry.seq <= self._groups[-1][-1].last_seq:
                self._groups[-1] = (*self._groups[-1], entry)
            else:
                self._groups.append((entry,))
        self._starts = {group[0].number: group for group in self._groups}
        self.before: list[Event] = []
        self._events: dict[int, list[Event]] = {number: [] for number in self._starts}
        self.end: list[Event] = []
        self._sort(events)

    def _sort(self, events: Iterable[Event]) -> None:
        groups = iter(self._groups)
        following = next(groups, None)
        here = self.before
        for event in events:
            if event.kind == "final":
                here = self.end
            elif following is not None and event.seq >= following[0].seq:
                here = self._events[following[0].number]
                following = next(groups, None)
            here.append(event)

    @property
    def movable(self) -> frozenset[int]:
        """The numbers of the entries that begin an exchange."""
        return frozenset(self._starts)

    def moved(self, upcoming: Iterable[Entry], first: Entry) -> list[Entry]:
        """``upcoming`` with the exchange of ``first`` before all others."""
        group = self._starts[first.number]
        return [*group, *(entry for entry in upcoming if entry not in group)]

    def events(self, upcoming: Sequence[Entry], *, echoed: Sequence[str] = ()) -> list[Event]:
        """The events to play when ``upcoming`` are the entries to be sent.

        Args:
            upcoming: whole exchanges.
            echoed: the lines of the keys whose echo was played already.
        """
        found: list[Event] = []
        for entry in upcoming:
            found += self._events.get(entry.number, ())
        since = _behind_echo(upcoming[0], echoed)
        return [event for event in found if event.seq >= since or event.seq < upcoming[0].seq] + [
            *self.end
        ]


def _behind_echo(entry: Entry, echoed: Sequence[str]) -> int:
    """The ``seq`` of the first record of ``entry`` that is not yet echoed."""
    for step, line in zip(entry.steps, echoed, strict=False):
        if step.line != line:
            return step.seq
    at = min(len(echoed), len(entry.steps) - 1)
    return entry.steps[at].seq if at else entry.seq
