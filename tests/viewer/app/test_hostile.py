"""Cassettes made to do harm: nothing reaches the terminal, nothing hangs, memory is bounded."""

from __future__ import annotations

import asyncio
import re
import runpy
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import ContentSwitcher

from ptycassette import CassetteError, Size, open_cassette
from ptycassette.model.records import Noted, Output, Resized, Typed
from ptycassette_viewer.app import ViewerApp
from ptycassette_viewer.session.session import ViewerSession
from ptycassette_viewer.session.source import CassetteSource
from ptycassette_viewer.widgets.screen_view import fitted

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from driving import drive, press, recording, settled, until

VECTORS: dict[str, bytes] = runpy.run_path(
    str(Path(__file__).resolve().parents[2] / "unit" / "safety" / "escape_vectors.py")
)["VECTORS"]
EVIL = "\x1b]52;c;ZXZpbA==\x07\x1b[6n\x9b5n\x1bP$q\x1b\\\u202e\u200b\x07"
ACTIVE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f"
    "\ufeff\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
)


def painted(pilot: Pilot[Any]) -> str:
    """All text that is on the user's screen now."""
    strips = pilot.app.screen._compositor.render_strips()
    return "\n".join(segment.text for strip in strips for segment in strip)


@pytest.mark.slow
def test_nothing_of_a_recording_acts_on_the_terminal(make: Callable[..., Path]) -> None:
    """Titles, inputs, service events, bytes, cells: shown as escapes, or not at all."""
    path = make(
        Output(0, f"\x1b]0;title{EVIL}\x07text {EVIL}".encode()),
        Typed(1_000, EVIL.encode(), key="x" + EVIL),
        Noted(2_000, {"type": EVIL, "value": [EVIL]}),
        Output(3_000, "e\u0301\u0302\u0303 \U0001f468\u200d\U0001f469 \u2764\ufe0f".encode()),
    )
    texts: list[str] = []

    async def scenario(pilot: Pilot[Any]) -> None:
        await press(pilot, "end", "p")
        first = recording(pilot).query_one(ContentSwitcher).current
        while True:
            texts.append(painted(pilot))
            await press(pilot, "tab")
            if recording(pilot).query_one(ContentSwitcher).current == first:
                break

    drive(path, scenario, size=(160, 40))

    assert len(texts) == 9
    assert [ACTIVE.findall(text) for text in texts] == [[]] * 9
    assert "\\e]52" in "".join(texts)


def test_nothing_of_two_recordings_acts_on_the_terminal(make: Callable[..., Path]) -> None:
    """Beside each other, overlaid, in every panel, in the list of differences."""
    paths = [
        make(
            Output(0, f"\x1b]0;{word}{EVIL}\x07{word} {EVIL}".encode()),
            Typed(1_000, EVIL.encode(), key=word + EVIL),
            Noted(2_000, {"type": EVIL, "value": [word, EVIL]}),
            Output(3_000, f"{word}\r\n{EVIL}".encode()),
            name=word,
        )
        for word in ("old", "new")
    ]
    texts: list[str] = []

    async def run() -> None:
        app = ViewerApp(paths[0], other=paths[1])
        async with app.run_test(size=(160, 40)) as pilot:
            await until(pilot, lambda: getattr(app.screen, "compared", 0) >= 1)
            for key in ("end", "p", "d", *["tab"] * 10, "o", "D", "o", "home", "w"):
                await pilot.press(key)
                await pilot.pause(0.05)
                texts.append(painted(pilot))

    asyncio.run(run())

    assert [found for text in texts if (found := ACTIVE.findall(text))] == []
    assert "\\e]52" in "".join(texts)


@pytest.mark.sampled(24)
@pytest.mark.parametrize("group", range(24))
def test_no_escape_vector_acts_on_the_terminal(group: int, make: Callable[..., Path]) -> None:
    """As output, title, key, typed bytes and payload, in every panel, at a few events."""
    items: list[Output | Typed | Noted] = []
    for number, vector in enumerate(list(VECTORS.values())[group::24]):
        text = vector.decode("utf-8", "replace")[:200]
        at = number * 10_000
        items += [
            Output(at, b"before " + vector + b"\x1b\\\x18 after\r\n"),
            Output(at + 1_000, b"\x1b]2;" + text.encode() + b"\x07\x1b\\\x18"),
            Typed(at + 2_000, vector, key=text, source=text),
            Noted(at + 3_000, {"type": text, text: [text, {text: text}]}),
        ]
    texts: list[str] = []

    async def scenario(pilot: Pilot[Any]) -> None:
        await press(pilot, "end", "p")
        first = recording(pilot).query_one(ContentSwitcher).current
        while True:
            for seq in range(1, len(items), max(1, len(items) // 4)):
                recording(pilot).go_to_event(seq)
                await settled(pilot)
                texts.append(painted(pilot))
            await press(pilot, "tab")
            if recording(pilot).query_one(ContentSwitcher).current == first:
                break

    drive(make(*items), scenario, size=(160, 40))

    assert len(texts) > 20
    assert [found for text in texts if (found := ACTIVE.findall(text))] == []


@pytest.mark.slow
def test_a_terminal_of_any_size_is_shown(make: Callable[..., Path]) -> None:
    """One cell, and more cells than any screen has."""
    path = make(
        Output(0, b"hello"),
        Resized(1_000, Size(65_535, 65_535)),
        Output(2_000, b"world"),
        Resized(3_000, Size(1, 1)),
        size=Size(1, 1),
    )
    sizes: list[Size] = []

    async def scenario(pilot: Pilot[Any]) -> None:
        for key in ("home", "3", "end"):
            await press(pilot, key)
            shown = recording(pilot).shown
            assert shown is not None
            sizes.append(shown.screen.size)
        recording(pilot).go_to_event(3)
        await settled(pilot)

    drive(path, scenario)

    assert max(size.rows * size.cols for size in sizes) <= 1_000_000


def test_the_index_is_bounded(make: Callable[..., Path]) -> None:
    """More events than the budget allows are an error that says what to do; the rest is shown."""
    path = make(*(Output(number, b"x") for number in range(1_500)))
    session = ViewerSession(CassetteSource(open_cassette(path, check="manifest")), memory=10_000)
    session.run()
    problem = session.problem
    session.close()

    assert session.index.count == 1_000
    assert isinstance(problem, CassetteError)
    assert "--memory" in str(problem)


def test_kept_states_are_bounded(agents: Path) -> None:
    """Half of them go when the budget is spent, and seeking stays right."""
    cassette = open_cassette(agents / "gemini-tui", check="manifest")
    session = ViewerSession(CassetteSource(cassette))
    session.checkpoints.every_s = 0.0
    session.checkpoints._max_bytes = 20_000
    session.run()
    used = session.checkpoints.bytes
    session.close()

    assert 0 < used <= 20_000


def test_a_long_event_does_not_block_the_app(make: Callable[..., Path]) -> None:
    """While megabytes are being emulated, keys are answered and another place is shown."""
    path = make(Output(0, b"start"), *(Output(n, b"\x1b[H" + b"x" * 400_000) for n in range(1, 8)))
    seqs: list[int] = []

    async def scenario(pilot: Pilot[Any]) -> None:
        screen = recording(pilot)
        screen.go_to_event(8)
        await pilot.press("home")
        await settled(pilot)
        assert screen.shown is not None
        seqs.append(screen.shown.seq)
        assert screen.shown.screen.text == "start"

    drive(path, scenario)

    assert seqs == [1]


@pytest.mark.parametrize("width", [1, 2])
@pytest.mark.parametrize("text", ["a", "\u6f22", "e\u0301" * 20, "\U0001f468\u200d\U0001f469", ""])
def test_every_cell_takes_its_columns(text: str, width: int) -> None:
    """Whatever is in it, so that the rest of the row stays in place."""
    from rich.cells import cell_len  # noqa: PLC0415

    assert cell_len(fitted(text, width)) == width
