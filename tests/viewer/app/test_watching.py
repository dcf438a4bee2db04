"""Following a recording in progress: as it grows, to its end, without touching it."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Static, Tree

from ptycassette import CassetteError, Size
from ptycassette.model.records import (
    Finished,
    Harness,
    Noted,
    Resized,
    SessionMeta,
    Signalled,
    Typed,
)
from ptycassette.recording.io.journal_file import JournalFile
from ptycassette.testing import fixed_id
from ptycassette.viewing import JournalFollower, live_journals
from ptycassette_viewer.app import RecordingScreen, ViewerApp
from ptycassette_viewer.session.source import LiveSource

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from driving import until


@pytest.fixture
def journal(tmp_path: Path) -> JournalFile:
    """A journal being written."""
    meta = SessionMeta(
        id=fixed_id(),
        argv=("sh",),
        size=Size(5, 30),
        recorded_at="2026-01-01T00:00:00Z",
        harness=Harness(name="sh"),
        target=str(tmp_path / "to-be.cassette"),
    )
    return JournalFile(meta, directory=tmp_path)


async def shows(pilot: Pilot[Any], text: str) -> RecordingScreen:
    """Wait until the screen shows ``text``."""
    screen = pilot.app.screen
    assert isinstance(screen, RecordingScreen)
    await until(pilot, lambda: screen.shown is not None and text in screen.shown.screen.text)
    return screen


@pytest.mark.slow
def test_what_is_printed_is_shown_as_it_comes(journal: JournalFile) -> None:
    """Output appears, a seek back stays where it is, end follows again, the end is told."""
    status: list[str] = []

    async def run() -> None:
        journal.on_output(1_000, b"first\r\n")
        app = ViewerApp(journal.path, live=True)
        async with app.run_test(size=(80, 24)) as pilot:
            await shows(pilot, "first")
            journal.on_event(Typed(2_000, b"x"))
            journal.on_event(Resized(3_000, Size(6, 40)))
            journal.on_event(Signalled(3_500, "int"))
            journal.on_event(Noted(3_600, {"type": "turn"}))
            journal.on_output(4_000, b"second\r\n")
            screen = await shows(pilot, "second")
            status.append(str(screen.query_one("#status", Static).render()))
            await pilot.press("home")
            journal.on_output(5_000, b"third\r\n")
            await pilot.pause(0.2)
            assert screen.playback.seq == 0
            await pilot.press("end")
            await shows(pilot, "third")
            journal.on_event(Finished(t_us=6_000))
            await until(pilot, screen.session.indexed.is_set)
            assert screen.shown is not None
            assert screen.shown.screen.size == Size(6, 40)

    asyncio.run(run())
    journal.close()

    assert "LIVE" in status[0]


def test_the_journal_is_not_touched(journal: JournalFile) -> None:
    """Bytes, times and name stay, and the recorder can go on."""
    journal.on_output(1_000, b"hello")
    before = journal.path.read_bytes(), journal.path.stat().st_mtime_ns
    source = LiveSource(journal.path)
    events = source.events()

    assert next(events).data == b"hello"
    assert b"".join(source.read(0, 5)) == b"hello"
    assert (journal.path.read_bytes(), journal.path.stat().st_mtime_ns) == before
    source.close()
    journal.close()


def test_a_recorder_that_is_gone_ends_the_session(journal: JournalFile) -> None:
    """A journal that lost its name will not grow any more."""
    journal.on_output(1_000, b"hello")
    source = LiveSource(journal.path)
    journal.discard()

    assert [event.kind for event in source.events()] == ["output"]
    source.close()


def test_journals_are_found_the_newest_first(journal: JournalFile) -> None:
    """With what they will become."""
    journal.on_output(1_000, b"hello")
    (journal.path.parent / "nonsense.journal").write_bytes(b"nonsense")

    assert [(path, meta.argv) for path, meta in live_journals(journal.path.parent)] == [
        (journal.path, ("sh",))
    ]
    journal.close()


def test_what_is_no_journal_is_refused(tmp_path: Path) -> None:
    """With the library's own error."""
    with pytest.raises(CassetteError):
        LiveSource(tmp_path / "nothing")
    empty = tmp_path / "empty"
    empty.write_bytes(b"")
    with pytest.raises(CassetteError, match="nothing was recorded yet"):
        LiveSource(empty)


def test_a_follower_can_begin_again(journal: JournalFile) -> None:
    """From the start, also when the journal has lost its name."""
    journal.on_output(1_000, b"hello")
    with JournalFollower(journal.path) as follower:
        first = [event.data for event in follower.poll()]
        journal.discard()
        with follower.again() as other:
            second = [event.data for event in other.poll()]
    with pytest.raises(CassetteError):
        follower.again()

    assert first == second == [b"hello"]


def test_a_recording_in_progress_is_searched_as_it_grows(journal: JournalFile) -> None:
    """What is there, and what comes while the search goes on; also behind its end."""
    seqs: list[list[int]] = []

    async def run() -> None:
        journal.on_output(1_000, b"walnuts\r\n")
        journal.on_event(Typed(2_000, b"x"))
        app = ViewerApp(journal.path, live=True)
        async with app.run_test(size=(80, 24)) as pilot:
            screen = await shows(pilot, "walnuts")
            await pilot.press("slash", *"walnuts", "enter")
            await hits(pilot, screen, 2)
            journal.on_event(Noted(3_000, {"type": "walnuts"}))
            await hits(pilot, screen, 3)
            journal.on_event(Finished(t_us=6_000))
            await app.workers.wait_for_complete()
            seqs.append([hit.seq for hit in screen.hits])
            await pilot.press("end", "n")
            seqs.append([screen.playback.seq])

    asyncio.run(run())
    journal.close()

    assert seqs == [[1, 1, 3], [1]]


async def hits(pilot: Pilot[Any], screen: RecordingScreen, count: int) -> None:
    """Wait until so many were found."""
    await until(pilot, lambda: len(screen.hits) >= count)


def test_a_search_that_waits_ends_with_the_screen(journal: JournalFile) -> None:
    """Nobody has to wait for the recorder when leaving."""

    async def run() -> None:
        journal.on_output(1_000, b"walnuts\r\n")
        app = ViewerApp(journal.path, live=True)
        async with app.run_test(size=(80, 24)) as pilot:
            await shows(pilot, "walnuts")
            await pilot.press("slash", *"nothing", "enter")
            await pilot.pause()
            await pilot.press("escape", "q")
            await pilot.pause()

    asyncio.run(asyncio.wait_for(run(), 60))
    journal.close()


def test_service_events_appear_as_they_come(journal: JournalFile) -> None:
    """In the tree; the session panel says what is being recorded."""
    labels: list[str] = []

    async def run() -> None:
        journal.on_output(1_000, b"hello")
        journal.on_event(Noted(2_000, {"type": "first"}))
        app = ViewerApp(journal.path, live=True)
        async with app.run_test(size=(120, 40)) as pilot:
            screen = await shows(pilot, "hello")
            await pilot.press("p", "tab", "tab", "tab", "tab")
            await grown(pilot, screen, 1)
            journal.on_event(Noted(3_000, {"type": "second"}))
            await grown(pilot, screen, 2)
            tree = screen.query_one("#service-tree", Tree)
            labels.extend(str(node.label) for node in tree.root.children)
            await pilot.press("tab")
            await pilot.pause()
            labels.append(str(screen.query("#session Static").last(Static).render()))

    asyncio.run(run())
    journal.close()

    assert ["first" in labels[0], "second" in labels[1]] == [True, True]
    assert '"sh"' in labels[2]


async def grown(pilot: Pilot[Any], screen: RecordingScreen, count: int) -> None:
    """Wait until the tree has so many branches."""
    root = screen.query_one("#service-tree", Tree).root
    await until(pilot, lambda: len(root.children) == count)


def test_markers_on_a_live_recording_are_kept_in_memory(
    journal: JournalFile, tmp_path: Path
) -> None:
    """They are found again until the viewer is left; nothing is written."""
    journal.on_output(1_000, b"hello")
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    seen: list[object] = []

    async def run() -> None:
        app = ViewerApp(journal.path, live=True)
        async with app.run_test(size=(80, 24)) as pilot:
            screen = await shows(pilot, "hello")
            await pilot.press("m")
            await pilot.pause()
            seen.append(str(pilot.app.screen.query_one("#hint", Static).render()))
            await pilot.press(*"here", "enter", "home", "apostrophe")
            await pilot.pause()
            seen.append(screen.playback.seq)
            await pilot.press("M")
            await pilot.pause()
            assert screen.annotations is not None
            seen.append(screen.annotations.notes)

    asyncio.run(run())

    assert "watching writes nothing" in str(seen[0])
    assert seen[1:] == [1, ()]
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before
    journal.close()
