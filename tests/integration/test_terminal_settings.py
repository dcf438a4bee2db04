"""The terminal of a recorded program is set as the user's is, or else as a modern one is."""

from __future__ import annotations

import fcntl
import json
import os
import select
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from ptycassette import Session, open_cassette, record
from ptycassette.model.screen import Size
from ptycassette.system.pty.terminal import TerminalTemplate

pytestmark = pytest.mark.integration

IUTF8 = 0o40000
PATIENCE_MS = 90_000
SHOW = """
import fcntl, json, signal, struct, sys, termios
def show():
    modes = termios.tcgetattr(fd)
    modes[6] = [byte if isinstance(byte, int) else byte[0] for byte in modes[6]]
    size = struct.unpack("HHHH", fcntl.ioctl(fd, termios.TIOCGWINSZ, bytes(8)))
    print("<" + json.dumps([modes, size]) + ">", flush=True)
fd = int(sys.argv[1])
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGWINCH])  # one that comes before the wait counts
show()
while len(sys.argv) > 2:
    signal.sigwait([signal.SIGWINCH])
    show()
"""


class UserTerminal:
    """A PTY that plays the user's terminal."""

    def __init__(self, master: int, slave: int) -> None:
        self.master, self.slave = master, slave
        self._seen = b""

    def set_size(self, *numbers: int) -> None:
        """Rows, columns, and pixels in both directions."""
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", *numbers))

    def shown(self) -> Any:
        """What the program shows next: its modes and its size."""
        while b">" not in self._seen:
            poll = select.poll()
            poll.register(self.master, select.POLLIN)
            assert poll.poll(PATIENCE_MS), self._seen
            self._seen += os.read(self.master, 1 << 16)
        found, self._seen = self._seen.split(b">", 1)
        modes, size = json.loads(found.split(b"<", 1)[1].replace(b"\r\n", b""))
        return modes, tuple(size)

    def rec(self, folder: Path, *words: str, **streams: Any) -> subprocess.Popen[bytes]:
        """``rec`` in this terminal, as its foreground process."""
        main = "import os, fcntl, sys; from ptycassette.cli import main"
        take = "os.setsid(); fcntl.ioctl(int(sys.argv.pop(1)), 0x540E, 0)"
        return subprocess.Popen(
            [sys.executable, "-c", f"{main}; {take}; sys.exit(main())", str(self.slave), "rec",
             "--quiet", *words],
            cwd=folder, pass_fds=(self.slave,),
            **{"stdin": self.slave, "stdout": self.slave, "stderr": self.slave, **streams},
        )  # fmt: skip


@contextmanager
def user_terminal(*size: int) -> Iterator[UserTerminal]:
    """A terminal of a size that is unlike any default, as is everything else of it."""
    master, slave = os.openpty()
    try:
        terminal = UserTerminal(master, slave)
        terminal.set_size(*size)
        modes = termios.tcgetattr(slave)
        modes[0] = (modes[0] | IUTF8 | termios.IXANY) & ~termios.IXON
        modes[3] &= ~termios.ECHOK
        modes[4] = modes[5] = termios.B9600
        modes[6][termios.VINTR] = b"\x18"
        modes[6][termios.VERASE] = b"\x08"
        modes[6][termios.VKILL] = b"\x07"
        termios.tcsetattr(slave, termios.TCSANOW, modes)
        yield terminal
    finally:
        os.close(master)
        os.close(slave)


def as_shown(fd: int) -> Any:
    """The modes of a terminal as the program shows its own."""
    modes = termios.tcgetattr(fd)
    modes[6] = [byte if isinstance(byte, int) else byte[0] for byte in modes[6]]
    return modes


@pytest.mark.parametrize("how", ["interactive", "as-given", "pipe"])
def test_a_program_finds_the_settings_of_the_users_terminal(how: str, tmp_path: Path) -> None:
    """Modes, control characters, speed and size, also where one stream is a pipe."""
    show = [sys.executable, "-c", SHOW, "2" if how == "pipe" else "0"]
    with user_terminal(31, 97, 970, 620) as user:
        wanted = as_shown(user.slave)
        options = [] if how == "interactive" else ["--as-given"]
        streams = {"stdin": subprocess.DEVNULL} if how == "pipe" else {}
        if how == "pipe":
            show[-2] = SHOW.replace("flush=True", "flush=True, file=sys.stderr")
            streams["stdout"] = subprocess.DEVNULL
        process = user.rec(tmp_path, *options, "x.cassette", "--", *show, **streams)
        modes, size = user.shown()

        assert process.wait(90) == 0
        assert modes == wanted
        assert size == (31, 97, 970, 620)
        assert as_shown(user.slave) == wanted
    with open_cassette(tmp_path / "x.cassette") as cassette:
        kept = cassette.manifest.terminal.pty_mode or {}
        assert (kept["ixon"], kept["iutf8"]) == (False, True)


def test_pixels_follow_the_users_terminal(tmp_path: Path) -> None:
    """With a new size, and alone, as when the font grows; only the size is recorded."""
    show = [sys.executable, "-c", SHOW, "0", "wait"]
    with user_terminal(31, 97, 970, 620) as user:
        process = user.rec(tmp_path, "--pass-signals", "x.cassette", "--", *show)
        sizes = [user.shown()[1]]
        for size in ((40, 100, 1000, 800), (40, 100, 2000, 1600)):
            user.set_size(*size)
            sizes.append(user.shown()[1])
        process.terminate()
        process.wait(90)
    with open_cassette(tmp_path / "x.cassette") as cassette:
        resized = [record.size for record in cassette.inputs() if record.kind == "resize"]

    assert sizes == [(31, 97, 970, 620), (40, 100, 1000, 800), (40, 100, 2000, 1600)]
    assert resized == [Size(40, 100)]


def test_a_fixed_size_has_no_pixels(tmp_path: Path) -> None:
    """Those of the user's terminal belong to another size."""
    with user_terminal(31, 97, 970, 620) as user:
        show = [sys.executable, "-c", SHOW, "0"]
        process = user.rec(tmp_path, "--size", "50x20", "x.cassette", "--", *show)
        _, size = user.shown()
        process.wait(90)

    assert size == (20, 50, 0, 0)


@pytest.mark.parametrize("text", ["é", "日", "\N{GRINNING FACE}"])
def test_backspace_erases_a_character_and_not_a_byte(text: str, tmp_path: Path) -> None:
    """A headless terminal edits lines of UTF-8 as terminals do."""
    with record(["sh", "-c", "echo name; head -1 | od -An -tx1"], tmp_path / "x") as session:
        session.wait_for_text("name")
        session.type(f"ab{text}")
        session.send_key("backspace")
        session.send_key("backspace")
        session.type("c\n")
        session.wait_for_text("61 63 0a")
        session.wait_exit()


@pytest.mark.parametrize(
    ("locale", "utf8"),
    [
        ({}, True),
        ({"LANG": "C"}, True),
        ({"LANG": "de_DE.UTF-8"}, True),
        ({"LANG": "de_DE.utf8@euro"}, True),
        ({"LANG": "de_DE.ISO-8859-15@euro"}, False),
        ({"LC_CTYPE": "ja_JP.eucJP", "LANG": "C.UTF-8"}, False),
        ({"LC_ALL": "C.UTF-8", "LC_CTYPE": "ja_JP.eucJP"}, True),
        ({"LC_ALL": "", "LANG": "ru_RU.KOI8-R"}, False),
    ],
)
def test_the_locale_chooses_how_backspace_works(locale: dict[str, str], utf8: bool) -> None:
    """POSIX: LC_ALL, then LC_CTYPE, then LANG; an empty one is not set."""
    assert TerminalTemplate.of_environment(locale).utf8 is utf8
    modes = TerminalTemplate.of_environment(locale).modes()
    assert modes is not None
    assert modes["iutf8"] is utf8


def test_a_descriptor_that_is_no_terminal_is_no_template() -> None:
    """Neither a pipe nor a closed one."""
    read, write = os.pipe()
    assert TerminalTemplate.of_terminal(read) is None
    os.close(read)
    os.close(write)
    assert TerminalTemplate.of_terminal(read) is None


def test_a_session_has_such_a_terminal_too() -> None:
    """Not only recordings."""
    with Session([sys.executable, "-c", SHOW, "0"], size=Size(24, 200)) as session:
        session.wait_exit()
        shown = session.screen().text.replace("\n", "")

    modes, _ = json.loads(shown[shown.index("<") + 1 : shown.index(">")])
    assert modes[0] & IUTF8
