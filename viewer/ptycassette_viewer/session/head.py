"""A playhead: an emulator that stands behind some event, and can be moved to any other.

Moving is exact: the emulator sees the same bytes and resizes in the same order
as if the recording had been played from its start (the emulator's law: how its
input is split changes nothing).
"""

from __future__ import annotations

from collections.abc import Callable

from ptycassette import PyteEmulator, Screen, default_emulator
from ptycassette_viewer.session.checkpoints import Checkpoints
from ptycassette_viewer.session.index import EventIndex
from ptycassette_viewer.session.source import Source

__all__ = ["Head"]

SLICE_BYTES = 16_384
"""How much is fed before asking whether somebody wants to be somewhere else by now."""


class Head:
    """Stands behind event ``seq``. For one thread at a time."""

    def __init__(self, source: Source, index: EventIndex, checkpoints: Checkpoints) -> None:
        self._source = source
        self._index = index
        self._checkpoints = checkpoints
        self.seq = 0
        self._fed = 0
        self._emulator = default_emulator(index.size_at(0))
        self._screen: Screen | None = None

    @property
    def emulator(self) -> PyteEmulator:
        """The emulator where the head stands; feed it nothing."""
        return self._emulator

    @property
    def screen(self) -> Screen:
        """The screen where the head stands."""
        if self._screen is None:
            self._screen = self._emulator.snapshot()
        return self._screen

    def distance(self, seq: int) -> int:
        """How many bytes must be fed to get behind event ``seq``."""
        kept = self._checkpoints.before(seq)
        end = self._index.output_end(seq)
        distance = end - self._index.output_end(kept)
        return min(distance, end - self._fed) if self._can_go_on(seq) else distance

    def _can_go_on(self, seq: int) -> bool:
        """Whether ``seq`` lies ahead."""
        return seq >= self.seq and self._index.output_end(seq) >= self._fed

    def move(self, seq: int, stop: Callable[[], bool] = lambda: False) -> bool:
        """Go behind event ``seq``, which the index knows.

        Returns:
            False when ``stop`` said so on the way; a later move goes on from there.
        """
        kept = self._checkpoints.before(seq)
        if not self._can_go_on(seq) or self._index.output_end(kept) > self._fed + SLICE_BYTES:
            self._jump(seq)
        while self.seq < seq:
            resize = self._index.next_resize(self.seq)
            last = seq if resize is None or resize > seq else resize - 1
            if not self._feed_until(self._index.output_end(last), stop):
                return False
            self.seq = max(self.seq, last)
            if resize is not None and resize <= seq:
                self._emulator.resize(self._index.size_at(resize))
                self._screen = None
                self.seq = resize
        return True

    def _jump(self, seq: int) -> None:
        found = self._checkpoints.load(seq)
        self._screen = None
        self.seq, self._emulator = found or (0, default_emulator(self._index.size_at(0)))
        self._fed = self._index.output_end(self.seq)

    def _feed_until(self, end: int, stop: Callable[[], bool]) -> bool:
        if self._fed >= end:
            return True
        self._screen = None
        for block in self._source.read(self._fed, end - self._fed):
            for at in range(0, len(block), SLICE_BYTES):
                if stop():
                    return False
                piece = block[at : at + SLICE_BYTES]
                self._emulator.feed(piece)
                self._fed += len(piece)
        # What nobody reads (answers, signals) must not pile up.
        self._emulator.answers()
        self._emulator.signals()
        return True
