"""The screen as views: rows are read before anything unread on them is lost.

The output is fed to the traced emulator in blocks of fixed size, so that the
views depend on the bytes alone. Rows that were painted since they were last
read, and their neighbours, are copied; copies are searched many at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ptycassette.model import Size
from ptycassette.screen.grid import Row
from ptycassette.scrub.canonical import canonical
from ptycassette.scrub.rows import (
    Line,
    RowCopy,
    ScreenView,
    Segment,
    chained,
    continues,
    joined_rows,
    open_ended,
)
from ptycassette.scrub.trace import FastTrace

__all__ = ["OutputCells"]

_BLOCK = 16384
_BATCH = 32768
_AROUND = 48


class OutputCells:
    """The cells that output paints. ``size`` is the size of the terminal at the start."""

    def __init__(self, size: Size) -> None:
        self._trace = FastTrace(size, before_loss=self._read)
        self._held = bytearray()
        self._new()

    def _new(self) -> None:
        self._texts: list[str] = []
        self._starts: list[int] = []
        self._segments: list[Segment | None] = []
        self._length = 0

    def feed(self, data: bytes) -> Iterator[ScreenView]:
        """Take bytes; views whenever enough rows were read."""
        self._held += data
        while len(self._held) >= _BLOCK:
            self._trace.feed(bytes(self._held[:_BLOCK]))
            del self._held[:_BLOCK]
            if self._length >= _BATCH:
                yield self._take()

    def resize(self, size: Size) -> Iterator[ScreenView]:
        """The terminal takes another size."""
        self._flush()
        self._trace.resize(size)
        if self._length >= _BATCH:
            yield self._take()

    def rest(self) -> Iterator[ScreenView]:
        """What is on the screens at the end."""
        self._flush()
        self._read()
        terminal = self._trace.terminal
        if terminal.buf is not terminal.main:
            terminal.buf = terminal.main
            self._read()
        if self._length:
            yield self._take()

    def _flush(self) -> None:
        self._trace.feed(bytes(self._held))
        self._held.clear()

    def _read(self) -> None:
        """Copy the unread rows, and those that they may continue, into the batch."""
        terminal = self._trace.terminal
        rows, cols = terminal.buf.rows, terminal.columns
        at, last = 0, len(rows)
        while at < last:
            if rows[at].view is not None:
                at += 1
                continue
            first = at
            texts = []
            while at < last and rows[at].view is None:
                texts.append(rows[at].text(cols))
                at += 1
            self._copy(rows, first, at, texts)

    def _copy(self, rows: Sequence[Row], first: int, last: int, texts: list[str]) -> None:
        """Copy rows ``first`` up to ``last``, which show ``texts``.

        Most rows end before the margin and are lines of their own. The others are taken
        apart, together with the rows around that they may belong to.
        """
        cols = self._trace.terminal.columns
        open_ends = [open_ended(text, cols) for text in texts]
        for number in chained(texts):
            open_ends[number] = True
        opens = first > 0 and open_ended(rows[first - 1].text(cols), cols)
        number, count = 0, last - first
        while number < count:
            row = rows[first + number]
            if not (opens or row.wrapped or open_ends[number]):
                if texts[number]:
                    self._add_row(row, texts[number])
                number += 1
                continue
            start = number
            opens = True
            while number < count and (opens or rows[first + number].wrapped):
                opens = open_ends[number]
                number += 1
            self._copy_joined(rows, first + start, first + number)

    def _add_row(self, row: Row, text: str) -> None:
        """A row that is a line of its own."""
        if not text.isascii():
            text = canonical(text)
        copy = RowCopy(row.chars[:], (row.origins or [])[:], row.wrapped)
        self._starts += (self._length, self._length + len(text))
        self._segments += (Segment(copy, 0, len(text)), None)
        self._texts.append(text)
        self._length += len(text) + 1

    def _copy_joined(self, rows: Sequence[Row], first: int, last: int) -> None:
        """Rows ``first`` up to ``last`` and the rows around that belong to their lines."""
        lines = [_line(row) for row in rows[first:last]]
        for row in reversed(rows[max(0, first - _AROUND) : first]):
            line = _line(row)
            if not (lines[0].row.wrapped or continues(line, lines[0])):
                break
            lines.insert(0, line)
        for row in rows[last : last + _AROUND]:
            line = _line(row)
            if not (row.wrapped or continues(lines[-1], line)):
                break
            lines.append(line)
        for text, segments in joined_rows(lines):
            if not text or text.isspace():
                continue
            for position, segment in segments:
                self._starts.append(self._length + position)
                self._segments.append(segment)
            self._starts.append(self._length + len(text))
            self._segments.append(None)
            self._texts.append(text)
            self._length += len(text) + 1

    def _take(self) -> ScreenView:
        view = ScreenView("\n".join(self._texts), starts=self._starts, segments=self._segments)
        self._new()
        return view


def _line(row: Row) -> Line:
    return Line(RowCopy(row.chars[:], (row.origins or [])[:], row.wrapped))
