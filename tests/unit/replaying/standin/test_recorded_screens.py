"""The recorded screen at each divergence."""

from __future__ import annotations

from pathlib import Path

import pytest

from ptycassette import open_cassette
from ptycassette.cassette.io.reader import Cassette
from ptycassette.model.records import Output, Resized, Typed
from ptycassette.model.screen import Size
from ptycassette.replaying.standin.io._recorded_screens import RecordedScreens
from ptycassette.testing import write_cassette


def test_a_screen_is_that_of_its_event_wherever_one_looked_before(tmp_path: Path) -> None:
    """Onwards, at the same place, and back."""
    write_cassette(
        tmp_path / "c", Output(0, b"one\r\n"), Typed(1, b"x"), Resized(2, Size(24, 2)),
        Output(3, b"two"),
    )  # fmt: skip
    with open_cassette(tmp_path / "c") as cassette:
        screens = RecordedScreens(cassette)
        seen = [screens.rows_at(seq) for seq in (1, 2, 4, 4, 2, 0)]

    narrow = ("on", "e", "tw", "o")
    assert seen == [("one",), ("one",), narrow, narrow, ("one",), ()]


def test_later_screens_continue_from_the_one_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The recording is read once, however many divergences there are."""
    write_cassette(tmp_path / "c", *(Output(n, b"%d\r\n" % n) for n in range(20)))
    reads: list[int] = []
    events = Cassette.events
    monkeypatch.setattr(Cassette, "events", lambda self: (reads.append(1), events(self))[1])
    with open_cassette(tmp_path / "c") as cassette:
        screens = RecordedScreens(cassette)
        rows = [screens.rows_at(seq) for seq in range(1, 21)]

    assert rows[-1] == tuple(map(str, range(20)))
    assert len(reads) == 1
