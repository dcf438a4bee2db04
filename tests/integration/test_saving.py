"""A recording is saved while it is made: what a user waits for is the tail, and nothing is lost."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

import psutil
import pytest

from ptycassette import open_cassette, record
from ptycassette.recording.io.finalising import left_journals, recover
from ptycassette.recording.io.saver import NO_SAVER, StartedSaver
from ptycassette.system.files.state_dirs import journal_dir
from ptycassette.viewing import JournalFollower
from tests.savers import saver_of

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(sys.platform != "linux", reason="looks at processes through /proc"),
]

CLI = [sys.executable, "-c", "import sys; from ptycassette.cli import main; sys.exit(main())"]
LINES = 6000
# Writes, says so in a file, and ends when it is told to: nothing here waits for a clock.
PROGRAM = f"""
import sys, pathlib
for number in range({LINES}):
    print("line", number, "of a session that takes a while", flush=number % 500 == 0)
sys.stdout.flush()
pathlib.Path("written").touch()
with open("go") as fifo:
    fifo.read()
print("last", flush=True)
sys.exit(3)
"""


def until(holds: Callable[[], object], what: str) -> None:
    """Wait for a condition."""
    deadline_s = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline_s, f"not within a minute: {what}"
        time.sleep(0.01)


class Rec:
    """``rec`` of the program above, in a folder of its own."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.folder, self.target = folder, folder / "c"
        os.mkfifo(folder / "go")
        self.process = subprocess.Popen(
            [*CLI, "rec", "--headless", *options, "c", "--", sys.executable, "-c", PROGRAM],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        self.recorder = psutil.Process(self.process.pid)

    def saver(self) -> psutil.Process:
        """The process that follows: a fork of the recorder."""
        found: list[psutil.Process] = []

        def look() -> bool:
            saver = saver_of(self.recorder)
            found.extend([] if saver is None else [saver])
            return bool(found)

        until(look, "a saver")
        return found[0]

    def written(self) -> None:
        """Wait until everything but the program's last line is in the journal."""
        until((self.folder / "written").exists, "the program has written")
        until(lambda: self._lines() == LINES, "the recorder has read what was written")

    def _lines(self) -> int:
        with JournalFollower(self.journal()) as follower:
            return sum(event.data.count(b"\n") for event in follower.poll())

    def staging(self) -> list[Path]:
        """What lies hidden beside the target."""
        return list(self.folder.glob(".c.*"))

    def go(self) -> None:
        """Let the program end."""
        fd = os.open(self.folder / "go", os.O_WRONLY)
        os.close(fd)

    def journal(self) -> Path:
        """Where the journal is."""
        (path,) = journal_dir().glob("*.journal")
        return path

    def saving(self) -> None:
        """Wait until the journal is complete, and the recorder waits for its saver."""

        def complete() -> bool:
            with JournalFollower(self.journal()) as follower:
                return any(event.kind == "final" for event in follower.poll())

        until(complete, "a complete journal")
        until(lambda: self.recorder.status() == psutil.STATUS_SLEEPING, "a recorder that waits")

    def end(self) -> tuple[int, str]:
        """Its status and what it said."""
        _, told = self.process.communicate(timeout=120)
        return self.process.returncode, told.decode()


@pytest.fixture
def recording(tmp_path: Path) -> Iterator[Callable[..., Rec]]:
    """Starts one; ends what is left of it."""
    started: list[Rec] = []

    def start(*options: str) -> Rec:
        started.append(Rec(tmp_path, *options))
        return started[-1]

    yield start
    for rec in started:
        left = rec.recorder.children(recursive=True) if rec.process.poll() is None else []
        for process in left:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        rec.process.kill()
        rec.process.communicate()


def whole(folder: Path) -> None:
    """The cassette holds all lines, is what it should be, and nothing lies beside it."""
    with open_cassette(folder / "c") as cassette:
        lines = b"".join(cassette.raw()).split(b"\r\n")
    assert lines == [
        *(b"line %d of a session that takes a while" % number for number in range(LINES)),
        b"last",
        b"",
    ]
    assert list(folder.glob(".c.*")) == []
    assert list(journal_dir().iterdir()) == []


def after_work(rec: Rec, saver: psutil.Process) -> None:
    """It is saved while the program runs: there is a staging directory before the end."""
    rec.written()
    until(rec.staging, "work before the end")
    rec.go()


def at_once(rec: Rec, saver: psutil.Process) -> None:
    """The saver is killed before there is anything to follow."""
    saver.kill()
    rec.written()
    rec.go()


def while_it_follows(rec: Rec, saver: psutil.Process) -> None:
    """The saver is killed in the middle."""
    rec.written()
    until(rec.staging, "work before the end")
    saver.kill()
    rec.go()


def behind_the_end(rec: Rec, saver: psutil.Process) -> None:
    """The saver is killed when the program has ended."""
    rec.written()
    saver.suspend()
    rec.go()
    rec.saving()
    saver.kill()


def full_disk(rec: Rec, saver: psutil.Process) -> None:
    """The saver's error is not passed on; there is room when the recorder looks for itself."""
    psutil.Process(saver.pid).rlimit(psutil.RLIMIT_FSIZE, (4096, 4096))
    rec.written()
    rec.go()


def hangs_up(number: signal.Signals, rec: Rec, saver: psutil.Process) -> None:
    """The driver hangs up behind the end of the program."""
    rec.written()
    saver.suspend()
    rec.go()
    rec.saving()
    rec.process.send_signal(number)
    saver.resume()


@pytest.mark.slow
@pytest.mark.parametrize(
    "happens",
    [
        after_work, at_once, while_it_follows, behind_the_end, full_disk,
        partial(hangs_up, signal.SIGHUP), partial(hangs_up, signal.SIGTERM),
    ],
)  # fmt: skip
def test_it_is_saved_whatever_happens_to_the_saver(
    recording: Callable[..., Rec],
    tmp_path: Path,
    happens: Callable[[Rec, psutil.Process], None],
) -> None:
    """The recorder saves by itself, from the start; the status is the program's own."""
    rec = recording()
    saver = rec.saver()
    happens(rec, saver)
    status, told = rec.end()

    assert status == 3
    assert "saved c" in told
    assert not saver.is_running()
    whole(tmp_path)


@pytest.mark.slow
def test_without_a_saver_it_is_saved_at_the_end(
    recording: Callable[..., Rec], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the recorder, as before there were savers."""
    monkeypatch.setenv(NO_SAVER, "1")
    rec = recording()
    rec.written()
    saver = saver_of(rec.recorder)
    staging = rec.staging()
    rec.go()
    status, _ = rec.end()

    assert (status, saver, staging) == (3, None, [])
    whole(tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("early", [True, False])
def test_a_saver_does_not_outlive_its_recorder(
    recording: Callable[..., Rec], tmp_path: Path, *, early: bool
) -> None:
    """Killed with -9: no half cassette, no litter, and ``recover`` has everything."""
    rec = recording()
    saver = rec.saver()
    if not early:
        rec.written()
        until(rec.staging, "work before the end")
    rec.process.kill()
    rec.process.wait()
    gone, _ = psutil.wait_procs([saver], timeout=120)

    assert gone
    assert rec.staging() == []
    assert not rec.target.exists()
    states = [left.state for left in left_journals(journal_dir())]
    assert states == ["crashed"] or (early and not states)


def test_a_killed_recorder_is_recovered_by_the_same_code(
    recording: Callable[..., Rec], tmp_path: Path
) -> None:
    """Every line that was written is there."""
    rec = recording()
    saver = rec.saver()
    rec.written()
    until(rec.staging, "work before the end")
    rec.process.kill()
    rec.process.wait()
    psutil.wait_procs([saver], timeout=120)
    (left,) = left_journals(journal_dir())
    recover(Path(left.path))

    with open_cassette(tmp_path / "c") as cassette:
        assert b"".join(cassette.raw()).count(b"\r\n") == LINES


@pytest.mark.slow
@pytest.mark.parametrize("with_tape", [False, True])
def test_ctrl_c_breaks_the_saving_off_and_keeps_the_journal(
    recording: Callable[..., Rec], tmp_path: Path, *, with_tape: bool
) -> None:
    """It says how to go on, and ends as the program did, also where a tape would be judged."""
    evidence = tmp_path / "evidence"
    tape = ("--tape", "--provider", "http://127.0.0.1:9", "--evidence", str(evidence))
    rec = recording(*(tape if with_tape else ()))
    saver = rec.saver()
    rec.written()
    saver.suspend()
    rec.go()
    rec.saving()
    journal = rec.journal()
    rec.process.send_signal(signal.SIGINT)
    status, told = rec.end()
    left_target = rec.target.exists()
    recover(journal)

    assert (status, left_target) == (3, False)
    assert f"ptycassette recover {journal}" in told
    whole(tmp_path)
    if with_tape:
        assert json.loads((evidence / "guard.json").read_bytes())["published"] is False


def test_a_place_that_refuses_keeps_the_journal(
    recording: Callable[..., Rec], tmp_path: Path
) -> None:
    """As ever: 125, and the hint names the journal."""
    rec = recording()
    saver = rec.saver()
    saver.suspend()
    rec.written()
    journal = rec.journal()
    (tmp_path / "c").write_text("in the way", encoding="ascii")
    saver.resume()
    rec.go()
    status, told = rec.end()

    assert status == 6
    assert f"ptycassette recover {journal}" in told
    assert journal.exists()


@pytest.mark.slow
def test_a_timeout_is_told_by_the_saver_too(recording: Callable[..., Rec], tmp_path: Path) -> None:
    """A failed run is no cassette, whoever finds out."""
    rec = recording("--timeout", "5")
    status, told = rec.end()
    reason = json.loads((tmp_path / "c.diagnostic" / "diagnostic.json").read_bytes())["reason"]

    assert status == 125
    assert "timeout" in told
    assert "timeout" in reason
    assert list(journal_dir().iterdir()) == []


def started_savers() -> list[psutil.Process]:
    """The savers among the children of this process."""
    found = []
    for child in psutil.Process().children():
        with suppress(psutil.Error):  # it has ended
            if any("saver_process" in word for word in child.cmdline()):
                found.append(child)
    return found


@pytest.mark.skipif(
    sys.platform == "linux" and os.geteuid() != 0,
    reason="only root may ask how much a saver has read: its memory is hidden (proc(5))",
)
def test_a_library_starts_one_for_a_long_recording_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At the end it has read what was there."""
    savers = [StartedSaver(from_bytes=100_000), StartedSaver(from_bytes=100_000)]
    made = iter(savers)
    monkeypatch.setattr("ptycassette.recording.io.recording.saver_for", lambda _: next(made))
    more = "yes 'a line of some length' | head -c"
    code = f"{more} 200000; read line; {more} 1000000; read line"
    with record(["bash", "-c", code], tmp_path / "c") as session:
        until(started_savers, "a saver")
        (saver,) = started_savers()
        until(lambda: list(tmp_path.glob(".c.*")), "work before the end")
        before = saver.io_counters().read_chars
        session.send(b"x\r")
        follows = "a saver that follows"
        until(lambda: saver.io_counters().read_chars > before + 1_000_000, follows)
        session.send(b"x\r")
        session.wait_exit()
    with record(["true"], tmp_path / "short"):
        pass
    saved = session._recorder.saved

    assert saved is not None
    assert saved.read_bytes > 700_000
    assert savers[1]._thread is None
    assert not saver.is_running()
