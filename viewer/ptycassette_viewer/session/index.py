"""A growing index of events in flat arrays, under thirty bytes for each event.

One thread adds; any number of threads read at the same time. Readers see a
prefix of the events: every array is only ever appended to, and ``count`` is
raised last.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from itertools import islice
from operator import le
from typing import Literal, Self, get_args

import msgspec

from ptycassette import CassetteError, Size
from ptycassette.viewing import Event, InputRecord, OutputRecord

Kind = Literal["output", "input", "resize", "signal", "answer", "frame", "service-event", "final"]
"""``answer`` is what the terminal itself said to a query; ``input`` is what anybody else typed."""

KINDS: tuple[Kind, ...] = get_args(Kind)
_CODES = {kind: code for code, kind in enumerate(KINDS)}
BYTES_PER_EVENT = 28


class IndexState(msgspec.Struct, frozen=True, array_like=True):
    """An index as bytes: the arrays of this machine."""

    times: bytes
    kinds: bytes
    ends: bytes
    sizes: tuple[bytes, bytes, bytes]


class EventIndex:
    """Times, kinds and output offsets of the events with ``seq`` 1, 2, 3, ...

    Args:
        size: of the terminal at the start.
        max_events: refuse to hold more; None for no limit.
    """

    def __init__(self, size: Size, *, max_events: int | None = None) -> None:
        self.count = 0
        self._max_events = max_events
        self._times = array("q")
        self._kinds = array("B")
        self._ends = array("q")
        self._of_kind: dict[Kind, array[int]] = {kind: array("L") for kind in KINDS}
        self._sizes: tuple[array[int], array[int], array[int]] = (
            array("L", [0]),
            array("H", [min(size.rows, 0xFFFF)]),
            array("H", [min(size.cols, 0xFFFF)]),
        )

    def add(self, event: Event) -> Kind:
        """Take the next event; returns its kind.

        Raises:
            CassetteError: more events than may be held, or output that does not
                continue where the output before it ended.
        """
        if self._max_events is not None and self.count >= self._max_events:
            raise CassetteError(
                f"more than {self._max_events} events",
                where=f"seq {event.seq}",
                hint="the rest is not shown; allow more memory (--memory)",
            )
        kind = kind_of(event)
        end = self.output_end(self.count)
        if isinstance(event.record, OutputRecord):
            if event.record.offset != end:
                raise CassetteError(
                    f"output starts at byte {event.record.offset} and not at {end}",
                    where=f"seq {event.seq}",
                    hint="run: ptycassette verify",
                )
            end += event.record.length
        self._times.append(max(event.t_us, self._times[-1] if self.count else 0))
        self._kinds.append(_CODES[kind])
        self._ends.append(end)
        if kind == "resize" and isinstance(event.record, InputRecord) and event.record.size:
            seqs, rows, cols = self._sizes
            rows.append(max(1, min(event.record.size.rows, 0xFFFF)))
            cols.append(max(1, min(event.record.size.cols, 0xFFFF)))
            seqs.append(self.count + 1)
        self._of_kind[kind].append(self.count + 1)
        self.count += 1
        return kind

    @property
    def duration_us(self) -> int:
        """The time of the last known event."""
        return self._times[self.count - 1] if self.count else 0

    @property
    def output_bytes(self) -> int:
        """How many bytes of output are known."""
        return self.output_end(self.count)

    def output_end(self, seq: int) -> int:
        """How many bytes of output there are up to event ``seq``; 0 for seq 0."""
        return self._ends[seq - 1] if seq > 0 else 0

    def output_start(self, seq: int) -> int:
        """Where the bytes of event ``seq`` start."""
        return self.output_end(seq - 1)

    def output_at(self, offset: int) -> int:
        """The event to which the byte of output at ``offset`` belongs."""
        return bisect_right(self._ends, offset, hi=self.count) + 1

    def time_of(self, seq: int) -> int:
        """The time of event ``seq``; 0 for seq 0."""
        return self._times[seq - 1] if seq > 0 else 0

    def kind_of(self, seq: int) -> Kind:
        """The kind of event ``seq``."""
        return KINDS[self._kinds[seq - 1]]

    def at(self, t_us: int) -> int:
        """The last event at or before ``t_us``; 0 before the first."""
        return bisect_right(self._times, t_us, hi=self.count)

    def of_kind(self, kind: Kind) -> array[int]:
        """The ``seq`` of all events of a kind, rising. Do not change it."""
        return self._of_kind[kind]

    def after(self, seq: int, *kinds: Kind) -> int | None:
        """The first event after ``seq`` of any of these kinds."""
        found = [
            seqs[place]
            for seqs in (self._of_kind[kind] for kind in kinds)
            if (place := bisect_right(seqs, seq)) < len(seqs)
        ]
        return min(found, default=None)

    def before(self, seq: int, *kinds: Kind) -> int | None:
        """The last event before ``seq`` of any of these kinds."""
        found = [
            seqs[place - 1]
            for seqs in (self._of_kind[kind] for kind in kinds)
            if (place := bisect_left(seqs, seq)) > 0
        ]
        return max(found, default=None)

    def between(self, kind: Kind, first: int, last: int) -> int:
        """How many events of a kind are in ``first..last``, both included."""
        seqs = self._of_kind[kind]
        return max(0, bisect_right(seqs, last) - bisect_left(seqs, first))

    def size_at(self, seq: int) -> Size:
        """The size of the terminal after event ``seq``."""
        seqs, rows, cols = self._sizes
        place = bisect_right(seqs, seq) - 1
        return Size(rows[place], cols[place])

    def next_resize(self, seq: int) -> int | None:
        """The first resize after ``seq``."""
        seqs = self._sizes[0]
        place = bisect_right(seqs, seq)
        return seqs[place] if place < len(seqs) else None

    def state(self) -> IndexState:
        """All of its data."""
        seqs, rows, cols = self._sizes
        return IndexState(
            self._times.tobytes(),
            self._kinds.tobytes(),
            self._ends.tobytes(),
            (seqs.tobytes(), rows.tobytes(), cols.tobytes()),
        )

    @classmethod
    def of(cls, state: IndexState) -> Self:
        """An index of a state.

        Raises:
            ValueError: its parts do not fit together.
        """
        self = cls(Size(1, 1))
        for part in self._sizes:
            part.pop()
        for part, data in zip(self._sizes, state.sizes, strict=True):
            part.frombytes(data)
        self._times.frombytes(state.times)
        self._kinds.frombytes(state.kinds)
        self._ends.frombytes(state.ends)
        count = len(self._times)
        seqs, rows, cols = self._sizes
        whole = (
            count == len(self._kinds) == len(self._ends)
            and max(self._kinds, default=0) < len(KINDS)
            and _rises(self._times)
            and _rises(self._ends)
            and _rises(seqs)
            and 0 < len(seqs) == len(rows) == len(cols)
            and seqs[0] == 0
            and min(*rows, *cols) > 0
        )
        if not whole:
            raise ValueError("not the state of an index")
        for place, code in enumerate(self._kinds):
            self._of_kind[KINDS[code]].append(place + 1)
        self.count = count
        return self

    def become(self, other: EventIndex) -> None:
        """Take over another index; only while empty."""
        for ours, theirs in zip(self._sizes, other._sizes, strict=True):
            ours.extend(theirs[1:])
        self._times.extend(other._times)
        self._kinds.extend(other._kinds)
        self._ends.extend(other._ends)
        for kind, seqs in other._of_kind.items():
            self._of_kind[kind].extend(seqs)
        self.count = other.count


def _rises(numbers: array[int]) -> bool:
    return (not numbers or numbers[0] >= 0) and all(map(le, numbers, islice(numbers, 1, None)))


def kind_of(event: Event) -> Kind:
    """The kind of an event, finer than in the format."""
    record = event.record
    if isinstance(record, InputRecord):
        if record.kind == "input":
            return "answer" if record.source == "terminal" else "input"
        return record.kind
    return event.kind
