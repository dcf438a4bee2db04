"""What we render of real agent CLIs is what tmux shows at the same moment.

The recorded output is played into a tmux pane, and at every frame the pane is
compared with it, row by row, up to the first resize: what becomes of wrapped
rows then differs between terminals (tmux pushes rows into its history where
xterm.js keeps them).
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ptycassette.host.cassette_reader import open_cassette
from ptycassette.model import Size

pytestmark = [pytest.mark.integration, pytest.mark.slow]

AGENTS = Path(__file__).resolve().parent.parent.parent / "fixtures" / "agents"
CASSETTES = sorted(path.parent for path in AGENTS.glob("*/manifest.json"))
PATIENCE_S = 10.0


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
            [*self._tmux, *words], capture_output=True, text=True, timeout=20, check=True
        )
        return done.stdout

    def rows(self) -> list[str]:
        """The rows now, right-trimmed."""
        rows = [row.rstrip() for row in self._ask("capture-pane", "-p").split("\n")]
        return rows[: self._size.rows]

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


@pytest.mark.parametrize("path", CASSETTES, ids=[path.name for path in CASSETTES])
def test_tmux_shows_the_recorded_frames(path: Path, pane: Callable[[Size], Pane]) -> None:
    """Row by row, at every frame."""
    compared = 0
    with open_cassette(path) as cassette:
        terminal = cassette.manifest.terminal
        shown = pane(Size(terminal.initial_rows, terminal.initial_cols))
        for event in cassette.events():
            if event.kind == "output":
                shown.input.write(event.data)
            elif event.kind == "input" and getattr(event.record, "size", None) is not None:
                break
            elif event.kind == "frame":
                wanted = [row.rstrip() for row in getattr(event.record, "text", ())]
                deadline = time.monotonic() + PATIENCE_S
                while shown.rows() != wanted and time.monotonic() < deadline:
                    time.sleep(0.02)
                assert shown.rows() == wanted, f"frame {event.seq}"
                compared += 1

    assert compared > 0
