"""What we render of real agent CLIs is what tmux shows at the same moment.

The recorded output is played into a tmux pane, byte for byte, and at every frame
the pane is compared with it, row by row, and the cursor with it.

Not compared is one thing: what a *resize of the main screen* makes of the rows that
are there. Terminals join and cut wrapped rows each in their own way (tmux keeps the
last rows, xterm.js the row with the cursor), so there tmux is no judge of ours;
xterm.js is (``test_agent_xterm.py``). After such a resize our screen is painted into
the pane, and from then on every frame is compared again. The alternate screen is
never joined or cut, so there resizes are compared like everything else.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ptycassette.cassette.io.reader import open_cassette
from ptycassette.model.records import FrameRecord, InputRecord
from ptycassette.model.screen import Screen, Size
from ptycassette.terminal.emulator import default_emulator

pytestmark = [pytest.mark.integration, pytest.mark.slow]

AGENTS = Path(__file__).resolve().parent.parent.parent / "fixtures" / "agents"
CASSETTES = sorted(path.parent for path in AGENTS.glob("*/manifest.json"))
PATIENCE_S = 90.0
Shown = tuple[list[str], tuple[int, int]]


class Pane:
    """A tmux pane that shows what is written to it, byte for byte."""

    def __init__(self, tmux: str, folder: Path, size: Size) -> None:
        self._tmux = [tmux, "-L", f"ptycassette-{os.getpid()}-{id(self)}", "-f", "/dev/null"]
        self._size = size
        fifo = folder / "fifo"
        os.mkfifo(fifo)
        self._ask("new-session", "-d", *self._shape(), f"stty raw -echo; exec cat '{fifo}'")
        self._ask("set", "-g", "status", "off")
        self._ask("set", "-g", "window-size", "manual")
        self._ask("resize-window", *self._shape())
        self.input = fifo.open("wb", buffering=0)

    def _shape(self) -> list[str]:
        return ["-x", str(self._size.cols), "-y", str(self._size.rows)]

    def _ask(self, *words: str) -> str:
        done = subprocess.run(
            [*self._tmux, *words], capture_output=True, text=True, timeout=90, check=True
        )
        return done.stdout

    def shown(self) -> Shown:
        """The rows now, right-trimmed, and where the cursor is: row, column."""
        told = self._ask(
            "capture-pane", "-p", ";", "display-message", "-p", "#{cursor_y} #{cursor_x}"
        )
        *rows, cursor = told.rstrip("\n").split("\n")
        row, column = cursor.split()
        rows = [one.rstrip() for one in rows[: self._size.rows]]
        # A cursor past the last column is in it: the next character wraps.
        return rows, (int(row), min(int(column), self._size.cols - 1))

    def resize(self, size: Size) -> None:
        """Make the window another size."""
        self._size = size
        self._ask("resize-window", *self._shape())

    def settle(self, wanted: Shown) -> Shown:
        """What it shows when it has read all, or when patience is over."""
        deadline = time.monotonic() + PATIENCE_S
        while (shown := self.shown()) != wanted and time.monotonic() < deadline:
            time.sleep(0.02)
        return shown

    def close(self) -> None:
        """End the server."""
        self._ask("kill-server")
        self.input.close()


@pytest.fixture
def pane(program: Callable[[str], str], tmp_path: Path) -> Iterator[Callable[[Size], Pane]]:
    """Open a pane of a size."""
    opened: list[Pane] = []

    def start(size: Size) -> Pane:
        opened.append(Pane(program("tmux"), tmp_path, size))
        return opened[-1]

    yield start
    for one in opened:
        one.close()


def painted(screen: Screen) -> bytes:
    """What paints the text and the cursor of a screen, and changes nothing else."""
    rows = "".join(
        f"\x1b[{number}H\x1b[2K{row}"
        for number, row in enumerate(
            [*screen.rows, *[""] * (screen.size.rows - len(screen.rows))], 1
        )
    )
    return f"{rows}\x1b[{screen.cursor.row + 1};{screen.cursor.col + 1}H".encode()


def wanted_of(frame: FrameRecord) -> Shown:
    """What a pane must show at a frame."""
    rows = [row.rstrip() for row in frame.text]
    rows += [""] * (frame.size.rows - len(rows))
    return rows, (frame.cursor.row, min(frame.cursor.col, frame.size.cols - 1))


@pytest.mark.parametrize("path", CASSETTES, ids=[path.name for path in CASSETTES])
def test_tmux_shows_the_recorded_frames(path: Path, pane: Callable[[Size], Pane]) -> None:
    """Row by row, at every frame; see above for resizes."""
    compared, moved = 0, False
    with open_cassette(path) as cassette:
        terminal = cassette.manifest.terminal
        size = Size(terminal.initial_rows, terminal.initial_cols)
        shown, ours = pane(size), default_emulator(size)
        for event in cassette.events():
            record = event.record
            if event.kind == "output":
                moved = False
                ours.feed(event.data)
                shown.input.write(event.data)
            elif isinstance(record, InputRecord) and record.size is not None:
                shown.resize(record.size)
                ours.resize(record.size)
                screen = ours.snapshot()
                moved = not screen.alt_screen
                if moved:
                    shown.input.write(painted(screen))
            elif isinstance(record, FrameRecord) and not moved:
                wanted = wanted_of(record)
                assert shown.settle(wanted) == wanted, f"frame {event.seq}"
                compared += 1

    assert compared > 0
