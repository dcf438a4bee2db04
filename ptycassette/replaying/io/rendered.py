"""Screens of a recording at any event, rendered from its output instead of stored frames."""

from __future__ import annotations

from ptycassette.cassette.io.reader import Cassette
from ptycassette.model.geometry import Size
from ptycassette.model.screen import Screen
from ptycassette.model.streams import painted_bytes
from ptycassette.terminal.emulator import default_emulator


def screen_after(cassette: Cassette, seq: int) -> tuple[str, ...]:
    """The rows after event ``seq``, rendered from the output, empty ones at the end left out."""
    rows = screen_at(cassette, seq).rows
    return rows[: max((number for number, row in enumerate(rows, 1) if row), default=0)]


def screen_at(cassette: Cassette, seq: int) -> Screen:
    """The screen after event ``seq``, rendered from the output."""
    terminal = cassette.manifest.terminal
    emulator = default_emulator(Size(rows=terminal.initial_rows, cols=terminal.initial_cols))
    for event in cassette.events():
        if event.seq > seq:
            break
        if event.kind == "output":
            emulator.feed(painted_bytes(event))
        elif event.kind == "input":
            size = getattr(event.record, "size", None)
            if size is not None:
                emulator.resize(size)
    return emulator.snapshot()
