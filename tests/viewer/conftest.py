"""What the tests of the viewer share: cassettes made on the spot, and the recorded ones."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import textual.app
import textual.pilot
from textual._context import active_app
from textual.pilot import Pilot

from ptycassette import Size, open_cassette
from ptycassette.model.records import JournalEvent
from ptycassette.testing import manifest_of, write_cassette
from ptycassette_viewer.session.session import ViewerSession
from ptycassette_viewer.session.source import CassetteSource

AGENTS = Path(__file__).resolve().parents[2] / "fixtures" / "agents"

MakeCassette = Callable[..., Path]
OpenSession = Callable[[Path], ViewerSession]


@pytest.fixture(autouse=True)
def waits_for_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pilot goes on when all messages were handled.

    Textual's own goes on when the process uses little of the processor for 20 ms: after each key
    for nothing, and on a busy machine too early. And it sends each widget a message, again and
    again, to know when those before it were handled.
    """
    monkeypatch.setattr(textual.app, "wait_for_idle", all_handled)
    monkeypatch.setattr(textual.pilot, "wait_for_idle", all_handled)
    monkeypatch.setattr(textual.pilot.Pilot, "_wait_for_screen", _screen_is_ready)


async def _screen_is_ready(_pilot: Pilot[Any], timeout: float = 0) -> bool:  # noqa: ASYNC109
    await all_handled()
    return True


async def all_handled(_min_sleep: float = 0, _max_sleep: float = 0) -> None:
    """Come back when no widget had anything to do for some rounds of the event loop."""
    app = active_app.get()
    quiet = 0
    while quiet < 3:
        for _ in range(3):
            await asyncio.sleep(0)
        pumps = [app, *(pump for screen in app.screen_stack for pump in screen.walk_children())]
        quiet = 0 if any(map(_busy, [*pumps, *app.screen_stack])) else quiet + 1


def _busy(pump: Any) -> bool:
    """Whether a widget handles a message, or has one to handle; Textual tells neither in public."""
    waiting = pump._message_queue.ready_event._waiters
    handles = pump._running and not waiting
    return bool(
        handles
        or pump.message_queue_size
        or pump._next_callbacks
        or getattr(pump, "_callbacks", None)
    )


@pytest.fixture
def agents() -> Path:
    """The cassettes of real agent CLIs."""
    return AGENTS


@pytest.fixture
def make(tmp_path: Path) -> MakeCassette:
    """Write a cassette of the given events; returns where it is."""

    def write(*items: JournalEvent, name: str = "made", size: Size | None = None) -> Path:
        path = tmp_path / name
        write_cassette(path, *items, manifest=manifest_of(size=size))
        return path

    return write


@pytest.fixture
def session_of() -> Iterator[OpenSession]:
    """Open a session whose background work is done."""
    opened: list[ViewerSession] = []

    def open_it(path: Path) -> ViewerSession:
        cassette = open_cassette(path, check="manifest")
        session = ViewerSession(CassetteSource(cassette))
        session.checkpoints.every_s = 0.0
        opened.append(session)
        session.run()
        return session

    yield open_it
    for session in opened:
        session.close()
