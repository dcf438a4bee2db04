"""The signals of a recording, as lines by ``seq``, within a bound of memory.

Signals that interest people (titles, notifications, turns, ...) are separate from the routine
traffic between programs and terminals (modes, synchronised updates, queries).
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from typing import Self

import msgspec

from ptycassette import visible

ROUTINE = frozenset({"icon", "mode", "query", "synchronized"})
"""Names of signals that do not interest people. An icon's name comes with the title."""

_WIDTH = 120
_OVERHEAD = 120
_ENTRY_BYTES = 16


def signal_text(name: str, data: Mapping[str, str]) -> str:
    """A signal in one line, as the program sent it: not safe to show."""
    return name + "".join(f"  {key}={value}" for key, value in data.items())


class SignalsState(msgspec.Struct, frozen=True, array_like=True):
    """The distinct lines, and for both kinds the events and the numbers of their lines."""

    lines: list[str]
    notable: tuple[bytes, bytes]
    routine: tuple[bytes, bytes]
    dropped: int


class SignalLines:
    """Lines in order. One thread adds; other threads may read at the same time."""

    def __init__(self) -> None:
        self.seqs = array("L")
        self._lines: list[str] = []

    def __len__(self) -> int:
        return len(self.seqs)

    def add(self, seq: int, line: str) -> None:
        """Append a line about event ``seq``."""
        self._lines.append(line)
        self.seqs.append(seq)

    def line(self, number: int) -> str:
        """Line ``number``."""
        return self._lines[number]

    def numbered(self, numbers: dict[str, int]) -> tuple[bytes, bytes]:
        """The events and the numbers of their lines; new lines get a number in ``numbers``."""
        places = array("L", [numbers.setdefault(line, len(numbers)) for line in self._lines])
        return self.seqs.tobytes(), places.tobytes()

    @classmethod
    def of(cls, state: tuple[bytes, bytes], lines: list[str]) -> Self:
        """Restore from a state.

        Raises:
            ValueError: the state is damaged.
        """
        self, places = cls(), array("L")
        self.seqs.frombytes(state[0])
        places.frombytes(state[1])
        if len(places) != len(self.seqs) or max(places, default=-1) >= len(lines):
            raise ValueError("not the state of lines")
        self._lines = [lines[place] for place in places]
        return self

    def become(self, other: SignalLines) -> None:
        """Take over the cuts of ``other``; only while empty."""
        self._lines.extend(other._lines)
        self.seqs.extend(other.seqs)

    def between(self, first: int, last: int) -> int:
        """The number of lines of the events ``first..last``, both included."""
        return max(0, bisect_right(self.seqs, last) - bisect_left(self.seqs, first))


class Signals:
    """The signals of one recording.

    Args:
        max_bytes: how much memory they may take; further ones are only counted.

    Attributes:
        notable: the lines of signals that interest people.
        routine: the lines of all others.
        dropped: the number of signals that were not kept.
    """

    def __init__(self, max_bytes: int) -> None:
        self.notable, self.routine = SignalLines(), SignalLines()
        self.dropped = 0
        self._left = max_bytes
        self._known: dict[object, str] = {}

    def add(self, seq: int, name: str, data: Mapping[str, str]) -> None:
        """Take a signal that output ``seq`` completed."""
        key = (name, *data.items())  # most are said again and again
        line = self._known.get(key)
        cost = _ENTRY_BYTES
        if line is None:
            line = visible(signal_text(name, data), limit=_WIDTH)
            cost += _OVERHEAD + 2 * (len(line) + sum(map(len, data.values())))
        if cost > self._left:
            self.dropped += 1
            return
        self._left -= cost
        self._known.setdefault(key, line)
        (self.routine if name in ROUTINE else self.notable).add(seq, line)

    def state(self) -> SignalsState:
        """All of its data."""
        numbers: dict[str, int] = {}
        notable, routine = (lines.numbered(numbers) for lines in (self.notable, self.routine))
        return SignalsState(list(numbers), notable, routine, self.dropped)

    @classmethod
    def of(cls, state: SignalsState) -> Self:
        """Restore from a state.

        Raises:
            ValueError: the state is damaged.
        """
        self = cls(0)
        self.notable = SignalLines.of(state.notable, state.lines)
        self.routine = SignalLines.of(state.routine, state.lines)
        self.dropped = state.dropped
        return self

    def become(self, other: Signals) -> None:
        """Take over the signals of ``other``; there must be none yet."""
        self.dropped = other.dropped
        self.notable.become(other.notable)
        self.routine.become(other.routine)
