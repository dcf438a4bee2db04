"""A screen's rows cut into cells."""

from __future__ import annotations

from ptycassette.model.screen import Size
from ptycassette.terminal.emulator import PyteEmulator
from ptycassette.terminal.widths import row_cells


def test_the_cells_of_a_row_are_as_many_as_its_columns() -> None:
    """Wide characters are followed by an empty cell, and rows are filled up."""
    emulator = PyteEmulator(Size(3, 12))
    emulator.feed("漢\x1b[1mb".encode())
    cells = row_cells(emulator.snapshot(), 0)

    assert [cell.text for cell in cells[:4]] == ["漢", "", "b", " "]
    assert len(cells) == 12
    assert cells[2].style.bold
