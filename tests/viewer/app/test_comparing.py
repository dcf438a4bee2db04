"""Two recordings side by side."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Static

from ptycassette import Screen, Size
from ptycassette.model.records import Output, Typed
from ptycassette.model.screen import Cursor
from ptycassette_viewer.app import CompareScreen, ViewerApp
from ptycassette_viewer.comparison.differences import differences, differing_cells, matching_time
from ptycassette_viewer.dialogs import HelpScreen, LeaveDialog
from ptycassette_viewer.widgets.screen_view import ScreenView, Timeline

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from driving import Clock, until

S = 1_000_000


@pytest.fixture
def pair(make: Callable[..., Path]) -> tuple[Path, Path]:
    """The same session twice; the second time slower, and with another answer."""
    first = make(
        Output(0, b"$ "), Typed(5 * S, b"date\r"), Output(6 * S, b"date\r\nmonday\r\n"), name="a"
    )
    second = make(
        Output(0, b"$ "), Typed(50 * S, b"date\r"), Output(52 * S, b"date\r\nsunday\r\n"), name="b"
    )
    return first, second


def screen_of(*rows: str) -> Screen:
    """A screen of plain text."""
    return Screen(size=Size(len(rows), 5), rows=rows, cursor=Cursor(0, 0))


def test_cells_that_differ_are_found() -> None:
    """Row and columns, and what is in a row or a column that only one of them has."""
    assert differing_cells(screen_of("abc", "x"), screen_of("abd", "x")) == {0: frozenset({2})}
    assert differing_cells(screen_of("a"), screen_of("a", "b")) == {1: frozenset({0})}
    assert differing_cells(screen_of("a"), screen_of("a", "")) == {}


def test_exchanges_are_matched_by_number(
    pair: tuple[Path, Path], session_of: Callable[[Path], Any]
) -> None:
    """Both begin an exchange together and end it together, however long each took."""
    first, second = map(session_of, pair)

    def at(t_s: float, *, by_exchange: bool = True) -> float:
        return matching_time(round(t_s * S), first, second, by_exchange=by_exchange) / S

    assert [at(t_s) for t_s in (0, 3, 5, 5.5, 6)] == [0, 0, 50, 51, 52]
    assert at(6, by_exchange=False) == 6


def test_an_exchange_that_the_other_has_not_is_its_end(
    make: Callable[..., Path], session_of: Callable[[Path], Any]
) -> None:
    """The shorter one waits there."""
    first = session_of(make(Output(0, b"$ "), Typed(S, b"x"), Output(2 * S, b"y"), name="a"))
    second = session_of(make(Output(0, b"$ "), Output(S // 2, b"!"), name="b"))

    assert matching_time(2 * S, first, second, by_exchange=True) == S // 2


@pytest.mark.parametrize(("by_exchange", "wanted"), [(True, [6]), (False, [5.5])])
def test_where_they_begin_to_differ_is_found(
    make: Callable[..., Path],
    session_of: Callable[[Path], Any],
    by_exchange: bool,
    wanted: list[float],
) -> None:
    """A row that stays different is told once, on the clock of the first."""
    first = session_of(
        make(
            Output(0, b"$ "),
            Typed(5 * S, b"date\r"),
            Output(5_500_000, b"\r\nmon"),
            Output(6 * S, b"day\r\n"),
            name="a",
        )
    )
    second = session_of(
        make(
            Output(0, b"$ "),
            Typed(50 * S, b"date\r"),
            Output(51 * S, b"\r\nmon"),
            Output(52 * S, b"dax\r\n"),
            name="b",
        )
    )
    found = differences(first, second, by_exchange=by_exchange)

    assert [one.t_us / S for _, begun in found for one in begun] == wanted


def test_what_blinks_is_no_difference(
    make: Callable[..., Path], session_of: Callable[[Path], Any]
) -> None:
    """One cut its repaint in two, a moment apart; one line more stays different."""
    first = session_of(
        make(Output(S, b"one\r\n"), Output(S + 9_000, b"two\r\n"), Output(3 * S, b"!"), name="a")
    )
    second = session_of(make(Output(S, b"one\r\ntwo\r\n"), Output(4 * S, b"?"), name="b"))
    found = differences(first, second, by_exchange=False)

    assert [one.t_us for _, begun in found for one in begun] == [3 * S]


def test_what_differs_at_the_end_of_an_exchange_is_a_difference(
    make: Callable[..., Path], session_of: Callable[[Path], Any]
) -> None:
    """A driver may type as soon as it has the answer: it was the answer all the same."""

    def talk(answer: bytes, name: str) -> Any:
        said = Output(S + 10_000, b"\r\n" + answer)
        after = Typed(S + 30_000, b"q"), Output(S + 31_000, b"\x1b[2J\x1b[Hbye")
        return session_of(make(Typed(S, b"x\r"), said, *after, name=name))

    found = differences(talk(b"yes", "a"), talk(b"no", "b"), by_exchange=True)

    assert [(one.first, one.second) for _, begun in found for one in begun] == [("yes", "no")]


def test_the_same_recording_never_differs(agents: Path, session_of: Callable[[Path], Any]) -> None:
    """At any moment, both ways."""
    first, second = (session_of(agents / "codex-tui") for _ in range(2))
    for by_exchange in (True, False):
        looked = list(differences(first, second, by_exchange=by_exchange))

        assert len(looked) > 20
        assert not any(begun for _, begun in looked)


def test_every_difference_is_one(agents: Path, session_of: Callable[[Path], Any]) -> None:
    """Where one begins, the screens that belong together differ."""
    first, second = session_of(agents / "codex-tui"), session_of(agents / "codex-account")
    heads = first.head(), second.head()
    found = [one.t_us for _, begun in differences(first, second, by_exchange=True) for one in begun]
    for t_us in found:
        other_us = matching_time(t_us, first, second, by_exchange=True)
        heads[0].move(first.index.at(t_us))
        heads[1].move(second.index.at(other_us))

        assert differing_cells(heads[0].screen, heads[1].screen)
    assert found == sorted(set(found))
    assert found


def test_a_stopped_comparison_ends(agents: Path, session_of: Callable[[Path], Any]) -> None:
    """When the user leaves, or synchronises by something else."""
    session = session_of(agents / "codex-tui")

    assert list(differences(session, session, by_exchange=False, stop=lambda: True)) == []


@pytest.mark.parametrize(("size", "narrow"), [((160, 40), False), ((80, 24), True)])
def test_differences_are_marked_and_told(
    pair: tuple[Path, Path], size: tuple[int, int], narrow: bool
) -> None:
    """At the end, three letters of the day differ, and s changes how they are matched."""
    told: list[str] = []

    async def run() -> None:
        app = ViewerApp(pair[0], other=pair[1])
        async with app.run_test(size=size) as pilot:
            screen = pilot.app.screen
            assert isinstance(screen, CompareScreen)
            await rest(pilot, screen)
            await pilot.press("end")
            await rest(pilot, screen)
            await pilot.press("s")
            await rest(pilot, screen)
            told.append(str(screen.query_one("#status", Static).render()))
            await pilot.press("s", "e", "e", "full_stop", "full_stop")
            await rest(pilot, screen)
            told.append(str(screen.query_one("#status", Static).render()))
            assert screen.query_one("#stage").has_class("narrow") is narrow

    asyncio.run(run())

    assert "by time" in told[0]
    assert "by exchange" in told[1]
    assert "differ" in told[0]


async def compared(pilot: Pilot[Any], screen: CompareScreen) -> None:
    """Until both were played to their ends."""
    await rest(pilot, screen)
    await until(pilot, lambda: screen.compared >= 1)
    await rest(pilot, screen)


@pytest.mark.slow
def test_a_difference_is_brought_into_view(make: Callable[..., Path]) -> None:
    """On both sides, where the window is too low for all rows."""
    start = Output(0, b"$ ")
    first = make(start, Output(S, b"\x1b[20;1Hone\x1b[H"), name="a")
    second = make(start, Output(S, b"\x1b[20;1Htwo\x1b[H"), name="b")
    shown: list[str] = []

    async def run() -> None:
        app = ViewerApp(first, other=second)
        async with app.run_test(size=(80, 24)) as pilot:
            screen = pilot.app.screen
            assert isinstance(screen, CompareScreen)
            await compared(pilot, screen)
            await pilot.press("d")
            await compared(pilot, screen)
            await pilot.pause()
            lines = app.screen._compositor.render_strips()
            shown.extend("".join(part.text for part in line).strip() for line in lines)

    asyncio.run(run())

    assert [line for line in shown if line in {"one", "two"}] == ["one", "two"]


def test_keys_lead_from_difference_to_difference(pair: tuple[Path, Path]) -> None:
    """D to the next, shift+D back; the end of the list is said, and they are on the timeline."""
    times: list[int] = []
    texts: list[str] = []

    async def run() -> None:
        app = ViewerApp(pair[0], other=pair[1])
        async with app.run_test(size=(160, 40)) as pilot:
            screen = pilot.app.screen
            assert isinstance(screen, CompareScreen)
            await compared(pilot, screen)
            for key in ("d", "d", "end", "D", "s", "home"):
                await pilot.press(key)
                await compared(pilot, screen)
                times.append(screen.playback.t_us // S)
                texts.append(str(screen.query_one("#status", Static).render()))
            texts.append(screen.query_one(Timeline).render_line(1).text)

    asyncio.run(run())

    assert times == [6, 6, 6, 6, 6, 0]
    assert "1 difference" in texts[0]
    assert "no further difference" in texts[1]
    assert "\u2260" in texts[-1]


def test_every_key_of_the_comparison_does_what_the_help_says(pair: tuple[Path, Path]) -> None:
    """Jumps, steps, exchanges, speeds, scrolling, help, playing by the clock, leaving."""
    clock = Clock()
    places: list[tuple[str, int, float]] = []
    keys = ["right", "right", "left", "home", "full_stop", "comma", "e", "e", "E", "end"]

    async def run() -> None:
        app = ViewerApp(pair[0], other=pair[1], clock=clock)
        async with app.run_test(size=(60, 14)) as pilot:
            screen = pilot.app.screen
            assert isinstance(screen, CompareScreen)
            await rest(pilot, screen)
            for key in keys:
                await pilot.press(key)
                await rest(pilot, screen)
                places.append((key, screen.playback.seq, screen.playback.t_us / S))
            for key, speed in (("plus", 2.0), ("minus", 1.0)):
                await pilot.press(key)
                assert screen.playback.speed == speed
            await pilot.press("home", "space")
            clock.now += 0.2
            screen.tick()
            assert screen.playback.t_us == 200_000
            await pilot.press("space")
            assert not screen.playback.playing
            await pilot.press("j", "l")
            tops = {
                (view.scroll_offset.x, view.scroll_offset.y) for view in screen.query(ScreenView)
            }
            await pilot.press("k", "h")
            tops |= {
                (view.scroll_offset.x, view.scroll_offset.y) for view in screen.query(ScreenView)
            }
            assert tops == {(8, 4), (0, 0)}
            await pilot.press("question_mark")
            await pilot.pause()
            assert isinstance(pilot.app.screen, HelpScreen)
            await pilot.press("escape", "escape")
            await pilot.pause()
            assert isinstance(pilot.app.screen, LeaveDialog)
            await pilot.press("escape", "q")
            await pilot.pause()

    asyncio.run(run())

    assert places == [
        ("right", 2, 5),
        ("right", 4, 6),
        ("left", 1, 1),
        ("home", 1, 0),
        ("full_stop", 2, 5),
        ("comma", 1, 0),
        ("e", 2, 5),
        ("e", 2, 5),
        ("E", 1, 0),
        ("end", 4, 6),
    ]


async def rest(pilot: Pilot[Any], screen: CompareScreen) -> None:
    """Until both are indexed and shown."""
    await until(
        pilot,
        lambda: (
            all(session.emulated.is_set() for session in screen.sessions)
            and all(seeker.idle for seeker in screen.seekers)
            and None not in (screen.shown, screen.other_shown)
        ),
    )
    await pilot.pause()
