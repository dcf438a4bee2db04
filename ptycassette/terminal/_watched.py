"""A terminal whose rows are read before anything unread on them is lost.

Most output is printed in order: character after character, line below line. Such rows have the
same text as the print stream, and need not be read here. A row is *unread* when something was
painted on it that is elsewhere in the print stream: after the cursor was moved, over other text,
in insert mode, in another character set, by REP. Before cells of unread rows are erased, painted
over, moved or scrolled away, ``read`` passes all unread rows to the reader.

Whether a row counts as unread depends on the bytes alone, never on how they were chunked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ptycassette.terminal._terminal import Terminal
from ptycassette.terminal.grid import BLANK, Row

OnRead = Callable[[Sequence[Row], Sequence[int], int], None]
"""Gets the rows of the screen, the numbers of the unread ones (ascending) and the columns."""

_BLANK_ROWS = 4
"""Blank rows between two lines that were printed one after the other."""
_TAB = 8


class WatchedTerminal(Terminal):
    """A mixin for terminals. Set ``on_read`` before anything is fed."""

    watched = True
    on_read: OnRead
    _quiet = False
    _moved = False
    _repeating = False
    _last: Row | None = None
    _end = 0

    def _set_up(self) -> None:
        # By unread row, where the cells end that were painted since it was read.
        self._unread: dict[Row, int] = {}
        self._last = None
        super()._set_up()

    # -- reading --------------------------------------------------------------------------

    def read(self) -> None:
        """Pass the unread rows to ``on_read``; they count as read then."""
        unread = self._unread
        if unread:
            rows = self.buf.rows
            numbers = [y for y, row in enumerate(rows) if row in unread]
            self._moved = self._moved or self._last in unread  # what goes on there is new again
            unread.clear()
            if numbers:
                self.on_read(rows, numbers, self.columns)

    def read_all(self) -> None:
        """Pass all rows of the screen to ``on_read``."""
        self._touch(0, self.lines - 1)
        self.read()

    def losing(self, first: int, last: int) -> None:
        """Read rows that are about to lose content."""
        unread = self._unread
        if unread and not self._quiet:
            for row in self.buf.rows[first : last + 1]:
                if row in unread:
                    self.read()
                    return

    def scrolls_as_printed(self) -> bool:
        """Whether lines of text that come now scroll by exactly as they are printed."""
        buf = self.buf
        return (
            buf is self.main
            and buf.x == 0
            and (buf.top, buf.bottom) == (0, self.lines - 1)
            and self.autowrap
            and not (self.insert_mode or self.origin)
            and self.charset_map is None
        )

    def clear_for_lines(self) -> None:
        """Clear the screen and move to its end, as if lines had been printed until now."""
        self.read()
        for _ in range(self.lines):
            self.index()
        self._last, self._end = self.buf.rows[self.buf.y - 1], 0

    def _touch(self, first: int, last: int) -> None:
        """Mark rows as unread: their text moved, or has a new neighbour."""
        self._moved = True
        for row in self.buf.rows[max(0, first) : last + 1]:
            self._unread[row] = self.columns

    # -- painting -------------------------------------------------------------------------

    def draw(self, data: str) -> None:
        """Paint text. The text that it replaces is read first."""
        buf = self.buf
        x = buf.x
        row = buf.rows[buf.y]
        unread = self._unread
        if self._moved or row is not self._last or x != self._end:
            self._moved = False
            self._place(row, x, buf.y, data)
        if self.insert_mode:
            if row in unread and row.chars[-1] != BLANK:
                self.read()
            unread[row] = self.columns
        elif self.charset_map is not None:
            unread.setdefault(row, 0)
        super().draw(data)
        self._last = row = buf.rows[buf.y]
        self._end = end = buf.x
        if unread and unread.get(row, end) < end:
            unread[row] = end

    def _place(self, row: Row, x: int, y: int, data: str) -> None:
        """Note that text begins elsewhere than the last text ended.

        A character over itself, or over a low line, loses nothing: bold and underlined words of
        manual pages. In the print stream they are one, unless something came between.
        """
        struck, self.struck = self.struck, False
        same = row is self._last and x + 1 == self._end and row.chars[x] in (data[0], "_")
        plain = not self.insert_mode and self.charset_map is None
        if struck and same and plain:
            return
        end = self._unread.get(row)
        if end is None:
            if x == 0 and self._below_last(row, y):
                return
            if row is self._last and 0 < x - self._end <= _TAB and x % _TAB == 0:
                cells = row.chars[self._end : x]
                if cells.count(BLANK) == len(cells):
                    return  # a tab
        elif x < end:
            if same and end == self._end and not self.insert_mode:
                return
            self.read()
        self._unread[row] = x

    def _below_last(self, row: Row, y: int) -> bool:
        """Whether the row is blank, and right below the text that was printed last."""
        if row.chars.count(BLANK) != len(row.chars):
            return False
        rows, last = self.buf.rows, self._last
        for above in range(y - 1, max(-1, y - 1 - _BLANK_ROWS), -1):
            row = rows[above]
            if row is last:
                return True
            if row.chars.count(BLANK) != len(row.chars):
                return False
        return False

    def _wrap(self) -> None:
        """Wrap into the next row. Together with the text there it forms something new."""
        super()._wrap()
        row = self.buf.rows[self.buf.y]
        if self._repeating or row.chars.count(BLANK) != len(row.chars):
            if row in self._unread:
                self.read()
            self._unread[row] = self.columns

    def repeat(self, count: int | None = None) -> None:
        """REP: paints text that is not in the print stream."""
        self._unread.setdefault(self.buf.rows[self.buf.y], self.buf.x)
        self._repeating = True
        super().repeat(count)
        self._repeating = False
        self._moved = True

    # -- editing --------------------------------------------------------------------------

    def erase_in_line(self, how: int = 0, *rest: object, private: bool = False) -> None:
        """EL: erasing after the printed text loses nothing unread, which is the usual case."""
        buf = self.buf
        self._quiet = how == 0 and buf.x >= self._unread.get(buf.rows[buf.y], 0)
        super().erase_in_line(how, *rest, private=private)
        self._quiet = False

    def erase_in_display(self, how: int = 0, *rest: object, private: bool = False) -> None:
        """ED: as ``erase_in_line``, with the rows below."""
        buf, unread = self.buf, self._unread
        self._quiet = (
            how == 0
            and buf.x >= unread.get(buf.rows[buf.y], 0)
            and not any(row in unread for row in buf.rows[buf.y + 1 :])
        )
        super().erase_in_display(how, *rest, private=private)
        self._quiet = False

    def insert_characters(self, count: int | None = None) -> None:
        """ICH: as ``Editing.insert_characters``; the row counts as unread."""
        super().insert_characters(count)
        self._touch(self.buf.y, self.buf.y)

    def delete_characters(self, count: int | None = None) -> None:
        """DCH: as ``Editing.delete_characters``; the row counts as unread."""
        super().delete_characters(count)
        self._touch(self.buf.y, self.buf.y)

    def delete_lines(self, count: int | None = None) -> None:
        """DL: the rows around the cursor have new neighbours, and count as unread."""
        super().delete_lines(count)
        self._touch(self.buf.y - 1, self.buf.y)

    def scroll_up(self, count: int | None = None) -> None:
        """SU: the rows at the top margin have new neighbours, and count as unread."""
        super().scroll_up(count)
        self._touch(self.buf.top - 1, self.buf.top)

    def _shift_columns(self, col: int, count: int, *, insert: bool) -> None:
        super()._shift_columns(col, count, insert=insert)
        self._touch(self.buf.top, self.buf.bottom)

    def alignment_display(self) -> None:
        """DECALN: forget where text was printed last."""
        super().alignment_display()
        self._last = None

    def resize(self, lines: int | None = None, columns: int | None = None) -> None:
        """Take another size: rows are split, joined, and come back from the history."""
        super().resize(lines, columns)
        self._last = None
        self._touch(0, self.lines - 1)


def _moving(name: str) -> Callable[..., None]:
    """Wrap a method that moves the cursor: text printed after it may be elsewhere."""
    method = getattr(Terminal, name)

    def moves(self: WatchedTerminal, *arguments: Any) -> None:
        self._moved = True
        method(self, *arguments)

    return moves


for _name in (
    *("backspace", "tab", "forward_tab", "backward_tab", "linefeed", "carriage_return", "index"),
    *("next_line", "cursor_up", "cursor_down", "cursor_forward", "cursor_back", "cursor_down1"),
    *("cursor_up1", "cursor_to_column", "cursor_to_line", "cursor_row_forward", "set_margins"),
    *("cursor_position", "restore_cursor", "reverse_index", "insert_lines", "scroll_down"),
):
    setattr(WatchedTerminal, _name, _moving(_name))
