"""Every signal, in every way to record, beside the program itself.

The program either does with the signal what the system does by default, or handles it. What it
does when nobody records is the outcome that everything else is compared with.
"""

from __future__ import annotations

import os
import re
import select
import signal
import subprocess
import sys
import termios
import time
from contextlib import suppress
from pathlib import Path
from typing import Self

import msgspec
import pytest

from ptycassette import open_cassette
from ptycassette.model.records import ExitStatus
from ptycassette.system.pty.terminal import (
    QUIET,
    STOPPING,
    TAKEN,
    WAITED,
    exit_status,
    signal_name,
    signal_number,
)

pytestmark = [pytest.mark.integration, pytest.mark.sampled(6)]

PATIENCE_MS = 60_000
MAIN = "import sys; from ptycassette.cli import main; sys.exit(main())"
PROGRAM = """
import os, signal, sys
number, handles = int(sys.argv[1]), sys.argv[2] == "handles"
def came(*_):
    os.write(1, b"<got>")
    os._exit(5)
signal.signal(number, came if handles else signal.SIG_DFL)
os.write(1, b"<ready>")
os.read(0, 1)
os.write(1, b"<ran on>")
"""
RESETS = re.compile(rb"\x1b\[[?<]?[0-9;]*[a-z]|\x1b>|[\r\n]")
"""What a terminal is given after a program that was ended, and the echo of Enter."""
REAL_TIME = (
    [signal.SIGRTMIN, signal.SIGRTMIN + 5, signal.SIGRTMAX] if hasattr(signal, "SIGRTMIN") else []
)
NUMBERS = sorted(
    {n for n in TAKEN | WAITED if n < getattr(signal, "SIGRTMIN", 128)} | {*map(int, REAL_TIME)}
)
WAYS = ("terminal", "headless", "pipes", "as-given", "shim")


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a run.

    Attributes:
        status: the exit status, or minus the signal.
        shown: what the program wrote after it was ready.
        stopped: the signal that stopped it for a while; 0 for none.
        restored: whether the terminal was left as it was.
    """

    status: int
    shown: bytes
    stopped: int = 0
    restored: bool = True

    @property
    def in_shell(self) -> Outcome:
        """The same with a shell's status."""
        status = 128 - self.status if self.status < 0 else self.status
        return msgspec.structs.replace(self, status=status)


class Desk:
    """A folder with the program, and a shim for it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "real").mkdir()
        script = folder / "real/prog"
        script.write_text(f"#!{sys.executable}\n{PROGRAM}", encoding="utf-8")
        script.chmod(0o700)
        self._env = {
            **os.environ,
            "PTYCASSETTE_STATE_DIR": str(folder / "state"),
            "PTYCASSETTE_REPORT": str(folder / "report.json"),
        }
        self._env.pop("PTYCASSETTE_MODE", None)
        self._path = f"{folder}/real:{os.environ['PATH']}"
        words = ["shim", "--dir", "bin", "--library", "lib", "--mode", "rewrite", "prog"]
        subprocess.run(
            [sys.executable, "-c", MAIN, *words],
            cwd=folder, env={**self._env, "PATH": self._path}, check=True, capture_output=True,
        )  # fmt: skip

    def cassette(self) -> Path:
        """The only cassette here."""
        (found,) = self.folder.glob("**/manifest.json")
        return found.parent

    def report(self) -> tuple[str, list[object]]:
        """The result of the last run of the shim, and its divergences."""
        report = msgspec.json.decode((self.folder / "report.json").read_bytes())
        return report["result"], report.get("divergences", [])

    def start(self, words: list[str]) -> subprocess.Popen[bytes]:
        """Start a command over pipes."""
        return subprocess.Popen(
            words, cwd=self.folder, env={**self._env, "PATH": self._path},
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        )  # fmt: skip

    def run(self, way: str, number: int, *, handles: bool, passes: bool = True) -> Outcome:
        """Start the program, send the signal when it is ready, and see what happens."""
        words = [str(number), "handles" if handles else "default"]
        if way in {"bare", "bare-terminal"}:
            words = [str(self.folder / "real/prog"), *words]
        elif way.startswith(("shim", "replay")):
            words = [str(self.folder / "bin/prog"), *words]
        else:
            option = {"terminal": [], "headless": ["--headless"]}.get(way, [f"--{way}"])
            quiet = [] if way == "headless" else ["--quiet"]  # it would show no output
            passing = ["--pass-signals"] if passes else []
            rec = [sys.executable, "-c", MAIN, "rec", *quiet, *option, *passing]
            words = [*rec, "x.cassette", "--", "prog", *words]
        terminal = way.endswith("terminal")
        mode = {"PTYCASSETTE_MODE": "replay"} if way.startswith("replay") else {}
        with Streams(terminal=terminal) as streams:
            process = subprocess.Popen(
                words, cwd=self.folder, env={**self._env, **mode, "PATH": self._path},
                stdin=streams.theirs_in, stdout=streams.theirs_out, stderr=subprocess.DEVNULL,
                preexec_fn=streams.take_terminal,  # noqa: PLW1509
                process_group=None if terminal else 0,
            )  # fmt: skip
            streams.started()
            streams.wait_for(b"<ready>")
            process.send_signal(number)
            stopped = 0
            if not handles and number in STOPPING and not terminal:
                stopped = wait_for_stop(process)
            resizes = terminal and number == signal.SIGWINCH  # recorded as a size, if it changed
            if not handles and number in QUIET and way.startswith("shim") and not resizes:
                self.wait_for_record(number)
            if not handles and number in STOPPING | QUIET:
                os.write(streams.ours_in, b"\n")
            streams.wait_for_end(process)
            return Outcome(
                status=process.wait(120),
                shown=RESETS.sub(b"", streams.seen.split(b"<ready>")[1]),
                stopped=stopped,
                restored=streams.restored,
            )

    def wait_for_record(self, number: int) -> None:
        """Wait until a shim's recorder has the signal, which it gets from its parent.

        The program does nothing that shows when it came, and it must come before the input.
        """
        name = f"\xa6signal{chr(0xA0 + len(signal_name(number)))}{signal_name(number)}"
        wanted = name.encode("latin-1")
        deadline = time.monotonic() + PATIENCE_MS / 1000
        while not any(wanted in journal.read_bytes() for journal in self.journals()):
            assert time.monotonic() < deadline, name
            time.sleep(0.005)

    def journals(self) -> list[Path]:
        """The journals of recordings that run."""
        return list((self.folder / "state/journals").glob("*.journal"))


def wait_for_stop(process: subprocess.Popen[bytes]) -> int:
    """The signal that stopped it; it is continued. 0 if it ended instead."""
    _, status = os.waitpid(process.pid, os.WUNTRACED)
    if not os.WIFSTOPPED(status):
        process.returncode = os.waitstatus_to_exitcode(status)
        return 0
    process.send_signal(signal.SIGCONT)
    return os.WSTOPSIG(status)


class Streams:
    """Both ends of the streams of a process: one terminal, or a pipe for each."""

    def __init__(self, *, terminal: bool) -> None:
        self.terminal = terminal
        self.seen = b""
        if terminal:
            self.ours_out, self.theirs_out = os.openpty()
            self.ours_in, self.theirs_in = self.ours_out, self.theirs_out
            self._before = termios.tcgetattr(self.theirs_out)
        else:
            self.ours_out, self.theirs_out = os.pipe()
            self.theirs_in, self.ours_in = os.pipe()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for fd in {self.ours_in, self.ours_out, self.theirs_in, self.theirs_out}:
            with suppress(OSError):
                os.close(fd)

    def take_terminal(self) -> None:
        """In the new process: have the terminal as its own."""
        if self.terminal:
            os.setsid()
            os.close(os.open(os.ttyname(self.theirs_in), os.O_RDWR))

    def started(self) -> None:
        """Close the ends that the process has now."""
        if not self.terminal:
            os.close(self.theirs_in)
            os.close(self.theirs_out)

    def read(self, timeout_ms: int = PATIENCE_MS) -> bool:
        """Read the next piece; False at the end, or when nothing came."""
        poll = select.poll()
        poll.register(self.ours_out, select.POLLIN)
        if not poll.poll(timeout_ms):
            return False
        with suppress(OSError):
            data = os.read(self.ours_out, 4096)
            self.seen += data
            return bool(data)
        return False

    def wait_for(self, text: bytes) -> None:
        """Read until it was shown."""
        while text not in self.seen:
            assert self.read(), self.seen

    def wait_for_end(self, process: subprocess.Popen[bytes]) -> None:
        """Read all that is written until the process ends."""
        if not self.terminal:
            while self.read():
                pass
        while process.poll() is None:
            self.read(50)
        while self.read(0):
            pass

    @property
    def restored(self) -> bool:
        """Whether the terminal is set as it was."""
        return not self.terminal or termios.tcgetattr(self.theirs_out) == self._before


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """Where one test works."""
    return Desk(tmp_path)


def recorded(path: Path) -> tuple[list[str], ExitStatus]:
    """The signals of a recording, and how it ended."""
    with open_cassette(path) as cassette:
        names = [record.signal or "" for record in cassette.inputs() if record.kind == "signal"]
        assert cassette.final.exit is not None
        return names, cassette.final.exit


@pytest.mark.parametrize("handles", [False, True], ids=["default", "handled"])
@pytest.mark.parametrize("number", NUMBERS, ids=signal_name)
@pytest.mark.parametrize("way", WAYS)
def test_a_signal_does_what_it_does_to_the_bare_program(
    desk: Desk, way: str, number: int, handles: bool, tmp_path: Path
) -> None:
    """It ends, stops or reaches the program, and the recording has it."""
    if way == "terminal" and number in STOPPING - {signal.SIGTSTP}:
        pytest.skip("the system sends it to a process in the background of a terminal")
    if way == "headless" and number in {signal.SIGTTIN, signal.SIGTTOU}:
        pytest.skip("left to the system, as for every process at a terminal")
    bare = desk.run("bare-terminal" if way == "terminal" else "bare", number, handles=handles)
    got = desk.run(way, number, handles=handles)
    names, ended = recorded(desk.cassette())

    assert got == (bare if way == "shim" else bare.in_shell)
    assert ended == exit_status(os_status(bare.status))
    expected = [signal_name(number)]
    if bare.stopped:
        expected.append("cont")
    if not (way == "terminal" and number == signal.SIGWINCH):
        assert names == expected


@pytest.mark.parametrize("handles", [False, True], ids=["default", "handled"])
@pytest.mark.parametrize("number", NUMBERS, ids=signal_name)
@pytest.mark.parametrize("streams", ["", "-terminal"], ids=["pipes", "terminal"])
def test_a_recorded_signal_replays(desk: Desk, streams: str, number: int, handles: bool) -> None:
    """What a shim recorded passes when the same driver sends the same signal to the stand-in."""
    if streams and number in STOPPING - {signal.SIGTSTP}:
        pytest.skip("the system sends it to a process in the background of a terminal")
    recorded_run = desk.run(f"shim{streams}", number, handles=handles)
    replayed = desk.run(f"replay{streams}", number, handles=handles)

    assert replayed == recorded_run
    assert desk.report() == ("passed", [])


def os_status(status: int) -> int:
    """A status of ``Popen`` as that of wait(2)."""
    return -status if status < 0 else status << 8


@pytest.mark.parametrize("number", NUMBERS, ids=signal_name)
@pytest.mark.parametrize("way", ["terminal", "headless", "pipes"])
def test_a_signal_to_the_recorder_ends_it_as_it_ends_other_programs(
    desk: Desk, way: str, number: int
) -> None:
    """Without ``--pass-signals``: the program ends, and there is a recording of it."""
    if number in STOPPING and way != "pipes":
        pytest.skip("ctrl-z and job control have tests of their own")
    bare = desk.run("bare", number, handles=False)
    got = desk.run(way, number, handles=False, passes=False)
    names, ended = recorded(desk.cassette())

    assert (got.status, got.stopped, got.restored) == (bare.in_shell.status, bare.stopped, True)
    assert got.shown == bare.shown
    assert names == []
    assert ended.signaled == (bare.status < 0)


def test_real_time_signals_have_names() -> None:
    """Where the system has no name for a number, ours can be read back."""
    for number in signal.valid_signals():
        assert signal_number(signal_name(number)) == number
    for unknown in (0, 32, 1000, "rtmin+99", "rtmin+-1"):
        with pytest.raises(ValueError, match="no such signal"):
            signal_number(unknown)


DAEMON = """
mkfifo wake
(exec 2>/dev/null; read -r text < wake; echo "$text") &
echo ready
exec sleep 300
"""


def test_a_caller_that_ends_a_program_does_not_wait_for_what_it_left_running(
    desk: Desk, tmp_path: Path
) -> None:
    """The shim ends with its program, and what the other process writes later still arrives."""
    (tmp_path / "real/prog").write_text(f"#!/bin/sh\n{DAEMON}", encoding="ascii")
    process = desk.start([str(tmp_path / "bin/prog")])
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    process.terminate()
    status = process.wait(PATIENCE_MS / 1000)
    with (tmp_path / "wake").open("wb", buffering=0) as wake:  # it waits for the other process
        wake.write(b"late\n")
    with process.stdout:
        late = process.stdout.read()

    assert status == -signal.SIGTERM
    assert late == b"late\n"
    assert recorded(desk.cassette())[0] == ["term"]


IGNORED = """
import signal
print(sorted(int(one) for one in signal.Signals if signal.getsignal(one) is signal.SIG_IGN))
"""


@pytest.mark.parametrize("pure", ["", "1"])
@pytest.mark.parametrize("way", ["--headless", "--pipes"])
def test_a_program_inherits_ignored_signals(tmp_path: Path, way: str, pure: str) -> None:
    """As after ``nohup``, or in a background job of a shell, it has those that it has alone."""

    def ignoring(*words: str) -> str:
        script = 'trap "" HUP INT QUIT TERM USR1 TSTP; exec "$@"'
        done = subprocess.run(
            ["/bin/sh", "-c", script, "sh", *words],
            cwd=tmp_path,
            env={**os.environ, "PTYCASSETTE_PURE_PYTHON": pure},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=PATIENCE_MS / 1000,
            check=True,
        )
        return done.stdout.decode()

    program = (sys.executable, "-c", IGNORED)
    alone = ignoring(*program)
    ignoring(sys.executable, "-c", MAIN, "rec", way, "c.cassette", "--", *program)
    with open_cassette(tmp_path / "c.cassette") as cassette:
        recorded = b"".join(cassette.raw()).decode()

    assert "1, 2, 3, 10" in alone
    assert recorded.split() == alone.split()
