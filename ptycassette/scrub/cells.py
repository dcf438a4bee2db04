"""The screen as views: rows are read before anything unread on them is lost.

The output is fed to the traced emulator in blocks of fixed size, so that the
views depend on the bytes alone. Rows that were painted since they were last
read, and their neighbours, are copied; copies are searched many at a time.
"""

from __future__ import annotations

from collections.abc import Iterator

from ptycassette.model import Size
from ptycassette.scrub.rows import RowCopy, ScreenView, Segment, joined_rows
from ptycassette.scrub.trace import FastTrace

__all__ = ["OutputCells"]

_BLOCK = 16384
_BATCH = 32768
_UP = 12
_FULL = 0.4


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
            while at < last and (rows[at].view is None or rows[at].wrapped):
                rows[at].text(cols)
                at += 1
            while (
                first > 0
                and first > at - _UP - 1
                and (rows[first].wrapped or len(rows[first - 1].text(cols)) >= _FULL * cols)
            ):
                first -= 1
            below = min(at + 1, last)
            while below < last and rows[below].wrapped:
                below += 1
            self._copy(first, below)

    def _copy(self, first: int, last: int) -> None:
        rows = self._trace.terminal.buf.rows
        copies = [
            RowCopy(row.chars[:], (row.origins or [])[:], row.wrapped) for row in rows[first:last]
        ]
        for text, segments in joined_rows(copies):
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
