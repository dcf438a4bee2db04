"""Sessions with real programs: shells, editors, pagers, raw readers, background children."""

from __future__ import annotations

import asyncio
import contextlib
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from ptycassette.errors import (
    InputRefusedError,
    SessionClosedError,
    SessionError,
    StorageError,
    WaitTimeoutError,
)
from ptycassette.model.records import JournalEvent, Output, Typed
from ptycassette.model.screen import Size
from ptycassette.recording.session.async_session import AsyncSession
from ptycassette.recording.session.session import Session
from ptycassette.terminal.emulator import PyteEmulator

pytestmark = pytest.mark.integration

BASH = ["bash", "--norc"]
PROMPT = {"PS1": "$ ", "HISTFILE": ""}


class Tap:
    """Keeps what it hears, and sees to it that nobody calls it concurrently."""

    def __init__(self, delay_s: float = 0) -> None:
        self.events: list[JournalEvent] = []
        self.idle = 0
        self._delay_s = delay_s
        self._busy = threading.Lock()

    def on_output(self, t_us: int, data: bytes) -> None:
        """Keep a chunk."""
        self.on_event(Output(t_us, data))

    def on_event(self, event: JournalEvent) -> None:
        """Keep an event."""
        assert self._busy.acquire(blocking=False)
        if self._delay_s:
            time.sleep(self._delay_s)
        self.events.append(event)
        self._busy.release()

    def on_idle(self) -> None:
        """Count."""
        self.idle += 1

    @property
    def output(self) -> bytes:
        """All output."""
        return b"".join(event.data for event in self.events if isinstance(event, Output))


def python(code: str) -> list[str]:
    """A program in Python."""
    return [sys.executable, "-I", "-S", "-c", code]


def test_bash_is_driven_by_its_prompt() -> None:
    """Type, wait, look, exit."""
    with Session(BASH, env=PROMPT) as session:
        session.wait_for_text("$ ")
        session.type("echo $((6 * 7)); tty; exit 3\n")
        status = session.wait_exit()

        assert (status.code, session.exit_status) == (3, status)
        assert re.search(r"^42\n/dev/pts/\d+", session.screen().text, re.MULTILINE)


def test_ctrl_c_as_a_key_and_as_a_signal_reach_the_foreground_program() -> None:
    """The shell lives on."""
    with Session(BASH, env=PROMPT) as session:
        session.wait_for_text("$ ")
        for number, interrupt in enumerate(
            (lambda: session.send_key("ctrl-c"), lambda: session.signal("int"))
        ):
            # It is in the foreground when it speaks; a word that is typed differs from the answer.
            session.type(f"sh -c 'echo ready=$((7 + {number})); exec sleep 300'\n")
            session.wait_for_text(f"ready={7 + number}")
            interrupt()
            session.type(f"echo status={number}.$?\n")
            session.wait_for_text(f"status={number}.130")


def test_a_resize_is_seen_by_the_child() -> None:
    """SIGWINCH, and the new size."""
    code = (
        "import os,signal\n"
        "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGWINCH])\n"
        "print('ready', flush=True)\nsignal.sigwait([signal.SIGWINCH])\n"
        "print('now', *os.get_terminal_size())"
    )
    with Session(python(code), size=Size(10, 20)) as session:
        session.wait_for_text("ready")
        session.resize(Size(12, 34))
        session.wait_exit()

        assert "now 34 12" in session.screen().text


def test_vim_is_driven_by_keys(program: Callable[[str], str], tmp_path: Path) -> None:
    """Insert, arrows in the mode that vim sets, escape, save."""
    path = tmp_path / "text"
    vim = [program("vim"), "-u", "NONE", "-i", "NONE", "-n", "-c", "set nocp smd", "text"]
    with Session(vim, cwd=tmp_path) as session:  # a long path would make it ask for Enter
        session.wait_for_text("~\n~")
        session.send_key("i")
        session.wait_for_text("-- INSERT --")
        session.type("two\none")
        session.wait_for_text("one")
        session.send_key("up")
        session.send_key("home")
        session.type(">")
        session.wait_for_text(">two")
        session.send_key("escape")
        session.wait_for_predicate(lambda screen: "INSERT" not in screen.text, what="no INSERT")
        session.type(":wq\n")
        status = session.wait_exit()

    assert (status.code, path.read_text()) == (0, ">two\none\n")


def test_less_pages_and_quits(program: Callable[[str], str], tmp_path: Path) -> None:
    """Page keys and a search."""
    path = tmp_path / "long"
    path.write_text("".join(f"line {index}\n" for index in range(500)))
    with Session([program("less"), str(path)], size=Size(10, 40)) as session:
        session.wait_for_text("line 8")
        session.send_key("pagedown")
        session.wait_for_text("line 17")
        session.type("/line 400\n")
        session.wait_for_text("line 400")
        session.send_key("q")

        assert session.wait_exit().code == 0


def test_a_python_repl_answers(program: Callable[[str], str]) -> None:
    """Whatever line editor it brings along."""
    with Session([sys.executable, "-I", "-q"]) as session:
        session.wait_for_text(">>> ")
        session.submit("print(6 * 7)")
        session.wait_for_regex(r"^42")
        session.send_key("ctrl-d")

        assert session.wait_exit().code == 0


def test_bracketed_paste_reaches_a_program_that_asked_for_it() -> None:
    """Raw mode, DECSET 2004: the marks arrive, and Enter comes in a read of its own."""
    code = (
        "import os,tty\ntty.setraw(0)\nos.write(1, b'\\x1b[?2004hready')\n"
        "reads = [os.read(0, 999), os.read(0, 999)]\nos.write(1, repr(reads).encode())"
    )
    with Session(python(code), size=Size(24, 200)) as session:
        session.wait_for_text("ready")
        session.submit("a\nb")
        session.wait_exit()

        assert r"[b'\x1b[200~a\rb\x1b[201~', b'\r']" in session.screen().text


def test_passwords_are_masked_for_the_tap_alone() -> None:
    """Typed at a prompt that does not echo."""
    tap = Tap()
    secret = "hunter" + "2"
    code = "import getpass; p = getpass.getpass('Password: '); print(len(p), p[::-1])"
    with Session([sys.executable, "-c", code], tap=tap) as session:
        session.wait_for_text("Password: ")
        session.type(f"{secret}\n")
        session.wait_exit()

    typed = [event for event in tap.events if isinstance(event, Typed)]
    assert [(event.data, event.masked) for event in typed] == [(b"*******\r", True)]
    assert f"7 {secret[::-1]}".encode() in tap.output


def test_lines_over_the_limit_are_refused_and_lines_at_it_arrive() -> None:
    """4095 bytes and Enter: the kernel takes no more."""
    with Session(["cat"]) as session:
        with pytest.raises(InputRefusedError, match="4095"):
            session.send(b"x" * 4096 + b"\r")
        session.send(b"y" * 4095 + b"\r")
        session.send_key("ctrl-d")
        session.wait_exit()


def test_cat_returns_a_line_of_the_greatest_length_whole() -> None:
    """The limit is the kernel's own: not one byte is cut."""
    tap = Tap()
    with Session(["sh", "-c", "stty -echo; echo ready; wc -c"], tap=tap) as session:
        session.wait_for_text("ready")
        session.send(b"y" * 4095 + b"\r")
        session.send_key("ctrl-d")
        session.wait_exit()

    assert tap.output.endswith(b"4096\r\n")


def test_a_writer_that_waits_does_not_stop_the_reader() -> None:
    """A program that writes more than it reads, against a large input: no deadlock."""
    size = 300_000
    code = (
        "import os,tty\ntty.setraw(0)\nos.write(1, b'ready')\nn = 0\n"
        f"while n < {size}:\n data = os.read(0, 4096)\n n += len(data)\n os.write(1, data * 3)\n"
        "os.write(1, b'end')"
    )
    tap = Tap()
    with Session(python(code), tap=tap) as session:
        session.wait_for_text("ready")
        session.send(b"0123456789" * (size // 10), timeout_s=90)
        session.wait_exit(timeout_s=90)

    assert len(tap.output) == 3 * size + len("readyend")
    assert sum(len(e.data) for e in tap.events if isinstance(e, Typed)) == size


def test_input_to_a_stopped_program_times_out() -> None:
    """And a signal still gets through."""
    code = "import tty,time\ntty.setraw(0)\nprint('ready', flush=True)\ntime.sleep(300)"
    with Session(python(code)) as session:
        session.wait_for_text("ready")
        with pytest.raises(WaitTimeoutError, match="to read its input"):
            session.send(b"x" * 1_000_000, timeout_s=0.3)
        session.signal("kill")

        assert session.wait_exit().signal == "killed"


def test_a_slow_tap_loses_nothing() -> None:
    """The program waits, as it would for a slow terminal."""
    tap = Tap(delay_s=0.002)
    with Session(["sh", "-c", "seq 1 50000"], tap=tap) as session:
        session.wait_exit(timeout_s=60)

    assert tap.output.split() == [b"%d" % number for number in range(1, 50001)]


def test_queries_are_answered() -> None:
    """DA and DSR, to a program that waits for the answers."""
    code = (
        "import os,tty\ntty.setraw(0)\nos.write(1, b'ab\\x1b[6n')\n"
        "os.write(1, repr(os.read(0, 99)).encode())"
    )
    tap = Tap()
    with Session(python(code), tap=tap) as session:
        session.wait_exit()

        assert r"b'\x1b[1;3R'" in session.screen().text
    assert [e.source for e in tap.events if isinstance(e, Typed)] == ["terminal"]


def test_events_are_in_true_order_and_time_never_goes_back() -> None:
    """What comes back stands behind what was sent."""
    tap = Tap()
    with Session(["sh", "-c", "stty raw -echo; printf R; exec cat"], tap=tap) as session:
        session.wait_for_text("R")
        for index in range(200):
            session.send(b"%d." % index)
        session.wait_for_text("199.")

    times = [event.t_us for event in tap.events]
    assert times == sorted(times)
    sent, returned = b"R", b""
    for event in tap.events:
        if isinstance(event, Typed):
            sent += event.data
        elif isinstance(event, Output):
            returned += event.data
            assert sent.startswith(returned)


def test_background_children_end_with_the_program() -> None:
    """They hold the terminal open; the session ends all the same."""
    with Session(["bash", "-c", "sleep 300 & echo $!; exit 5"]) as session:
        status = session.wait_exit()
        child = int(session.screen().text)

    assert status.code == 5
    assert not psutil.pid_exists(child)


def test_a_program_that_leaves_its_terminal_for_a_while_is_not_lost() -> None:
    """It closes all of it, works, opens it again, and waits for an answer."""
    script = "exec <&- >&- 2>&-; sleep 0.3; exec <>/dev/tty >&0; echo back; read x; exit 4"
    with Session(["bash", "-c", script]) as session:
        session.wait_for_text("back")
        session.send_key("enter")

        assert session.wait_exit().code == 4


def test_a_timeout_ends_the_program() -> None:
    """And the session says that it did."""
    with Session(["sleep", "300"], timeout_s=0.3) as session:
        status = session.wait_exit()

    assert (status.signal, session.timed_out) == ("terminated", True)


def test_a_tap_that_fails_ends_program_and_session() -> None:
    """A full disk must not leave an unrecorded program running."""

    class Full(Tap):
        def on_output(self, t_us: int, data: bytes) -> None:
            """Fail."""
            raise StorageError("disk full")

    session = Session(["bash", "-c", "echo x; sleep 300"], tap=Full())
    pid = session.pid
    with pytest.raises(SessionError, match="disk full"):
        session.wait_for_text("x")
    with pytest.raises(SessionError, match="disk full"):
        session.close()

    assert not psutil.pid_exists(pid)


def test_a_tap_that_fails_on_input_ends_program_and_session_too() -> None:
    """Whoever waits is told; nobody hangs."""

    class Full(Tap):
        def on_event(self, event: JournalEvent) -> None:
            """Fail."""
            raise StorageError("disk full")

        def on_output(self, t_us: int, data: bytes) -> None:
            """Listen to nothing."""

    session = Session(["cat"], tap=Full())
    with pytest.raises(StorageError):
        session.send(b"x\r")
    for act in (lambda: session.send(b"y"), lambda: session.wait_for_text("z"), session.close):
        with pytest.raises(SessionError, match="disk full"):
            act()

    assert not psutil.pid_exists(session.pid)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("script", ["exec yes here", "while echo here; do sleep 0.03; done"])
def test_a_stranger_on_the_terminal_does_not_keep_the_session(script: str) -> None:
    """Somebody from elsewhere writes to the terminal, much or little, and never stops."""
    with Session(["sh", "-c", "tty; read x"]) as session:
        path = session.wait_for_regex("^/dev/").rows[0]
        with Path(path).open("wb") as terminal:
            stranger = subprocess.Popen(["/bin/sh", "-c", script], stdout=terminal)
        try:
            session.wait_for_text("here")
            session.send_key("enter")
            status = session.wait_exit()
        finally:
            stranger.kill()
            stranger.wait()

    assert status.code == 0


@pytest.mark.slow
def test_sessions_leave_no_threads_descriptors_or_processes() -> None:
    """However they end."""

    def count() -> tuple[int, int, int]:
        me = psutil.Process()
        return threading.active_count(), me.num_fds(), len(me.children(recursive=True))

    before = count()
    for _ in range(5):
        with Session(["cat"]) as session:
            session.send(b"x")
        with Session(["true"]) as session:
            session.wait_exit()
        with contextlib.suppress(WaitTimeoutError), Session(["cat"]) as session:
            session.wait_for_text("never", timeout_s=0.01)

    assert count() == before


@pytest.mark.slow
def test_a_flood_is_hardly_rendered_and_kept_in_flat_memory() -> None:
    """20 MB with a waiter on the screen: the emulator is no brake, and the end is right."""
    fed = []

    class Counting(PyteEmulator):
        def feed(self, data: bytes) -> None:
            """Count."""
            fed.append(len(data))
            super().feed(data)

    before = psutil.Process().memory_info().rss
    with Session(["sh", "-c", "seq 1 2700000"], emulator=Counting) as session:
        session.wait_for_text("2700000", timeout_s=60)

        assert session.screen().rows[-2] == "2700000"
    assert sum(fed) < 2_000_000
    assert psutil.Process().memory_info().rss - before < 30 << 20


def test_recorded_time_is_the_time_at_which_it_happened() -> None:
    """Lines that carry the moment of their writing, one each millisecond.

    A machine at rest is within 35 us at the median. A busy one is within the limit now and then.
    """
    code = (
        "import os,time\n"
        "for _ in range(400):\n"
        " os.write(1, b'%d\\n' % (time.monotonic_ns() // 1000)); time.sleep(0.001)"
    )

    class Late(Tap):
        def on_output(self, t_us: int, data: bytes) -> None:
            """Keep the clock's moment beside the chunk."""
            now = time.monotonic_ns() // 1000
            super().on_output(now, data)

    def lags() -> list[int]:
        """Of each line, in order."""
        tap = Late()
        with Session(python(code), tap=tap) as session:
            session.wait_exit()
        return sorted(
            event.t_us - int(line)
            for event in tap.events
            if isinstance(event, Output)
            for line in event.data.split()
        )

    for _ in range(60):
        found = lags()
        if found[200] < 10_000:
            break

    assert len(found) == 400
    assert 0 <= found[0] <= found[200] < 10_000


@pytest.mark.slow
@pytest.mark.asyncio
async def test_the_async_face_drives_many_sessions_at_once() -> None:
    """Ten shells in one loop."""

    async def one(index: int) -> str:
        async with AsyncSession(BASH, env=PROMPT) as session:
            await session.wait_for_text("$ ")
            await session.submit(f"echo $(({index} * 1000))")
            screen = await session.wait_for_regex(rf"^{index * 1000}$")
            await session.submit("exit")
            await session.wait_exit()
            return screen.text

    texts = await asyncio.gather(*(one(index) for index in range(1, 11)))

    assert all(f"\n{index * 1000}" in text for index, text in enumerate(texts, 1))


@pytest.mark.asyncio
async def test_async_waits_can_be_cancelled_at_any_moment() -> None:
    """A cancelled wait leaves nothing behind, and the session goes on."""
    before = threading.active_count()
    async with AsyncSession(BASH, env=PROMPT) as session:
        for delay_s in (0, 0, 0.001, 0.05):
            wait = asyncio.create_task(session.wait_for_text("never"))
            await asyncio.sleep(delay_s)
            wait.cancel()
            with pytest.raises(asyncio.CancelledError):
                await wait
        assert not session._core.watched
        await session.type("echo on\n")
        await session.wait_for_regex("^on")
    await session.close()

    assert threading.active_count() == before


@pytest.mark.asyncio
async def test_an_async_session_that_is_cancelled_ends_its_program() -> None:
    """Even while it is being closed."""
    pids = []
    up = asyncio.Event()

    async def use() -> None:
        async with AsyncSession(["bash", "-c", "trap '' TERM HUP; echo up; sleep 300"]) as session:
            pids.append(session.pid)
            await session.wait_for_text("up")
            up.set()
            await asyncio.sleep(300)

    task = asyncio.create_task(use())
    await up.wait()
    for _ in range(2):
        task.cancel()
        await asyncio.sleep(0.05)
    with contextlib.suppress(asyncio.CancelledError):
        await task

    assert not psutil.pid_exists(pids[0])


@pytest.mark.asyncio
async def test_an_async_timeout_ends_the_program() -> None:
    """And terminate says how it ended."""
    async with AsyncSession(["sleep", "300"]) as session:
        with pytest.raises(WaitTimeoutError):
            await session.wait_exit(timeout_s=0.1)
        status = await session.terminate()
        with pytest.raises(SessionClosedError):
            await session.send(b"x")

    assert status.signal == "terminated"


def test_the_environment_is_clean_unless_asked_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    """A credential in the recorder's environment is not the program's."""
    monkeypatch.setenv("SOME_TOKEN", "t")
    shown = []
    for clean in (True, False):
        with Session(["sh", "-c", "echo [$SOME_TOKEN$TERM]"], clean_env=clean) as session:
            session.wait_exit()
            shown.append(session.screen().text)

    assert shown == ["[xterm-256color]", "[txterm-256color]"]


def test_a_signal_that_another_thread_gets_is_handled_while_waiting() -> None:
    """The system may give it to any thread, and Python does not wake the main thread for that."""
    handled = threading.Event()
    before = signal.signal(signal.SIGUSR1, lambda *_: handled.set())
    main = threading.main_thread().ident
    try:
        with Session(["sh", "-c", "read line"]) as session:

            def send() -> None:
                while sys._current_frames()[main or 0].f_code.co_name != "wait":
                    time.sleep(0.01)
                time.sleep(0.1)
                signal.pthread_kill(threading.get_ident(), signal.SIGUSR1)
                assert handled.wait(60)
                session.submit("")

            other = threading.Thread(target=send)
            other.start()
            session.wait_exit(timeout_s=80)
            other.join()
    finally:
        signal.signal(signal.SIGUSR1, before)
