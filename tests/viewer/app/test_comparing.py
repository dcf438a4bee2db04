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
from ptycassette.model import Cursor, Output, Typed
from ptycassette_viewer.app import ViewerApp
from ptycassette_viewer.compare_screen import CompareScreen
from ptycassette_viewer.comparing import differing_cells, matching_time

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

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
    """Row and columns, and all of a row that only one of them has."""
    assert differing_cells(screen_of("abc", "x"), screen_of("abd", "x")) == {0: frozenset({2})}
    assert differing_cells(screen_of("a"), screen_of("a", "b")) == {1: frozenset(range(5))}


def test_exchanges_are_matched_by_number(
    pair: tuple[Path, Path], session_of: Callable[[Path], Any]
) -> None:
    """As long behind the start of the exchange, not behind the start of the recording."""
    first, second = map(session_of, pair)

    def at(t_s: int, *, by_exchange: bool) -> int:
        return matching_time(t_s * S, first, second, by_exchange=by_exchange) // S

    assert [at(t_s, by_exchange=True) for t_s in (0, 3, 5, 6)] == [0, 0, 50, 51]
    assert at(6, by_exchange=False) == 6


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
            assert screen.query_one("#pair").has_class("narrow") is narrow

    asyncio.run(run())

    assert "same time" in told[0]
    assert "same exchange" in told[1]
    assert "differ" in told[0]


async def rest(pilot: Pilot[Any], screen: CompareScreen) -> None:
    """Until both are indexed and shown."""
    for _ in range(1000):
        await pilot.pause()
        done = all(session.emulated.is_set() for session in screen.sessions)
        if done and all(s.idle for s in screen.seekers) and None not in screen.shown:
            await pilot.pause()
            return
        await asyncio.sleep(0.005)
    raise AssertionError("no rest")
