"""Finds where exchanges begin, event by event; no event is kept.

The rule is that of ``ptycassette.exchanges``, whose ``ExchangeCutter`` decides.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from typing import Self

import msgspec

from ptycassette import Event, ExchangeCutter
from ptycassette_viewer.session.index import Kind

_TYPED: frozenset[Kind] = frozenset({"input", "resize", "signal"})


class CutsState(msgspec.Struct, frozen=True, array_like=True):
    """Cuts as bytes: the array of this machine."""

    starts: bytes
    opens_with_input: bool


class ExchangeCuts:
    """The first ``seq`` of every exchange. ``numbers[0]`` is 1 when input opens the recording."""

    def __init__(self) -> None:
        self.starts = array("L")
        self._cutter = ExchangeCutter()
        self._opens_with_input = False

    def add(self, event: Event, kind: Kind) -> None:
        """Take the next event."""
        if self._cutter.begins(event):
            self._opens_with_input = self._opens_with_input or (not self.starts and kind in _TYPED)
            self.starts.append(event.seq)

    def __len__(self) -> int:
        return len(self.starts)

    def number(self, place: int) -> int:
        """The number of the exchange at ``place``: 0 is before any input."""
        return place + 1 if self._opens_with_input else place

    def place_of(self, seq: int) -> int:
        """The place of the exchange that contains ``seq``; -1 before all."""
        return bisect_right(self.starts, seq) - 1

    def state(self) -> CutsState:
        """All of its data, once no event follows."""
        return CutsState(self.starts.tobytes(), self._opens_with_input)

    @classmethod
    def of(cls, state: CutsState) -> Self:
        """The cuts of a state.

        Raises:
            ValueError: it is not such a state.
        """
        self = cls()
        self.starts.frombytes(state.starts)
        self._opens_with_input = state.opens_with_input
        return self

    def become(self, other: ExchangeCuts) -> None:
        """Take over the cuts of ``other``; only while empty."""
        self._opens_with_input = other._opens_with_input
        self.starts.extend(other.starts)
