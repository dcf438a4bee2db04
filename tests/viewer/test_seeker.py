"""The seeker: the last wish counts, and a stored frame stands in where the screen takes long."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ptycassette import Screen, Size, open_cassette
from ptycassette.model.records import Output
from ptycassette.viewing import InputRecord, default_emulator, screen_of
from ptycassette_viewer.seeker import Seeker, Shown, _Wanted
from ptycassette_viewer.session.session import ViewerSession
from ptycassette_viewer.session.source import CassetteSource


def test_a_wish_that_was_replaced_is_given_up(
    make: Callable[..., Path], session_of: Callable[[Path], Any]
) -> None:
    """While feeding, a newer request ends the older one; nothing of it is shown."""
    session = session_of(make(Output(0, b"a"), Output(5, b"x" * 100_000)))
    session.checkpoints._seqs.clear()
    session.checkpoints._states.clear()
    shown: list[Shown] = []
    seeker = Seeker(session, shown.append)
    seeker.request(0)
    seeker._serve(_Wanted(5, None))

    assert shown == []
    assert not seeker.idle


def test_a_stored_frame_stands_in_until_the_index_is_there(agents: Path) -> None:
    """That of the moment asked for, before anything was read; it is said to be no exact screen."""
    session = ViewerSession(CassetteSource(open_cassette(agents / "codex-tui", check="manifest")))
    shown: list[Shown] = []
    seeker = Seeker(session, shown.append)
    seeker.request(0)  # so that the wait ends at once
    seeker._serve(_Wanted(session.duration_us // 2, None))
    stored = session.source.frame_at(session.duration_us // 2)
    session.close()

    assert stored is not None
    assert [(screen.exact, screen.screen) for screen in shown] == [(False, screen_of(stored))]


@pytest.mark.parametrize("name", ["codex-tui", "gemini-tui"])
@pytest.mark.parametrize("share", [0.0, 0.31, 0.5, 0.77, 1.0])
def test_the_exact_screen_takes_its_place(agents: Path, name: str, share: float) -> None:
    """A seek ahead of the index ends with what playing to that moment shows."""
    path = agents / name
    session = ViewerSession(CassetteSource(open_cassette(path, check="manifest")))
    t_us = round(session.duration_us * share)
    shown: list[Shown] = []
    early, exact = threading.Event(), threading.Event()

    def deliver(screen: Shown) -> None:
        shown.append(screen)
        (exact if screen.exact else early).set()

    seeker = Seeker(session, deliver)
    seeker.start()
    seeker.request(t_us)
    if session.source.frame_at(t_us) is not None:
        assert early.wait(60)
    session.start()
    assert exact.wait(60)
    seeker.close()
    session.close()

    assert shown[-1].screen == played(path, t_us)


def played(path: Path, t_us: int) -> Screen:
    """The screen after playing from the start to a moment."""
    with open_cassette(path) as cassette:
        terminal = cassette.manifest.terminal
        emulator = default_emulator(Size(terminal.initial_rows, terminal.initial_cols))
        for event in cassette.events():
            if event.t_us > t_us:
                break
            if event.kind == "output":
                emulator.feed(event.data)
            elif isinstance(event.record, InputRecord) and event.record.size is not None:
                emulator.resize(event.record.size)
        return emulator.snapshot()


def test_a_damaged_frame_is_left_to_those_who_read_all(
    make: Callable[..., Path], session_of: Callable[[Path], Any]
) -> None:
    """The seek goes on, and shows the exact screen."""
    path = make(Output(0, b"a"), Output(5, b"b"))
    session = session_of(path)
    (path / "frames.jsonl").write_bytes(b"nonsense")
    broken = ViewerSession(CassetteSource(open_cassette(path, check="manifest")))
    shown: list[Shown] = []
    seeker = Seeker(broken, shown.append)

    assert not seeker._show_early(_Wanted(5, None))
    assert shown == []
    broken.close()
    session.close()
