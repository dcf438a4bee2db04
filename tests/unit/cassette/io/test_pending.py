"""Recordings that wait for their test to pass."""

from __future__ import annotations

from pathlib import Path

import pytest

from ptycassette.cassette.io import pending as pending_module
from ptycassette.cassette.io.pending import PREFIX, PendingRecordings, published_path
from ptycassette.cassette.io.reader import open_cassette
from ptycassette.errors import ExistsError, RefusedError
from ptycassette.model.records import ExitStatus, Finished, JournalEvent, Output
from ptycassette.testing import write_cassette

HUNG_UP = ExitStatus(code=-1, signal="hangup", exited=False, signaled=True)
OK = ExitStatus(code=0, exited=True, signaled=False)
FAILED = ExitStatus(code=3, exited=True, signaled=False)
ENDED = Output(0, b"", stream="stdout", eof=True)


@pytest.fixture
def pending(tmp_path: Path) -> PendingRecordings:
    """For a library that is not there yet."""
    return PendingRecordings.new(tmp_path / "cassettes")


def recorded(place: Path, text: bytes = b"x") -> None:
    """A recording there."""
    write_cassette(place, Output(0, text), Finished(t_us=1, exit=OK))


def shown(path: Path) -> bytes:
    """What a recording shows."""
    with open_cassette(path) as cassette:
        return b"".join(cassette.raw())


def test_recordings_are_published_together(pending: PendingRecordings) -> None:
    """In directories of the library, too; nothing is left behind."""
    recorded(pending.place / "a.cassette")
    recorded(pending.place / "more" / "b.cassette")
    found = pending.publish()

    assert found == [pending.library / "a.cassette", pending.library / "more" / "b.cassette"]
    assert shown(found[1]) == b"x"
    assert sorted(path.name for path in pending.library.iterdir()) == ["a.cassette", "more"]


@pytest.mark.parametrize("can_exchange", [True, False])
def test_what_stands_there_is_replaced(
    pending: PendingRecordings, monkeypatch: pytest.MonkeyPatch, can_exchange: bool
) -> None:
    """As recording over it would."""
    if not can_exchange:
        monkeypatch.setattr(pending_module, "exchange", lambda *_: False)
    recorded(pending.library / "a.cassette", b"old")
    recorded(pending.place / "a.cassette", b"new")
    pending.publish()

    assert shown(pending.library / "a.cassette") == b"new"
    assert [path.name for path in pending.library.iterdir()] == ["a.cassette"]


def test_what_is_no_cassette_is_not_replaced(pending: PendingRecordings) -> None:
    """It is somebody's."""
    (pending.library / "a.cassette").mkdir()
    (pending.library / "a.cassette" / "mine").touch()
    recorded(pending.place / "a.cassette")

    with pytest.raises(ExistsError):
        pending.publish()


@pytest.mark.parametrize(
    ("items", "kept"),
    [
        ([Finished(t_us=1, exit=HUNG_UP)], False),
        ([Finished(t_us=1)], False),
        ([ENDED, Finished(t_us=1)], False),
        ([Finished(t_us=1, exit=OK)], True),
        ([Output(0, b"x"), Finished(t_us=1, exit=HUNG_UP)], True),
    ],
)
def test_silence_that_was_cut_off_is_refused(
    pending: PendingRecordings, items: list[JournalEvent], kept: bool
) -> None:
    """A silent program that ended by itself is a recording like any other."""
    write_cassette(pending.place / "a.cassette", *items)
    recorded(pending.place / "b.cassette")
    if kept:
        pending.publish()
    else:
        with pytest.raises(RefusedError, match="empty recording"):
            pending.publish()

    assert (pending.library / "a.cassette").exists() is kept
    assert (pending.library / "b.cassette").exists()


@pytest.mark.parametrize(
    ("before", "items", "after"),
    [
        (b"shown", [Finished(t_us=1, exit=FAILED)], b"shown"),
        (b"shown", [Finished(t_us=1, exit=HUNG_UP)], b"shown"),
        (b"shown", [ENDED, Finished(t_us=1, exit=FAILED)], b"shown"),
        (b"shown", [Finished(t_us=1, exit=OK)], b""),
        (b"shown", [Output(0, b"why"), Finished(t_us=1, exit=FAILED)], b"why"),
        (b"", [Finished(t_us=1, exit=FAILED)], b""),
    ],
)
def test_what_failed_without_a_word_replaces_nothing_that_shows_something(
    pending: PendingRecordings, before: bytes, items: list[JournalEvent], after: bytes
) -> None:
    """The other recordings are kept."""
    recorded(pending.library / "a.cassette", before)
    write_cassette(pending.place / "a.cassette", *items)
    recorded(pending.place / "b.cassette")
    if after == b"shown":
        with pytest.raises(RefusedError, match="that is there was kept"):
            pending.publish()
    else:
        pending.publish()

    assert shown(pending.library / "a.cassette") == after
    assert (pending.library / "b.cassette").exists()


def test_what_is_dropped_leaves_nothing(pending: PendingRecordings) -> None:
    """And git never saw it."""
    recorded(pending.place / "a.cassette")

    assert (pending.place / ".gitignore").read_text() == "*\n"
    pending.drop()
    assert list(pending.library.iterdir()) == []


def test_what_nobody_holds_is_removed_and_what_somebody_holds_is_not(
    pending: PendingRecordings, tmp_path: Path
) -> None:
    """A crash left it; whoever was to decide about it is gone."""
    left = pending.library / f"{PREFIX}left"
    recorded(left / "a.cassette")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (pending.library / f"{PREFIX}link").symlink_to(elsewhere)
    other = PendingRecordings.new(pending.library)

    assert not left.exists()
    assert pending.place.is_dir()
    assert other.place.is_dir()
    assert elsewhere.is_dir()


def test_a_recording_has_another_name_once_it_is_in_the_library(tmp_path: Path) -> None:
    """Its directories are the same."""
    place = tmp_path / f"{PREFIX}0" / "more" / "a.cassette"

    assert published_path(place) == tmp_path / "more" / "a.cassette"
    assert published_path(tmp_path / "a.cassette") == tmp_path / "a.cassette"
