"""The recorded screen at the moments of divergences."""

from __future__ import annotations

from ptycassette.cassette.io.reader import Cassette
from ptycassette.model.records import painted_bytes
from ptycassette.model.screen import Size
from ptycassette.terminal.emulator import default_emulator


class RecordedScreens:
    """Renders the output up to an event.

    Divergences come in the order of the recording, so each continues where the one before ended:
    thousands of wrong lines read the recording once.
    """

    def __init__(self, cassette: Cassette) -> None:
        self._cassette = cassette
        self._rows: tuple[str, ...] | None = None
        self._seq = 0
        self._restart()

    def rows_at(self, seq: int) -> tuple[str, ...]:
        """The rows after event ``seq``, without the empty ones at the end."""
        if seq < self._seq:
            self._restart()
        changed = self._read_to(seq)
        if changed or self._rows is None:
            rows = self._emulator.snapshot().rows
            used = max((number for number, row in enumerate(rows, 1) if row), default=0)
            self._rows = rows[:used]
        return self._rows

    def _restart(self) -> None:
        terminal = self._cassette.manifest.terminal
        size = Size(rows=terminal.initial_rows, cols=terminal.initial_cols)
        self._emulator = default_emulator(size)
        self._events = iter(self._cassette.events())
        self._next = next(self._events, None)
        self._rows = None
        self._seq = 0

    def _read_to(self, seq: int) -> bool:
        """Feed the output up to ``seq``; return whether the screen may have changed."""
        self._seq = seq
        changed = False
        while (event := self._next) is not None and event.seq <= seq:
            size = getattr(event.record, "size", None)
            if event.kind == "output":
                self._emulator.feed(painted_bytes(event))
                changed = True
            elif event.kind == "input" and size is not None:
                self._emulator.resize(size)
                changed = True
            self._next = next(self._events, None)
        return changed
