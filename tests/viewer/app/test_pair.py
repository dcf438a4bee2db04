"""Two recordings on one screen: what keys do with both of them."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import ContentSwitcher

from ptycassette import Screen, Size
from ptycassette.model.records import JournalEvent, Output, Typed
from ptycassette.model.screen import Cursor
from ptycassette_viewer.app import CompareScreen, ViewerApp
from ptycassette_viewer.comparison.differences import CommonRows
from ptycassette_viewer.panels.lists import DifferencesPanel

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from driving import press, settled, until

S = 1_000_000


def answers(day: str, answer_s: int) -> tuple[JournalEvent, ...]:
    """A session of two questions; the first answer is ``day``."""
    return (
        Output(0, b"the program\r\n$ "),
        Typed(5 * S, b"date\r"),
        Output(answer_s * S, b"date\r\n" + day.encode() + b"\r\n$ "),
        Typed((answer_s + 5) * S, b"place\r"),
        Output((answer_s + 6) * S, b"place\r\nhome\r\n$ "),
    )


@pytest.fixture
def pair(make: Callable[..., Path]) -> tuple[Path, Path]:
    """The same session twice; the second slower, and with another answer."""
    return make(*answers("monday", 6), name="a"), make(*answers("sunday", 20), name="b")


def compare(
    pair: tuple[Path, Path],
    scenario: Callable[[Pilot[Any], CompareScreen], Awaitable[None]],
    size: tuple[int, int] = (160, 40),
) -> None:
    """Compare two recordings to the end, and let ``scenario`` use the screen."""

    async def run() -> None:
        app = ViewerApp(pair[0], other=pair[1], start_us=0)
        app.animation_level = "none"
        async with app.run_test(size=size) as pilot:
            screen = pilot.app.screen
            assert isinstance(screen, CompareScreen)
            await compared(pilot, screen)
            await scenario(pilot, screen)

    asyncio.run(run())


async def compared(pilot: Pilot[Any], screen: CompareScreen) -> None:
    """Until both were played, and both screens asked for are there."""

    def rests() -> bool:
        return screen.compared >= 1 and all(seeker.idle for seeker in screen.seekers)

    await settled(pilot)
    await until(pilot, rests)
    await pilot.pause()


async def keys(pilot: Pilot[Any], screen: CompareScreen, text: str) -> None:
    """Press keys one after the other, each seen through."""
    for key in text.split():
        await press(pilot, key)
        await compared(pilot, screen)


def places(screen: CompareScreen) -> tuple[float, float]:
    """When both are, in seconds."""
    assert screen.other_shown is not None
    return screen.playback.t_us / S, screen.other_shown.t_us / S


def status(screen: CompareScreen) -> str:
    """What the status line says."""
    return str(screen.query_one("#status").render())


@pytest.mark.slow
def test_every_key_that_seeks_moves_both(pair: tuple[Path, Path]) -> None:
    """The second is where it was in the same exchange."""
    wanted = {
        "5": (6, 20),
        "g 1 1 enter": (11, 25),
        "g # 4 enter": (11, 25),
        "right_square_bracket": (5, 5),
        "e e E": (5, 5),
        "end": (12, 26),
        "shift+right": (12, 26),
    }
    found: dict[str, tuple[float, float]] = {}

    async def scenario(pilot: Pilot[Any], screen: CompareScreen) -> None:
        for typed in wanted:
            await keys(pilot, screen, f"home {typed}")
            found[typed] = places(screen)

    compare(pair, scenario)

    assert found == wanted


def test_a_search_leads_through_both(pair: tuple[Path, Path]) -> None:
    """In the order of the first; each hit says in which it is, and is marked in both."""
    told: list[str] = []

    async def scenario(pilot: Pilot[Any], screen: CompareScreen) -> None:
        await keys(pilot, screen, "slash s u n d a y enter")
        told.append(status(screen))
        assert places(screen) == (6, 20)
        await keys(pilot, screen, "home slash h o m e enter n")
        assert [view.pattern is not None for view in screen.views] == [True, True]
        for key in ("n", "n", "n", "n"):
            await keys(pilot, screen, key)
            told.append(status(screen).split("  ")[2].partition(":")[0])
        await keys(pilot, screen, "escape")
        assert [view.pattern for view in screen.views] == [None, None]

    compare(pair, scenario)

    assert "second, screen: sunday" in told[0]
    assert told[1:] == ["first, screen", "second, screen"] * 2


def test_a_hit_below_the_window_is_brought_into_view(make: Callable[..., Path]) -> None:
    """On the side that has it, with the other taken along."""
    first = make(Output(0, b"$ "), Output(S, b"\x1b[22;1Hwords\x1b[H"), name="a")
    second = make(Output(0, b"$ "), Output(S, b"\x1b[22;1Hwalnuts\x1b[H"), name="b")

    async def scenario(pilot: Pilot[Any], screen: CompareScreen) -> None:
        await keys(pilot, screen, "slash w a l n u t s enter")
        tops = [view.scroll_offset.y for view in screen.views]
        assert tops[0] == tops[1] > 10

    compare((first, second), scenario, size=(80, 24))


@pytest.mark.slow
def test_overlaid_rows_that_differ_are_there_twice(pair: tuple[Path, Path]) -> None:
    """As in a diff, and O puts them side by side again."""
    shown: list[str] = []

    async def scenario(pilot: Pilot[Any], screen: CompareScreen) -> None:
        await keys(pilot, screen, "end o")
        shown.extend(screen.stage.render_line(y).text.rstrip() for y in range(5))
        assert screen.query_one("#pane-1").has_class("hidden")
        await keys(pilot, screen, "o")
        assert not screen.query_one("#pane-1").has_class("hidden")
        assert screen.stage.render_line(2).text.rstrip(" \u2502") == "monday"

    compare(pair, scenario)

    assert shown == [" the program", " $ date", "-monday", "+sunday", " $ place"]


def test_rows_that_are_wrapped_stay_beside_each_other(make: Callable[..., Path]) -> None:
    """A row takes as many lines as on the side where it is longer."""
    first = make(Output(0, b"x" * 100 + b"\r\nnext"), name="a", size=Size(24, 120))
    second = make(Output(0, b"short\r\nnext"), name="b", size=Size(24, 120))

    async def scenario(pilot: Pilot[Any], screen: CompareScreen) -> None:
        await keys(pilot, screen, "W")
        lines = [view.render_line(2).text.rstrip() for view in screen.views]
        assert lines == ["next", "next"]

    compare((first, second), scenario, size=(140, 40))


def test_both_are_scrolled_together(make: Callable[..., Path]) -> None:
    """By keys and by the mouse, also where the first has nothing to scroll."""
    rows = b"".join(b"%d\r\n" % number for number in range(60))
    first = make(Output(0, rows), name="a", size=Size(80, 90))
    second = make(Output(0, rows), name="b", size=Size(70, 90))

    async def scenario(pilot: Pilot[Any], screen: CompareScreen) -> None:
        await keys(pilot, screen, "k k k k k k k k k k k k k k k k k j l")
        assert [view.scroll_offset for view in screen.views] == [(8, 4), (8, 4)]
        screen.other_stage.scroll_by(0, 7)
        await pilot.pause()
        assert [view.scroll_offset for view in screen.views] == [(8, 11), (8, 11)]

    compare((first, second), scenario, size=(120, 24))


def test_the_panels_are_those_of_either(pair: tuple[Path, Path]) -> None:
    """B changes the side; what is chosen in the second's list is shown of the second, exactly."""

    async def scenario(pilot: Pilot[Any], screen: CompareScreen) -> None:
        await keys(pilot, screen, "p tab")
        switcher = screen.query_one(ContentSwitcher)
        assert switcher.current == "events"
        await keys(pilot, screen, "down down")
        assert screen.playback.seq == 3
        await keys(pilot, screen, "b")
        assert switcher.current == "events-of-the-second"
        await keys(pilot, screen, "down")
        assert screen.other_shown is not None
        assert (screen.other_shown.seq, places(screen)) == (4, (11, 25))
        await keys(pilot, screen, "b")
        assert switcher.current == "events"

    compare(pair, scenario)


def test_the_differences_are_listed_with_both_rows(pair: tuple[Path, Path]) -> None:
    """And lead there."""

    async def scenario(pilot: Pilot[Any], screen: CompareScreen) -> None:
        await keys(pilot, screen, "p")
        panel = screen.query_one(DifferencesPanel)
        lines = [panel.list.render_line(y).text for y in range(2)]
        assert "0:06.000 row 3" in lines[0]
        assert "- monday" in lines[0]
        assert "+ sunday" in lines[1]
        await keys(pilot, screen, "enter")
        assert places(screen) == (6, 20)

    compare(pair, scenario)


def test_z_shows_either_alone(pair: tuple[Path, Path]) -> None:
    """The first, the second, then both again."""
    seen: list[list[bool]] = []

    async def scenario(pilot: Pilot[Any], screen: CompareScreen) -> None:
        for key in ("z", "z", "z"):
            await keys(pilot, screen, key)
            panes = [screen.query_one(f"#pane-{side}") for side in (0, 1)]
            seen.append([not pane.has_class("hidden") for pane in panes])

    compare(pair, scenario)

    assert seen == [[True, False], [False, True], [True, True]]


@pytest.mark.slow
def test_recordings_with_nothing_in_common_are_named_so(make: Callable[..., Path]) -> None:
    """And not all of both is marked."""
    first = make(Output(0, b"$ one two three\r\n"), name="a")
    second = make(Output(0, b"$ uno due tre\r\n"), name="b")

    async def scenario(pilot: Pilot[Any], screen: CompareScreen) -> None:
        await keys(pilot, screen, "home")
        assert "nothing in common" in status(screen)
        assert screen.differing
        assert not screen.stage.different

    compare((first, second), scenario)


def test_exchanges_of_one_recording_only_are_named(
    make: Callable[..., Path], pair: tuple[Path, Path]
) -> None:
    """Where the second has more, or the first is where the second has ended."""
    short = make(*answers("monday", 6)[:3], name="short")

    async def further(pilot: Pilot[Any], screen: CompareScreen) -> None:
        await keys(pilot, screen, "p")
        title = str(screen.query_one("DifferencesPanel > .panel-title").render())
        assert "1 exchange in the second only" in title

    async def alone(pilot: Pilot[Any], screen: CompareScreen) -> None:
        await keys(pilot, screen, "end")
        assert "this exchange is in the first only" in status(screen)

    compare((short, pair[0]), further)
    compare((pair[0], short), alone)


def test_prompts_and_frames_are_not_in_common() -> None:
    """Rows count by their letters and digits, wherever they are."""

    def screen_of(*rows: str) -> Screen:
        return Screen(size=Size(len(rows), 20), rows=rows, cursor=Cursor(0, 0))

    common = CommonRows()
    assert common.share() is None
    common.add(screen_of("$ ", "----", "one word"), screen_of("$ ", "----", "another"))
    assert common.share() == 0
    common.add(screen_of(" same row"), screen_of("same row "))
    assert common.share() == 0.5
