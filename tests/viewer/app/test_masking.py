"""Masking by what one points at: a new recording, the old one as it is."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from ptycassette import open_cassette
from ptycassette.model.records import Output, Typed
from ptycassette_viewer.app import RecordingScreen
from ptycassette_viewer.dialogs import ErrorDialog
from ptycassette_viewer.masking.mask_screen import MaskScreen
from ptycassette_viewer.widgets.screen_view import row_text

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from driving import drive, press, until

S = 1_000_000
EVENTS = (
    Output(1 * S, b"name: jane.roe, mail\r\n$ "),
    Typed(2 * S, b"ls\r"),
    Output(3 * S, b"ls\r\nwalnuts\r\n$ "),
    Typed(4 * S, b"date\r"),
    Output(5 * S, b"date\r\nmonday jane.roe\r\n$ "),
)
TOP = ("up",) * 5  # from the prompt at the end to the first line


@pytest.fixture
def path(make: Callable[..., Path]) -> Path:
    """Two commands, and a name that is shown twice."""
    return make(*EVENTS)


def rows_of(pilot: Pilot[Any]) -> list[str]:
    """The rows of the screen as one sees them while one selects."""
    screen = pilot.app.screen.view.screen_shown
    return [row_text(screen, row)[0].rstrip() for row in range(6)]


def left(path: Path) -> str:
    """What is left to read of a recording: what was printed and typed."""
    with open_cassette(path) as cassette:
        return b"".join(event.data for event in cassette.events() if event.data).decode()


async def pressed(pilot: Pilot[Any], *keys: str) -> None:
    """Press keys where nothing is sought."""
    await pilot.press(*keys)
    await pilot.pause()


CASES = {
    "region": (
        (*TOP, *["right"] * 4, "space", *["right"] * 7),
        ["name: xxxxxxxx, mail", "monday jane.roe"],
        (),
    ),
    "words": ((*TOP, *["right"] * 6, "w"), None, ("jane.roe",)),
    "stretch": (("e",), ["xxxxxx xxxxxxxx", "jane.roe, mail"], ("date\r", "monday")),
}


@pytest.mark.parametrize("case", CASES)
def test_what_one_points_at_is_masked_in_a_new_recording(case: str, path: Path) -> None:
    """It is shown before, written elsewhere, and named in the manifest."""
    keys, shown, gone = CASES[case]
    before = {file.name: file.read_bytes() for file in path.iterdir()}
    target = path.with_name(f"{path.stem}-masked{path.suffix}")
    seen: list[str] = []

    async def scenario(pilot: Pilot[Any]) -> None:
        await press(pilot, "end")
        await pressed(pilot, "X")
        await until(pilot, lambda: isinstance(pilot.app.screen, MaskScreen))
        await pressed(pilot, *keys)
        if shown is not None:
            await until(pilot, lambda: any(shown[0] in row for row in rows_of(pilot)))
            seen.extend(rows_of(pilot))
        await pressed(pilot, "enter", "enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, RecordingScreen))

    drive(path, scenario)
    text = left(target)

    assert all(any(part in row for row in seen) for part in shown or ())
    assert not [word for word in gone if word in text]
    assert "walnuts" in text
    assert {file.name: file.read_bytes() for file in path.iterdir()} == before
    with open_cassette(target) as cassette:
        (done,) = (cassette.manifest.optional or {})["edited"]
    assert (done["operation"], done["what"]) == ("mask", case)


def test_the_mouse_selects_a_region_and_two_clicks_a_word(path: Path) -> None:
    """Where it was pressed, to where it was released."""
    found: list[Any] = []

    async def scenario(pilot: Pilot[Any]) -> None:
        await press(pilot, "end")
        await pressed(pilot, "X")
        await until(pilot, lambda: isinstance(pilot.app.screen, MaskScreen))
        view = pilot.app.screen.view
        await pilot.mouse_down(view, offset=(6, 0))
        await pilot.hover(view, offset=(13, 2))
        await pilot.mouse_up(view, offset=(13, 2))
        await pilot.pause()
        found.append(pilot.app.screen.what.region)
        await pilot.click(view, offset=(8, 0), times=2)
        await pilot.pause()
        found.append(pilot.app.screen.what.words)
        await pressed(pilot, "escape")

    drive(path, scenario)
    region, words = found

    assert (region.row, region.column, region.columns, region.rows) == (1, 7, 8, 3)
    assert words == ("jane.roe",)
    assert [file.name for file in path.parent.iterdir() if "masked" in file.name] == []


def test_what_cannot_be_written_is_said(path: Path) -> None:
    """And one is where one was."""
    said: list[str] = []

    async def scenario(pilot: Pilot[Any]) -> None:
        await press(pilot, "end")
        await pressed(pilot, "X")
        await until(pilot, lambda: isinstance(pilot.app.screen, MaskScreen))
        await pressed(pilot, *TOP[1:], "w", "enter", "enter")  # "ls" is too short
        await until(pilot, lambda: isinstance(pilot.app.screen, ErrorDialog))
        said.append(pilot.app.screen.error.message)
        await pressed(pilot, "escape")
        assert isinstance(pilot.app.screen, MaskScreen)

    drive(path, scenario)
    assert "characters or more" in said[0]
