"""The seeker: the last wish counts, and a stored frame stands in where the screen takes long."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from ptycassette import open_cassette
from ptycassette.model import Output
from ptycassette_viewer.seeker import Seeker, Shown, _Wanted
from ptycassette_viewer.session import CassetteSource, Session


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
    """It is said to be no exact screen."""
    session = Session(CassetteSource(open_cassette(agents / "codex-tui", check="manifest")))
    session._fill()
    session.indexed.clear()
    shown: list[Shown] = []
    seeker = Seeker(session, shown.append)
    seeker.request(0)  # so that the wait ends at once
    seeker._serve(_Wanted(session.duration_us + 1, None))
    session.close()

    assert [screen.exact for screen in shown] == [False]
    assert shown[0].screen.text
