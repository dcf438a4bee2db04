"""A recording that was forked: where it comes from, and what the change caused."""

from __future__ import annotations

import asyncio
import hashlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Static

from ptycassette.model.records import Finished, JournalEvent, Noted, Output, Typed
from ptycassette.viewing import fork_between
from ptycassette_viewer.app import CompareScreen, ViewerApp

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from driving import drive, press, recording, settled, until

S = 1_000_000


def session(clock: str, answer: str, *more: JournalEvent) -> tuple[JournalEvent, ...]:
    """Two exchanges; the first shows a clock, which is another one each time."""
    return (
        Output(1 * S, f"clock {clock}\r\n$ ".encode()),
        Typed(2 * S, b"date\r"),
        Output(3 * S, b"date\r\nmonday\r\n$ "),
        *more,
        Typed(5 * S, b"place\r"),
        Output(6 * S, b"place\r\n" + answer.encode() + b"\r\n$ "),
    )


@pytest.fixture
def pair(make: Callable[..., Path]) -> tuple[Path, Path]:
    """A parent and its child, which was typed something else at exchange 2."""
    parent = make(*session("10:01", "home"), Finished(t_us=8 * S), name="parent")
    origin = {
        "type": "fork",
        "parent": {
            "id": "p",
            "manifest_sha256": hashlib.sha256((parent / "manifest.json").read_bytes()).hexdigest(),
        },
        "at": "exchange:2",
        "change": "input",
        "value": "place\x1b[2J",
        "tail": "scripted",
        "prefix": {"entries": [], "screens": 2, "inputs": 1},
    }
    end = Finished(t_us=8 * S, metadata={"fork": origin})
    return parent, make(*session("10:02", "work", Noted(4 * S, origin)), end, name="child")


@pytest.mark.parametrize("child_first", [False, True])
def test_parent_and_child_are_compared_from_the_change_on(
    pair: tuple[Path, Path], child_first: bool
) -> None:
    """They open there; what differs before, such as a clock, was verified and is not listed."""
    first, second = reversed(pair) if child_first else pair
    found: list[Any] = []

    async def run() -> None:
        app = ViewerApp(first, other=second)
        app.animation_level = "none"
        async with app.run_test(size=(160, 40)) as pilot:
            screen = pilot.app.screen
            assert isinstance(screen, CompareScreen)
            await settled(pilot)
            await until(pilot, lambda: screen.compared >= 1)
            found.append((screen.playback.t_us, [one.first for one in screen.differences]))
            await press(pilot, "home", "full_stop")
            found.append(screen.differing)
            await press(pilot, "p")
            found.append(str(screen.query_one(".panel-title", Static).render()))

    asyncio.run(run())
    (opened_us, rows), before, title = found
    between = fork_between(first, second)

    assert between is not None
    assert opened_us == between.t_us >= 3 * S
    assert rows == ["work" if child_first else "home"]
    assert "1 difference from exchange:2 on" in title
    assert "input=place" in title
    assert "\x1b" not in title
    assert before == {}


def test_a_child_says_where_it_comes_from(pair: tuple[Path, Path]) -> None:
    """Parent, place, change and relatives in a panel; the place is on the timeline."""
    shown: list[str] = []

    async def scenario(pilot: Pilot[Any]) -> None:
        screen = recording(pilot)
        text = screen.query_one("#lineage-text", Static)
        await until(pilot, lambda: "in this folder" in str(text.render()))
        shown.append(str(text.render()))
        shown.append(
            "".join(
                segment.text for line in range(3) for segment in screen.timeline.render_line(line)
            )
        )

    drive(pair[1], scenario, size=(120, 40))
    text, line = shown

    for part in (
        "id p",
        "exchange:2: 0:04.000, event #",
        "input=place\\e[2J",
        "screens 2, inputs 1",
    ):
        assert part in text
    assert str(pair[0]) in text
    assert "Y" in line


def test_what_is_no_child_has_no_such_panel(pair: tuple[Path, Path]) -> None:
    """Nor a place on the timeline."""
    names: list[str] = []

    async def scenario(pilot: Pilot[Any]) -> None:
        names.extend(recording(pilot).panels)

    drive(pair[0], scenario)
    assert "events" in names
    assert "lineage" not in names
