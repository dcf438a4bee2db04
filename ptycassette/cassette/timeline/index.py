"""An index of events by time: seek by time, by ``seq``, to the next or last of a kind.

Sixteen bytes an event, so that a recording of a gigabyte is indexed in a few
megabytes; the events themselves are not kept.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable

from ptycassette.model.records import Event, EventKind


class TimeIndex:
    """The times of events that are in order of ``seq``.

    Args:
        events: one pass over the events; ``seq`` rises by 1, ``t_us`` never goes back.

    Raises:
        ValueError: ``seq`` has a gap or ``t_us`` goes back.
    """

    def __init__(self, events: Iterable[Event]) -> None:
        self._times = array("q")
        self._of_kind: dict[str, array[int]] = {}
        self._first_seq = 1
        expected: int | None = None
        last_us = 0
        for event in events:
            if expected is None:
                self._first_seq = event.seq
            elif event.seq != expected:
                raise ValueError(f"seq {event.seq} is in the place of {expected}")
            elif event.t_us < last_us:
                raise ValueError(f"time goes back at seq {event.seq}")
            expected = event.seq + 1
            last_us = event.t_us
            self._times.append(last_us)
            self._of_kind.setdefault(event.kind, array("q")).append(event.seq)

    def __len__(self) -> int:
        return len(self._times)

    @property
    def first_seq(self) -> int:
        """The ``seq`` of the first event; 1 without events."""
        return self._first_seq

    @property
    def last_seq(self) -> int:
        """The ``seq`` of the last event; ``first_seq - 1`` without events."""
        return self._first_seq + len(self._times) - 1

    @property
    def duration_us(self) -> int:
        """The time of the last event; 0 without events."""
        return self._times[-1] if self._times else 0

    def time_of(self, seq: int) -> int:
        """When event ``seq`` happens, in microseconds.

        Raises:
            KeyError: there is no such event.
        """
        position = seq - self._first_seq
        if not 0 <= position < len(self._times):
            raise KeyError(seq)
        return self._times[position]

    def seek(self, t_us: int) -> int:
        """The ``seq`` of the last event at or before ``t_us``; ``first_seq - 1`` before all."""
        return self._first_seq + bisect_right(self._times, t_us) - 1

    def count(self, kind: EventKind) -> int:
        """How many events of ``kind`` there are."""
        return len(self._of_kind.get(kind, ()))

    def after(self, seq: int, kind: EventKind) -> int | None:
        """The first event of ``kind`` after ``seq``, or None."""
        seqs = self._of_kind.get(kind)
        if seqs is None:
            return None
        position = bisect_right(seqs, seq)
        return seqs[position] if position < len(seqs) else None

    def before(self, seq: int, kind: EventKind) -> int | None:
        """The last event of ``kind`` before ``seq``, or None."""
        seqs = self._of_kind.get(kind)
        if seqs is None:
            return None
        position = bisect_left(seqs, seq)
        return seqs[position - 1] if position else None
