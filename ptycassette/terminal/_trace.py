"""Which bytes painted which cell: a terminal that maps text on the screen to the raw output.

A traced terminal renders exactly as the ordinary one does. It also knows for each cell the range
of output, in bytes since the first ``feed``, that holds the characters in it. The range moves with
the cell through scrolling, insertion, deletion, reflow, the history and the other buffer.
Cells that nothing was written to have no range.

For most cells ``Row.origins`` holds the offset of the first byte alone, not a pair: pairs cost a
third of the time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate, chain, compress, count
from typing import Final

from ptycassette.terminal._core import DEFAULT_SCROLLBACK
from ptycassette.terminal._grammar import STRIKE
from ptycassette.terminal._parser import Parser
from ptycassette.terminal._terminal import Terminal
from ptycassette.terminal.grid import Row
from ptycassette.terminal.widths import PLAIN, WidthMode

_NOWHERE: Final[tuple[int, int]] = (0, 0)
_BEGINS: Final = bytes(code & 0xC0 != 0x80 for code in range(256))
"""Which bytes begin a character of UTF-8 (RFC 3629)."""


class TracedTerminal(Terminal):
    """A terminal that stores for each cell which bytes painted it.

    Attributes:
        starts: the byte offset of each character of the text that is being parsed.
        places: for each text that ``draw`` gets next, the number of its first character.
    """

    traced = True

    def __init__(
        self,
        columns: int,
        lines: int,
        *,
        width_mode: WidthMode,
        scrollback: int = DEFAULT_SCROLLBACK,
    ) -> None:
        self._origin = _NOWHERE
        self._repeated: tuple[int, int] | None = None
        self._next = -1
        self.starts: Sequence[int] = ()
        self.places: Iterator[int] = iter(())
        super().__init__(columns, lines, width_mode=width_mode, scrollback=scrollback)

    def draw(self, data: str) -> None:
        """Paint text."""
        table = self.charset_map
        if self._repeated is not None:
            for char in data:
                self._origin = self._repeated
                self._step(char if table is None else char.translate(table))
            return
        self._next = next(self.places)
        if table is not None:
            for char in data:
                self._begin(char)
                super()._step(char.translate(table))
        elif self.insert_mode:
            for char in data:
                self._step(char)
        elif self.kind > PLAIN:
            self._paint_mixed(data)
        elif data.isascii():
            self.kind, self.width = PLAIN, 1
            self._paint_narrow(data)
        elif self.width_mode.narrow.fullmatch(data):
            self.kind, self.width = self.width_mode.classify(data[-1])[0], 1
            self._paint_narrow(data)
        else:
            self._paint_mixed(data)
        self._next = -1

    def draw_struck(self, data: str) -> None:
        """Paint text that is struck over, part by part."""
        if STRIKE in data:
            parts = data.split(STRIKE)
            begins = accumulate((len(part) + 1 for part in parts), initial=next(self.places))
            self.places = chain(compress(begins, parts), self.places)
        super().draw_struck(data)

    def _paint_cells(self, data: str) -> None:
        for part in self.width_mode.parts.finditer(data):
            if part.lastindex == 1:
                self.kind, self.width = PLAIN, 1
                self._paint_narrow(part.group())
            else:
                self._step(part.group())

    def _paint_narrow(self, data: str | list[str]) -> None:
        cols, buf = self.columns, self.buf
        total, at = len(data), self._next
        self._next = at + total
        starts = self.starts[at : at + total]
        x = buf.x
        end = x + total
        if end <= cols:
            row = buf.rows[buf.y]
            if not row.own:
                row.take_over()
            chars = row.chars
            if chars[x] and (end == len(chars) or chars[end]):
                # The usual case: it fits in the row and cuts no wide character.
                chars[x:end] = data
                row.styles[x:end] = [self.pen.style] * total
                if row.origins is not None:
                    row.origins[x:end] = starts
                row.view = None
                buf.x = end
                return
        done = 0
        while done < total:
            size = min(total - done, cols - buf.x or cols) if self.autowrap else 1
            super()._paint_narrow(data[done : done + size] if size < total else data)
            row, end = buf.rows[buf.y], buf.x
            if row.origins is not None:
                row.origins[end - size : end] = starts[done : done + size]
            done += size

    def _paint_wide(self, data: str) -> None:
        for char in data:
            self._begin(char)
            self._put(char, 2)

    def _step(self, char: str) -> None:
        if self._next >= 0:
            self._begin(char)
        super()._step(char)

    def _begin(self, char: str) -> None:
        """Note the offset of the next character."""
        start = self.starts[self._next]
        self._origin = (start, start + _byte_length(char))
        self._next += 1

    def _repeat_traced(self, text: str, count: int) -> None:
        origins = self.row.origins
        found = origins[self.buf.x - self.width] if origins is not None else None
        if isinstance(found, int):
            found = found, found + _byte_length(text)
        self._repeated = found or _NOWHERE
        self.draw(text * count)
        self._repeated = None

    def _set(self, row: Row, x: int, char: str) -> None:
        super()._set(row, x, char)
        if row.origins is not None:
            row.origins[x] = self._origin

    def _join(self, char: str, width: int, before: int) -> None:
        row, x = self.row, self.buf.x - 1
        old = row.origins[x] if row.origins is not None else None
        if isinstance(old, int):
            old = old, old + len(row.chars[x].encode())
        if old is not None:
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
    """A parser that passes byte offsets to a traced terminal."""

    screen: TracedTerminal

    def __init__(self, screen: TracedTerminal) -> None:
        super().__init__(screen)
        self._fed = 0

    def skip(self, length: int) -> None:
        """Skip so many bytes of the output."""
        self._fed += length

    def feed(self, data: bytes) -> None:
        """Parse bytes, and note the offset of each character."""
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
        if chunk.startswith(text.encode()):
            return list(compress(count(base), chunk.translate(_BEGINS)))
        starts = []
        at = 0
        for char in text:
            # Malformed bytes were dropped; none of them can hold a whole character.
            at = chunk.index(char.encode(), at)
            starts.append(base + at)
            at += _byte_length(char)
        return starts

    def _parts(self, text: str, at: int, stop: int) -> list[str]:
        parts = super()._parts(text, at, stop)
        begins = [*accumulate(map(len, parts), initial=at)]
        self.screen.places = compress(begins[::2], parts[::2])
        return parts

    def _draw(self, text: str, at: int) -> None:
        self.screen.places = iter((at,))
        self.screen.draw(text)
