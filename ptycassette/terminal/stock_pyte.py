"""Stock pyte behind the port: the library as it is published, for comparison.

The default emulator has pyte's names and none of its code (docs/decisions/0020); this backend is
pyte's own screen and parser. Its differences are listed in ``_conformance``.

pyte raises on some sequences that programs send, and its state then depends on how the output is
cut into chunks. So it is fed one byte at a time: a sequence on which it raises is dropped, and
splitting the input changes nothing. That is slow; use another backend for speed.
"""

from __future__ import annotations

from importlib.metadata import version
from typing import Any, Final

import pyte

from ptycassette.model.records import EmulatorId
from ptycassette.model.screen import Cursor, Screen, Size, Style, StyleRun
from ptycassette.terminal._pending import PendingCounter
from ptycassette.terminal.core import DECTCEM, bounded
from ptycassette.terminal.grid import collect_runs
from ptycassette.terminal.query_profiles import mode_name

NAME: Final = "stock-pyte"
REVISION: Final = 1
"""Goes up with every change after which the same bytes may give another screen."""

_NAMES: Final = ("black", "red", "green", "brown", "blue", "magenta", "cyan", "white")
_COLORS: Final = {
    "default": None,
    **{name: number for number, name in enumerate(_NAMES)},
    **{f"bright{name}": number + 8 for number, name in enumerate(_NAMES)},
    "bfightmagenta": 13,  # so spelt in pyte 0.8.2, of backgrounds
}


class _Screen(pyte.Screen):
    """pyte's screen, which keeps its answers."""

    def __init__(self, columns: int, lines: int) -> None:
        self.sent: list[str] = []
        super().__init__(columns, lines)

    def write_process_input(self, data: str) -> None:
        self.sent.append(data)


class StockPyteEmulator:
    """``Emulator`` on pyte's own screen.

    Args:
        size: the size to start with; brought into 1x2 to 1000x1000.
    """

    def __init__(self, size: Size) -> None:
        size = bounded(size)
        self._screen = _Screen(size.cols, size.rows)
        self._stream: Any = pyte.ByteStream(self._screen)
        self._pending = PendingCounter()
        self.refused = 0
        """How many sequences pyte raised on."""

    @property
    def identity(self) -> EmulatorId:
        """``stock-pyte`` and the versions of pyte and of this adapter."""
        return EmulatorId(NAME, f"{version('pyte')}+ptycassette.{REVISION};width=codepoint")

    @property
    def size(self) -> Size:
        """The size now."""
        return Size(self._screen.lines, self._screen.columns)

    @property
    def pending(self) -> int:
        """How many bytes at the end of the input are an incomplete sequence or character."""
        return self._pending.count()

    def feed(self, data: bytes) -> None:
        """Consume output of the program. A sequence on which pyte raises is dropped."""
        self._pending.feed(data)
        for at in range(len(data)):
            try:
                self._stream.feed(data[at : at + 1])
            except Exception:  # noqa: BLE001 - of any kind; it has reset its parser
                self.refused += 1

    def resize(self, size: Size) -> None:
        """Take another size."""
        size = bounded(size)
        self._screen.resize(size.rows, size.cols)

    def answers(self) -> bytes:
        """Take what pyte would have sent back since the last call."""
        sent = "".join(self._screen.sent)
        self._screen.sent.clear()
        return sent.encode()

    def snapshot(self) -> Screen:
        """The screen now. pyte has no alternate one."""
        screen = self._screen
        rows = [self._row(y) for y in range(screen.lines)]
        cursor = screen.cursor
        return Screen(
            size=self.size,
            rows=tuple(text for text, _ in rows),
            styles=tuple(runs for _, runs in rows),
            cursor=Cursor(cursor.y, min(cursor.x, screen.columns - 1), DECTCEM in screen.mode),
            title=screen.title,
            modes=frozenset(map(mode_name, screen.mode)),
        )

    def cells(self) -> list[list[str]]:
        """The text of every cell; ``""`` is the right half of a wide one."""
        screen = self._screen
        cols = range(screen.columns)
        return [[screen.buffer[y][x].data for x in cols] for y in range(screen.lines)]

    def _row(self, y: int) -> tuple[str, tuple[StyleRun, ...]]:
        cells = [self._screen.buffer[y][x] for x in range(self._screen.columns)]
        text = "".join(cell.data for cell in cells).rstrip(" ")
        return text, tuple(collect_runs([_style(cell) for cell in cells]))


def _color(name: str) -> int | str | None:
    return _COLORS.get(name, f"#{name}")


def _style(cell: Any) -> Style:
    return Style(
        fg=_color(cell.fg),
        bg=_color(cell.bg),
        bold=cell.bold,
        italic=cell.italics,
        underline="single" if cell.underscore else "",
        blink=cell.blink,
        reverse=cell.reverse,
        strike=cell.strikethrough,
    )


def create(size: Size) -> StockPyteEmulator:
    """The entry point: an ``EmulatorFactory``."""
    return StockPyteEmulator(size)
