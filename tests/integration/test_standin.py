"""The stand-in as drivers see it: a process in a terminal that nobody here wrote, or in pipes."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pexpect
import pytest

from ptycassette.model.records import (
    ExitStatus,
    Finished,
    JournalEvent,
    Output,
    Resized,
    Signalled,
    Typed,
)
from ptycassette.model.screen import Size
from ptycassette.replaying.standin.io import boot
from ptycassette.testing import write_cassette

pytestmark = pytest.mark.integration

EXIT = ExitStatus(code=3, exited=True, signaled=False)
KILLED = ExitStatus(code=-1, signal="terminated", exited=False, signaled=True)
CLI = [str(Path(sys.executable).with_name("ptycassette"))]
BOOT = [sys.executable, "-I", "-S", str(boot.__file__)]

HELLO: tuple[JournalEvent, ...] = (
    Output(0, b"hello\r\n> "),
    Typed(100_000, b"h"),
    Output(110_000, b"h"),
    Typed(200_000, b"i"),
    Output(210_000, b"i"),
    Typed(300_000, b"\r"),
    Output(400_000, b"\r\nbye\r\n"),
    Finished(t_us=500_000, exit=EXIT),
)


class Stage:
    """Makes cassettes, starts stand-ins for them, and reads the report."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.report_path = place / "report.json"
        self.children: list[pexpect.spawn[Any]] = []

    def cassette(self, *items: JournalEvent) -> Path:
        """Publish the cassette of this test."""
        path = self.place / "run.cassette"
        write_cassette(path, *items)
        return path

    def environment(self) -> dict[str, str]:
        """Where the report goes, besides all else."""
        return {**os.environ, "PTYCASSETTE_REPORT": str(self.report_path)}

    def start(
        self, *items: JournalEvent, options: tuple[str, ...] = (), size: tuple[int, int] = (24, 80)
    ) -> pexpect.spawn[Any]:
        """Start a stand-in under pexpect."""
        path = self.place / "run.cassette"
        words = [*BOOT, *options, str(path if path.exists() else self.cassette(*items))]
        child = pexpect.spawn(
            words[0], words[1:], env=self.environment(), dimensions=size, timeout=90
        )
        child.delaybeforesend = None
        self.children.append(child)
        return child

    def report(self) -> dict[str, Any]:
        """What it reported."""
        found: dict[str, Any] = json.loads(self.report_path.read_text())
        return found

    def kinds(self) -> list[str]:
        """The kinds of its divergences."""
        return [found["kind"] for found in self.report()["divergences"]]


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    """A stage; whatever is left on it is closed."""
    stage = Stage(tmp_path)
    yield stage
    for child in stage.children:
        if not child.closed:
            child.close(force=True)


def ended(child: pexpect.spawn[Any]) -> bytes:
    """Everything up to the end of the process, which is then waited for."""
    child.expect(pexpect.EOF)
    output: bytes = child.before or b""
    child.close()
    return output


class Act(NamedTuple):
    """What a driver waits for, and what it does then: types, sets a size, or sends a signal."""

    until: str
    does: bytes | tuple[int, int] | signal.Signals = b""


MENU = (Output(0, b"menu"), Typed(1, b"\x1b[B"), Output(2, b"down"), Finished(t_us=3, exit=EXIT))
ASKS = (
    Output(0, b"\x1b[c\x1b[6n"), Typed(1, b"\x1b[?62c\x1b[1;1R", source="terminal"),
    Output(2, b"ready"), Typed(3, b"\x1b"), Output(4, b"gone"), Finished(t_us=5, exit=EXIT),
)  # fmt: skip
KILLED_AT_X = (
    Output(0, b"x"), Signalled(1, "term"), Output(2, b"y"), Finished(t_us=3, exit=KILLED)
)  # fmt: skip
GROWS = (
    Output(0, b"a"), Resized(1, Size(rows=30, cols=100)), Output(2, b"b"),
    Finished(t_us=3, exit=EXIT),
)  # fmt: skip
BREAKS = (Output(0, b"run"), Typed(1, b"\x03"), Output(2, b"^C"), Finished(t_us=3, exit=EXIT))
TERM = signal.SIGTERM
PLAYED: dict[str, tuple[tuple[JournalEvent, ...], str, list[Act], bytes | None, str]] = {
    # What was recorded, options, what the driver does, what it reads then, and the report:
    # "passed", or the kind of the divergence; "~" before it where the recorded end comes anyway.
    **{f"typed as {sent!r}": (HELLO, "", [Act("> ", sent)], b"hi\r\nbye\r\n", "passed")
       for sent in (b"hi\r", b"hi\n", b"ho\x7fi\r", b"\x1b[200~hi\x1b[201~\r")},
    "echo plays key by key": (
        HELLO, "", [Act("> ", b"h"), Act("h", b"i"), Act("i", b"\r")], b"\r\nbye\r\n", "passed"),
    # It may have passed the line discipline; CR is CR all the same.
    "input before the first byte waits": (
        HELLO, "--match exact", [Act("", b"hi\r")], None, "passed"),
    "single bytes of an arrow key are joined": (
        MENU, "", [Act("menu", b"\x1b"), Act("", b"["), Act("", b"B")], b"down", "passed"),
    "lenient goes on and reports": (
        HELLO, "--lenient", [Act("> ", b"bad\r")], b"hi\r\nbye\r\n", "~input-changed"),
    "the recorded signal is raised again": (KILLED_AT_X, "", [Act("x", TERM)], b"y", "passed"),
    "a signal that nobody recorded": (HELLO, "", [Act("> ", TERM)], None, "input-extra"),
    **{f"{number.name} that nobody recorded": (
        HELLO, "", [Act("> ", number)], None, "input-extra")
       for number in (signal.SIGALRM, signal.SIGPIPE, signal.SIGSEGV, signal.SIGSYS)},
    "signals without an effect are not compared": (
        HELLO, "", [Act("> ", signal.SIGURG), Act("", signal.SIGCONT), Act("", b"hi\r")], None,
        "passed"),
    "lenient dies by it, as the real program would": (
        HELLO, "--lenient", [Act("> ", TERM)], None, "~input-extra"),
    "ctrl-c is a key at its recorded place": (BREAKS, "", [Act("run", b"\x03")], b"^C", "passed"),
    "a resize is awaited": (GROWS, "", [Act("a", (30, 100))], b"b", "passed"),
    "another resize": (GROWS, "", [Act("a", (31, 100))], None, "resize-changed"),
    "another size before anything is played": (HELLO, "10x40", [], b"", "size-mismatch"),
    "a size can be ignored, for drivers that have none": (
        HELLO, "10x40 --ignore-size", [Act("", b"hi\r")], None, "passed"),
    # Drivers fork first and set the size then; how late that is, is the machine's affair.
    "a size that comes late can be ignored too": (
        HELLO, "--ignore-size", [Act("> ", (10, 40)), Act("", b"hi\r")], None, "passed"),
    # Recorded with answers, driven by a terminal that gives none, or others.
    "queries without an answer do not hang": (
        ASKS, "", [Act("ready", b"\x1b[?1;2c"), Act("", b"\x1b")], b"gone", "passed"),
}  # fmt: skip
SIGNALLED = {"the recorded signal is raised again", "lenient dies by it, as the real program would"}


@pytest.mark.parametrize("case", PLAYED)
def test_a_recording_is_played_to_a_driver(stage: Stage, case: str) -> None:
    """With the recorded output and end; a divergence ends it with status 125."""
    items, words, acts, output, told = PLAYED[case]
    small, options = "10x40" in words, tuple(words.replace("10x40", "").split())
    child = stage.start(*items, options=options, size=(10, 40) if small else (24, 80))
    for act in acts:
        child.expect(act.until)
        match act.does:
            case bytes():
                child.send(act.does)
                time.sleep(0.005)
            case signal.Signals():
                child.kill(act.does)
            case rows, cols:
                child.setwinsize(rows, cols)
    read = ended(child)
    passed, kind = told == "passed", told.removeprefix("~")

    assert output is None or read == output
    assert stage.kinds() == ([] if passed else [kind])
    assert stage.report()["result"] == ("passed" if passed else "diverged")
    sent = [act.does.name for act in acts if isinstance(act.does, signal.Signals)]
    assert told != "input-extra" or sent == [f"SIG{stage.report()['killed_by'].upper()}"]
    assert (child.exitstatus, child.signalstatus) == (
        (None, TERM) if case in SIGNALLED else (3 if passed or told != kind else 125, None)
    )


def test_a_divergence_goes_to_the_report_and_not_to_the_terminal(stage: Stage) -> None:
    """The driver would parse it."""
    child = stage.start(*HELLO)
    child.expect("> ")
    child.send("bad\r")

    assert ended(child) == b""
    assert child.exitstatus == 125
    (found,) = stage.report()["divergences"]
    assert (found["kind"], found["expected"]["text"], found["got"]["text"]) == (
        "input-changed",
        "hi<enter>",
        "bad<enter>",
    )
    assert found["screen"] == ["hello", ">"]
    assert "expected: hi<enter>" in stage.report_path.with_suffix(".txt").read_text()


def test_a_driver_that_closes_the_terminal_leaves_input_missing(stage: Stage) -> None:
    """Closing is no signal of the driver's, though the system sends one."""
    child = stage.start(*HELLO)
    child.expect("> ")
    report = hung_up_report(stage, child)

    assert [found["kind"] for found in report["divergences"]] == ["input-missing"]
    assert report["unplayed"]["inputs"] == 3


def test_a_driver_that_closes_before_everything_was_written_is_told(stage: Stage) -> None:
    """Early end of file: the rest was never played."""
    chunk = b"x" * 60_000
    child = stage.start(*(Output(n, chunk) for n in range(20)), Finished(t_us=30, exit=EXIT))
    child.expect("x")
    report = hung_up_report(stage, child)

    assert report["result"] == "unplayed"
    assert report["early_eof"] is True
    assert report["unplayed"]["outputs"] > 10


def hung_up_report(stage: Stage, child: pexpect.spawn[Any]) -> dict[str, Any]:
    """Close the driver's side under the stand-in, and return its report."""
    child.ptyproc.fileobj.close()
    child.closed = True
    report = waited_report(stage)
    os.waitpid(child.pid, 0)
    return report


def waited_report(stage: Stage) -> dict[str, Any]:
    """The report once it is final; the process has no terminal to be waited at."""
    deadline = time.monotonic() + 90
    while time.monotonic() < deadline:
        if stage.report_path.exists() and stage.report()["result"] != "running":
            return stage.report()
        time.sleep(0.01)
    pytest.fail("no report came")


def test_a_stand_in_that_was_killed_left_a_report_that_says_running(stage: Stage) -> None:
    """So that its end is not taken for a pass."""
    child = stage.start(*HELLO)
    child.expect("> ")
    deadline = time.monotonic() + 90
    while not stage.report_path.exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    child.kill(signal.SIGKILL)
    ended(child)

    assert stage.report()["result"] == "running"


def test_realtime_keeps_the_recorded_pauses(stage: Stage) -> None:
    """At the asked speed: the second output cannot be there before its time."""
    since = time.monotonic()
    child = stage.start(Output(0, b"a"), Output(600_000, b"b"), Finished(t_us=600_000, exit=EXIT),
                        options=("--speed", "2"))  # fmt: skip
    child.expect("a")
    child.expect("b")

    assert time.monotonic() - since >= 0.3


def test_output_is_taken_as_slowly_as_the_driver_reads(stage: Stage) -> None:
    """Back-pressure loses nothing, and input is taken meanwhile."""
    big = bytes(range(32, 127)) * 4000
    child = stage.start(Output(0, big), Typed(1, b"ok\r"), Output(2, b"end"),
                        Finished(t_us=3, exit=EXIT))  # fmt: skip
    child.expect(" ")
    child.send("ok\r")
    time.sleep(0.3)

    assert ended(child) == big[1:] + b"end"


def test_over_pipes_the_line_ends_are_those_of_a_pipe(stage: Stage) -> None:
    """Recorded at a terminal, which had turned LF into CR LF."""
    path = stage.cassette(Output(0, b"one\r"), Output(1, b"\ntwo\r\n"), Finished(t_us=5, exit=EXIT))
    ran = subprocess.run(
        [*BOOT, str(path)], capture_output=True, stdin=subprocess.DEVNULL, check=False, timeout=90,
        env=stage.environment(),
    )  # fmt: skip

    assert (ran.stdout, ran.stderr, ran.returncode) == (b"one\ntwo\n", b"", 3)


def test_over_pipes_input_is_compared_too(stage: Stage) -> None:
    """The end of the pipe is what Ctrl-D was typed for."""
    path = stage.cassette(
        Typed(0, b"1+1\r"), Output(1, b"2\r\n"), Typed(2, b"\x04"), Finished(t_us=5, exit=EXIT)
    )
    ran = subprocess.run(
        [*BOOT, "--newlines", "recorded", str(path)], input=b"1+1\n", capture_output=True,
        check=False, timeout=90, env=stage.environment(),
    )  # fmt: skip

    assert (ran.stdout, ran.returncode) == (b"2\r\n", 3)
    assert stage.report()["result"] == "passed"


SPEEDS_S = (0.05, 2.5, 30)


@pytest.mark.slow
@pytest.mark.parametrize("pause_s", SPEEDS_S)
def test_a_slow_driver_passes(stage: Stage, pause_s: float) -> None:
    """The pause is what is tested: a driver, or a person, thinks before Enter."""
    child = stage.start(*HELLO)
    child.expect_exact("> ")
    for key in (b"h", b"i", b"\r"):
        time.sleep(pause_s)
        child.send(key)

    assert ended(child).endswith(b"bye\r\n")
    assert (child.exitstatus, stage.report()["result"]) == (3, "passed")


def test_without_a_report_a_divergence_is_said_on_a_stderr_that_is_no_terminal(
    stage: Stage,
) -> None:
    """At once, although the driver ends neither its line nor its stdin."""
    path = stage.cassette(Typed(1, b'{"id": 1}\n', eof=True), Finished(t_us=9, exit=EXIT))
    environment = {k: v for k, v in stage.environment().items() if k != "PTYCASSETTE_REPORT"}
    with subprocess.Popen(
        [*BOOT, str(path)], env=environment, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        assert process.stdin is not None
        assert process.stderr is not None
        process.stdin.write(b'{"x')
        process.stdin.flush()
        said = process.stderr.read()

    assert b"input-changed" in said
    assert process.returncode == 125


def test_what_is_no_cassette_is_said_on_stderr(stage: Stage) -> None:
    """Exit status 125, and the report knows as well."""
    ran = subprocess.run(
        [*BOOT, str(stage.place)], capture_output=True, text=True, check=False, timeout=90,
        env=stage.environment(),
    )  # fmt: skip

    assert ran.returncode == 125
    assert "manifest.json is missing" in ran.stderr
    assert stage.report()["result"] == "failed"


def test_wrong_usage_is_exit_status_2(stage: Stage) -> None:
    """Through the command line proper, too."""
    ran = subprocess.run(
        [*CLI, "stand-in", "--metch", "x"], capture_output=True, text=True, check=False, timeout=90
    )

    assert ran.returncode == 2
    assert "no such option: --metch" in ran.stderr


def test_a_directory_gets_one_report_per_process(stage: Stage) -> None:
    """Several stand-ins of one test."""
    stage.report_path = stage.place / "reports"
    stage.report_path.mkdir()
    for _ in range(2):
        child = stage.start(*HELLO)
        child.send("hi\r")
        ended(child)

    assert len(list(stage.report_path.glob("run.cassette-*.json"))) == 2


def test_tmux_cannot_tell_the_difference(stage: Stage, program: Callable[[str], str]) -> None:
    """A terminal multiplexer that answers queries itself."""
    path = stage.cassette(
        Output(0, b"\x1b[c\x1b]11;?\x1b\\\x1b[6n> "), Typed(1, b"\x1b[?62;4c", source="terminal"),
        Typed(2, b"h"), Output(3, b"h"), Typed(4, b"i"), Output(5, b"i"), Typed(6, b"\r"),
        Output(7, b"\r\n\x1b[1mbye\x1b[0m\r\n"), Typed(8, b"\x1b[A"), Finished(t_us=9, exit=EXIT),
    )  # fmt: skip
    config = stage.place / "tmux.conf"
    config.write_text("set -g status off\n")
    tmux = [program("tmux"), "-f", str(config), "-S", str(stage.place / "tmux")]

    def shown(wanted: str) -> str:
        deadline = time.monotonic() + 90
        screen = ""
        while wanted not in screen and time.monotonic() < deadline:
            time.sleep(0.05)
            screen = subprocess.run(
                [*tmux, "capture-pane", "-p"], capture_output=True, text=True, check=True
            ).stdout
        return screen

    subprocess.run(
        [*tmux, "new-session", "-d", "-x", "80", "-y", "24", "--", *BOOT, str(path)], check=True,
        env=stage.environment(),
    )  # fmt: skip
    shown(">")
    subprocess.run([*tmux, "send-keys", "hi", "Enter"], check=True)
    screen = shown("bye")
    subprocess.run([*tmux, "send-keys", "Up"], check=True)
    report = waited_report(stage)
    subprocess.run([*tmux, "kill-server"], check=False, capture_output=True, timeout=90)

    assert screen.splitlines()[:2] == ["> hi", "bye"]
    assert report["result"] == "passed", report


def test_the_first_byte_is_out_within_twice_the_time_of_a_bare_python(stage: Stage) -> None:
    """Best against best, taken in turns, because other work on the machine is none of ours."""
    path = stage.cassette(*HELLO)
    command = Path(sys.executable).with_name("ptycassette")
    bare, ours = [], []
    while not ours or (min(ours) >= 2 * min(bare) and len(ours) < 100):
        bare.append(first_byte_s([sys.executable, "-c", "print(1)"]))
        ours.append(first_byte_s([str(command), "stand-in", str(path)]))

    assert min(ours) < 2 * min(bare)


def first_byte_s(words: list[str]) -> float:
    """Seconds from fork to the first byte, in a terminal of 24 by 80."""
    since = time.perf_counter()
    child = pexpect.spawn(words[0], words[1:], dimensions=(24, 80), timeout=90)
    try:
        child.expect(".")
        return time.perf_counter() - since
    finally:
        child.close(force=True)


def test_the_terminal_is_put_back(stage: Stage) -> None:
    """Whoever runs it from a shell keeps a usable terminal."""
    path = stage.cassette(Output(0, b"x"), Finished(t_us=1, exit=EXIT))
    shell = pexpect.spawn(
        "sh", ["-c", f"stty size; {' '.join(BOOT)} {path}; stty -a"], dimensions=(24, 80),
        timeout=90, env=stage.environment(),
    )  # fmt: skip
    stage.children.append(shell)
    output = ended(shell).decode()

    assert " icanon" in output
    assert " echo " in output


def test_a_plain_fork_with_a_pty_works(stage: Stage) -> None:
    """No library between: the size is unset, so sizes are not compared."""
    path = stage.cassette(*HELLO)
    pid, master = pty.fork()
    if pid == 0:
        os.execvpe(BOOT[0], [*BOOT, str(path)], stage.environment())  # noqa: S606 - no shell is meant
    os.write(master, b"hi\r")
    output = b""
    try:
        while chunk := os.read(master, 4096):
            output += chunk
    except OSError:
        pass  # Linux says EIO where others say end of file
    _, status = os.waitpid(pid, 0)
    os.close(master)

    assert output.endswith(b"hello\r\n> hi\r\nbye\r\n")
    assert os.waitstatus_to_exitcode(status) == 3


@pytest.mark.parametrize("name", ["output.raw", "output.jsonl", "input.jsonl", "manifest.json"])
@pytest.mark.parametrize("options", [(), ("--speed", "1000")])
def test_what_is_not_as_it_was_pinned_is_not_played(
    stage: Stage, name: str, options: tuple[str, ...]
) -> None:
    """Not a byte of a file that was changed, by a start that is quick or one that is not."""
    path = stage.cassette(*HELLO)
    changed = {
        "output.raw": (b"hello", b"hullo"),
        "output.jsonl": (b'"t_ms":0', b'"t_ms":1'),
        "input.jsonl": (b'"t_ms":100', b'"t_ms":101'),
        "manifest.json": (b'"recorded_at": "20', b'"recorded_at": "21'),
    }[name]
    data = (path / name).read_bytes()
    assert changed[0] in data
    (path / name).write_bytes(data.replace(*changed, 1))
    child = stage.start(options=options)
    output = ended(child)

    assert b"hullo" not in output
    assert b"after recording" in output
    assert child.exitstatus == 125
    assert stage.report()["result"] == "failed"


def test_a_report_that_cannot_be_written_is_an_error_and_no_traceback(stage: Stage) -> None:
    """There is no report then, so the terminal is told."""
    stage.report_path = stage.place / "none" / "report.json"
    output = ended(stage.start(*HELLO))

    assert b"the report cannot be written" in output
    assert b"Traceback" not in output
    assert stage.children[0].exitstatus == 125
