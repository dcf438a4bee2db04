"""How it looks, as pictures: narrow and wide, light and dark."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from ptycassette_viewer.app import ViewerApp

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from driving import press, settled


@pytest.mark.parametrize("theme", ["textual-dark", "textual-light"])
@pytest.mark.parametrize("size", [(80, 24), (120, 40)], ids=["80x24", "120x40"])
@pytest.mark.parametrize("keys", ["5", "5 p", "5 p tab tab", "question_mark"])
def test_the_main_screen(
    snap_compare: Any, agents: Path, size: tuple[int, int], theme: str, keys: str
) -> None:
    """The screen alone, with the list of events, with bytes in words, and the help."""
    app = ViewerApp(agents / "codex-tui")
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
