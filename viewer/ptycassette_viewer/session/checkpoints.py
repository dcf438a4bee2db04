"""Saved states of the emulator, compressed, within a budget.

When the budget is spent, every second state is dropped and the distance doubles. One thread
saves; any thread may load.
"""

from __future__ import annotations

import threading
import zlib
from array import array
from bisect import bisect_right
from typing import Self

import msgspec

from ptycassette import PyteEmulator, load_emulator, save_emulator


class CheckpointsState(msgspec.Struct, frozen=True, array_like=True):
    """Where states lie, and the states."""

    seqs: bytes
    states: list[bytes]
    every_s: float


class Checkpoints:
    """Saved states by ``seq``.

    Args:
        max_bytes: how much the compressed states may take.
        every_s: how much work (seconds of emulation) may be between two states.
    """

    def __init__(self, *, max_bytes: int, every_s: float = 0.006) -> None:
        self._max_bytes = max_bytes
        self.every_s = every_s
        self.bytes = 0
        self._seqs: list[int] = []
        self._states: list[bytes] = []
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._seqs)

    def keep(self, seq: int, emulator: PyteEmulator) -> None:
        """Save the state after event ``seq``, which is later than all saved ones."""
        state = zlib.compress(save_emulator(emulator), 1)
        with self._lock:
            self._seqs.append(seq)
            self._states.append(state)
            self.bytes += len(state)
            while self.bytes > self._max_bytes and self._seqs:
                del self._seqs[::2], self._states[::2]
                self.bytes = sum(map(len, self._states))
                self.every_s *= 2

    def before(self, seq: int) -> int:
        """The ``seq`` of the last state at or before ``seq``; 0 when there is none."""
        with self._lock:
            place = bisect_right(self._seqs, seq)
            return self._seqs[place - 1] if place else 0

    def load(self, seq: int) -> tuple[int, PyteEmulator] | None:
        """The last state at or before ``seq``, as an emulator that continues from there."""
        with self._lock:
            place = bisect_right(self._seqs, seq)
            if not place:
                return None
            found, state = self._seqs[place - 1], self._states[place - 1]
        return found, load_emulator(zlib.decompress(state))

    def state(self) -> CheckpointsState:
        """All of its data."""
        with self._lock:
            return CheckpointsState(
                array("L", self._seqs).tobytes(), list(self._states), self.every_s
            )

    @classmethod
    def of(cls, state: CheckpointsState) -> Self:
        """Restore from a state.

        Raises:
            ValueError: the state is damaged.
        """
        self = cls(max_bytes=0, every_s=state.every_s)
        seqs = array("L")
        seqs.frombytes(state.seqs)
        if len(seqs) != len(state.states) or list(seqs) != sorted(set(seqs)):
            raise ValueError("not the state of checkpoints")
        self._seqs, self._states = list(seqs), state.states
        self.bytes = sum(map(len, state.states))
        return self

    def become(self, other: Checkpoints) -> None:
        """Take over the states of others; only while empty."""
        with self._lock:
            self._seqs, self._states = other._seqs, other._states
            self.bytes, self.every_s = other.bytes, other.every_s
