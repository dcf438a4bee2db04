"""Recording a session: what becomes of a run, and that time and chance come from outside."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ptycassette import Recording, open_cassette, record
from ptycassette.errors import (
    DiagnosticError,
    ExistsError,
    LimitError,
    LockedError,
    PreflightError,
    RecordError,
    SecretLeftError,
    SpawnError,
    WaitTimeoutError,
)
from ptycassette.model.ports import EventSource
from ptycassette.model.records import (
    Begun,
    DiscoveryRecord,
    ExitStatus,
    Harness,
    QuotaRecord,
    SessionMeta,
)
from ptycassette.recording.io.finalising import Finaliser, Unscrubbed, left_journals, recover
from ptycassette.recording.io.journal_file import JournalFile
from ptycassette.recording.io.options import RunSpec
from ptycassette.recording.io.recorder import Recorder
from ptycassette.recording.io.rescrub import cassette_session
from ptycassette.system.files.state_dirs import journal_dir
from ptycassette.testing import ManualClock, ScriptedPty, fixed_id


def greeting(clock: ManualClock) -> ScriptedPty:
    """A program that greets, waits for a line, and ends."""
    return (
        ScriptedPty(clock).say("hello\r\n> ").expect("bye\r").say("bye\r\n", after_s=0.5).exits(0)
    )


def options(clock: ManualClock, **more: Any) -> Any:
    """Everything that makes a recording the same every time."""
    fixed = {"PATH": "/bin", "HOME": "/home/somebody"}
    return {
        "pty": greeting(clock),
        "clock": clock,
        "sleeper": clock,
        "id_source": lambda: fixed_id(3),
        "env": fixed,
        **more,
    }


def drive(session: Recording) -> None:
    """What the greeting wants."""
    session.wait_for_text(">")
    session.type("bye\n")
    session.wait_exit()


def files_of(folder: Path) -> dict[str, bytes]:
    """All files of a directory."""
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_driven_session_becomes_a_cassette(tmp_path: Path) -> None:
    """What was shown and typed is in it, the journal is gone."""
    clock = ManualClock()
    with record(["greet"], tmp_path / "c", **options(clock, title="a title")) as session:
        drive(session)

    with open_cassette(tmp_path / "c") as cassette:
        shown = b"".join(cassette.raw())
        typed = [record.bytes for record in cassette.inputs()]
    assert (shown, typed) == (b"hello\r\n> bye\r\n", [b"bye\r"])
    assert session.manifest is not None
    assert (session.manifest.optional or {})["title"] == "a title"
    assert list(left_journals(journal_dir())) == []


def test_the_same_session_gives_the_same_bytes(tmp_path: Path) -> None:
    """With a manual clock and a fixed id two recordings are equal, byte for byte."""
    for name in ("a", "b"):
        clock = ManualClock()
        with record(["greet"], tmp_path / name, **options(clock)) as session:
            drive(session)
            session.note({"n": 1})

    assert files_of(tmp_path / "a") == files_of(tmp_path / "b")


def test_a_jump_of_the_wall_clock_changes_nothing_but_recorded_at(tmp_path: Path) -> None:
    """Elapsed time comes from the monotonic clock alone."""
    for name, jump_s in (("a", 0), ("b", 86_400), ("c", -7_200)):
        clock = ManualClock()
        with record(["greet"], tmp_path / name, **options(clock)) as session:
            session.wait_for_text(">")
            clock.jump_wall(jump_s)
            session.type("bye\n")
            session.wait_exit()

    assert files_of(tmp_path / "a") == files_of(tmp_path / "b") == files_of(tmp_path / "c")


def test_the_moment_of_recording_is_the_zero_of_its_times(tmp_path: Path) -> None:
    """However long it takes to prepare the start; a journal has the moment before anything else."""
    clock = ManualClock()

    def slow_id() -> str:
        clock.advance(3)
        return fixed_id(3)

    with record(["greet"], tmp_path / "c", **options(clock, id_source=slow_id)) as session:
        clock.advance(2)
        session.note({"n": 1})
        drive(session)

    assert session.manifest is not None
    assert session.manifest.provenance.recorded_at == "2026-01-01T00:00:03Z"
    with open_cassette(tmp_path / "c") as cassette:
        assert [note.t_us for note in cassette.service_events()] == [2_000_000]
        meta, source = cassette_session(cassette)
        begun = Begun(0, 5, "2026-01-01T00:00:07Z")
        Finaliser().publish(meta, lambda: iter([begun, *source()]), tmp_path / "d")
    with open_cassette(tmp_path / "d") as cassette:
        assert cassette.manifest.provenance.recorded_at == begun.wall


def test_what_the_manifest_says_of_a_session(tmp_path: Path) -> None:
    """The wall clock at the start, in UTC as RFC 3339; the terminal's modes; a block given whole.

    Whoever knows better than the recorder has the last word on the harness. The modes are those
    of a script, as far as its line discipline says.
    """
    clock = ManualClock()
    clock.jump_wall(60)
    block = Harness(name="agent", binary_version="9", account_class="pro")
    with record(["greet"], tmp_path / "c", **options(clock, harness=block)) as session:
        drive(session)

    assert session.manifest is not None
    assert session.manifest.provenance.recorded_at == "2026-01-01T00:01:00Z"
    assert session.manifest.harness == block
    assert session.manifest.terminal.pty_mode == {"kind": "pty", "icanon": False, "echo": True}


def test_what_the_driver_knows_is_kept(tmp_path: Path) -> None:
    """Notes, quota, discovery, and the fields of the final record."""
    clock = ManualClock()
    with record(["greet"], tmp_path / "c", **options(clock, notes=[{"first": 1}])) as session:
        session.set_quota(QuotaRecord(source="cli", status="ok"))
        session.set_discovery(DiscoveryRecord(source="cli", status="ok", models=("a", "b")))
        session.note({"second": 2})
        drive(session)
        session.set_final(cost_usd=0.25, usage={"tokens": 12}, final_text="bye")
        session.set_final(routing_actual="direct")

    with open_cassette(tmp_path / "c") as cassette:
        notes = [record.payload for record in cassette.service_events()]
        final = cassette.final
        quota, discovery = cassette.quota, cassette.discovery
    assert notes == [{"first": 1}, {"second": 2}]
    assert (final.cost_usd, final.usage, final.routing_actual) == (0.25, {"tokens": 12}, "direct")
    assert quota is not None
    assert discovery is not None
    assert discovery.models == ("a", "b")


def test_the_side_channel_is_read_while_recording(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is appended to the path in the environment becomes service events."""
    clock = ManualClock()
    with record(["greet"], tmp_path / "c", **options(clock)) as session:
        path = session._recorder.env["PTYCASSETTE_EVENTS"]
        with Path(path).open("a", encoding="utf-8") as file:
            file.write('{"step": 1}\nnonsense\n{"step": 2}')
        drive(session)

    with open_cassette(tmp_path / "c") as cassette:
        payloads = [record.payload for record in cassette.service_events()]
    assert payloads[0] == {"step": 1}
    assert payloads[1]["type"] == "ptycassette.warning"
    assert payloads[2] == {"step": 2}


def test_output_is_shown_after_the_journal_has_it(tmp_path: Path) -> None:
    """``show`` gets the bytes; what it shows is in the journal already."""
    clock = ManualClock()
    shown: list[tuple[bytes, bool]] = []

    def show(data: bytes) -> None:
        (left,) = journal_dir().glob("*.journal")
        shown.append((data, data in left.read_bytes()))

    with record(["greet"], tmp_path / "c", **options(clock, show=show)) as session:
        drive(session)

    assert shown == [(b"hello\r\n> ", True), (b"bye\r\n", True)]


def test_a_block_that_raises_leaves_a_diagnostic(tmp_path: Path) -> None:
    """The exception goes on and says where; the streams up to then are there, no cassette is."""
    clock = ManualClock()
    with (
        pytest.raises(WaitTimeoutError) as caught,
        record(["greet"], tmp_path / "c", **options(clock)) as session,
    ):
        session.wait_for_text("never", timeout_s=1)
    folder = tmp_path / "c.diagnostic"
    told = msgspec.json.decode((folder / "diagnostic.json").read_bytes())

    assert not (tmp_path / "c").exists()
    assert (told["version"], told["stage"]) == (1, "driver")
    assert (folder / "output.raw").read_bytes() == b"hello\r\n> "
    assert str(folder) in "".join(caught.value.__notes__)
    with pytest.raises(DiagnosticError):
        open_cassette(folder)


def test_a_diagnostic_replaces_the_one_before(tmp_path: Path) -> None:
    """Failing twice is no failure of its own."""
    for reason in ("first", "second"):
        clock = ManualClock()
        with (
            pytest.raises(RuntimeError),
            record(["greet"], tmp_path / "c", **options(clock)),
        ):
            raise RuntimeError(reason)

    told = (tmp_path / "c.diagnostic" / "diagnostic.json").read_bytes()
    assert b"second" in told


def test_a_program_that_fails_without_a_word_is_a_cassette(tmp_path: Path) -> None:
    """Its status is what it had to say."""
    clock = ManualClock()
    pty = ScriptedPty(clock).exits(3)
    with record(["fail"], tmp_path / "c", **options(clock, pty=pty)) as session:
        session.wait_exit()

    with open_cassette(tmp_path / "c") as cassette:
        assert cassette.final.exit == ExitStatus(code=3, exited=True, signaled=False)
        assert cassette.output_size == 0


class Finding(Unscrubbed):
    """A scrubber that finds something after it has scrubbed."""

    def verify(self, meta: SessionMeta, source: EventSource) -> tuple[str, ...]:
        """Always one finding."""
        super().verify(meta, source)
        return ("output at 0 ms: rule test",)


def test_a_secret_that_is_left_keeps_the_journal_and_publishes_nothing(tmp_path: Path) -> None:
    """The diagnostic holds no streams, and the message says how to try again."""
    clock = ManualClock()
    with (
        pytest.raises(SecretLeftError, match="rule test") as caught,
        record(["greet"], tmp_path / "c", **options(clock, scrubber=Finding)) as session,
    ):
        drive(session)
    (left,) = left_journals(journal_dir())

    assert not (tmp_path / "c").exists()
    assert {p.name for p in (tmp_path / "c.diagnostic").iterdir() if p.stat().st_size} == {
        "diagnostic.json"
    }
    assert left.path in str(caught.value)


def test_a_full_disk_while_recording_keeps_the_journal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The session fails at once, and what was recorded until then can be recovered."""
    clock = ManualClock()
    calls = iter(range(100))
    real = os.writev

    def full(fd: int, buffers: Sequence[bytes | memoryview]) -> int:
        if next(calls) >= 3:  # the head, the start, the first output
            raise OSError(28, "No space left on device")
        return real(fd, buffers)

    monkeypatch.setattr(JournalFile.__init__, "__kwdefaults__", {
        **(JournalFile.__init__.__kwdefaults__ or {}), "write": full,
    })  # fmt: skip
    with (
        pytest.raises(Exception, match="No space left"),
        record(["greet"], tmp_path / "c", **options(clock)) as session,
    ):
        drive(session)
    (left,) = left_journals(journal_dir())
    recover(Path(left.path))

    with open_cassette(tmp_path / "c") as cassette:
        assert b"".join(cassette.raw()) == b"hello\r\n> "
    assert not (tmp_path / "c.diagnostic").exists()


DEEP = json.loads("[" * 50 + "1" + "]" * 50)


@pytest.mark.parametrize(
    "payload", [float("nan"), 2**70, {1: 2}, object(), "x" * (5 << 20), DEEP],
    ids=["nan", "2**70", "a key that is a number", "object", "long", "deep"],
)  # fmt: skip
def test_a_note_that_no_cassette_can_hold_is_refused_at_once(
    tmp_path: Path, payload: object
) -> None:
    """Not at the end, when everything else has been recorded; the limits are the readers'."""
    clock = ManualClock()
    with record(["greet"], tmp_path / "c", **options(clock)) as session:
        with pytest.raises(LimitError if payload == DEEP else (RecordError, LimitError)):
            session.note(payload)
        drive(session)

    assert (tmp_path / "c" / "manifest.json").exists()


def test_the_final_record_has_only_its_own_fields(tmp_path: Path) -> None:
    """A mistyped name is a mistake of the caller."""
    recorder = Recorder(["x"], tmp_path / "c", RunSpec())
    with pytest.raises(TypeError, match="cost_eur"):
        recorder.set_final(cost_eur=1)


def test_a_taken_target_is_refused_before_anything_starts(tmp_path: Path) -> None:
    """Without ``overwrite`` what is there stays."""
    clock = ManualClock()
    with record(["greet"], tmp_path / "c", **options(clock)) as session:
        drive(session)

    with pytest.raises(ExistsError), Recorder(["true"], tmp_path / "c", RunSpec()):
        pass


def test_a_missing_parent_is_refused(tmp_path: Path) -> None:
    """With what to do about it."""
    with (
        pytest.raises(PreflightError, match="mkdir -p"),
        Recorder(["true"], tmp_path / "no" / "c", RunSpec()),
    ):
        pass


@pytest.mark.parametrize(("name", "status"), [("nosuch", 127), ("/etc/passwd", 126)])
def test_a_program_that_cannot_run_is_refused(tmp_path: Path, name: str, status: int) -> None:
    """With the status of a shell, and without a trace."""
    with pytest.raises(SpawnError) as caught, Recorder([name], tmp_path / "c", RunSpec()):
        pass

    assert caught.value.exit_status == status
    assert list(tmp_path.iterdir()) == []


def test_one_target_is_recorded_once_at_a_time(tmp_path: Path) -> None:
    """The second recorder is told who has it."""
    with (
        Recorder(["true"], tmp_path / "c", RunSpec()),
        pytest.raises(LockedError, match=f"process {os.getpid()}"),
        Recorder(["true"], tmp_path / "c", RunSpec()),
    ):
        pass


def test_one_account_is_recorded_once_at_a_time(tmp_path: Path) -> None:
    """By whatever program. Another account of the same harness is free."""
    plan = RunSpec(account="work", harness="agent")
    with (
        Recorder(["true"], tmp_path / "a", plan),
        Recorder(["true"], tmp_path / "b", RunSpec(account="home", harness="agent")),
        pytest.raises(LockedError, match="account work"),
        Recorder(["true"], tmp_path / "c", RunSpec(account="work", harness="other")),
    ):
        pass


@pytest.mark.parametrize("wrong", [{"resolution_ms": 0}, {"durability": "maybe"}])
def test_impossible_options_are_refused(wrong: dict[str, Any]) -> None:
    """At once, as misuse."""
    with pytest.raises(ValueError, match="must be"):
        RunSpec(**wrong)


def test_an_empty_argv_is_misuse(tmp_path: Path) -> None:
    """There is nothing to record."""
    with pytest.raises(ValueError, match="empty"):
        Recorder([], tmp_path / "c", RunSpec())


def test_the_home_of_the_user_is_scrubbed_where_the_program_has_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The recorder's user, too, is somebody: a path below that home is on the command line."""
    monkeypatch.setenv("HOME", "/home/bsmith42")
    clock = ManualClock()
    with record(["/home/bsmith42/bin/agent"], tmp_path / "c", **options(clock)) as session:
        session.type("bye\n")
    with open_cassette(tmp_path / "c") as cassette:
        assert cassette.manifest.command.argv == ("$HOME/bin/agent",)
