"""How it looks, as pictures: narrow and wide, light and dark."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
from textual.pilot import Pilot

from ptycassette import Size
from ptycassette.model.records import (
    Harness,
    JournalEvent,
    Noted,
    Output,
    Resized,
    Signalled,
    Typed,
)
from ptycassette.testing import manifest_of, write_cassette
from ptycassette_viewer.app import CompareScreen, ViewerApp

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from driving import press, settled, until

Snap = Callable[..., bool]


@pytest.fixture
def snap_compare(snap_compare: Snap) -> Snap:
    """Compare what is there when nothing changes any more: dialogs come when they come."""

    def compare(app: ViewerApp, *, run_before: Callable[..., Any], **options: Any) -> bool:
        async def before(pilot: Pilot[Any]) -> None:
            await run_before(pilot)
            last, now = "", app.export_screenshot()
            while last != now:
                await asyncio.sleep(0.02)
                await pilot.pause()
                last, now = now, app.export_screenshot()

        return snap_compare(app, run_before=before, **options)

    return compare


S = 1_000_000
EVENTS: tuple[JournalEvent, ...] = (
    Output(
        0, b"\x1b]0;a small agent\x07\x1b[?1049h\x1b[H\x1b[2J\x1b[1;35m>_ agent\x1b[0m v1\r\n\r\n"
    ),
    Output(
        1 * S, "\x1b[38;5;208mwide \u6f22\u5b57\x1b[0m e\u0301 \x1b[4:3mcurly\x1b[0m\r\n".encode()
    ),
    Typed(2 * S, b"What does note.txt say?", paste=True),
    Typed(2_500_000, b"\r", key="enter"),
    Output(3 * S, b"\x1b[48;2;40;40;60m What does note.txt say? \x1b[0m\r\n"),
    Resized(4 * S, Size(24, 90)),
    Noted(5 * S, {"type": "turn", "tokens": 12}),
    *(
        Output(6 * S + n * 100_000, b"\x1b[%dm line %d of the answer\x1b[0m\r\n" % (31 + n % 6, n))
        for n in range(14)
    ),
    Signalled(9 * S, "winch"),
    Output(10 * S, b"\x1b[3mthat is all\x1b[0m"),
)


themes = pytest.mark.parametrize("theme", ["textual-dark", "textual-light"])
sizes = pytest.mark.parametrize("size", [(80, 24), (120, 40)], ids=["80x24", "120x40"])


@pytest.mark.sampled(3)
@themes
@sizes
@pytest.mark.parametrize("keys", ["9", "7 p", "5 p tab tab", "question_mark"])
def test_the_main_screen(
    snap_compare: Any, make: Callable[..., Path], size: tuple[int, int], theme: str, keys: str
) -> None:
    """The screen alone, with the list of events, with bytes in words, and the help."""
    app = ViewerApp(make(*EVENTS))
    app.animation_level = "none"

    async def before(pilot: Pilot[Any]) -> None:
        app.theme = theme
        await settled(pilot)
        screen = pilot.app.screen
        await until(pilot, lambda: screen.session and screen.session.progress.verified is not None)
        screen.refresh_progress()
        await press(pilot, *keys.split())
        await pilot.pause()

    assert snap_compare(app, terminal_size=size, run_before=before)


@pytest.fixture
def recordings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory of four: of a day, of a year, without a date, and one that cannot be opened."""
    monkeypatch.chdir(tmp_path)  # so that the pictures show a short path, the same everywhere
    home = Path("recordings")
    made = {
        "agent/login": ("agent", "2.1.0", "2026-01-02T00:00:00Z", 64),
        "agent/question": ("agent", "2.1.0", "2025-01-02T00:00:00Z", 4_096),
        "nightly": ("other", None, "", 1_250_000),
        "\u6f22\u5b57 [bold]\\e": ("agent", "agent 1.0", "2026-01-02T23:00:00Z", 3),
    }
    for name, (program, version, recorded_at, size) in made.items():
        manifest = manifest_of()
        manifest = msgspec.structs.replace(
            manifest,
            harness=Harness(name=program, binary_version=version),
            provenance=msgspec.structs.replace(manifest.provenance, recorded_at=recorded_at),
        )
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        write_cassette(home / name, Output(size * 10_000, b"x" * size), manifest=manifest)
    (home / "nightly" / "final.json").unlink()
    return home


@pytest.mark.sampled(3)
@themes
@sizes
def test_the_list_of_cassettes(
    snap_compare: Any, recordings: Path, size: tuple[int, int], theme: str
) -> None:
    """Harness, length, size, age and scrub status of each, and why one cannot be opened."""
    app = ViewerApp(recordings, now=lambda: datetime(2026, 1, 3, tzinfo=UTC))
    app.animation_level = "none"

    async def before(pilot: Pilot[Any]) -> None:
        app.theme = theme
        await app.workers.wait_for_complete()
        await pilot.press("down")
        await pilot.pause()

    assert snap_compare(app, terminal_size=size, run_before=before)


@pytest.mark.slow
@pytest.mark.sampled(3)
@themes
@sizes
@pytest.mark.parametrize("keys", ["d full_stop full_stop full_stop", "question_mark"])
def test_two_recordings(
    snap_compare: Any, make: Callable[..., Path], size: tuple[int, int], theme: str, keys: str
) -> None:
    """At the first difference, and the help. The answer is another, and so is its colour."""
    old = [item for item in EVENTS if isinstance(item, Output | Typed)]
    new = [
        msgspec.structs.replace(
            item, data=item.data.replace(b"line 3", b"line three").replace(b"[34m", b"[1m")
        )
        for item in old
    ]
    app = ViewerApp(make(*old, name="old"), other=make(*new, name="new"))
    app.animation_level = "none"

    async def before(pilot: Pilot[Any]) -> None:
        app.theme = theme
        screen = app.screen
        assert isinstance(screen, CompareScreen)
        await compared(pilot, screen)
        for key in keys.split():
            await pilot.press(key)
            await compared(pilot, screen)
        screen.refresh_progress()
        await pilot.pause()

    assert snap_compare(app, terminal_size=size, run_before=before)


async def compared(pilot: Pilot[Any], screen: CompareScreen) -> None:
    """Until both were played to their ends, and what was asked for is shown."""
    await until(
        pilot,
        lambda: (
            screen.compared >= 1
            and all(
                shown is not None and shown.exact for shown in (screen.shown, screen.other_shown)
            )
            and all(seeker.idle for seeker in screen.seekers)
        ),
    )
    await pilot.pause()
