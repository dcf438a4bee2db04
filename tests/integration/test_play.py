"""``play`` on a real terminal: what reaches it, and how it is left on every way out."""

from __future__ import annotations

import os
import re
import signal
import sys
import termios
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pexpect
import pytest

from ptycassette.model.records import Output
from ptycassette.model.screen import Size
from ptycassette.replaying.io.player_terminal import LEAVE, RAW_LEAVE
from ptycassette.testing import manifest_of, write_cassette

pytestmark = pytest.mark.integration

PLAY = ("-m", "ptycassette", "play")
WICKED = (
    b"\x1b]0;title\x07\x1b]52;c;ZXZpbA==\x07\x1b[c\x1b[6n\x1b[>q\x1b[21t\x1b[?1000h\x1b[?2004h"
    b"\x1b[>4;2m\x1b[>1u\x1b(0\x0e\x1b[?1049h\x1b]11;?\x07\x1bP$qm\x1b\\\x1b[5i\x1bc\x1b#8"
)
SAFE = re.compile(
    rb"(?:\x1b\[(?:0[\d;]*m|2J|H|K|\d+;\d+H|\d+G|\?25[hl]|\?1049[hl])|[\x20-\x7e\r\n]"
    rb"|(?!\xc2[\x80-\x9f])[\xc2-\xf4][\x80-\xbf]+)*"
)


@pytest.fixture
def cassette(tmp_path: Path) -> Path:
    """Ten seconds, beginning with everything that a recording should not do to a terminal."""
    path = tmp_path / "c"
    write_cassette(
        path,
        Output(0, WICKED),
        *(Output(t * 500_000, b"\x1b[3%dmtick %d\x1b[0m\r\n" % (t % 8, t)) for t in range(20)),
        manifest=manifest_of(size=Size(rows=10, cols=40)),
    )
    return path


class Child:
    """``play`` under a PTY of ours, and what it wrote."""

    def __init__(self, *args: object, rows: int = 12, cols: int = 60) -> None:
        self.process = pexpect.spawn(
            sys.executable,
            [*PLAY, *(str(arg) for arg in args)],
            dimensions=(rows, cols),
            timeout=90,
        )
        self.before: list[Any] = termios.tcgetattr(self.process.child_fd)
        self.said = b""

    def until(self, text: bytes) -> None:
        """Read until ``text`` was written."""
        self.process.expect_exact(text)
        self.said += self.process.before + self.process.after

    def end(self) -> int:
        """Wait for the end; the status, 128 and more for a signal."""
        while True:
            try:
                self.said += self.process.read_nonblocking(65536, timeout=90)
            except pexpect.EOF:
                break
        self.after = termios.tcgetattr(self.process.child_fd)
        self.process.close()
        if self.process.signalstatus is not None:
            return 128 + int(self.process.signalstatus)
        return int(self.process.exitstatus)


@pytest.fixture
def play() -> Iterator[Callable[..., Child]]:
    """Start players that are ended with the test."""
    children: list[Child] = []

    def start(*args: object, **size: int) -> Child:
        children.append(Child(*args, **size))
        return children[-1]

    yield start
    for child in children:
        child.process.close(force=True)


def test_it_ends_by_itself_and_leaves_the_last_screen_behind(
    play: Callable[..., Child], cassette: Path
) -> None:
    """Off the alternate screen, in the scrollback."""
    child = play(cassette, "--speed", "50")

    assert child.end() == 0
    assert child.said.split(LEAVE)[1].strip().endswith(b"tick 19\x1b[0m")
    assert child.after == child.before


@pytest.mark.sampled(2)
@pytest.mark.parametrize("speed", ["50", "2"])
def test_only_paint_reaches_the_terminal(
    speed: str, play: Callable[..., Child], cassette: Path
) -> None:
    """Titles, clipboard, queries, modes, character sets and resets have no way out."""
    child = play(cassette, "--speed", speed)
    child.end()

    assert SAFE.fullmatch(child.said), child.said


@pytest.mark.parametrize("key", ["q", "\x03", "\x04"])
def test_quitting_restores_the_terminal(
    key: str, play: Callable[..., Child], cassette: Path
) -> None:
    """Settings, screen and cursor."""
    child = play(cassette)
    child.until(b"tick 0")
    child.process.send(key)

    assert child.end() == 0
    assert LEAVE in child.said
    assert child.after == child.before


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT])
@pytest.mark.parametrize("options", [(), ("--raw",)])
def test_signals_restore_the_terminal(
    number: signal.Signals, options: tuple[str, ...], play: Callable[..., Child], cassette: Path
) -> None:
    """And end with the status that a shell gives for them."""
    child = play(cassette, *options)
    child.until(b"tick 0")
    time.sleep(0.1)
    os.kill(child.process.pid, number)

    assert child.end() == 128 + number
    assert (RAW_LEAVE if options else LEAVE) in child.said
    assert child.after == child.before


@pytest.mark.slow
def test_raw_writes_the_bytes_and_puts_back_what_they_did(
    play: Callable[..., Child], cassette: Path
) -> None:
    """Every mode that a recording may have switched on."""
    child = play(cassette, "--raw", "--speed", "50")

    assert child.end() == 0
    assert (cassette / "output.raw").read_bytes() in child.said
    assert child.said.endswith(RAW_LEAVE)
    assert child.after == child.before


@pytest.mark.slow
def test_late_answers_of_the_terminal_are_not_typed_into_the_shell(
    play: Callable[..., Child], cassette: Path
) -> None:
    """They arrive after the end, and are taken by the player."""
    shell = pexpect.spawn(
        "/bin/sh", env={"PS1": "READY> ", "PATH": os.environ["PATH"]}, timeout=90, echo=False
    )
    try:
        shell.expect_exact("READY> ")
        command = " ".join([sys.executable, *PLAY, "--raw", "--speed", "50", str(cassette)])
        shell.sendline(command)
        shell.expect_exact(b"\x1b[23;0t")
        shell.send("\x1b[?62;22c\x1b[1;1R")
        shell.expect_exact("READY> ")
        shell.sendline("echo over")
        shell.expect_exact("over")
        assert shell.before == b""
    finally:
        shell.close(force=True)


@pytest.mark.slow
def test_a_stop_gives_the_terminal_back_and_goes_on(
    cassette: Path, program: Callable[[str], str]
) -> None:
    """ctrl-z and fg, as with any program."""
    shell = pexpect.spawn(
        program("bash"), ["--norc", "--noprofile"], env={**os.environ, "PS1": "READY> "}, timeout=90
    )
    try:
        shell.expect_exact("READY> ")
        shell.sendline(" ".join([sys.executable, *PLAY, str(cassette)]))
        shell.expect_exact("tick 1")
        shell.send("\x1a")
        shell.expect_exact(LEAVE)
        shell.expect("Stopped")
        shell.expect_exact("READY> ")
        shell.sendline("fg")
        shell.expect_exact(b"\x1b[?1049h")
        shell.expect_exact("tick 1")
        shell.send("q")
        shell.expect_exact(LEAVE)
        shell.expect_exact("READY> ")
    finally:
        shell.close(force=True)


def test_a_smaller_terminal_shows_a_part_and_says_so(
    play: Callable[..., Child], cassette: Path
) -> None:
    """And a resize paints anew."""
    child = play(cassette, rows=5, cols=70)
    child.until(b"cut to 70x5")
    child.process.setwinsize(12, 70)
    child.until(b"\x1b[2J")
    child.process.send("q")

    assert child.end() == 0


def test_without_a_keyboard_it_plays_to_the_end(
    cassette: Path, program: Callable[[str], str]
) -> None:
    """Stdin is no terminal: no keys, the picture is the same."""
    line = f"{sys.executable} {' '.join(PLAY)} --speed 50 {cassette} </dev/null"
    text, status = pexpect.run(program("bash") + f" -c '{line}'", withexitstatus=True, timeout=90)

    assert status == 0
    assert b"tick 19" in text
    assert LEAVE in text
