"""A text's style is looked for in the cells that the emulator painted it in."""

from __future__ import annotations

import pytest

from ptycassette.model.records import FrameRecord
from ptycassette.model.screen import Size
from ptycassette.replaying.scenario.predicate import StyleIs, styled
from ptycassette.terminal.emulator import default_emulator


@pytest.mark.parametrize("before", ["", "漢 ", "☝🏽 ", "1\ufe0f\u20e3 ", "e\u0301 ", "👩\u200d💻"])
def test_cells_are_counted_as_the_emulator_does(before: str) -> None:
    """Whatever stands in front of the text."""
    emulator = default_emulator(Size(1, 20))
    emulator.feed(f"{before}\x1b[31mred\x1b[m.".encode())
    screen = emulator.snapshot()
    frame = FrameRecord(
        seq=1,
        t_ms=0,
        size=screen.size,
        text=screen.rows,
        cursor=screen.cursor,
        raw_start=0,
        raw_end=1,
        parser_offset=1,
        styles=screen.styles,
    )

    assert styled(frame, StyleIs(text="red", fg=1))
    assert not styled(frame, StyleIs(text="red.", fg=1))
