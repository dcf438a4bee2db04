"""Programs that are not on a terminal: with a shim a caller sees what it sees without one."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import termios
from pathlib import Path
from typing import IO, Any, NamedTuple

import psutil
import pytest

from ptycassette.cassette.io.reader import open_cassette
from ptycassette.cli import main
from ptycassette.model.records import streams_of

pytestmark = pytest.mark.integration
LONG_S = 240
LONG_LINE = b"x" * 5000
BINARY = bytes(range(256)) * 300

KINDS = """
import os, stat, sys
def kind(fd):
    mode = os.fstat(fd).st_mode
    found = "tty" if os.isatty(fd) else "fifo" if stat.S_ISFIFO(mode) else "file"
    return found if not stat.S_ISCHR(mode) or os.isatty(fd) else "null"
print([kind(fd) for fd in range(3)], file=open("kinds", "a"))
"""
PROGRAMS = {
    "cat": "exec cat",
    "nothing": "exit 0",
    "status": "exit 7",
    "both": "echo one; echo two >&2; echo three; cat; printf four >&2; exit 3",
    "signal": "echo before; kill -TERM $$",
    "first-line": "read line; echo got $line",
    "binary": f"exec {sys.executable} -c "
    "'import sys; sys.stdout.buffer.write(bytes(range(256)) * 300)'",
    "closes-stdin": "exec 0<&-; sleep 0.3; echo done",
    "closes-stdout": "echo bye; exec >&-; sleep 0.3; echo more >&2",
    "kinds": f"exec {sys.executable} kinds.py",
    "count": "wc -c; echo counted >&2",
    "jq": "jq -c '{a: .b}'",
    "sqlite3": "sqlite3 :memory:",
    "child": "(sleep 0.5; echo late) & echo early",
}


class Seen(NamedTuple):
    """All that a caller can see of a program."""

    status: int
    stdout: bytes
    stderr: bytes
    offset: int | None


class Caller:
    """Starts programs with all kinds of streams, with and without shims in front of them."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.library = place / "cassettes"
        self.report = place / "report.json"
        (place / "real").mkdir()
        (place / "kinds.py").write_text(KINDS)
        self.number = 0
        words = ["shim", "--dir", str(place / "bin"), "--library", str(self.library), "program"]
        assert main(words) == 0

    def write(self, script: str) -> None:
        """Install the real program."""
        path = self.place / "real" / "program"
        path.write_text(f"#!/bin/bash\n{script}\n")
        path.chmod(0o755)

    def environment(self, mode: str) -> dict[str, str]:
        """Shims first, unless the program is to be seen as it is."""
        first = [] if mode == "bare" else [str(self.place / "bin")]
        path = os.pathsep.join([*first, str(self.place / "real"), os.environ["PATH"]])
        kept = {name: value for name, value in os.environ.items() if name != "CI"}
        report = {"PTYCASSETTE_REPORT": str(self.report)}
        return {**kept, "PATH": path, "PTYCASSETTE_MODE": mode, **report}

    def start(self, mode: str, **streams: Any) -> subprocess.Popen[bytes]:
        """The program, as an application starts it."""
        return subprocess.Popen(
            ["program"],  # noqa: S607 - found on PATH, as callers do
            env=self.environment(mode),
            cwd=self.place,
            **streams,
        )

    def see(self, mode: str, given: bytes | None, kinds: tuple[str, str, str]) -> Seen:
        """Run it, and look at everything."""
        self.number += 1
        files = [self.place / f"{self.number}-{name}" for name in ("in", "out", "err")]
        files[0].write_bytes(b"line before\n" + (given or b""))
        opened: list[IO[bytes]] = []
        streams: list[Any] = [
            self._stream(kind, path, number, opened)
            for number, (kind, path) in enumerate(zip(kinds, files, strict=True))
        ]
        process = self.start(mode, stdin=streams[0], stdout=streams[1], stderr=streams[2])
        fed = given if kinds[0] == "pipe" else None
        out, err = process.communicate(fed, timeout=LONG_S)
        offset = opened[0].tell() if kinds[0] == "file" else None
        if kinds[0] == "file":
            offset = os.lseek(opened[0].fileno(), 0, os.SEEK_CUR)
        for file in opened:
            file.close()
        texts = [
            path.read_bytes() if kind in {"file", "append"} else data or b""
            for kind, path, data in zip(kinds[1:], files[1:], (out, err), strict=True)
        ]
        return Seen(process.returncode, texts[0], texts[1], offset)

    @staticmethod
    def _stream(kind: str, path: Path, number: int, opened: list[IO[bytes]]) -> Any:
        match kind:
            case "pipe":
                return subprocess.PIPE
            case "null":
                return subprocess.DEVNULL
            case "stdout":
                return subprocess.STDOUT
        if number == 0:
            file = path.open("rb", buffering=0)
            os.lseek(file.fileno(), len(b"line before\n"), os.SEEK_SET)
        elif kind == "append":
            path.write_bytes(b"was there\n")
            file = path.open("ab", buffering=0)
        else:
            file = path.open("wb", buffering=0)
        opened.append(file)
        return file

    def cassette(self) -> Path:
        """The recording."""
        (made,) = self.library.glob("program*.cassette")
        return made

    def reported(self) -> dict[str, Any]:
        """What the stand-in said at the end."""
        found: dict[str, Any] = json.loads(self.report.read_text())
        return found


@pytest.fixture
def caller(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Caller:
    """A caller with a state directory of its own."""
    monkeypatch.setenv("PTYCASSETTE_STATE_DIR", str(tmp_path / "state"))
    return Caller(tmp_path)


CASES = [
    ("cat", b"no newline at the end", ("pipe", "pipe", "pipe")),
    ("cat", LONG_LINE, ("pipe", "file", "pipe")),
    ("cat", b"from a file\n", ("file", "pipe", "null")),
    ("cat", None, ("null", "pipe", "pipe")),
    ("cat", BINARY, ("pipe", "pipe", "pipe")),
    ("nothing", b"nobody reads this", ("pipe", "pipe", "pipe")),
    ("status", None, ("null", "null", "null")),
    ("both", b"in", ("pipe", "pipe", "pipe")),
    ("both", b"in", ("file", "pipe", "stdout")),
    ("both", b"in", ("pipe", "file", "file")),
    ("both", b"in", ("pipe", "append", "stdout")),
    ("signal", None, ("null", "pipe", "pipe")),
    ("first-line", b"first\nsecond\n", ("file", "pipe", "pipe")),
    ("binary", None, ("null", "pipe", "pipe")),
    ("binary", None, ("null", "file", "pipe")),
    ("closes-stdin", b"x", ("pipe", "pipe", "pipe")),
    ("closes-stdout", None, ("null", "pipe", "pipe")),
    ("count", BINARY, ("pipe", "pipe", "pipe")),
    ("jq", b'{"b": 1}\n{"b": "' + LONG_LINE + b'"}', ("pipe", "pipe", "pipe")),
    ("sqlite3", b"create table t (a); insert into t values (3); select * from t;\nselect nonsense;",
     ("file", "pipe", "pipe")),
    ("child", None, ("null", "pipe", "pipe")),
]  # fmt: skip


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("name", "given", "kinds"), CASES, ids=lambda one: str(one)[:30])
def test_law(caller: Caller, name: str, given: bytes | None, kinds: tuple[str, str, str]) -> None:
    """What a caller sees is the same of the program, of its recording and of its replay."""
    if name in {"jq", "sqlite3"} and shutil.which(name) is None:
        pytest.skip(f"{name} is not installed")
    caller.write(PROGRAMS[name])
    bare = caller.see("bare", given, kinds)

    assert caller.see("record", given, kinds) == bare
    assert caller.see("replay", given, kinds) == bare
    assert caller.reported()["result"] == "passed"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kinds", "found"),
    [
        (("pipe", "pipe", "pipe"), ["fifo", "fifo", "fifo"]),
        (("file", "file", "null"), ["file", "file", "null"]),
        (("null", "pipe", "file"), ["null", "fifo", "file"]),
    ],
)
def test_program_finds_what_was_given(
    caller: Caller, kinds: tuple[str, str, str], found: list[str]
) -> None:
    """The program finds the kinds of streams that its caller gave, and the cassette names them."""
    caller.write(PROGRAMS["kinds"])
    caller.see("record", b"", kinds)
    with open_cassette(caller.cassette()) as cassette:
        streams = streams_of(cassette.manifest)

    assert (caller.place / "kinds").read_text().strip() == str(found)
    assert [streams.stdin, streams.stdout, streams.stderr] == list(kinds)


@pytest.mark.slow
def test_other_input_diverges(caller: Caller) -> None:
    """A stdin that differs is a divergence, which says where."""
    caller.write(PROGRAMS["cat"])
    caller.see("record", b"one\ntwo\n", ("pipe", "pipe", "pipe"))
    seen = caller.see("replay", b"one\n2\n", ("pipe", "pipe", "pipe"))
    (found,) = caller.reported()["divergences"]

    assert seen.status == 125
    assert seen.stderr == b""
    assert found["kind"] == "input-changed"
    assert "byte 4" in found["message"]


@pytest.mark.slow
@pytest.mark.parametrize("given", [b"one\n", b"one\ntwo\nthree\n"])
def test_less_and_more_input_diverge(caller: Caller, given: bytes) -> None:
    """Of a stdin that was read to its end, all of it counts."""
    caller.write(PROGRAMS["cat"])
    caller.see("record", b"one\ntwo\n", ("pipe", "pipe", "pipe"))
    caller.see("replay", given, ("pipe", "pipe", "pipe"))

    assert caller.reported()["result"] == "diverged"


@pytest.mark.slow
def test_kill_ends_everybody(caller: Caller) -> None:
    """When the caller's timeout kills the shim, recorder and program end, and it gets its end."""
    caller.write("echo $$ > pid; echo ready; exec sleep 600")
    with caller.start("record", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        program = psutil.Process(int((caller.place / "pid").read_text()))
        started = [program, *psutil.Process(process.pid).children(recursive=True)]
        process.kill()
        rest = process.stdout.read()

    assert rest == b""
    assert process.returncode == -signal.SIGKILL
    assert psutil.wait_procs(started, timeout=LONG_S)[1] == []


@pytest.mark.slow
def test_conversation(caller: Caller) -> None:
    """A caller that waits for each answer before it sends more gets them from the replay, too."""
    caller.write('while read line; do echo "you said $line"; done; echo end')

    def talk(mode: str) -> list[bytes]:
        with caller.start(mode, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            answers = []
            for line in (b"a\n", b"b\n"):
                process.stdin.write(line)
                process.stdin.flush()
                answers.append(process.stdout.readline())
            process.stdin.close()
            return [*answers, process.stdout.read()]

    expected = [b"you said a\n", b"you said b\n", b"end\n"]

    assert [talk("record"), talk("replay")] == [expected, expected]


@pytest.mark.slow
@pytest.mark.parametrize("piped", [0, 1, 2])
def test_one_stream_is_no_terminal(caller: Caller, piped: int) -> None:
    """A terminal and a pipe side by side: each stays what it is, and gets its own."""
    caller.write(
        "for fd in 0 1 2; do test -t $fd && k=${k}tty- || k=${k}pipe-; done; printf $k >> kinds\n"
        "echo out; echo err >&2; read line; echo got $line"
    )

    def see(mode: str) -> tuple[bytes, bytes, int]:
        ours, theirs = os.openpty()
        streams: list[Any] = [theirs, theirs, theirs]
        streams[piped] = subprocess.PIPE
        names = ("stdin", "stdout", "stderr")
        process = caller.start(
            mode, **dict(zip(names, streams, strict=True)), start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(theirs, termios.TIOCSCTTY, 0),
        )  # fmt: skip
        os.close(theirs)
        screen = b""
        if piped:
            while b"err" not in screen and b"out" not in screen:
                screen += os.read(ours, 1024)
            os.write(ours, b"line\n")
        with process:
            given = b"line\n" if piped == 0 else None
            out, err = process.communicate(given, timeout=LONG_S)
        with contextlib.suppress(OSError):  # EIO: everybody has closed it
            while data := os.read(ours, 1024):
                screen += data
        os.close(ours)
        return screen, out or err or b"", process.returncode

    bare = see("bare")

    assert see("record") == bare
    assert see("replay") == bare
    found = ["tty-", "tty-", "tty-"]
    found[piped] = "pipe-"
    assert (caller.place / "kinds").read_text() == "".join(found) * 2  # bare, and recorded


@pytest.mark.slow
def test_sockets_stay_sockets(caller: Caller) -> None:
    """What node gives its children: a pair of sockets for each stream, closed one way."""
    caller.write('readlink /proc/self/fd/0 | cut -d: -f1; cat; echo "$(stat -L -c %F /dev/stderr)"')

    def see(mode: str) -> tuple[bytes, int]:
        pairs = [socket.socketpair() for _ in range(3)]
        process = caller.start(mode, stdin=pairs[0][1], stdout=pairs[1][1], stderr=pairs[2][1])
        for _, theirs in pairs:
            theirs.close()
        pairs[0][0].sendall(b"through a socket\n")
        pairs[0][0].shutdown(socket.SHUT_WR)
        out = b""
        while data := pairs[1][0].recv(4096):
            out += data
        for ours, _ in pairs:
            ours.close()
        return out, process.wait(LONG_S)

    bare = see("bare")

    assert b"socket" in bare[0]
    assert [see("record"), see("replay")] == [bare, bare]


def test_signals_reach_the_program(caller: Caller) -> None:
    """A signal that the caller sends is the program's to handle, on the record, and in replay."""
    caller.write('trap "echo caught; exit 5" TERM; echo ready; while :; do sleep 0.05; done')

    def see(mode: str) -> tuple[bytes, int]:
        with caller.start(mode, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"
            process.terminate()
            return process.stdout.read(), process.wait(LONG_S)

    assert [see("record"), see("replay")] == [(b"caught\n", 5)] * 2


def test_daemons_live_on(caller: Caller) -> None:
    """What a program leaves running without its streams is not ended with it."""
    caller.write("sleep 600 < /dev/null > /dev/null 2>&1 & echo $!")
    seen = caller.see("record", None, ("null", "pipe", "pipe"))
    daemon = psutil.Process(int(seen.stdout))

    try:
        assert daemon.is_running()
    finally:
        daemon.kill()


@pytest.mark.slow
def test_early_close_by_the_caller(caller: Caller) -> None:
    """A caller that stops reading ends the program by SIGPIPE, as without a shim."""
    caller.write("exec yes")

    def head(mode: str) -> tuple[bytes, int]:
        with caller.start(mode, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            line = process.stdout.readline()
            process.stdout.close()
            return line, process.wait(LONG_S)

    bare = head("bare")

    assert bare == (b"y\n", -signal.SIGPIPE)
    assert [head("record"), head("replay")] == [bare, bare]


@pytest.mark.slow
def test_open_stdin_is_not_waited_for(caller: Caller) -> None:
    """A stdin that nobody ends is no reason to wait, if the program does not read it."""
    caller.write("echo done")
    reading, writing = os.pipe()
    try:
        for mode in ("record", "replay"):
            process = caller.start(mode, stdin=reading, stdout=subprocess.PIPE)

            assert process.communicate(timeout=LONG_S)[0] == b"done\n"
    finally:
        os.close(reading)
        os.close(writing)


def test_rec_pipes_says_what_the_streams_were(tmp_path: Path, caller: Caller) -> None:
    """For people: pipes in place of a terminal, the program's status, nothing of ours."""
    caller.write("echo out; echo err >&2; test -t 0 || test -t 1 || test -t 2 || exit 4")
    words = [sys.executable, "-m", "ptycassette", "rec", "--pipes", "c", "--", "program"]
    ours, theirs = os.openpty()
    environment = caller.environment("bare")
    with subprocess.Popen(
        words, cwd=tmp_path, env=environment, stdin=theirs, stdout=theirs, stderr=subprocess.PIPE
    ) as process:
        os.close(theirs)
        said = process.communicate(timeout=LONG_S)[1]
    shown = os.read(ours, 1024)
    os.close(ours)
    with open_cassette(tmp_path / "c") as cassette:
        streams = streams_of(cassette.manifest)

    assert (process.returncode, shown, said) == (4, b"out\r\n", b"err\n")
    assert {streams.stdin, streams.stdout, streams.stderr} == {"pipe"}


def test_other_frames_are_none_of_a_pipe(tmp_path: Path, caller: Caller) -> None:
    """Screens begin a line after each line feed, as a terminal would, and are made again so."""
    caller.write(PROGRAMS["both"])
    caller.see("record", b"in", ("pipe", "pipe", "pipe"))
    path = str(caller.cassette())
    with open_cassette(caller.cassette()) as cassette:
        *_, last = cassette.frames()

    assert "three" in last.text
    assert main(["verify", "--rederive", path]) == 0
    assert main(["export", path, str(tmp_path / "c.cast")]) == 0
    assert '"one\\r\\n' in (tmp_path / "c.cast").read_text()


@pytest.mark.slow
def test_rec_pipes_says_what_went_wrong(tmp_path: Path, caller: Caller) -> None:
    """A message of ours is for people, and comes when the program is over."""
    caller.write("echo err >&2; sleep 60")
    words = [sys.executable, "-m", "ptycassette", "rec", "--timeout", "5", "--pipes", "c", "--"]
    done = subprocess.run(
        [*words, "program"], cwd=tmp_path, env=caller.environment("bare"), capture_output=True,
        stdin=subprocess.DEVNULL, timeout=LONG_S, check=False,
    )  # fmt: skip

    assert done.returncode == 125
    assert done.stderr.startswith(b"err\nptycassette: timeout")
    assert (tmp_path / "c.diagnostic").is_dir()


def test_options_that_go_not_together(tmp_path: Path) -> None:
    """A driven terminal is no pipe."""
    words = ["rec", "--pipes", "--headless", str(tmp_path / "c"), "--", "true"]

    assert main(words) == 2


CLOSED = ("sh", "-c", "exec >&- 2>&-; exec sleep 1")
LATE = """
import sys, time
from ptycassette.cli import main
from ptycassette.recording.io.given_streams import StreamRelay

poll = StreamRelay._poll

def late(self, fd):
    done = all(output.done for output in self._outputs)
    while done and self._timeout_ms() is None and self._child.ended is None:
        time.sleep(0.01)  # it ends before the poll
    return poll(self, fd)

StreamRelay._poll = late
sys.exit(main())
"""


def test_a_program_that_ends_just_before_the_poll_ends_the_recording(tmp_path: Path) -> None:
    """Nothing would wake the poll any more: its end was already read."""
    ran = subprocess.run(
        [sys.executable, "-c", LATE, "rec", "--pipes", "c.cassette", "--", *CLOSED],
        cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
        timeout=60,
    )  # fmt: skip

    assert ran.returncode == 0, ran.stderr
