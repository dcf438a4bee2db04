"""Which bytes painted which cell: the emulator for whoever must find text in the raw output.

``TracedEmulator`` renders exactly as the default emulator does, and knows for
every cell the stretch of output, in bytes since the first ``feed``, that holds the
characters in it. The stretch goes with the cell through scrolling, insertion,
deletion, reflow, the history and the other buffer. Cells that nothing was written
to have none.

Before anything on screen is lost (erased, painted over, scrolled off, shifted out,
reset, hidden by the other buffer, reflowed) ``on_losing(first, last)`` is called with
the rows concerned, while they are still whole. Rows that scroll into the history are
announced too, although they can still be read there for a while.

It looks at every character on its own and is some five times slower than the
ordinary emulator.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Final

from ptycassette.model import Size
from ptycassette.screen.core import DEFAULT_SCROLLBACK, bounded
from ptycassette.screen.emulator import PyteEmulator
from ptycassette.screen.grid import BLANK, Origin, Row
from ptycassette.screen.parser import Parser
from ptycassette.screen.terminal import Terminal
from ptycassette.screen.widths import WidthMode, WidthModeName, width_mode

__all__ = ["OnLosing", "TracedEmulator"]

OnLosing = Callable[[int, int], None]

_NOWHERE: Final[Origin] = (0, 0)


class TracedTerminal(Terminal):
    """A terminal whose cells remember their bytes."""

    traced = True
    watched = True

    def __init__(
        self,
        columns: int,
        lines: int,
        *,
        width_mode: WidthMode,
        scrollback: int = DEFAULT_SCROLLBACK,
        on_losing: OnLosing | None = None,
    ) -> None:
        self.on_losing = on_losing
        self._origin: Origin = _NOWHERE
        self._repeated: Origin | None = None
        # Where each character of the text being parsed starts, and which one is next.
        self.starts: Sequence[int] = ()
        self.at = 0
        super().__init__(columns, lines, width_mode=width_mode, scrollback=scrollback)

    def losing(self, first: int, last: int) -> None:
        """Tell whoever watches."""
        if self.on_losing is not None:
            self.on_losing(first, last)

    def draw(self, data: str) -> None:
        """Paint text, one character at a time."""
        self._announce(len(data) if data.isascii() else 2 * len(data))
        table = self.charset_map
        repeated = self._repeated
        for offset, char in enumerate(data):
            if repeated is None:
                start = self.starts[self.at + offset]
                self._origin = (start, start + _byte_length(char))
            else:
                self._origin = repeated
            self._step(char if table is None else char.translate(table))

    def _announce(self, width: int) -> None:
        """Rows whose painted cells the next text, at most ``width`` cells wide, may replace."""
        if self.on_losing is None:
            return
        buf = self.buf
        x = buf.x if buf.x < self.columns else 0
        cells = buf.rows[buf.y].chars[x : x + width]
        last = buf.y + (buf.x + width - 1) // self.columns
        if last > buf.y or cells.count(BLANK) != len(cells):
            self.on_losing(buf.y, min(last, self.lines - 1))

    def _repeat_traced(self, text: str, count: int) -> None:
        origins = self.row.origins
        found = origins[self.buf.x - self.width] if origins is not None else None
        self._repeated = found or _NOWHERE
        self.draw(text * count)
        self._repeated = None

    def _set(self, row: Row, x: int, char: str) -> None:
        super()._set(row, x, char)
        if row.origins is not None:
            row.origins[x] = self._origin

    def _join(self, char: str, width: int, before: int) -> None:
        row, x = self.row, self.buf.x - 1
        if row.origins is not None and (old := row.origins[x]) is not None:
            self._origin = (old[0], max(self._origin[1], old[1]))
        super()._join(char, width, before)
        row, end = self.row, self.buf.x
        if row.origins is not None and end:
            start = end - 2 if end > 1 and row.chars[end - 1] == "" else end - 1
            row.origins[start:end] = [self._origin] * (end - start)


def _byte_length(char: str) -> int:
    code = ord(char)
    return 1 if code < 0x80 else 2 if code < 0x800 else 3 if code < 0x10000 else 4


class TracedParser(Parser):
    """A parser that tells the terminal where it is."""

    screen: TracedTerminal

    def __init__(self, screen: TracedTerminal) -> None:
        super().__init__(screen)
        self._fed = 0

    def feed(self, data: bytes) -> None:  # type: ignore[override]
        """Parse bytes, knowing where each character starts."""
        held = self._held
        self._chunk = held + data
        self._chunk_start = self._fed - len(held)
        super().feed(data)
        self._fed += len(data)

    def _run(self, text: str) -> int | None:
        self.screen.starts = self._starts(text)
        return super()._run(text)

    def _starts(self, text: str) -> Sequence[int]:
        base, chunk = self._chunk_start, self._chunk
        if text.isascii() and len(text) == len(chunk):
            return range(base, base + len(chunk))
        lengths = [_byte_length(char) for char in text]
        if sum(lengths) == len(chunk) - len(self._held):
            return list(accumulate(lengths, initial=base))
        starts = []
        at = 0
        for char, length in zip(text, lengths, strict=True):
            # Malformed bytes were dropped; none of them can hold a whole character.
            at = chunk.index(char.encode(), at)
            starts.append(base + at)
            at += length
        return starts

    def _fast(self, block: str) -> int:  # noqa: ARG002 - positions are known to the machine alone
        return 0

    def _draw(self, text: str, at: int) -> None:
        self.screen.at = at
        self.screen.draw(text)


class TracedEmulator(PyteEmulator):
    """The default emulator, with ``origins``.

    Args:
        size: the size to start with.
        width: ``cluster`` or ``codepoint``.
        scrollback: rows kept after they scrolled off the top.
        on_losing: called with the first and the last row that are about to lose something.
    """

    terminal: TracedTerminal

    def __init__(
        self,
        size: Size,
        *,
        width: WidthModeName = "cluster",
        scrollback: int = DEFAULT_SCROLLBACK,
        on_losing: OnLosing | None = None,
    ) -> None:
        super().__init__(size, width=width, scrollback=scrollback)
        size = bounded(size)
        self.terminal = TracedTerminal(
            size.cols,
            size.rows,
            width_mode=width_mode(width),
            scrollback=scrollback,
            on_losing=on_losing,
        )
        self._parser = TracedParser(self.terminal)

    def origins(self) -> list[list[Origin | None]]:
        """Per visible row and cell, the bytes (start, end) that painted it, or ``None``.

        Parallel to ``cells()``; both halves of a wide character have the same bytes.
        """
        cols = self.terminal.columns
        return [(row.origins or [])[:cols] for row in self.terminal.buf.rows]

    def wrapped(self) -> list[bool]:
        """Per visible row, whether it continues the row above it."""
        return [row.wrapped for row in self.terminal.buf.rows]
