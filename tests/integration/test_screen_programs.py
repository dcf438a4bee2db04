"""Real programs, recorded under a PTY: our screens against those of tmux for the same bytes."""

from __future__ import annotations

import os
import pty
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Callable, Iterator
from fcntl import ioctl
from pathlib import Path

import pytest

from ptycassette.model import Size
from ptycassette.screen import PyteEmulator

pytestmark = pytest.mark.integration

ROWS, COLS = 24, 80
TEXT = "\n".join(
    f"line {number}: the quick brown fox — jumps 漢字 {number * 7}" for number in range(200)
)


def record(argv: list[str], keys: list[str], cwd: Path) -> bytes:
    """What a program writes under a PTY of 24 rows and 80 columns while keys are typed."""
    pid, master = pty.fork()
    if pid == 0:
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(cwd),
            "TERM": "xterm-256color",
            "LANG": "C.UTF-8",
            "LC_ALL": "C.UTF-8",
            "NCURSES_NO_UTF8_ACS": "1",  # tmux prints line drawing sets as letters
        }
        os.chdir(cwd)
        os.execvpe(argv[0], argv, environment)  # noqa: S606 - the program under test
    ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLS, 0, 0))
    terminal = PyteEmulator(Size(ROWS, COLS))
    output = b""
    for key in ["", *keys]:
        os.write(master, key.encode())
        for data in reads(master, quiet_s=0.4):
            output += data
            terminal.feed(data)
            os.write(master, terminal.answers())
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    os.close(master)
    return output


def reads(master: int, *, quiet_s: float) -> Iterator[bytes]:
    """What can be read until the program is quiet, for five seconds at most."""
    end = time.monotonic() + 5
    while time.monotonic() < end and select.select([master], [], [], quiet_s)[0]:
        try:
            data = os.read(master, 65536)
        except OSError:
            return
        if not data:
            return
        yield data


def shown_by_tmux(tmux: str, output: bytes, folder: Path) -> list[str]:
    """The rows of a tmux pane that was sent the same bytes."""
    raw, done = folder / "output.raw", folder / "done"
    raw.write_bytes(output)
    server = [tmux, "-L", f"ptycassette-{os.getpid()}", "-f", "/dev/null"]
    command = f"stty raw -echo; cat '{raw}'; : > '{done}'; exec sleep 60"
    size = ["-x", str(COLS), "-y", str(ROWS)]
    environment = {**os.environ, "LC_ALL": "C.UTF-8", "TMUX_TMPDIR": str(folder)}
    try:
        subprocess.run(
            [*server, "new-session", "-d", *size, "sh", "-c", command],
            check=True,
            env=environment,
            timeout=20,
        )
        subprocess.run(
            [*server, "set", "-g", "status", "off"], check=True, env=environment, timeout=20
        )
        end = time.monotonic() + 10
        while not done.exists() and time.monotonic() < end:
            time.sleep(0.05)
        time.sleep(0.3)
        captured = subprocess.run(
            [*server, "capture-pane", "-p"],
            check=True,
            env=environment,
            capture_output=True,
            text=True,
            timeout=20,
        )
    finally:
        subprocess.run([*server, "kill-server"], check=False, env=environment, timeout=20)
    return [row.rstrip() for row in captured.stdout.splitlines()][:ROWS]


PROGRAMS = {
    "vim": (["vim", "-u", "NONE", "text"], [":set nu\r", "10j", "ihello 漢\x1b", "dd", "p", "G"]),
    "less": (["less", "text"], [" ", "b", "/fox 漢\r", "G", "k"]),
    "nano": (["nano", "text"], ["abc\r", "\x0b\x0b", "\x15"]),
    "dialog": (
        [
            "dialog",
            "--checklist",
            "choose",
            "15",
            "50",
            "6",
            "a",
            "alpha",
            "on",
            "b",
            "beta",
            "off",
        ],
        ["\x1b[B", " "],
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_looks_as_it_does_in_tmux(
    name: str, program: Callable[[str], str], tmp_path: Path
) -> None:
    """Row by row, for the bytes that the program wrote."""
    argv, keys = PROGRAMS[name]
    program(argv[0])
    tmux = program("tmux")
    (tmp_path / "text").write_text(TEXT)
    output = record(argv, keys, tmp_path)
    emulator = PyteEmulator(Size(ROWS, COLS))
    emulator.feed(output)
    expected = shown_by_tmux(tmux, output, tmp_path)
    rows = [row.rstrip() for row in emulator.snapshot().rows]

    assert len(output) > 500
    assert rows[: len(expected)] == expected
