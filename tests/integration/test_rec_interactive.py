"""``rec`` in a real terminal: raw mode, sizes, signals, and the terminal given back."""

from __future__ import annotations

import os
import signal
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pexpect
import psutil
import pytest

from ptycassette import open_cassette
from ptycassette.cassette.timeline.match import read_entries
from ptycassette.system.files.state_dirs import journal_dir
from ptycassette.system.pty.process import PURE_PYTHON
from ptycassette.viewing import JournalFollower
from tests.savers import saver_of, wait_until_journaled

# Half of the tests run with either loop in `make test`, all with both in `make test-all`.
pytestmark = [pytest.mark.integration, pytest.mark.sampled(2)]

PROMPT = r"bash-[0-9.]+[$#] "
RAW_ECHO = """
import os, sys, termios, tty
tty.setraw(0)
os.write(1, b"ready\\r\\n")
while (data := os.read(0, 100)) != b"q":
    os.write(1, repr(data).encode() + b"\\r\\n")
"""


class Terminal(pexpect.spawn):  # type: ignore[misc]
    """A user's terminal in which ``rec`` runs, and the modes that it had before."""

    def __init__(self, folder: Path, *words: str) -> None:
        code = "import sys; from ptycassette.cli import main; sys.exit(main())"
        # A shell in between shows whether the terminal is usable afterwards.
        super().__init__(
            sys.executable,
            ["-c", code, "rec", *words],
            cwd=str(folder),
            dimensions=(30, 90),
            timeout=90,
            preexec_fn=None,
        )
        self.delaybeforesend = None
        self.before_rec = termios.tcgetattr(self.child_fd)

    def modes(self) -> list[object]:
        """What the terminal is set to now."""
        return termios.tcgetattr(self.child_fd)


@pytest.fixture(autouse=True, params=["compiled", "python"])
def loop(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything holds with both loops."""
    if request.param == "compiled":
        request.getfixturevalue("compiled_library")
    else:
        monkeypatch.setenv(PURE_PYTHON, "1")


@pytest.fixture
def terminals() -> Iterator[list[Terminal]]:
    """Closed at the end, whatever happened."""
    opened: list[Terminal] = []
    yield opened
    for terminal in opened:
        terminal.close(force=True)


def rec(terminals: list[Terminal], folder: Path, *words: str) -> Terminal:
    """Start ``rec`` in a terminal."""
    terminals.append(Terminal(folder, *words))
    return terminals[-1]


def finish(terminal: Terminal) -> int:
    """Wait for its end; its status."""
    terminal.expect(pexpect.EOF)
    terminal.wait()
    return int(terminal.exitstatus if terminal.exitstatus is not None else -terminal.signalstatus)


@pytest.mark.slow
def test_a_shell_session_is_recorded_with_its_input(
    tmp_path: Path, terminals: list[Terminal]
) -> None:
    """What was typed, what was shown and the status of the program are in the cassette."""
    terminal = rec(terminals, tmp_path, "c", "--", "bash", "--norc")
    terminal.expect(PROMPT)
    terminal.send("echo sum $((20+3))\r")
    terminal.expect("sum 23")
    terminal.send("exit 7\r")
    status = finish(terminal)

    with open_cassette(tmp_path / "c") as cassette:
        typed = b"".join(record.bytes or b"" for record in cassette.inputs())
        shown = b"".join(cassette.raw())
    assert status == 7
    assert typed == b"echo sum $((20+3))\rexit 7\r"
    assert b"sum 23" in shown


ASKS = r"""
import os, termios, tty
tty.setraw(0)
os.write(1, b"\x1b[c\x1b[>c\x1b[6n\x1b[?u\x1b]10;?\x07\x1b]11;?\x1b\\")
os.write(1, b"\x1b[?2026$p\x1b[>q\x1b[14t\x1b[?1004hasked\r\n")
seen = b""
while not seen.endswith(b"q"):
    seen += os.read(0, 100)
    os.write(1, b"seen %d\r\n" % len(seen))
"""
PIECES = (
    b"\x1b[?62;22c\x1b[>1;10;0ch",
    b"\x1b[1;",
    b"2Ri\x1b[?1u\x1b]10;rgb:f/f/f\x07",
    b"\x1b]11;rgb:0/0",
    b"/0\x1b",
    b"\\\x1b[?2026;2$y\x1b",
    b"P>|fake 1\x1b\\\x1b[4;600;800t",
    b"\x1b[I",
    b"\x1b[A",
    b"q",
)


def test_what_the_terminal_answers_is_not_what_the_user_typed(
    tmp_path: Path, terminals: list[Terminal]
) -> None:
    """In pieces and between keys, as a slow connection hands them on; it is what was asked for."""
    terminal = rec(terminals, tmp_path, "c", "--", sys.executable, "-c", ASKS)
    terminal.expect("asked")
    sent = 0
    for piece in PIECES:
        terminal.send(piece)
        sent += len(piece)
        terminal.expect(rf"seen {sent}\r")
    status = finish(terminal)
    with open_cassette(tmp_path / "c") as cassette:
        inputs = list(cassette.inputs())
        entries = read_entries(inputs)
    stored = (tmp_path / "c" / "input.jsonl").read_text()
    typed = [record.bytes for record in inputs if record.source == "user"]

    assert status == 0
    assert b"".join(one.bytes or b"" for one in inputs) == b"".join(PIECES)
    assert b"".join(filter(None, typed)) == b"hi\x1b[Aq"
    assert [entry.shown for entry in entries] == ["hi<up>", "q"]
    assert stored.count('"terminal"') == sum(one.source == "terminal" for one in inputs)


@pytest.mark.slow
def test_every_byte_of_input_reaches_the_program_raw(
    tmp_path: Path, terminals: list[Terminal]
) -> None:
    """ctrl-c, ctrl-z, ctrl-s and invalid UTF-8 are keys like others."""
    terminal = rec(terminals, tmp_path, "c", "--", sys.executable, "-c", RAW_ECHO)
    terminal.expect("ready")
    for data, shown in [(b"\x03", r"x03"), (b"\x1a", r"x1a"), (b"\x13", r"x13"), (b"\xff", r"xff")]:
        terminal.send(data)
        terminal.expect(rf"b'\\{shown}'")
    terminal.send("q")

    assert finish(terminal) == 0


@pytest.mark.slow
def test_a_resize_reaches_the_program_and_the_record(
    tmp_path: Path, terminals: list[Terminal]
) -> None:
    """The program starts in the user's size and follows it; what is typed at once comes after."""
    terminal = rec(terminals, tmp_path, "c", "--", "bash", "--norc")
    terminal.expect(PROMPT)
    terminal.send("stty size\r")
    terminal.expect("30 90.*" + PROMPT)
    terminal.setwinsize(40, 100)
    terminal.send("stty size\r")
    terminal.expect("40 100")
    terminal.send("exit\r")
    finish(terminal)

    with open_cassette(tmp_path / "c") as cassette:
        sizes = [record.size for record in cassette.inputs() if record.size is not None]
        start = cassette.manifest.terminal
    assert [(size.rows, size.cols) for size in sizes] == [(40, 100)]
    assert (start.initial_rows, start.initial_cols) == (30, 90)


@pytest.mark.slow
def test_a_fixed_size_does_not_follow_the_terminal(
    tmp_path: Path, terminals: list[Terminal]
) -> None:
    """With --size the program's terminal stays as it is."""
    terminal = rec(terminals, tmp_path, "--size", "50x10", "c", "--", "bash", "--norc")
    terminal.expect(PROMPT)
    terminal.setwinsize(40, 100)
    terminal.send("stty size\r")
    terminal.expect("10 50")
    terminal.send("exit\r")
    finish(terminal)

    with open_cassette(tmp_path / "c") as cassette:
        assert [record.size for record in cassette.inputs() if record.size is not None] == []


def test_a_password_is_masked(tmp_path: Path, terminals: list[Terminal]) -> None:
    """What is typed while nothing is echoed is not in the cassette, not even when shown later."""
    phrase = "correct-horse-battery"
    code = "import getpass; p = getpass.getpass('secret? '); print('got', p, flush=True)"
    terminal = rec(terminals, tmp_path, "c", "--", sys.executable, "-c", code)
    terminal.expect("secret")
    terminal.waitnoecho()
    terminal.send(phrase + "\r")
    terminal.expect("got")
    finish(terminal)

    with open_cassette(tmp_path / "c") as cassette:
        (record,) = [record for record in cassette.inputs() if record.bytes]
        shown = b"".join(cassette.raw())
    assert (record.masked, record.bytes) == (True, b"*" * len(phrase) + b"\r")
    assert phrase.encode() not in shown


def test_a_password_typed_key_by_key_is_masked(tmp_path: Path, terminals: list[Terminal]) -> None:
    """The modes are looked at after keys that end no line, and before the one that does."""
    phrase = "correct-horse"
    code = "import getpass; p = getpass.getpass('secret? '); print('got', p, input(), flush=True)"
    terminal = rec(terminals, tmp_path, "c", "--", sys.executable, "-c", code)
    terminal.expect("secret")
    terminal.waitnoecho()
    for key in phrase + "\r":
        terminal.send(key)
        time.sleep(0.005)
    terminal.expect("\n")
    terminal.send("open\r")
    terminal.expect("got")
    finish(terminal)

    with open_cassette(tmp_path / "c") as cassette:
        typed = [(record.bytes, record.masked) for record in cassette.inputs() if record.bytes]
    assert b"".join(data for data, masked in typed if masked) == b"*" * len(phrase) + b"\r"
    assert b"".join(data for data, masked in typed if not masked) == b"open\r"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("end", "status"),
    [("exit 0\r", 0), ("kill -9 $$\r", 137), ("kill -SEGV $$\r", 139)],
)
def test_the_terminal_is_given_back_when_the_program_ends(
    tmp_path: Path, terminals: list[Terminal], end: str, status: int
) -> None:
    """Whether it exits or is killed, the modes are those from before."""
    terminal = rec(terminals, tmp_path, "c", "--", "bash", "--norc")
    terminal.expect(PROMPT)
    during = terminal.modes()
    terminal.send(end)
    ended = finish_keeping_modes(terminal)

    assert during != terminal.before_rec
    assert ended == (status, terminal.before_rec)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGQUIT])
def test_the_terminal_is_given_back_when_the_recorder_is_signalled(
    tmp_path: Path, terminals: list[Terminal], number: signal.Signals
) -> None:
    """What was recorded until then is a cassette, and the status tells the signal."""
    terminal = rec(terminals, tmp_path, "c", "--", "bash", "--norc")
    terminal.expect(PROMPT)
    terminal.send("echo before\r")
    terminal.expect("before\r\nbefore|before\r\n.*before")
    os.kill(terminal.pid, number)
    ended = finish_keeping_modes(terminal)

    with open_cassette(tmp_path / "c") as cassette:
        assert b"before" in b"".join(cassette.raw())
    assert ended == (128 + number, terminal.before_rec)


def finish_keeping_modes(terminal: Terminal) -> tuple[int, list[object]]:
    """Wait for the end with the terminal still open; status and modes."""
    terminal.expect(pexpect.EOF)
    modes = terminal.modes()
    return finish(terminal), modes


def test_a_hangup_saves_the_recording(tmp_path: Path, terminals: list[Terminal]) -> None:
    """Closing the window ends the program and keeps what was recorded."""
    terminal = rec(terminals, tmp_path, "c", "--", "bash", "--norc")
    terminal.expect(PROMPT)
    process = psutil.Process(terminal.pid)
    terminal.ptyproc.fileobj.close()
    terminal.closed = terminal.ptyproc.closed = True
    terminal.terminated = terminal.ptyproc.terminated = True
    gone, alive = psutil.wait_procs([process], timeout=90)

    with open_cassette(tmp_path / "c") as cassette:
        assert b"bash" in b"".join(cassette.raw())
    assert (len(gone), alive) == (1, [])


def test_stopping_the_recorder_gives_the_terminal_back_meanwhile(
    tmp_path: Path, terminals: list[Terminal]
) -> None:
    """SIGTSTP from outside restores the modes; SIGCONT makes the terminal raw again."""
    terminal = rec(terminals, tmp_path, "c", "--", "bash", "--norc")
    terminal.expect(PROMPT)
    during = terminal.modes()
    process = psutil.Process(terminal.pid)
    os.kill(terminal.pid, signal.SIGTSTP)
    while process.status() != psutil.STATUS_STOPPED:
        pass
    stopped = terminal.modes()
    os.kill(terminal.pid, signal.SIGCONT)
    terminal.send("echo on $((1+1))\r")
    terminal.expect("on 2")
    again = terminal.modes()
    terminal.send("exit\r")
    finish(terminal)

    assert stopped == terminal.before_rec
    assert again == during


@pytest.mark.slow
def test_a_program_that_writes_before_it_reads_cannot_block_a_large_paste(
    tmp_path: Path, terminals: list[Terminal]
) -> None:
    """Input waits in a queue while output flows, so neither side waits for the other."""
    code = (
        "import os, tty; tty.setraw(0); os.write(1, b'ready\\r\\n')\n"
        "total = 0\n"
        "while total < 300000:\n"
        "    os.write(1, b'x' * 20000); total += len(os.read(0, 4096))\n"
        "os.write(1, b'\\r\\nall %d' % total)"
    )
    terminal = rec(terminals, tmp_path, "c", "--", sys.executable, "-c", code)
    terminal.expect("ready")
    os.set_blocking(terminal.child_fd, False)
    data, shown = b"y" * 300_000, b""
    while b"all 300000" not in shown:
        if data:
            with suppress(BlockingIOError):
                data = data[os.write(terminal.child_fd, data[:4096]) :]
        with suppress(pexpect.TIMEOUT):
            shown = shown[-100:] + terminal.read_nonblocking(65536, timeout=0.01)
    os.set_blocking(terminal.child_fd, True)

    assert finish(terminal) == 0


def test_the_side_channel_is_on_the_record(tmp_path: Path, terminals: list[Terminal]) -> None:
    """A hook of the program appends JSON lines; wrong ones are warnings."""
    code = 'echo \'{"step": 1}\' >> "$PTYCASSETTE_EVENTS"; echo nonsense >> "$PTYCASSETTE_EVENTS"'
    terminal = rec(terminals, tmp_path, "c", "--", "bash", "-c", code + "; echo done")
    finish(terminal)

    with open_cassette(tmp_path / "c") as cassette:
        payloads = [record.payload for record in cassette.service_events()]
    assert payloads[0] == {"step": 1}
    assert payloads[1]["type"] == "ptycassette.warning"


@pytest.mark.slow
def test_the_output_is_byte_exact(tmp_path: Path, terminals: list[Terminal]) -> None:
    """A megabyte of arbitrary bytes comes out as it went in."""
    source = tmp_path / "bytes"
    source.write_bytes(bytes(range(256)) * 4096)
    code = f"stty raw -echo; cat {source}"
    terminal = rec(terminals, tmp_path, "--no-scrub", "c", "--", "bash", "-c", code)
    finish(terminal)

    with open_cassette(tmp_path / "c", allow_unscrubbed=True) as cassette:
        assert b"".join(cassette.raw()) == source.read_bytes()


@pytest.mark.slow
def test_a_stuck_terminal_does_not_keep_keys_from_the_program(
    tmp_path: Path, terminals: list[Terminal]
) -> None:
    """While nobody reads the screen, ctrl-c still ends a flood, and all of it is shown later."""
    code = "echo ready; yes flood; stty -echo; echo over"
    terminal = rec(
        terminals, tmp_path, "--no-scrub", "c", "--", "bash", "-c", f"trap : INT; {code}"
    )
    terminal.expect("ready")
    journals = Path(os.environ["PTYCASSETTE_STATE_DIR"]) / "journals"
    (journal,) = journals.glob("*.journal")
    grown = -1
    # Until everything is full and stands still.
    while journal.stat().st_size != grown or grown < 16_384:
        grown = journal.stat().st_size
        time.sleep(0.2)
    terminal.send("\x03")
    terminal.expect("over")

    assert finish(terminal) == 0
    with open_cassette(tmp_path / "c", allow_unscrubbed=True) as cassette:
        assert b"".join(cassette.raw()).count(b"flood\r\n") > 1000


@pytest.mark.slow
def test_a_timeout_ends_the_program_and_gives_the_terminal_back(
    tmp_path: Path, terminals: list[Terminal]
) -> None:
    """The run is a failed one: status 125 and a diagnostic."""
    terminal = rec(terminals, tmp_path, "--timeout", "5", "c", "--", "sh", "-c", "echo up; cat")
    terminal.expect("up")
    ended = finish_keeping_modes(terminal)

    assert ended == (125, terminal.before_rec)
    assert (tmp_path / "c.diagnostic" / "output.raw").read_bytes() == b"up\r\n"


def test_a_program_that_cannot_start_leaves_the_terminal_alone(
    tmp_path: Path, terminals: list[Terminal]
) -> None:
    """What preflight could not see (a script whose interpreter is missing) is a diagnostic."""
    script = tmp_path / "broken"
    script.write_text("#!/no/such/interpreter\n")
    script.chmod(0o755)
    terminal = rec(terminals, tmp_path, "c", "--", str(script))
    ended = finish_keeping_modes(terminal)

    assert ended == (127, terminal.before_rec)
    assert (tmp_path / "c.diagnostic" / "diagnostic.json").exists()


def test_a_terminal_that_is_closed_right_after_the_end_loses_nothing(
    tmp_path: Path, terminals: list[Terminal]
) -> None:
    """The hang-up comes while the recording is saved, and the status is the program's own."""
    terminal = rec(terminals, tmp_path, "c", "--", "bash", "-c", "echo up; read line; exit 3")
    terminal.expect("up")
    process = psutil.Process(terminal.pid)
    saver = saver_of(process)
    assert saver is not None
    saver.suspend()
    terminal.send("x\r")
    (journal,) = journal_dir().glob("*.journal")
    until_s = time.monotonic() + 90
    while not ended(journal):
        assert time.monotonic() < until_s
    terminal.ptyproc.fileobj.close()
    saver.resume()
    _, status = os.waitpid(terminal.pid, 0)
    terminal.closed = terminal.ptyproc.closed = True
    terminal.terminated = terminal.ptyproc.terminated = True

    with open_cassette(tmp_path / "c") as cassette:
        assert b"".join(cassette.raw()).startswith(b"up\r\n")
    assert os.waitstatus_to_exitcode(status) == 3


def ended(journal: Path) -> bool:
    """Whether the journal is complete."""
    with JournalFollower(journal) as follower:
        return any(event.kind == "final" for event in follower.poll())


@pytest.mark.slow
def test_several_side_events_arrive_while_the_program_runs(
    tmp_path: Path, terminals: list[Terminal]
) -> None:
    """Each has its place among the output."""
    hook = 'echo $n >> "$PTYCASSETTE_EVENTS"; read; echo after $n; read'
    code = f"stty -echo; for n in 1 2 3; do {hook}; done"
    terminal = rec(terminals, tmp_path, "c", "--", "bash", "-c", code)
    for count in (1, 2, 3):
        wait_until_journaled(
            lambda events, count=count: [e.kind for e in events].count("service-event") == count
        )
        terminal.send("\r")
        terminal.expect(f"after {count}")
        terminal.send("\r")
    finish(terminal)

    with open_cassette(tmp_path / "c") as cassette:
        order = [
            event.kind for event in cassette.events() if event.kind in {"output", "service-event"}
        ]
    assert order == ["service-event", "output"] * 3


@pytest.mark.slow
def test_a_program_may_let_the_terminal_go_and_come_back(
    tmp_path: Path, terminals: list[Terminal]
) -> None:
    """The recording goes on until the program ends, not until nobody has the terminal open."""
    code = (
        "tty=$(tty); echo one; exec </dev/null >/dev/null 2>&1; sleep 0.3; echo two > $tty; exit 4"
    )
    terminal = rec(terminals, tmp_path, "c", "--", "bash", "-c", code)
    status = finish(terminal)

    with open_cassette(tmp_path / "c") as cassette:
        assert b"".join(cassette.raw()) == b"one\r\ntwo\r\n"
    assert status == 4


@pytest.mark.slow
def test_a_terminal_that_goes_away_while_output_waits_ends_the_recording_well(
    tmp_path: Path, terminals: list[Terminal]
) -> None:
    """What was recorded is a cassette, though nobody could see all of it."""
    terminal = rec(
        terminals,
        tmp_path,
        "--no-scrub",
        "c",
        "--",
        "bash",
        "-c",
        "echo up; yes | head -c 3000000; cat",
    )
    terminal.expect("up")
    time.sleep(0.5)
    process = psutil.Process(terminal.pid)
    terminal.ptyproc.fileobj.close()
    terminal.closed = terminal.ptyproc.closed = True
    terminal.terminated = terminal.ptyproc.terminated = True
    gone, alive = psutil.wait_procs([process], timeout=90)

    with open_cassette(tmp_path / "c", allow_unscrubbed=True) as cassette:
        assert b"".join(cassette.raw()).startswith(b"up\r\n")
    assert (len(gone), alive) == (1, [])
