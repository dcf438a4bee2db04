"""Readable in a window of 80x24, without colours, in light and in dark: every screen and panel."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual.containers import Vertical
from textual.pilot import Pilot
from textual.screen import ModalScreen
from textual.strip import Strip
from textual.widgets import ContentSwitcher

from ptycassette import CassetteError, Size
from ptycassette.model.records import JournalEvent, Noted, Output, Typed
from ptycassette_viewer.app import CompareScreen, ViewerApp
from ptycassette_viewer.dialogs import ErrorDialog
from ptycassette_viewer.widgets.growing_table import GrowingTable

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from driving import drive, press, recording, settled, until

S = 1_000_000
EVENTS: tuple[JournalEvent, ...] = (
    Output(0, b"\x1b]0;a title\x07$ "),
    Typed(1 * S, b"ls\r"),
    Output(2 * S, b"walnuts\r\n\x1b[7mreverse\x1b[0m"),
    Noted(3 * S, {"type": "turn", "tokens": 12}),
    Output(4 * S, b"\r\nend"),
)
# What must be in sight, beside the timeline and the status.
PANELS = {
    "events": "all (a), following (w)",
    "exchanges": "bytes came back",
    "bytes": "LF: cursor down",
    "input": "ls\\r",
    "service": "turn",
    "manifest": '"version": 1',
    "probes": '"quota": null',
    "scrub": '"status": "clean"',
    "final": '"duration_ms"',
}
LEAST_CONTRAST = 2.5
"""WCAG asks for 3 for large text and 4.5 for small; muted titles come near to 3."""


def strips(app: Any) -> list[list[Segment]]:
    """What is painted, line by line."""
    return [list(strip) for strip in app.screen._compositor.render_strips()]


def text_of(app: Any) -> list[str]:
    """The same as text."""
    return ["".join(segment.text for segment in line) for line in strips(app)]


async def text_with(pilot: Pilot[Any], *words: str) -> list[str]:
    """The text as soon as all ``words`` are drawn."""
    await until(pilot, lambda: all(word in "\n".join(text_of(pilot.app)) for word in words))
    return text_of(pilot.app)


@pytest.fixture
def path(make: Callable[..., Path]) -> Path:
    """One of everything."""
    return make(*EVENTS, size=Size(20, 78))


def test_every_panel_is_readable_in_80x24(path: Path) -> None:
    """Its content is in sight, and the screen, the timeline, the status and the keys still are."""
    shown: dict[str, list[str]] = {}

    async def scenario(pilot: Pilot[Any]) -> None:
        await press(pilot, "end", "p")
        for name, word in PANELS.items():
            while recording(pilot).query_one(ContentSwitcher).current != name:
                await press(pilot, "tab")
            shown[name] = await text_with(pilot, word)

    drive(path, scenario)

    for name, lines in shown.items():
        assert (len(lines), {len(line) for line in lines}) == (24, {80}), name
        assert "walnuts" in "\n".join(lines), name
        assert "0:04.000 / 0:04.000" in lines[-2], name
        assert "Play" in lines[-1], name
        assert "Help" in lines[-1], name


DIALOGS = {
    "": ["made", "78x20", "\u201ca title\u201d", "verified", "Quit"],
    "question_mark": ["Keys", "play, pause", "escape closes this"],
    "slash": ["Search in screens", "/regex/", "match the case"],
    "g": ["Go to", "an event (#120)"],
    "m": ["Note", "made.notes.json"],
    "x": ["Write this screen to", ".svg"],
    "ctrl+p": ["Search for commands", "Play", "Step"],
}


def test_every_dialog_is_readable_in_80x24(path: Path) -> None:
    """All that it says is in sight."""

    async def scenario(pilot: Pilot[Any]) -> None:
        await until(pilot, lambda: recording(pilot).session.progress.verified is not None)
        recording(pilot).refresh_progress()
        await press(pilot, "end")
        for key, words in DIALOGS.items():
            await press(pilot, *key.split())
            await text_with(pilot, *words)
            await press(pilot, *["escape"] * bool(key))

    drive(path, scenario)


@pytest.mark.slow
def test_errors_are_readable_in_80x24(path: Path) -> None:
    """What, where, and what to do, also when each is long."""
    lines: list[str] = []
    problem = CassetteError("what " * 60, where="/where/" * 20, hint="do this")
    words = ("what what", "/where/", "do this", "OK")

    async def scenario(pilot: Pilot[Any]) -> None:
        pilot.app.push_screen(ErrorDialog(problem))
        lines.extend(await text_with(pilot, *words))

    drive(path, scenario)
    text = "\n".join(lines)

    assert [word for word in words if word not in text] == []


def test_lists_of_cassettes_are_readable_in_80x24(path: Path) -> None:
    """Every column of one with a name of common length."""
    lines: list[str] = []

    async def scenario(pilot: Pilot[Any]) -> None:
        lines.extend(await text_with(pilot, "0:04.000"))  # each is opened in the background

    drive(path.parent, scenario)
    text = "\n".join(lines)

    assert [word for word in ("made", "0:04.000", "clean", "Quit") if word not in text] == []


@pytest.mark.slow
def test_two_recordings_are_readable_in_80x24(path: Path) -> None:
    """One below the other, both in sight."""
    lines: list[str] = []

    async def scenario(pilot: Pilot[Any]) -> None:
        screen = pilot.app.screen
        assert isinstance(screen, CompareScreen)
        await pilot.press("end")
        await until(
            pilot, lambda: screen.compared >= 1 and all(seeker.idle for seeker in screen.seekers)
        )
        await pilot.pause()
        lines.extend(text_of(pilot.app))

    drive(path, scenario, other=path)
    text = "\n".join(lines)

    assert text.count("walnuts") == 2
    assert "0 differences" in lines[-2]
    assert "Help" in lines[-1]


@pytest.mark.slow
def test_what_matters_comes_first_in_80_columns(make: Callable[..., Path]) -> None:
    """Time, speed and what was said give way to nothing, nor does whether all is verified."""
    path = make(Output(0, b"\x1b]0;" + b"a long title " * 10 + b"\x07$ "), Output(9 * S, b"end"))
    lines: list[str] = []

    async def scenario(pilot: Pilot[Any]) -> None:
        await until(pilot, lambda: recording(pilot).session.progress.verified is not None)
        await press(pilot, "plus", "plus", "i", "g", *"elsewhere", "enter")
        recording(pilot).refresh_progress()
        await pilot.pause()
        lines.extend(text_of(pilot.app))

    drive(path, scenario)

    assert "verified" in lines[0]
    assert lines[-2].startswith(
        "\u2016 0:00.000 / 0:09.000  4x  neither a time (12.5, 250ms, 1:02)"
    )


@pytest.mark.slow
def test_a_recording_as_wide_as_the_window_is_seen_to_its_last_column(
    make: Callable[..., Path],
) -> None:
    """No bar hides it, also where rows are out of view; which are in view is said."""
    path = make(Output(0, b"\x1b[1;80H#\x1b[23;1H"), size=Size(24, 80))
    lines: list[str] = []

    async def scenario(pilot: Pilot[Any]) -> None:
        await press(pilot, "end")
        lines.append(text_of(pilot.app)[0])
        await press(pilot, *"kkkk")
        lines.extend(text_of(pilot.app))

    drive(path, scenario)

    assert "80x24 rows 6-24" in lines[0]
    assert "80x24 rows 1-19" in lines[1]
    assert lines[2] == " " * 79 + "#"
    assert lines[19].strip() == ""


DRAWN = " \u00b7" + "".join(map(chr, range(0x2500, 0x25A0)))
"""Borders, bars and scrollbars: no text."""


def foreground(app: Any) -> list[Segment]:
    """What is painted, without what lies behind a dialog."""
    lines = strips(app)
    if isinstance(app.screen, ModalScreen):
        box = app.screen.query(Vertical).first().region
        lines = [list(Strip(line).crop(box.x, box.right)) for line in lines[box.y : box.bottom]]
    return [segment for line in lines for segment in line]


def luminance(color: tuple[int, int, int]) -> float:
    """Relative luminance (WCAG 2.1)."""
    parts = [part / 255 for part in color]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def colors(style: Style) -> list[tuple[int, int, int]]:
    """Text and background."""
    assert style.color is not None
    assert style.bgcolor is not None
    found = [tuple(c.get_truecolor()) for c in (style.color, style.bgcolor)]
    return found[::-1] if style.reverse else found


def contrast(style: Style) -> float:
    """The contrast ratio of text (WCAG 2.1)."""
    high, low = sorted(map(luminance, colors(style)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.slow
@pytest.mark.parametrize("theme", ["textual-dark", "textual-light"])
@pytest.mark.parametrize("no_color", [True, False], ids=["no-color", "color"])
def test_text_stands_out_from_its_background(
    path: Path, monkeypatch: pytest.MonkeyPatch, theme: str, no_color: bool
) -> None:
    """On every screen and panel; with NO_COLOR set there are only greys."""
    monkeypatch.delenv("NO_COLOR", raising=False)
    if no_color:
        monkeypatch.setenv("NO_COLOR", "1")
    weak: list[tuple[str, str, float]] = []
    coloured: set[tuple[int, int, int]] = set()

    def look(app: Any, where: str) -> None:
        for segment in foreground(app):
            if segment.text.strip(DRAWN) and segment.style:
                ratio = contrast(segment.style)
                if ratio < LEAST_CONTRAST:
                    weak.append((where, segment.text, round(ratio, 2)))
                coloured.update(c for c in colors(segment.style) if len(set(c)) > 1)

    async def scenario(pilot: Pilot[Any]) -> None:
        pilot.app.theme = theme
        await press(pilot, "slash", *"walnuts", "enter")
        await pilot.app.workers.wait_for_complete()
        await press(pilot, "end")
        look(pilot.app, "main")
        await press(pilot, "p")
        for name in PANELS:
            await pilot.app.workers.wait_for_complete()
            await pilot.pause(0.05)
            look(pilot.app, name)
            await press(pilot, "tab")
        for key in ("question_mark", "slash", "m", "x"):
            await pilot.press(key)
            await pilot.pause(0.3)
            look(pilot.app, key)
            await pilot.press("escape")
            await pilot.pause()
        await settled(pilot)

    app: ViewerApp = drive(path, scenario)

    assert app.no_color is no_color
    assert weak == []
    assert bool(coloured) is not no_color


@pytest.mark.parametrize("name", ["short", "longer than any title"])
def test_lines_of_a_list_are_whole_at_once(path: Path, name: str) -> None:
    """Also when they are painted before Textual has time to measure them."""
    painted: list[str] = []

    async def scenario(pilot: Pilot[Any]) -> None:
        await text_with(pilot, "0:04.000")
        table = pilot.app.screen.query_one(GrowingTable)
        table.add_line(Text(name), Text("b" * 12))
        painted.extend(table.render_line(y).text for y in range(3))

    drive(path.parent, scenario)

    assert [painted[2].count(word) for word in (name, "b" * 12)] == [1, 1]
