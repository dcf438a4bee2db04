"""The player's terminal, and the commands that know one, on a PTY of our own in this process."""

from __future__ import annotations

import os
import pty
import select
import signal
import sys
import termios
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ptycassette.cassette.io.raw_output import write_all
from ptycassette.cli import main
from ptycassette.model.records import Output
from ptycassette.model.screen import Size
from ptycassette.replaying.io.player_terminal import (
    ENTER,
    LEAVE,
    RAW_ENTER,
    RAW_LEAVE,
    Interrupted,
    PlayerTerminal,
)
from ptycassette.testing import manifest_of, write_cassette

pytestmark = pytest.mark.integration


class Pty:
    """A pair of terminals; a thread keeps what the program's side writes."""

    def __init__(self) -> None:
        self.master, self.slave = pty.openpty()
        termios.tcsetwinsize(self.slave, (12, 60))
        self.said = b""
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        while not self._stop.is_set():
            if select.select([self.master], [], [], 0.02)[0]:
                self.said += os.read(self.master, 65536)

    def type(self, data: bytes) -> None:
        """What a user would."""
        os.write(self.master, data)

    def settings(self) -> list[Any]:
        """The terminal's."""
        return termios.tcgetattr(self.slave)

    def heard(self) -> bytes:
        """Everything written so far."""
        termios.tcdrain(self.slave)
        self._stop.set()
        self._thread.join()
        while select.select([self.master], [], [], 0.05)[0]:
            self.said += os.read(self.master, 65536)
        return self.said

    def close(self) -> None:
        """Both sides."""
        self._stop.set()
        self._thread.join()
        os.close(self.master)
        os.close(self.slave)


@pytest.fixture
def terminal() -> Iterator[Pty]:
    """A pair of terminals."""
    pair = Pty()
    yield pair
    pair.close()


def _run(terminal: Pty, *args: object) -> int:
    """Run the command line with stdin, stdout and stderr on the terminal."""
    kept = sys.stdin, sys.stdout, sys.stderr
    with (
        os.fdopen(os.dup(terminal.slave), "r") as stdin,
        os.fdopen(os.dup(terminal.slave), "w") as stdout,
        os.fdopen(os.dup(terminal.slave), "w") as stderr,
    ):
        sys.stdin, sys.stdout, sys.stderr = stdin, stdout, stderr
        try:
            return main([str(arg) for arg in args])
        finally:
            sys.stdin, sys.stdout, sys.stderr = kept


@pytest.fixture
def cassette(tmp_path: Path) -> Path:
    """A second, in colour."""
    path = tmp_path / "c"
    write_cassette(
        path,
        Output(0, b"\x1b]0;title\x07\x1b[31mred\x1b[0m\r\n"),
        Output(1_000_000, b"done\r\n"),
        manifest=manifest_of(size=Size(rows=5, cols=40)),
    )
    return path


@pytest.mark.parametrize(
    ("raw", "enter", "leave"),
    [(False, ENTER, LEAVE), (True, RAW_ENTER, RAW_LEAVE)],
    ids=["painted", "raw"],
)
def test_it_is_taken_and_given_back(
    terminal: Pty, *, raw: bool, enter: bytes, leave: bytes
) -> None:
    """Screen and settings; closing again changes nothing."""
    before = terminal.settings()
    with PlayerTerminal(terminal.slave, terminal.slave, raw=raw) as taken:
        during = terminal.settings()
    taken.close()

    assert terminal.heard() == enter + leave
    assert terminal.settings() == before
    assert during != before


def test_it_is_given_back_when_the_body_raises(terminal: Pty) -> None:
    """The exception goes on."""
    before = terminal.settings()
    with pytest.raises(RuntimeError, match="odd"), PlayerTerminal(terminal.slave, terminal.slave):
        raise RuntimeError("odd")

    assert terminal.heard().endswith(LEAVE)
    assert terminal.settings() == before


def test_a_signal_comes_out_once_with_its_status(terminal: Pty) -> None:
    """Handlers are those of before afterwards."""
    before = signal.getsignal(signal.SIGTERM)
    taken = PlayerTerminal(terminal.slave, terminal.slave)
    with pytest.raises(Interrupted) as caught, taken:
        signal.raise_signal(signal.SIGTERM)

    assert caught.value.status == 143
    assert signal.getsignal(signal.SIGTERM) == before


def test_a_second_signal_does_not_break_into_giving_back(terminal: Pty) -> None:
    """One is enough to end."""
    taken = PlayerTerminal(terminal.slave, terminal.slave)
    with taken:
        taken._ended = True
        os.kill(os.getpid(), signal.SIGTERM)
        taken.keys(0.01)

    assert terminal.heard().endswith(LEAVE)


def test_keys_are_waited_for_and_named(terminal: Pty) -> None:
    """Bytes become keys; without any, the wait ends in time."""
    with PlayerTerminal(terminal.slave, terminal.slave) as taken:
        silent = taken.keys(0.01)
        terminal.type(b" \x1b[C")
        keys = taken.keys(5)
        terminal.type(b"\x1b")
        alone = [taken.keys(5), taken.keys(5)]

    assert (silent, keys, alone) == ([], ["space", "right"], [[], ["escape"]])


def test_a_resize_wakes_it_up(terminal: Pty) -> None:
    """At once, with the new size."""
    with PlayerTerminal(terminal.slave, terminal.slave) as taken:
        size = taken.size
        termios.tcsetwinsize(terminal.slave, (30, 100))
        os.kill(os.getpid(), signal.SIGWINCH)
        keys = taken.keys(5)

    assert (size, taken.size) == (Size(rows=12, cols=60), Size(rows=30, cols=100))
    assert (keys, taken.resized) == ([], True)


def test_a_terminal_without_a_size_has_the_usual_one(terminal: Pty) -> None:
    """0 by 0 is what serial lines say; a pipe says nothing."""
    termios.tcsetwinsize(terminal.slave, (0, 0))
    read, write = os.pipe()
    os.close(read)

    assert PlayerTerminal(terminal.slave, None).size == Size(rows=24, cols=80)
    assert PlayerTerminal(write, None).size == Size(rows=24, cols=80)
    os.close(write)


def test_late_answers_are_taken(terminal: Pty) -> None:
    """Of a raw playback: nothing of them is left for whoever reads next."""
    late = threading.Timer(0.06, terminal.type, [b"\x1b[?62;22c\n"])
    with PlayerTerminal(terminal.slave, terminal.slave, raw=True):
        late.start()
    late.join()

    assert select.select([terminal.slave], [], [], 0.05)[0] == []


def test_all_is_written_to_a_terminal_that_is_full(terminal: Pty) -> None:
    """A descriptor that does not block is waited for."""
    os.set_blocking(terminal.slave, False)
    data = b"x" * 500_000
    with PlayerTerminal(terminal.slave, None) as taken:
        taken.write(data)
    write_all(terminal.slave, data)

    assert terminal.heard().count(b"x") == 1_000_000


def test_play_in_this_process(
    terminal: Pty, cassette: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without colours when NO_COLOR says so; the last screen stays."""
    monkeypatch.setenv("NO_COLOR", "1")
    status = _run(terminal, "play", "--speed", "20", cassette)
    heard = terminal.heard()

    assert status == 0
    assert heard.endswith(LEAVE + b"red\r\ndone\r\n")
    assert b";31m" not in heard


def test_play_raw_in_this_process(terminal: Pty, cassette: Path) -> None:
    """The bytes, between entering and leaving."""
    status = _run(terminal, "play", "--raw", "--mode", "collapsed", cassette)

    assert status == 0
    assert terminal.heard() == RAW_ENTER + (cassette / "output.raw").read_bytes() + RAW_LEAVE


def test_an_interrupted_play_has_the_status_of_its_signal(terminal: Pty, cassette: Path) -> None:
    """As a shell reports it."""
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGHUP))
    timer.start()

    assert _run(terminal, "play", cassette) == 129
    timer.join()


def test_cat_warns_on_a_terminal(terminal: Pty, cassette: Path) -> None:
    """The bytes act there."""
    assert _run(terminal, "cat", cassette) == 0
    assert b"these bytes act on your terminal" in terminal.heard()


def test_verify_shows_how_far_it_is(
    terminal: Pty, cassette: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a terminal, when it takes long."""
    monkeypatch.setattr("ptycassette.cli.verify.LARGE_BYTES", 1)

    assert _run(terminal, "verify", cassette) == 0
    assert b"checking" in terminal.heard()


def test_demo_in_this_process(terminal: Pty) -> None:
    """With the screen in colour, and nothing left behind."""
    assert _run(terminal, "demo") == 0
    assert b"Everything holds." in terminal.heard()
