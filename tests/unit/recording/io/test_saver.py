"""The recorder and its saver: whatever befalls the one, the other can do without."""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from record_doubles import PLAIN

from ptycassette.cassette.io import staging
from ptycassette.errors import RunFailedError, SecretLeftError
from ptycassette.model.records import ExitStatus, Finished, Typed
from ptycassette.recording.io import saver as _saver_priority
from ptycassette.recording.io import saver_process
from ptycassette.recording.io.finalising import Finaliser
from ptycassette.recording.io.journal_file import JournalFile
from ptycassette.recording.io.options import RunSpec
from ptycassette.recording.io.recorder import Recorder
from ptycassette.recording.io.saver import (
    Begin,
    Failed,
    ForkedSaver,
    JournalSource,
    Priority,
    Published,
    StartedSaver,
    Tell,
    send,
)
from ptycassette.recording.io.saver_process import serve_saver

ENDED = ExitStatus(code=0, exited=True, signaled=False)


def finaliser(known: tuple[str, ...]) -> Finaliser:
    """The default one."""
    return Finaliser(known=known)


def session(tmp_path: Path, *, end: Finished | None = None) -> JournalFile:
    """A journal of a short session, complete."""
    journal = JournalFile(PLAIN, directory=tmp_path)
    for number in range(200):
        journal.on_output(number * 1000, b"line %d\r\n" % number)
    journal.on_event(end or Finished(t_us=10**6, exit=ENDED))
    return journal


def begin(journal: JournalFile, target: Path) -> Begin:
    """The first message."""
    return Begin(journal=str(journal.path), target=str(target), overwrite=False, known=())


def forked(
    serve_it: Callable[[socket.socket], None] = lambda control: serve_saver(control, finaliser),
) -> ForkedSaver:
    """A saver that runs."""
    return ForkedSaver(serve_it)


def contents(folder: Path) -> dict[str, bytes]:
    """All files of a directory."""
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("make", [forked, lambda: StartedSaver(from_bytes=1)])
def test_a_saver_makes_the_same_bytes(
    tmp_path: Path, make: Callable[[], ForkedSaver | StartedSaver]
) -> None:
    """As the recorder itself, file for file; and the manifest comes back as it was published."""
    journal = session(tmp_path)
    ours = Finaliser().publish(PLAIN, JournalSource(journal.path), tmp_path / "ours")
    saver = make()
    saver.begin(begin(journal, tmp_path / "theirs"))
    saver.journal_grew(journal.size)
    published = saver.finish(None)

    assert published is not None
    assert published.manifest == ours
    assert contents(tmp_path / "theirs") == contents(tmp_path / "ours")


def test_a_failed_run_comes_back_as_its_exception(tmp_path: Path) -> None:
    """With its stage, and the diagnostic is there."""
    saver = forked()
    journal = session(tmp_path, end=Finished(t_us=10**6, failure="timeout: too long"))
    saver.begin(begin(journal, tmp_path / "c"))
    with pytest.raises(RunFailedError, match="timeout: too long") as caught:
        saver.finish(None)

    assert caught.value.stage == "run"
    assert (tmp_path / "c.diagnostic" / "diagnostic.json").exists()


def test_a_secret_that_was_left_comes_back_as_its_exception() -> None:
    """With what it says, so that the recorder does not save what must not be saved."""

    def refuse(control: socket.socket) -> None:
        failed = Failed(error="SecretLeftError", message="left", where="w", hint="h", stage="")
        send(control, failed)

    saver = forked(refuse)
    with pytest.raises(SecretLeftError, match="left") as caught:
        saver.finish(None)

    assert (caught.value.where, caught.value.hint) == ("w", "h")


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV])
def test_a_saver_that_dies_has_no_result(number: signal.Signals) -> None:
    """None, and no zombie."""
    saver = forked(lambda _: signal.raise_signal(number))

    assert saver.finish(None) is None
    with pytest.raises(ChildProcessError):
        os.waitpid(saver._pid, 0)


def test_a_saver_that_falls_over_has_no_result(tmp_path: Path) -> None:
    """Whatever it raises stays its own affair."""

    def fall(_: tuple[str, ...]) -> Finaliser:
        raise MemoryError

    saver = forked(lambda control: serve_saver(control, fall))
    saver.begin(begin(session(tmp_path), tmp_path / "c"))

    assert saver.finish(None) is None


def test_a_saver_that_is_abandoned_publishes_nothing(tmp_path: Path) -> None:
    """It ends at once, and leaves no staging directory."""
    journal = JournalFile(PLAIN, directory=tmp_path)
    journal.on_output(1, b"x" * 500_000)
    saver = forked()
    saver.begin(begin(journal, tmp_path / "c"))
    saver.abandon()
    saver.abandon()

    assert saver.finish(None) is None
    assert [path.name for path in tmp_path.iterdir()] == [journal.path.name]


def test_cleaning_up_is_not_disturbed_by_a_second_notice() -> None:
    """Who waits sees by itself that the recorder is gone, and the signal may come later."""
    script = """
import os, signal, socket, sys, threading
from ptycassette.recording.io import saver_process
from ptycassette.recording.io.saver import Inbox
from ptycassette.recording.io.saver import Priority

unwinding, sent = threading.Event(), threading.Event()
kill = signal.pthread_kill

def later(thread, number):
    unwinding.wait()
    kill(thread, number)
    sent.set()

signal.pthread_kill = later
ours, theirs = socket.socketpair()
recorder = saver_process._Recorder(theirs, Inbox(theirs), Priority(None))
recorder.watch()
ours.close()
try:
    recorder.wait(60)
except saver_process._RecorderGoneError:
    unwinding.set()
    sent.wait()
    for _ in range(1000):
        pass
    os._exit(7)
"""
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, check=False)

    assert (ran.returncode, ran.stderr) == (7, b"")


def test_a_saver_has_no_terminal_no_files_and_no_cores(tmp_path: Path) -> None:
    """Only its socket and nothing to read or write; nobody may look into its memory."""

    def look(_: socket.socket) -> None:
        found = [str(Path(f"/proc/self/fd/{number}").readlink()) for number in range(3)]
        limit = resource.getrlimit(resource.RLIMIT_CORE)[0]
        dumpable = ctypes.CDLL(None).prctl(3, 0, 0, 0, 0)
        text = f"{sorted(set(found))} {limit} {dumpable} {os.getsid(0) == os.getpid()}"
        (tmp_path / "seen").write_text(text, encoding="ascii")

    with (tmp_path / "open").open("w", encoding="ascii"):
        forked(look).finish(None)

    assert (tmp_path / "seen").read_text() == "['/dev/null'] 0 0 True"


@pytest.mark.parametrize("leads", [True, False])
def test_the_group_of_a_saver_gives_way_until_somebody_waits(
    tmp_path: Path, *, leads: bool
) -> None:
    """A nice value counts only within a session's group. Another session's is left alone."""
    group = Path("/proc/self/autogroup")
    enabled = Path("/proc/sys/kernel/sched_autogroup_enabled")
    if not group.exists() or enabled.read_text(encoding="ascii").strip() != "1":
        pytest.skip("sessions are not scheduled as groups here: that is Linux, where it is enabled")

    def look() -> None:
        found = [group.read_text(encoding="ascii")]
        priority = Priority.lowered()
        found.append(group.read_text(encoding="ascii"))
        priority.urgent()
        for thread in threading.enumerate():
            if thread.name == "group":  # an ordinary user may not write again at once
                thread.join()
        found.append(group.read_text(encoding="ascii"))
        (tmp_path / "seen").write_text(" ".join(line.split()[-1] for line in found))

    def in_a_session(_: object) -> None:
        """Its leader has a group; a test run's own process may be in none (a container)."""
        if leads:
            look()
        elif child := os.fork():
            os.waitpid(child, 0)
        else:
            look()
            os._exit(0)

    forked(in_a_session).finish(None)
    assert (tmp_path / "seen").read_text() == ("0 19 0" if leads else "0 0 0")


@pytest.mark.parametrize("over", ["calm", "finish"])
def test_a_saver_loads_nothing_while_output_floods(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, over: str
) -> None:
    """What loading takes, it would take from the program; the end of the session ends the wait."""
    looks, calm = tmp_path / "looks", tmp_path / "calm"

    class Flood:
        WAIT_S = 0.001

        def goes_on(self, size: int) -> bool:
            log(f"{size > 0:d}")
            return not calm.exists()

    def log(word: str) -> None:
        with looks.open("a", encoding="ascii") as file:
            file.write(word)

    def make(known: tuple[str, ...]) -> Finaliser:
        log("made")
        return finaliser(known)

    def wait_for(end: str) -> None:
        while not looks.exists() or not looks.read_text().endswith(end):
            time.sleep(0.001)

    monkeypatch.setattr(saver_process, "Flood", Flood)
    saver = forked(lambda control: serve_saver(control, make))
    saver.begin(begin(session(tmp_path), tmp_path / "c"))
    wait_for("111")
    if over == "calm":
        calm.touch()
        wait_for("1made")

    assert saver.finish(None) is not None
    assert looks.read_text().endswith("1made")


@pytest.mark.parametrize("busy", [0, 3])
def test_a_group_that_was_written_a_moment_ago_is_written_later(
    monkeypatch: pytest.MonkeyPatch, busy: int
) -> None:
    """The system asks an ordinary user to wait; it does not refuse."""
    asked: list[bytes] = []

    def write(fd: int, data: bytes) -> None:
        asked.append(data)
        if len(asked) <= busy:
            raise BlockingIOError

    monkeypatch.setattr(Priority, "_group_fd", -1)
    monkeypatch.setattr(_saver_priority, "_GROUP_WAIT_MS", 0)
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", write)
        Priority(None)._set_group(19)

    assert asked == [b"19"] * (busy + 1)


def test_the_group_is_raised_before_the_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else that thread takes what little time the group has; others' writes do not stop it."""
    done: list[str] = []
    tries = iter([BlockingIOError(), BlockingIOError(), None])
    raised = threading.Event()

    def write(fd: int, data: bytes) -> None:
        done.append(f"group {data.decode()}")
        if (error := next(tries)) is not None:
            raise error
        raised.set()

    monkeypatch.setattr(Priority, "_group_fd", -1)
    monkeypatch.setattr(_saver_priority, "_GROUP_WAIT_MS", 0)
    monkeypatch.setattr(os, "setpriority", lambda *_: done.append("thread"))
    priority = Priority(0)
    priority._leads = True
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", write)
        priority.urgent()
        assert raised.wait(60)

    assert done[0] == "group 0"
    assert done.count("group 0") == 3
    assert done.count("thread") == 2


class _PublishesAndDies:
    """A saver that is killed between publishing and saying so."""

    def __init__(self) -> None:
        self.at: Begin | None = None

    def begin(self, begin: Begin) -> None:
        """Remember."""
        self.at = begin

    def journal_grew(self, size: int) -> None:
        """Nothing."""

    def finish(self, tell: Tell | None) -> Published | None:
        """Publish, and say nothing."""
        assert self.at is not None
        assert tell is None
        source = JournalSource(Path(self.at.journal))
        Finaliser().publish(source.meta, source, Path(self.at.target))
        return None

    def abandon(self) -> None:
        """Nothing."""


def test_a_cassette_that_its_saver_could_not_report_is_found(tmp_path: Path) -> None:
    """It is not published twice, and no error says that it is there already."""
    plan = RunSpec(state_dir=tmp_path / "state")
    with Recorder(["true"], tmp_path / "c", plan, saver=_PublishesAndDies()) as recorder:
        recorder.journal.on_output(1, b"hello")
        manifest = recorder.finish(t_us=2, status=ENDED)

    assert manifest.id == recorder.meta.id
    assert not recorder.journal.path.exists()


def test_secrets_that_were_typed_never_miss_the_cassette(tmp_path: Path) -> None:
    """The saver knows them from the journal, also those that were typed when it had begun."""
    secret = b"correct-horse-battery"
    plan = RunSpec(state_dir=tmp_path / "state")
    with Recorder(["true"], tmp_path / "c", plan, saver=forked()) as recorder:
        recorder.journal.on_output(1, b"hello " + secret)
        recorder.journal.on_event(Typed(2, secret + b"\r", masked=True))
        recorder.finish(t_us=3, status=ENDED)

    assert recorder.saved is not None
    assert (tmp_path / "c" / "output.raw").read_bytes() == b"hello " + b"x" * len(secret)
    assert b"horse" not in b"".join(contents(tmp_path / "c").values())


def test_a_saver_pauses_while_others_want_the_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    """For longer and longer, up to a second; and not at all when it has a processor to itself."""
    passed_s, used_s = [0.0], [0.0]
    monkeypatch.setattr("ptycassette.recording.io.saver.monotonic_s", lambda: passed_s[0])
    monkeypatch.setattr("time.thread_time", lambda: used_s[0])
    priority = Priority(None)

    def pause_after(passed: float, used: float) -> float:
        passed_s[0] += passed
        used_s[0] += used
        pause = priority.pause_s()
        priority.discount_pause()
        return pause

    assert pause_after(0.010, 0.010) == 0.0
    assert pause_after(0.020, 0.010) == pytest.approx(0.04)
    assert pause_after(0.020, 0.010) == pytest.approx(0.08)
    assert [pause_after(0.020, 0.010) for _ in range(6)][-1] == 1.0
    assert pause_after(0.010, 0.010) == 0.0


def test_a_saver_that_is_stopped_while_it_stages_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The recorder is gone between the making of the directory and its first use."""
    really = os.open

    def opened(path: Any, *rest: Any, **more: Any) -> int:
        if str(path).endswith(".staging"):
            signal.raise_signal(signal.SIGTERM)
        return really(path, *rest, **more)

    monkeypatch.setattr(staging.os, "open", opened)
    before = signal.signal(signal.SIGTERM, saver_process._stop)
    try:
        staging.Staging(tmp_path / "c").remove()
    finally:
        signal.signal(signal.SIGTERM, before)

    assert list(tmp_path.iterdir()) == []
