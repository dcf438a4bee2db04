"""Moving the cursor: C0 format effectors, cursor addressing, tabs, saving.

Method names and defaults are pyte's. A count of 0 means 1, as in DEC terminals.
"""

from __future__ import annotations

from ptycassette.terminal._buffer import Saved
from ptycassette.terminal._core import Core
from ptycassette.terminal.grid import BLANK
from ptycassette.terminal.signals import Signal

_BELL = Signal("bell")


class Movement(Core):
    """The part of the terminal that moves the cursor."""

    def bell(self, *_: object) -> None:
        """BEL: ring the bell (ECMA-48 8.3.3)."""
        self.signals.add(_BELL)

    def carriage_return(self) -> None:
        """CR: move to the first column (ECMA-48 8.3.15)."""
        self.buf.x = 0

    def linefeed(self) -> None:
        """LF, VT, FF: move down one row; scroll up at the bottom margin."""
        buf = self.buf
        if self.newline_mode:
            buf.x = 0
        if buf.y == buf.bottom:
            self._scroll()
        elif buf.y < self.lines - 1:
            buf.y += 1
            buf.rows[buf.y].wrapped = False
        if buf.x >= self.columns:
            buf.x -= 1

    def new_line(self) -> None:
        """CR and LF in one call, because most lines end so."""
        buf = self.buf
        buf.x = 0
        if buf.y == buf.bottom:
            self._scroll()
        elif buf.y < self.lines - 1:
            buf.y += 1
            buf.rows[buf.y].wrapped = False

    def backspace(self) -> None:
        """BS: move left one column; with reverse wraparound (DECSET 45) also back over a wrap."""
        buf = self.buf
        if not self.reverse_wrap:
            self._restrict()
            buf.x = max(buf.x - 1, 0)
            return
        self._restrict(self.columns)
        if buf.x > 0:
            buf.x -= 1
        elif buf.top < buf.y <= buf.bottom and buf.rows[buf.y].wrapped:
            buf.rows[buf.y].wrapped = False
            buf.y -= 1
            buf.x = self.columns - 1
            row = buf.rows[buf.y]
            if row.chars[buf.x] == BLANK:
                # A wide character did not fit and left this cell blank.
                buf.x -= 1
        self._restrict()

    def tab(self) -> None:
        """HT: move to the next tab stop. A pending wrap stays pending."""
        if self.buf.x < self.columns:
            self.buf.x = self.buf.next_tab(self.buf.x)

    def forward_tab(self, count: int | None = None) -> None:
        """CHT: move right by ``count`` tab stops (ECMA-48 8.3.10)."""
        for _ in range(count or 1):
            before = self.buf.x
            self.tab()
            if self.buf.x == before:
                break

    def backward_tab(self, count: int | None = None) -> None:
        """CBT: move left by ``count`` tab stops (ECMA-48 8.3.7)."""
        if self.buf.x < self.columns:
            for _ in range(count or 1):
                self.buf.x = self.buf.previous_tab(self.buf.x)
                if not self.buf.x:
                    break

    def set_tab_stop(self) -> None:
        """HTS: set a tab stop at the cursor (ECMA-48 8.3.62)."""
        self.buf.tabs.add(self.buf.x)

    def clear_tab_stop(self, how: int = 0) -> None:
        """TBC: clear the tab stop at the cursor (0) or all of them (3)."""
        if how == 0:
            self.buf.tabs.discard(self.buf.x)
        elif how == 3:
            self.buf.tabs.clear()

    def index(self) -> None:
        """IND: move down one row; scroll up at the bottom margin."""
        self._restrict()
        buf = self.buf
        if buf.y == buf.bottom:
            self._scroll()
        elif buf.y < self.lines - 1:
            buf.y += 1
        self._restrict()

    def next_line(self) -> None:
        """NEL: move to the first column of the next row (ECMA-48 8.3.86)."""
        self.buf.x = 0
        self.index()

    def reverse_index(self) -> None:
        """RI: move up one row; scroll down at the top margin."""
        self._restrict()
        buf = self.buf
        if buf.y == buf.top:
            if self.watched:
                self.losing(buf.bottom, buf.bottom)
            buf.insert_rows(buf.top, 1, self.pen.erase)
        else:
            buf.y -= 1
            self._restrict()

    def cursor_up(self, count: int | None = None) -> None:
        """CUU: move up by ``count`` rows. The top margin stops a cursor below it."""
        count = count or 1
        buf = self.buf
        room = buf.y - buf.top
        if self.origin:
            self._move_by(0, -(min(room, count) if room >= 0 else count))
            return
        if buf.x >= self.columns:
            buf.x = self.columns - 1
        buf.y = max(buf.y - count, buf.top if room >= 0 else 0)

    def cursor_down(self, count: int | None = None) -> None:
        """CUD: move down by ``count`` rows. The bottom margin stops a cursor above it."""
        count = count or 1
        room = self.buf.bottom - self.buf.y
        self._move_by(0, min(room, count) if room >= 0 else count)

    def cursor_forward(self, count: int | None = None) -> None:
        """CUF, HPR: move right by ``count`` columns (ECMA-48 8.3.20)."""
        self._move_by(count or 1, 0)

    def cursor_back(self, count: int | None = None) -> None:
        """CUB: move left by ``count`` columns (ECMA-48 8.3.18)."""
        self._move_by(-(count or 1), 0)

    def cursor_down1(self, count: int | None = None) -> None:
        """CNL: move to the first column, ``count`` rows down (ECMA-48 8.3.12)."""
        self.cursor_down(count)
        self.buf.x = 0

    def cursor_up1(self, count: int | None = None) -> None:
        """CPL: move to the first column, ``count`` rows up (ECMA-48 8.3.13)."""
        self.cursor_up(count)
        self.buf.x = 0

    def cursor_row_forward(self, count: int | None = None) -> None:
        """VPR: move down by ``count`` rows. Margins do not stop the cursor."""
        self._move_by(0, count or 1)

    def cursor_to_column(self, column: int | None = None) -> None:
        """CHA, HPA: move to a column (from 1). As in xterm.js, DECOM adds the top margin."""
        self._move_to((column or 1) - 1, self.buf.y)

    def cursor_to_line(self, line: int | None = None) -> None:
        """VPA: move to a row, counted from 1."""
        self._move_to(self.buf.x, (line or 1) - 1)

    def cursor_position(self, line: int | None = None, column: int | None = None) -> None:
        """CUP, HVP: move to a row and a column, counted from 1."""
        if self.origin:
            self._move_to((column or 1) - 1, (line or 1) - 1)
            return
        buf = self.buf
        x, y = (column or 1) - 1, (line or 1) - 1
        buf.x = x if x < self.columns else self.columns - 1
        buf.y = y if y < self.lines else self.lines - 1

    def save_cursor(self) -> None:
        """DECSC, SCOSC: save the cursor, its style and the character set, in one slot."""
        buf = self.buf
        buf.saved = Saved(buf.x, len(buf.history) + buf.y, self.pen, self.charset_map)

    def restore_cursor(self) -> None:
        """DECRC, SCORC: restore what was saved last; the home position if nothing was."""
        buf, saved = self.buf, self.buf.saved
        buf.x, buf.y = saved.x, max(saved.line - len(buf.history), 0)
        self.pen, self.charset_map = saved.pen or self.pens.default, saved.charset
        self._restrict()
