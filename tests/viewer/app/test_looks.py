"""How it looks, as pictures: narrow and wide, light and dark."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from ptycassette import Size
from ptycassette.model import JournalEvent, Noted, Output, Resized, Signalled, Typed
from ptycassette_viewer.app import ViewerApp

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from driving import press, settled

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


@pytest.mark.parametrize("theme", ["textual-dark", "textual-light"])
@pytest.mark.parametrize("size", [(80, 24), (120, 40)], ids=["80x24", "120x40"])
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
        while not getattr(screen, "session", None) or screen.session.progress.verified is None:
            await pilot.pause(0.02)
        screen.refresh_progress()
        await press(pilot, *keys.split())
        await pilot.pause()

    assert snap_compare(app, terminal_size=size, run_before=before)
