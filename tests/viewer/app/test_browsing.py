"""A directory of cassettes, and errors that say what to do."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import DataTable, Static

from ptycassette.model.records import Output
from ptycassette_viewer.app import RecordingScreen, ViewerApp
from ptycassette_viewer.dialogs import (
    BrowseScreen,
    ErrorDialog,
    age_text,
    entries,
    is_library,
    size_text,
)

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from driving import drive, press, settled, until

CORRUPT = Path(__file__).resolve().parents[3] / "fixtures" / "corrupt"


@pytest.fixture
def library(make: Callable[..., Path]) -> Path:
    """Two cassettes, and one that cannot be opened."""
    make(Output(1_500_000, b"one"), name="one")
    two = make(Output(0, b"two"), name="two")
    broken = make(Output(0, b"three"), name="three")
    (broken / "final.json").unlink()
    return two.parent


def test_a_directory_is_listed(library: Path) -> None:
    """Name, length, size, scrub status; a broken one with its problem."""
    found = {entry.name: entry for entry in entries(library)}

    assert list(found) == ["one", "three", "two"]
    assert (found["one"].duration_us, found["one"].bytes) == (1_500_000, 3)
    assert found["one"].scrub == "clean"
    assert found["three"].problem is not None
    assert is_library(library)
    assert not is_library(library / "one")


def test_one_is_opened_and_left_again(library: Path) -> None:
    """Enter opens, q comes back, q quits."""
    stacks: list[str] = []

    async def scenario(pilot: Pilot[Any]) -> None:
        await pilot.app.workers.wait_for_complete()
        assert pilot.app.screen.query_one(DataTable).row_count == 3
        await press(pilot, "enter")
        stacks.append(type(pilot.app.screen).__name__)
        await pilot.press("q")
        await pilot.pause()
        stacks.append(type(pilot.app.screen).__name__)
        await pilot.press("r", "question_mark", "escape", "q")
        await pilot.pause()

    app = drive(library, scenario)

    assert stacks == [RecordingScreen.__name__, BrowseScreen.__name__]
    assert app.return_code == 0


@pytest.mark.slow
def test_a_broken_one_is_explained_and_the_list_stays(library: Path) -> None:
    """The dialog says what is missing."""
    texts: list[str] = []

    async def scenario(pilot: Pilot[Any]) -> None:
        await pilot.app.workers.wait_for_complete()
        await press(pilot, "down", "enter")
        assert isinstance(pilot.app.screen, ErrorDialog)
        texts.append(str(pilot.app.screen.query_one("#error-text", Static).render()))
        await pilot.press("enter")
        await pilot.pause()
        assert isinstance(pilot.app.screen, BrowseScreen)

    drive(library, scenario)

    assert "final.json" in texts[0]


@pytest.mark.parametrize(
    ("name", "status"), [("no-such", 3), ("manifest-missing", 4), ("required-feature", 4)]
)
def test_what_cannot_be_opened_ends_with_its_status(name: str, status: int) -> None:
    """A dialog, and behind it the exit status of the command line."""

    async def scenario(pilot: Pilot[Any]) -> None:
        assert isinstance(pilot.app.screen, ErrorDialog)
        await pilot.press("escape")
        await pilot.pause()

    app = drive(CORRUPT / name, scenario)

    assert app.return_value == status


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "name", ["chunk-gap", "chunk-digest", "output-digest", "line-truncated", "line-corrupt"]
)
def test_damage_found_later_is_told(name: str) -> None:
    """What the manifest does not show is found in the background, and said."""
    shown: list[str] = []

    async def run() -> None:
        app = ViewerApp(CORRUPT / name)
        async with app.run_test() as pilot:
            await until(pilot, lambda: isinstance(pilot.app.screen, ErrorDialog))
            assert isinstance(pilot.app.screen, ErrorDialog)
            shown.append(pilot.app.screen.error.message)
            await pilot.press("enter")
            await settled_or_not(pilot)

    asyncio.run(run())

    assert shown[0]


async def settled_or_not(pilot: Pilot[Any]) -> None:
    """What can be shown is shown."""
    await pilot.pause()
    if any(isinstance(s, RecordingScreen) and s.shown for s in pilot.app.screen_stack):
        await settled(pilot)


def test_sizes_and_ages_are_for_people() -> None:
    """Rough, and nothing for what cannot be read."""
    now = datetime(2026, 1, 3, tzinfo=UTC)

    assert [size_text(n) for n in (12, 3_400, 5_600_000, 7 * 10**9)] == [
        "12 B",
        "3.4 KB",
        "5.6 MB",
        "7.0 GB",
    ]
    assert [age_text(t, now) for t in ("2026-01-01T00:00:00Z", "2026-01-02T23:59:59", "?")] == [
        "2 d",
        "now",
        "",
    ]
