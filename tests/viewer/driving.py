"""Drive the app as a user does, until nothing is left to be done."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from textual.pilot import Pilot

from ptycassette_viewer.app import RecordingScreen, ViewerApp
from ptycassette_viewer.recording.finding import Finding

__all__ = ["Clock", "drawn", "drive", "press", "recording", "settled", "until"]

Scenario = Callable[[Pilot[Any]], Awaitable[None]]


class Clock:
    """Seconds that go by when told to."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        """The time now."""
        return self.now


def recording(pilot: Pilot[Any]) -> RecordingScreen:
    """The screen of the recording, also below a dialog."""
    found = [s for s in pilot.app.screen_stack if isinstance(s, RecordingScreen)]
    return found[-1]


async def until(pilot: Pilot[Any], reached: Callable[[], object]) -> None:
    """Wait until ``reached()`` is true: as long as a busy machine may need for it."""
    end_s = time.monotonic() + 90
    await pilot.pause()
    while not reached():
        assert time.monotonic() < end_s, f"never came to what the test waits for:\n{drawn(pilot)}"
        await pilot.pause(0.005)


def drawn(pilot: Pilot[Any]) -> str:
    """What is painted, as text."""
    strips = pilot.app.screen._compositor.render_strips()
    return "\n".join("".join(segment.text for segment in strip) for strip in strips)


async def settled(pilot: Pilot[Any]) -> None:
    """Wait until the background work is done, the search too, and the screen asked for is shown."""

    def rests() -> bool:
        return all(
            not s.starting
            and s.seeker.idle
            and s.session.emulated.is_set()
            and s.shown is not None
            and s.shown.exact
            and (s.session.source.live or not s._searching)
            for s in pilot.app.screen_stack
            if isinstance(s, Finding)
        )

    await until(pilot, rests)
    await pilot.pause()


async def press(pilot: Pilot[Any], *keys: str) -> None:
    """Press keys one after the other, each seen through."""
    for key in keys:
        await pilot.press(key)
        await settled(pilot)


def drive(
    path: Path, scenario: Scenario, *, size: tuple[int, int] = (80, 24), **options: Any
) -> ViewerApp:
    """Run the app on a cassette (or a directory) and let ``scenario`` use it.

    It starts at 0, unless ``start_us`` says otherwise (None: at the first thing to see).
    """
    options.setdefault("start_us", 0)
    app = ViewerApp(path, **options)
    app.animation_level = "none"

    async def run() -> None:
        async with app.run_test(size=size) as pilot:
            await settled(pilot)
            await scenario(pilot)

    asyncio.run(run())
    return app
