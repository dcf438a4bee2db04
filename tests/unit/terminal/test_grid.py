"""Rows that are all alike share their cells: cheap to clear, and never mixed up."""

from __future__ import annotations

import time

import pytest

from ptycassette.model.screen import Size, Style
from ptycassette.terminal.emulator import default_emulator
from ptycassette.terminal.grid import BLANK, Row, Uniform

FILLED = {
    "blank": b"",
    "erased": b"x\x1b[44m\x1b[2J",
    "E": b"\x1b#8",
    "scrolled": b"x\x1b[41m" + b"\n" * 9,
}
WRITTEN = {
    "text": b"ab",
    "wide": "漢".encode(),
    "mark": "a\u0301".encode(),
    "inserted": b"\x1b[4hab",
    "insertion": b"\x1b[42m\x1b[2@",
    "deletion": b"\x1b[42m\x1b[2P",
    "erased to the right": b"\x1b[42m\x1b[K",
    "erased to the left": b"\x1b[42m\x1b[1K",
    "erased characters": b"\x1b[42m\x1b[X",
    "a wide one cut": "漢\x1b[Dx".encode(),
    "kept from erasing": b'\x1b[1"qa\x1b[?2K',
}


@pytest.mark.parametrize("filled", FILLED)
@pytest.mark.parametrize("written", WRITTEN)
def test_writing_to_one_row_changes_no_other(filled: str, written: str) -> None:
    """However the screen was filled before, and whatever is written into row 2."""
    emulator = default_emulator(Size(4, 6))
    emulator.feed(FILLED[filled])
    before = emulator.snapshot()
    emulator.feed(b"\x1b[m\x1b[2;3H" + WRITTEN[written])
    after = emulator.snapshot()
    others = (0, 2, 3)

    assert [after.rows[row] for row in others] == [before.rows[row] for row in others]
    assert [after.styles[row] for row in others] == [before.styles[row] for row in others]
    assert (after.rows[1], after.styles[1]) != (before.rows[1], before.styles[1])


def test_a_row_that_shares_looks_like_one_that_does_not() -> None:
    """Text, runs and length of what was written."""
    green = Style(bg=2)
    shared, own = Row.sharing(Uniform(5, BLANK, green)), Row(5, green)

    assert shared.render(5) == own.render(5)
    assert (shared.trimmed_length(), shared.is_wide(0)) == (own.trimmed_length(), own.is_wide(0))
    assert Row.sharing(Uniform(5, "E", green)).trimmed_length() == 5


def test_a_row_hidden_in_part_by_a_narrower_screen_is_cleared_whole() -> None:
    """The alternate screen keeps its rows' length, and shows it again."""
    emulator = default_emulator(Size(2, 8))
    emulator.feed(b"\x1b[?1049h\x1b[Habcdefgh")
    emulator.resize(Size(2, 4))
    emulator.feed(b"\x1b[2J")
    emulator.resize(Size(2, 8))

    assert emulator.snapshot().rows == ("", "")


@pytest.mark.slow
@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("control", "count"),
    [(b"\x1b[2J", 400), (b"\x1bc", 75), (b"\x1b[999S", 100), (b"\x1b#8", 300)],
)
def test_the_largest_screen_is_cleared_and_scrolled_at_the_price_of_its_rows(
    control: bytes, count: int
) -> None:
    """A million cells; writing each of them again takes five times as long and more."""
    emulator = default_emulator(Size(1000, 1000))
    emulator.feed(b"\x1b[999;1H")
    began = time.process_time()
    emulator.feed(control * count)

    assert time.process_time() - began < 2
