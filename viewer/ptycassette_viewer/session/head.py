"""A playhead: an emulator positioned after one event, which can be moved to any other.

Moving is exact: the emulator sees the same bytes and resizes in the same order
as if the recording had been played from its start (the emulator's law: how its
input is split changes nothing).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol

from ptycassette import PyteEmulator, Screen, default_emulator
from ptycassette_viewer.session.checkpoints import Checkpoints
from ptycassette_viewer.session.index import EventIndex
from ptycassette_viewer.session.source import Source

SLICE_BYTES = 16_384
"""How much is fed before asking whether somebody wants to be somewhere else by now."""

_HEARD_BYTES = 2_048
"""Fed at once where signals are wanted: an emulator keeps no more than some thousands."""


class Listener(Protocol):
    """Takes a signal that the output of event ``seq`` completed."""

    def __call__(self, seq: int, name: str, data: dict[str, str]) -> None:
        """Take it."""
        ...


class Head:
    """An emulator after event ``seq``. For one thread at a time.

    Args:
        source: where bytes come from.
        index: of the events.
        checkpoints: states to start from.
        listener: gets every signal; None for none.
    """

    def __init__(
        self,
        source: Source,
        index: EventIndex,
        checkpoints: Checkpoints,
        *,
        listener: Listener | None = None,
    ) -> None:
        self._source = source
        self._index = index
        self._checkpoints = checkpoints
        self._listener = listener
        self.seq = 0
        self._fed = 0
        self._emulator = default_emulator(index.size_at(0))
        self._screen: Screen | None = None

    @property
    def emulator(self) -> PyteEmulator:
        """The emulator at the current position; do not feed it."""
        return self._emulator

    @property
    def screen(self) -> Screen:
        """The screen at the current position."""
        if self._screen is None:
            self._screen = self._emulator.snapshot()
        return self._screen

    def distance(self, seq: int) -> int:
        """How many bytes must be fed to get to event ``seq``."""
        kept = self._checkpoints.before(seq)
        end = self._index.output_end(seq)
        distance = end - self._index.output_end(kept)
        return min(distance, end - self._fed) if self._can_go_on(seq) else distance

    def _can_go_on(self, seq: int) -> bool:
        """Whether ``seq`` is ahead."""
        return seq >= self.seq and self._index.output_end(seq) >= self._fed

    def move(self, seq: int, stop: Callable[[], bool] = lambda: False) -> bool:
        """Move to right after event ``seq``, which the index must contain.

        Returns:
            False when ``stop`` ended it; a later move continues from there.
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
            for piece in self._pieces(block):
                if stop():
                    return False
                self._emulator.feed(piece.replace(b"\n", b"\r\n") if self._source.piped else piece)
                self._fed += len(piece)
                if self._listener is not None:
                    self._listen(self._listener)
        # Unread answers and signals must not pile up.
        self._emulator.answers()
        self._emulator.signals()
        return True

    def _pieces(self, block: bytes) -> Iterator[bytes]:
        """A block in pieces; with a listener, each ends with its event at the latest."""
        at = 0
        while at < len(block):
            end = at + SLICE_BYTES
            if self._listener is not None:
                left = self._index.output_end(self._index.output_at(self._fed)) - self._fed
                end = at + min(left, _HEARD_BYTES)
            yield block[at:end]
            at = end

    def _listen(self, listener: Listener) -> None:
        signals = self._emulator.signals()
        if signals:
            seq = self._index.output_at(self._fed - 1)
            for signal in signals:
                listener(seq, signal.name, signal.data)
