"""Real programs, recorded under a PTY: our screens against tmux and xterm.js for the same bytes.

xterm.js is ``@xterm/headless``, a dependency of the drivers that PTYCASSETTE_NODE_MODULES holds.
"""

from __future__ import annotations

import base64
import json
import os
import pty
import select
import shutil
import signal
import struct
import subprocess
import tempfile
import termios
import time
from collections.abc import Callable, Iterator
from fcntl import ioctl
from pathlib import Path
from typing import Any

import pytest

from ptycassette.model.screen import Size, Style
from ptycassette.terminal.emulator import PyteEmulator

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
    """What can be read until the program is quiet, for a minute and a half at most."""
    end = time.monotonic() + 90
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
    # The path of a socket has some 100 bytes, and that of a test's folder may be longer.
    sockets = tempfile.mkdtemp(prefix="t")
    server = [tmux, "-L", "t", "-f", "/dev/null"]
    # The answer to a question behind it says that tmux has painted all of it.
    asked = "printf '\\033[6n'; timeout --foreground 60 head -c 1 >/dev/null"
    command = f"stty raw -echo; cat '{raw}'; {asked}; : > '{done}'; exec sleep 60"
    size = ["-x", str(COLS), "-y", str(ROWS)]
    environment = {**os.environ, "LC_ALL": "C.UTF-8", "TMUX_TMPDIR": sockets}
    try:
        subprocess.run(
            [*server, "new-session", "-d", *size, "sh", "-c", command],
            check=True,
            env=environment,
            timeout=90,
        )
        subprocess.run(
            [*server, "set", "-g", "status", "off"], check=True, env=environment, timeout=90
        )
        end = time.monotonic() + 90
        while not done.exists() and time.monotonic() < end:
            time.sleep(0.05)
        captured = subprocess.run(
            [*server, "capture-pane", "-p"],
            check=True,
            env=environment,
            capture_output=True,
            text=True,
            timeout=90,
        )
    finally:
        subprocess.run([*server, "kill-server"], check=False, env=environment, timeout=90)
        shutil.rmtree(sockets, ignore_errors=True)
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


@pytest.mark.sampled(4)
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


XTERM_JS = """
const { Terminal } = require('@xterm/headless');
const color = (cell, kind) => {
  if (cell[`is${kind}Default`]()) return null;
  const value = cell[`get${kind}Color`]();
  return cell[`is${kind}RGB`]() ? '#' + value.toString(16).padStart(6, '0') : value;
};
const letters = [['b', 'isBold'], ['d', 'isDim'], ['i', 'isItalic'], ['u', 'isUnderline'],
  ['k', 'isBlink'], ['r', 'isInverse'], ['h', 'isInvisible'], ['s', 'isStrikethrough']];
const shown = terminal => {
  const buffer = terminal.buffer.active, rows = [];
  for (let y = 0; y < terminal.rows; y++) {
    const line = buffer.getLine(buffer.baseY + y), cells = [];
    for (let x = 0; x < terminal.cols; x++) {
      const cell = line.getCell(x);
      const text = cell.getWidth() ? cell.getChars() || ' ' : '';
      const attributes = letters.filter(([, is]) => cell[is]()).map(([letter]) => letter);
      cells.push([text, color(cell, 'Fg'), color(cell, 'Bg'), attributes.join('')]);
    }
    rows.push(cells);
  }
  return { rows, cursor: [buffer.cursorX, buffer.cursorY], alt: buffer.type === 'alternate' };
};
(async () => {
  const { rows, cols, chunks } = JSON.parse(require('fs').readFileSync(0));
  const terminal = new Terminal({ rows, cols, allowProposedApi: true, logLevel: 'off' });
  const screens = [];
  for (const chunk of chunks) {
    await new Promise(done => terminal.write(Buffer.from(chunk, 'base64'), done));
    screens.push(shown(terminal));
  }
  console.log(JSON.stringify(screens));
})();
"""
STOPS = 12

XTERM_PROGRAMS = {
    "mc": (["mc", "-u", "-d"], ["\t", "\x1b[B", "\x1bOS", "\x1b[21~", "\x1b\x1b", "\x1b[20~"]),
    "htop": (["htop", "-d", "5"], ["\x1bOP", "q", "t", "\x1b[17~", "\x1b"]),
    "ncdu": (["ncdu", "."], ["j", "i", "i", "?"]),
    "w3m": (["w3m", "page.html"], ["j", "\t", "\r", "l", "H"]),
    "zsh": (
        ["zsh", "-f"],
        ["PROMPT='%F{red}%~%f %B%#%b '\r", "ls -la\r", "echo 漢字 abc", "\x7f\x01x"],
    ),
}
PAGE = "<h1>heading</h1><table border=1><tr><td>漢字<td><b>bold</b></table><a href=text>a link</a>"


@pytest.fixture
def xterm_js() -> Callable[[list[bytes]], list[dict[str, Any]]]:
    """What xterm.js shows after each chunk; skips where it is not installed."""
    modules = Path(os.environ.get("PTYCASSETTE_NODE_MODULES", "")) / "node_modules"
    node = shutil.which("node")
    if node is None or not (modules / "@xterm" / "headless").is_dir():
        pytest.skip("@xterm/headless is not installed (PTYCASSETTE_NODE_MODULES)")

    def shown(chunks: list[bytes]) -> list[dict[str, Any]]:
        task = {
            "rows": ROWS,
            "cols": COLS,
            "chunks": [base64.b64encode(chunk).decode() for chunk in chunks],
        }
        done = subprocess.run(
            [node, "-e", XTERM_JS],
            input=json.dumps(task),
            capture_output=True,
            text=True,
            timeout=120,
            check=True,
            env={**os.environ, "NODE_PATH": str(modules)},
        )
        screens: list[dict[str, Any]] = json.loads(done.stdout)
        return screens

    return shown


def _attributes(style: Style) -> str:
    told = (
        ("b", style.bold),
        ("d", style.dim),
        ("i", style.italic),
        ("u", style.underline or style.link),
        ("k", style.blink),
        ("r", style.reverse),
        ("h", style.hidden),
        ("s", style.strike),
    )
    return "".join(letter for letter, on in told if on)


def _ours(emulator: PyteEmulator) -> dict[str, Any]:
    """The same of our screen, cell by cell."""
    buffer = emulator.terminal.buf
    rows = [
        [
            [text, style.fg, style.bg, _attributes(style)]
            for text, style in zip(texts, row.styles, strict=True)
        ]
        for texts, row in zip(emulator.cells(), buffer.rows, strict=True)
    ]
    alt = emulator.snapshot().alt_screen
    return {"rows": rows, "cursor": [buffer.x, buffer.y], "alt": alt}


@pytest.mark.parametrize("name", XTERM_PROGRAMS)
def test_a_program_looks_as_it_does_in_xterm_js(
    name: str,
    program: Callable[[str], str],
    xterm_js: Callable[[list[bytes]], list[dict[str, Any]]],
    tmp_path: Path,
) -> None:
    """Text, colours, attributes and cursor of every cell, at many moments, cut anywhere."""
    argv, keys = XTERM_PROGRAMS[name]
    program(argv[0])
    (tmp_path / "text").write_text(TEXT)
    (tmp_path / "page.html").write_text(PAGE)
    output = record(argv, keys, tmp_path)
    size = len(output) // STOPS + 1
    chunks = [output[at : at + size] for at in range(0, len(output), size)]
    emulator = PyteEmulator(Size(ROWS, COLS), width="codepoint")
    ours = []
    for chunk in chunks:
        emulator.feed(chunk)
        ours.append(_ours(emulator))

    assert len(output) > 500
    assert ours == xterm_js(chunks)
