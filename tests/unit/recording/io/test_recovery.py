"""Recovering journals: crashed, live, empty, damaged; once and again."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
import pytest

from ptycassette import open_cassette
from ptycassette.errors import (
    ExistsError,
    JournalError,
    LockedError,
    NotFoundError,
    SecretLeftError,
    UsageError,
)
from ptycassette.model.ports import EventSource
from ptycassette.model.records import (
    ExitStatus,
    Finished,
    Harness,
    JournalEvent,
    Manifest,
    Output,
    SessionMeta,
    Typed,
)
from ptycassette.model.screen import Size
from ptycassette.recording.io.finalising import (
    Finaliser,
    Unscrubbed,
    discard,
    left_journals,
    recover,
)
from ptycassette.recording.io.journal_file import JournalFile
from ptycassette.testing import fixed_id

END = Finished(t_us=9_000, exit=ExitStatus(code=0, exited=True, signaled=False))


def head(target: Path) -> SessionMeta:
    """The head of a small session."""
    return SessionMeta(
        id=fixed_id(5),
        argv=("sh",),
        size=Size(5, 20),
        recorded_at="2026-01-01T00:00:00Z",
        harness=Harness(name="sh"),
        os="linux",
        arch="amd64",
        recorder_version="test",
        target=str(target),
    )


def crashed(tmp_path: Path, *events: JournalEvent) -> Path:
    """A journal that nobody holds."""
    (tmp_path / "journals").mkdir(mode=0o700, exist_ok=True)
    journal = JournalFile(head(tmp_path / "c"), directory=tmp_path / "journals")
    for event in events:
        if isinstance(event, Output):
            journal.on_output(event.t_us, event.data)
        else:
            journal.on_event(event)
    journal.close()
    return journal.path


def shown(target: Path) -> bytes:
    """The output of a cassette."""
    with open_cassette(target) as cassette:
        return b"".join(cassette.raw())


def test_a_crashed_recording_becomes_a_cassette(tmp_path: Path) -> None:
    """With everything that the journal holds; how the program ended is not known."""
    path = crashed(tmp_path, Output(1_000, b"hello\r\n"), Typed(2_000, b"x"), Output(3_000, b"x"))
    done = recover(path)

    with open_cassette(tmp_path / "c") as cassette:
        final, manifest = cassette.final, cassette.manifest
        inputs = [record.bytes for record in cassette.inputs()]
    assert (done.outcome, done.output_bytes, done.ended) == ("published", 8, False)
    assert shown(tmp_path / "c") == b"hello\r\nx"
    assert inputs == [b"x"]
    assert (final.exit, final.metadata) == (None, {"recovered": True})
    assert (manifest.optional or {})["recovered"] is True
    assert not path.exists()


def test_a_recording_that_had_ended_is_as_if_nothing_had_happened(tmp_path: Path) -> None:
    """Killed while finalising: the cassette is the same, and says nothing of it."""
    done = recover(crashed(tmp_path, Output(1_000, b"hello\r\n"), END))

    with open_cassette(tmp_path / "c") as cassette:
        assert cassette.final.exit == END.exit
        assert "recovered" not in (cassette.manifest.optional or {})
    assert done.ended


def test_recovering_again_after_a_crash_finds_the_cassette(tmp_path: Path) -> None:
    """Killed between publishing and deleting: the journal goes, the cassette stays."""
    path = crashed(tmp_path, Output(1_000, b"hello\r\n"))
    content = path.read_bytes()
    recover(path)
    path.write_bytes(content)
    done = recover(path)

    assert done.outcome == "already"
    assert shown(tmp_path / "c") == b"hello\r\n"
    assert not path.exists()


def test_a_saver_that_outlived_its_recorder_may_be_faster(tmp_path: Path) -> None:
    """It publishes while the journal is recovered: the cassette is the one that was wanted."""

    class Late(Finaliser, frozen=True):
        def publish(
            self, meta: SessionMeta, source: EventSource, target: Path, *, overwrite: bool = False
        ) -> Manifest:
            super().publish(meta, source, target)
            return super().publish(meta, source, target, overwrite=overwrite)

    journal = crashed(tmp_path, Output(1, b"hi"), END)
    done = recover(journal, finaliser=Late())

    assert (done.outcome, done.target) == ("already", str(tmp_path / "c"))
    assert not journal.exists()


def test_another_cassette_at_the_target_is_not_replaced(tmp_path: Path) -> None:
    """The journal stays; elsewhere or with ``overwrite`` it works."""
    recover(crashed(tmp_path, Output(1_000, b"old\r\n")))
    (tmp_path / "c").rename(tmp_path / "old")
    meta = msgspec.structs.replace(head(tmp_path / "c"), id=fixed_id(6))
    journal = JournalFile(meta, directory=tmp_path / "journals")
    journal.on_output(1, b"new\r\n")
    journal.close()
    (tmp_path / "old").rename(tmp_path / "c")
    with pytest.raises(ExistsError):
        recover(journal.path)
    kept = journal.path.exists()
    recover(journal.path, overwrite=True)

    assert kept
    assert shown(tmp_path / "c") == b"new\r\n"


def test_a_cassette_can_be_recovered_to_another_place(tmp_path: Path) -> None:
    """Its parents are made."""
    done = recover(crashed(tmp_path, Output(1, b"x\r\n")), output=tmp_path / "deep" / "er")

    assert done.target == str(tmp_path / "deep" / "er")
    assert shown(tmp_path / "deep" / "er") == b"x\r\n"


def test_a_torn_tail_is_dropped_and_told(tmp_path: Path) -> None:
    """What was whole is kept."""
    path = crashed(tmp_path, Output(1_000, b"hello\r\n"), Output(2_000, b"world\r\n"))
    os.truncate(path, path.stat().st_size - 2)
    done = recover(path)

    assert done.torn_bytes > 0
    assert shown(tmp_path / "c") == b"hello\r\n"


def test_damage_is_refused_unless_salvaged(tmp_path: Path) -> None:
    """Nothing is changed without being told to."""
    path = crashed(tmp_path, Output(1, b"hello\r\n"))
    middle = path.stat().st_size
    path.unlink()
    path = crashed(tmp_path, *(Output(n, b"hello\r\n") for n in (1, 2, 3)))
    content = bytearray(path.read_bytes())
    content[middle + 30] ^= 1
    path.write_bytes(content)
    with pytest.raises(JournalError, match="damaged"):
        recover(path)
    kept = path.exists()
    done = recover(path, salvage=True)

    assert kept
    assert done.damage is not None
    assert shown(tmp_path / "c") == b"hello\r\n"


def test_a_journal_without_a_head_is_deleted(tmp_path: Path) -> None:
    """Its recorder died before it had written anything."""
    path = crashed(tmp_path)
    path.write_bytes(path.read_bytes()[:20])

    assert recover(path).outcome == "empty"
    assert not path.exists()


def test_what_is_no_journal_stays(tmp_path: Path) -> None:
    """It may be somebody's file."""
    path = tmp_path / "notes.journal"
    path.write_text("dear diary")
    with pytest.raises(JournalError, match="not a journal"):
        recover(path)

    assert path.exists()


def test_a_failed_run_becomes_a_diagnostic(tmp_path: Path) -> None:
    """As its recorder would have done it."""
    failed = Finished(t_us=5, failure="timeout: not over after 1 s")
    done = recover(crashed(tmp_path, Output(1, b"x"), failed))

    assert (done.outcome, done.target) == ("diagnostic", str(tmp_path / "c.diagnostic"))
    assert not (tmp_path / "c").exists()


class Finding(Unscrubbed):
    """A scrubber that always finds something."""

    def verify(self, meta: SessionMeta, source: EventSource) -> tuple[str, ...]:
        """One finding."""
        super().verify(meta, source)
        return ("output at 0 ms: rule test",)


def test_a_secret_that_is_left_keeps_the_journal(tmp_path: Path) -> None:
    """Nothing is published from an unscrubbed journal."""
    path = crashed(tmp_path, Output(1, b"x"), END)
    with pytest.raises(SecretLeftError):
        recover(path, finaliser=Finaliser(scrubber=Finding))

    assert path.exists()
    assert not (tmp_path / "c").exists()


def test_a_live_recording_is_left_alone(tmp_path: Path) -> None:
    """It is listed as live, and cannot be recovered."""
    journal = JournalFile(head(tmp_path / "c"), directory=tmp_path)
    journal.on_output(1, b"x")
    with pytest.raises(LockedError):
        recover(journal.path)
    (left,) = left_journals(tmp_path)
    journal.close()

    assert (left.state, left.argv) == ("live", ("sh",))


@pytest.mark.parametrize("live", [False, True])
def test_the_list_shows_no_secret(tmp_path: Path, live: bool) -> None:
    """What the recording's own environment holds is known, be it gone from ours."""
    value = "word" + "Of8Passage2"
    meta = msgspec.structs.replace(
        head(tmp_path / "c"), argv=("sh", value), environment={"SOME_API_TOKEN": value}
    )
    journal = JournalFile(meta, directory=tmp_path)
    if not live:
        journal.close()
    (left,) = left_journals(tmp_path)
    journal.close()

    assert left.argv[0] == "sh"
    assert value not in left.argv[1]


def test_the_list_tells_what_each_journal_is(tmp_path: Path) -> None:
    """Crashed, empty, unreadable; sorted by name."""
    path = crashed(tmp_path, Output(1, b"x"))
    path.with_name("b.journal").write_bytes(path.read_bytes()[:20])
    path.with_name("a.journal").write_bytes(b"nothing of ours")
    found = list(left_journals(path.parent))

    assert sorted(left.state for left in found) == ["crashed", "empty", "unreadable"]
    assert [left.path for left in found] == sorted(left.path for left in found)
    assert {left.target for left in found} == {"", str(tmp_path / "c")}


def test_what_never_became_a_journal_is_swept_away_when_it_is_old(tmp_path: Path) -> None:
    """A recorder may be making one at this moment."""
    for name, age in ((".old.new", 3600), (".young.new", 0)):
        (tmp_path / name).touch()
        moment = (tmp_path / name).stat().st_mtime - age
        os.utime(tmp_path / name, (moment, moment))
    found = list(left_journals(tmp_path))

    assert found == []
    assert [path.name for path in tmp_path.iterdir()] == [".young.new"]


def test_a_missing_journal_is_not_found(tmp_path: Path) -> None:
    """The message names it."""
    with pytest.raises(NotFoundError, match="no such journal"):
        recover(tmp_path / "x")


def test_a_journal_is_discarded_on_demand(tmp_path: Path) -> None:
    """With its model traffic; other files and the journals of live recorders stay."""
    path = crashed(tmp_path, END)
    other = tmp_path / "notes.txt"
    other.write_text("mine")
    with pytest.raises(UsageError, match="not a journal"):
        discard(other)

    assert discard(path).outcome == "discarded"
    assert not path.exists()
    assert other.read_text() == "mine"
    with pytest.raises(NotFoundError):
        discard(path)
