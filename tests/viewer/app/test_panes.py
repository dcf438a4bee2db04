"""Panes: how large they are, how they are resized and zoomed, and what happens to long rows."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from ptycassette import Screen, Size
from ptycassette.model.records import Output
from ptycassette.model.screen import Cursor
from ptycassette_viewer.widgets.divider import Divider
from ptycassette_viewer.widgets.screen_view import ScreenView, overlaid_lines, wrapped_lines

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from driving import drive, press, recording


@pytest.fixture
def path(make: Callable[..., Path]) -> Path:
    """A screen larger than a small window, with text in its last column."""
    rows = b"".join(b"\x1b[%dHrow %d" % (row, row) for row in range(1, 31))
    return make(Output(0, rows + b"\x1b[1;97HEND!\x1b[H"), size=Size(30, 100))


def sizes(path: Path, *steps: str, size: tuple[int, int] = (80, 24)) -> list[tuple[int, int]]:
    """Columns and rows of the recorded screen in the window, after the keys of each step."""
    found: list[tuple[int, int]] = []

    async def scenario(pilot: Pilot[Any]) -> None:
        for keys in steps:
            await press(pilot, *keys.split())
            stage = recording(pilot).stage
            region = stage.scrollable_content_region
            shown = stage.display and not stage.has_class("hidden")
            found.append((region.width, region.height) if shown else (0, 0))

    drive(path, scenario, size=size)
    return found


@pytest.mark.slow
def test_80_by_24_leaves_the_screen_its_rows(path: Path) -> None:
    """With any panel open, and while a message is shown."""
    found = sizes(path, "", "p", "tab tab", "slash r o w enter")

    assert [rows for _, rows in found if rows < 14] == []


def test_keys_move_the_line_between_screen_and_panels(path: Path) -> None:
    """Up and down where one is below the other, else left and right; neither ever vanishes."""
    less, more = "less_than_sign ", "greater_than_sign "
    low = sizes(path, "p", less, more, more, less * 12, more * 12)
    wide = sizes(path, "p", less, size=(140, 40))

    assert [rows for _, rows in low] == [14, 12, 14, 16, 3, 16]
    assert wide[0][0] - wide[1][0] == 4


def test_the_mouse_drags_the_line(path: Path) -> None:
    """By as many columns as it moves."""
    widths: list[int] = []

    async def scenario(pilot: Pilot[Any]) -> None:
        await press(pilot, "p")
        widths.append(recording(pilot).stage.outer_size.width)
        await pilot.mouse_down(Divider, offset=(0, 3))
        await pilot.hover(Divider, offset=(-10, 3))
        await pilot.mouse_up(Divider, offset=(0, 3))
        await pilot.pause()
        widths.append(recording(pilot).stage.outer_size.width)

    drive(path, scenario, size=(140, 40))

    assert widths[0] - widths[1] == 10


def test_z_gives_one_pane_the_window(path: Path) -> None:
    """The screen, then the panels if they are open, then all again; escape ends it."""
    everything, *zoomed = sizes(path, "p", "z", "z", "z", "z", "escape")
    closed = sizes(path, "", "z z")

    assert zoomed == [(79, 23), (0, 0), everything, (79, 23), everything]
    assert closed[0] == closed[1]


@pytest.mark.slow
def test_long_rows_are_wrapped(path: Path) -> None:
    """What is beyond the right border is in the next line, and no blank line is."""
    shown: list[str] = []

    async def scenario(pilot: Pilot[Any]) -> None:
        await press(pilot, "W")
        view = recording(pilot).query_one(ScreenView)
        shown.extend(view.render_line(y).text.rstrip() for y in range(3))

    drive(path, scenario)

    assert shown[0].startswith("row 1 ")
    assert shown[0].endswith("\u21b5")
    assert shown[1].endswith("END!")
    assert shown[2] == "row 2"


def screen_of(*rows: str, cols: int = 10) -> Screen:
    """A screen of plain text."""
    return Screen(size=Size(len(rows), cols), rows=rows, cursor=Cursor(0, 0))


def test_a_wide_character_is_never_cut() -> None:
    """It goes to the next line as a whole."""
    lines = wrapped_lines(screen_of("abc\u6f22\u5b57"), 4)

    assert [(line.start, line.end) for line in lines] == [(0, 3), (3, 7)]


def test_rows_side_by_side_take_as_many_lines() -> None:
    """So that what belongs together stays beside each other."""
    lines = wrapped_lines(screen_of("abc", "def"), 4, beside=screen_of("abcdefgh", "def"))

    assert [line.row for line in lines] == [0, 0, 1]
    assert lines[1].start == lines[1].end


def test_overlaid_rows_that_differ_are_there_twice() -> None:
    """As in a diff; rows that only one of them has are there, too."""
    lines = overlaid_lines(screen_of("a", "b"), screen_of("a", "c", "d"), {1, 2}, None)

    assert [(line.sign, line.row) for line in lines] == [
        (" ", 0),
        ("-", 1),
        ("+", 1),
        ("+", 2),
    ]
