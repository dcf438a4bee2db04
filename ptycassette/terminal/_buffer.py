"""A screen buffer: the rows on screen, the rows that left it, cursor, margins, tabs.

A terminal has two. The main buffer keeps a bounded history of the rows that
scrolled off its top and reflows when the width changes; the alternate one does
neither. Each has its own margins, tab stops and saved cursor.

``saved.line`` counts from the top of the history, as in xterm.js: a saved
cursor stays with its line while the line scrolls.
"""

from __future__ import annotations

from collections import deque

from ptycassette.model.screen import DEFAULT_STYLE, Style
from ptycassette.terminal._charsets import Charset
from ptycassette.terminal._pens import Pen
from ptycassette.terminal._reflow import Lines, narrow, widen
from ptycassette.terminal.grid import BLANK, Row, Uniform

_TAB_WIDTH = 8


class Saved:
    """What DECSC saves, in one slot per buffer. ``pen`` is ``None`` for the default one."""

    __slots__ = ("charset", "line", "pen", "x")

    def __init__(self, x: int, line: int, pen: Pen | None, charset: Charset | None) -> None:
        self.x = x
        self.line = line
        self.pen = pen
        self.charset = charset


class Buffer:
    """One screen buffer.

    Args:
        lines: rows on screen, 1 or more.
        columns: cells in a row, 2 or more.
        scrollback: how many rows that scrolled off the top are kept; ``None``
            makes an alternate buffer, which keeps and reflows nothing.
        traced: whether rows keep ``origins``.
    """

    __slots__ = (
        "_blank",
        "bottom",
        "columns",
        "history",
        "lines",
        "reflows",
        "rows",
        "saved",
        "scrollback",
        "tabs",
        "top",
        "traced",
        "x",
        "y",
    )

    def __init__(
        self,
        lines: int,
        columns: int,
        scrollback: int | None,
        *,
        style: Style = DEFAULT_STYLE,
        traced: bool = False,
    ) -> None:
        self.lines = lines
        self.columns = columns
        self.scrollback = scrollback or 0
        self.reflows = scrollback is not None
        self.traced = traced
        self._blank = Uniform(columns, BLANK, style)
        self.rows = [self.blank_row(style) for _ in range(lines)]
        self.history: deque[Row] = deque(maxlen=self.scrollback)
        self.x = self.y = 0
        self.top, self.bottom = 0, lines - 1
        self.tabs = set(range(0, columns, _TAB_WIDTH))
        self.saved = Saved(0, 0, None, None)

    def blank_row(self, style: Style, *, wrapped: bool = False) -> Row:
        """A new row of this buffer's width."""
        if self.traced:
            return Row(self.columns, style, wrapped=wrapped, traced=True)
        return Row.sharing(self.blank(style), wrapped=wrapped)

    def blank(self, style: Style) -> Uniform:
        """The cells of an empty row."""
        cells = self._blank
        if cells.style is not style:
            cells = self._blank = Uniform(self.columns, BLANK, style)
        return cells

    def scroll(self, style: Style, *, wrapped: bool = False) -> None:
        """Move the rows between the margins up by one; the top one goes to the history."""
        rows, top = self.rows, self.top
        gone = rows.pop(top)
        if top == 0:
            self.history.append(gone)
        rows.insert(self.bottom, self.blank_row(style, wrapped=wrapped))

    def insert_rows(self, at: int, count: int, style: Style) -> None:
        """Push ``count`` blank rows in at row ``at``; rows fall out at the bottom margin."""
        count = min(count, self.bottom - at + 1)
        end = self.bottom + 1
        del self.rows[end - count : end]
        self.rows[at:at] = [self.blank_row(style) for _ in range(count)]

    def delete_rows(self, at: int, count: int, style: Style) -> None:
        """Take ``count`` rows out at row ``at``; blank ones come in at the bottom margin."""
        count = min(count, self.bottom - at + 1)
        del self.rows[at : at + count]
        end = self.bottom + 1 - count
        self.rows[end:end] = [self.blank_row(style) for _ in range(count)]

    def next_tab(self, x: int) -> int:
        """The column of the next tab stop right of ``x``, or the last column."""
        last = self.columns - 1
        return min((tab for tab in self.tabs if x < tab <= last), default=last)

    def previous_tab(self, x: int) -> int:
        """The column of the tab stop left of ``x``, or the first column."""
        return max((tab for tab in self.tabs if tab < x), default=0)

    def resize(self, lines: int, columns: int) -> None:
        """Take another size, as xterm.js does.

        Fewer rows: blank rows below the cursor go first, then the top moves into
        the history. More rows: the history comes back when the cursor is in the
        last row. Another width: wrapped lines are reflowed, except the one that
        the cursor is in, because the program will repaint that one itself.
        """
        if columns > self.columns:
            for row in (*self.history, *self.rows):
                row.resize(max(columns, len(row.chars)))
        if not self.reflows:
            # Its rows keep their length: a wider screen shows again what a narrower one hid.
            self._drop_views()
        moved = self._change_height(lines, columns)
        self.x = min(self.x, columns - 1)
        self.y = min(self.y, lines - 1) + moved
        self.saved.x = min(self.saved.x, columns - 1)
        before = self.columns
        self.columns, self.lines = columns, lines
        self._blank = Uniform(columns, BLANK, DEFAULT_STYLE)
        self.top, self.bottom = 0, lines - 1
        if self.reflows and before != columns:
            self._reflow(before)
        self._extend_tabs()

    def _drop_views(self) -> None:
        for row in self.rows:
            row.view = None

    def _change_height(self, lines: int, columns: int) -> int:
        """Add or remove rows; returns how far the text moved down."""
        rows, history = self.rows, self.history
        moved = 0
        while len(rows) < lines:
            if history and len(rows) <= self.y + moved + 1:
                rows.insert(0, history.pop())
                moved += 1
            else:
                rows.append(Row(columns, traced=self.traced))
        while len(rows) > lines:
            if len(rows) > self.y + 1:
                rows.pop()
            else:
                gone = rows.pop(0)
                if self.reflows:
                    history.append(gone)
                # The rows below the cursor are gone already: the cursor is in the last one.
                self.y -= 1
        return moved

    def _reflow(self, before: int) -> None:
        limit = self.lines + self.scrollback
        text = Lines([*self.history, *self.rows], len(self.history), self.y, limit)
        text.saved_line = self.saved.line
        if self.columns > before:
            widen(text, before, self.columns, self.lines)
        else:
            narrow(text, before, self.columns, self.lines)
        rows = text.rows[-limit:]
        for row in rows:
            row.resize(self.columns)
        base = max(0, min(text.base, len(rows) - self.lines))
        self.history = deque(rows[:base], maxlen=self.scrollback)
        self.rows = rows[base : base + self.lines]
        while len(self.rows) < self.lines:
            self.rows.append(Row(self.columns, traced=self.traced))
        self.y = text.y
        self.saved.line = text.saved_line

    def _extend_tabs(self) -> None:
        """Set further tab stops, every eight columns from the last one on."""
        first = self.columns if self.columns in self.tabs else self.previous_tab(self.columns)
        self.tabs.update(range(first, self.columns, _TAB_WIDTH))
