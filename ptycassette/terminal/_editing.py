"""Editing functions: erase, insert, delete and scroll cells, rows and columns.

Erased cells take only the background colour of the pen (BCE).
Method names are pyte's where pyte has the function. Semantics: xterm.js.
"""

from __future__ import annotations

from ptycassette.terminal.core import Core
from ptycassette.terminal.grid import BLANK, Uniform


class Editing(Core):
    """The part of the terminal that edits."""

    def erase_in_display(self, how: int = 0, *_: object, private: bool = False) -> None:
        """ED and, if ``private``, DECSED: erase below (0), above (1), all (2), the history (3)."""
        self._restrict(self.columns)
        buf, erase = self.buf, self.pen.erase
        if self.watched and how < 3:
            first, last = (buf.y, self.lines - 1) if how == 0 else (0, buf.y)
            self.losing(*((0, self.lines - 1) if how == 2 else (first, last)))
        match how:
            case 0:
                self._erase_cells(buf.x, self.columns, clear_wrap=buf.x == 0, private=private)
                whole = range(buf.y + 1, self.lines)
            case 1:
                self._erase_cells(0, buf.x + 1, clear_wrap=True, private=private)
                if buf.x + 1 >= self.columns:
                    self._end_wrap_after()
                whole = range(buf.y)
            case 2:
                whole = range(self.lines)
            case 3:
                buf.history.clear()
                return
            case _:
                return
        blank = buf.blank(erase)
        for y in whole:
            row = buf.rows[y]
            row.fill(blank, unprotected_only=private)
            row.wrapped = False

    def _end_wrap_after(self) -> None:
        """Mark the row after the cursor's as not continuing it any more.

        As xterm.js does, we count that row from the top of the history instead of the
        screen. The difference can be seen after a resize.
        """
        at = self.buf.y + 1
        history = self.buf.history
        if at < len(history):
            history[at].wrapped = False
        elif at - len(history) < self.lines:
            self.buf.rows[at - len(history)].wrapped = False

    def erase_in_line(self, how: int = 0, *_: object, private: bool = False) -> None:
        """EL and, if ``private``, DECSEL: erase to the right (0), to the left (1), the row (2)."""
        buf = self.buf
        if self.watched:
            self.losing(buf.y, buf.y)
        if how == 0 and not private and not self.origin:
            # The usual case. Without DECOM the cursor is never outside.
            x, erase = buf.x, self.pen.erase
            row = buf.rows[buf.y]
            chars = row.chars
            left = len(chars) - x
            if left != self.columns - x or row.origins is not None or (left and chars[x] == ""):
                row.replace(x, self.columns, erase)
            elif not x:
                row.share(buf.blank(erase))
            elif row.own:
                chars[x:] = [BLANK] * left
                row.styles[x:] = [erase] * left
                row.view = None
            else:
                row.replace(x, self.columns, erase)
            if x == 0:
                row.wrapped = False
            return
        row = buf.rows[buf.y]
        plain = not private and not self.origin and row.origins is None
        if how == 2 and plain and len(row.chars) == self.columns:
            row.share(buf.blank(self.pen.erase))
            row.wrapped = False
            return
        self._restrict(self.columns)
        match how:
            case 0:
                self._erase_cells(buf.x, self.columns, clear_wrap=buf.x == 0, private=private)
            case 1:
                self._erase_cells(0, buf.x + 1, clear_wrap=False, private=private)
            case 2:
                self._erase_cells(0, self.columns, clear_wrap=True, private=private)
            case _:
                return

    def _erase_cells(self, start: int, end: int, *, clear_wrap: bool, private: bool) -> None:
        row = self.row
        row.replace(start, end, self.pen.erase, unprotected_only=private)
        if clear_wrap:
            row.wrapped = False

    def erase_characters(self, count: int | None = None) -> None:
        """ECH: erase ``count`` cells from the cursor on (ECMA-48 8.3.38)."""
        self._restrict()
        buf = self.buf
        if self.watched:
            self.losing(buf.y, buf.y)
        self.row.replace(buf.x, buf.x + min(count or 1, self.columns), self.pen.erase)

    def insert_characters(self, count: int | None = None) -> None:
        """ICH: insert ``count`` blank cells at the cursor (ECMA-48 8.3.64)."""
        self._restrict()
        if self.watched:
            self.losing(self.buf.y, self.buf.y)
        self.row.insert(self.buf.x, count or 1, self.pen.erase)

    def delete_characters(self, count: int | None = None) -> None:
        """DCH: delete ``count`` cells; those to the right move left (ECMA-48 8.3.26)."""
        self._restrict()
        if self.watched:
            self.losing(self.buf.y, self.buf.y)
        self.row.delete(self.buf.x, count or 1, self.pen.erase)

    def _inside_margins(self) -> bool:
        return self.buf.top <= self.buf.y <= self.buf.bottom

    def insert_lines(self, count: int | None = None) -> None:
        """IL: between the margins, insert ``count`` rows and move to the first column."""
        self._restrict()
        if self._inside_margins():
            if self.watched:
                self.losing(self.buf.y, self.buf.bottom)
            self.buf.insert_rows(self.buf.y, count or 1, self.pen.erase)
            self.buf.x = 0

    def delete_lines(self, count: int | None = None) -> None:
        """DL: between the margins, delete ``count`` rows and move to the first column."""
        self._restrict()
        if self._inside_margins():
            if self.watched:
                self.losing(self.buf.y, self.buf.bottom)
            self.buf.delete_rows(self.buf.y, count or 1, self.pen.erase)
            self.buf.x = 0

    def scroll_up(self, count: int | None = None) -> None:
        """SU: scroll up by ``count`` rows. The rows that leave do not enter the history."""
        if self.watched:
            self.losing(self.buf.top, self.buf.bottom)
        self.buf.delete_rows(self.buf.top, count or 1, self.pen.erase)

    def scroll_down(self, count: int | None = None) -> None:
        """SD: scroll down by ``count`` rows. The new rows have no background colour."""
        if self.watched:
            self.losing(self.buf.top, self.buf.bottom)
        self.buf.insert_rows(self.buf.top, count or 1, self.pens.default.style)

    def _shift_columns(self, col: int, count: int, *, insert: bool) -> None:
        buf = self.buf
        if not self._inside_margins():
            return
        if self.watched:
            self.losing(buf.top, buf.bottom)
        for y in range(buf.top, buf.bottom + 1):
            row = buf.rows[y]
            (row.insert if insert else row.delete)(col % self.columns, count, self.pen.erase)
            row.wrapped = False

    def scroll_left(self, count: int | None = None) -> None:
        """SL: scroll left by ``count`` columns (ECMA-48 8.3.121)."""
        self._shift_columns(0, count or 1, insert=False)

    def scroll_right(self, count: int | None = None) -> None:
        """SR: scroll right by ``count`` columns (ECMA-48 8.3.135)."""
        self._shift_columns(0, count or 1, insert=True)

    def insert_columns(self, count: int | None = None) -> None:
        """DECIC: insert ``count`` blank columns at the cursor, between the margins."""
        self._shift_columns(self.buf.x, count or 1, insert=True)

    def delete_columns(self, count: int | None = None) -> None:
        """DECDC: delete ``count`` columns at the cursor, between the margins."""
        self._shift_columns(self.buf.x, count or 1, insert=False)

    def alignment_display(self) -> None:
        """DECALN: fill the screen with E. As in xterm.js, the margins stay."""
        if self.watched:
            self.losing(0, self.lines - 1)
        self._move_to(0, 0)
        cells = Uniform(self.columns, "E", self.pen.style)
        for row in self.buf.rows[self.buf.y :]:
            row.fill(cells)
            row.wrapped = False
        self._move_to(0, 0)
