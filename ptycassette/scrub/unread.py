"""Which rows have to be read before the terminal does something, and which again after it.

A row is unread as long as its ``view`` is None. What is unread must be read
before it is erased, scrolled away or painted over; a row that comes to stand
below another one is read again, for it may go on with that one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice

from ptycassette.screen.buffer import Buffer
from ptycassette.screen.grid import BLANK, Row
from ptycassette.screen.trace import TracedTerminal

__all__ = ["ENOUGH_ROWS", "UnreadTerminal"]

ENOUGH_ROWS = 24
"""Most that is broken fits in these; on a lower screen what scrolled off is read, too."""

_ALL = 2
_MOST_BELOW = 48


class UnreadTerminal(TracedTerminal):
    """Calls ``before_loss`` before control functions make unread cells disappear.

    Attributes:
        waiting: how many rows of the history, the last ones, are to be read with the screen.
        fresh: the row that was read before it was painted last, if any; of its cells only those
            from ``fresh_first`` up to ``fresh_end`` were not.
    """

    before_loss: Callable[[], None]
    waiting = 0
    fresh: Row | None = None
    fresh_first = fresh_end = 0
    _fallen: tuple[Row, ...] = ()
    _fallen_of: Buffer | None = None

    @property
    def below(self) -> Sequence[Row]:
        """Rows that went off the screen at the bottom as it was scrolled back, in order."""
        return self._fallen if self._fallen_of is self.buf else ()

    def kept(self) -> list[Row]:
        """The rows that wait, in order."""
        return list(islice(reversed(self.buf.history), self.waiting))[::-1]

    def losing(self, first: int, last: int) -> None:
        """Rows are about to lose content: they are read first, unless they were read before.

        So is what waits, as nobody has read the row that came in at the bottom since then.
        """
        self.fresh = None
        for row in self.buf.rows[first : last + 1]:
            if row.view is None:
                self._wait_no_more()
                return

    def _scroll(self, *, wrapped: bool = False) -> None:
        """Text that the row below the one that goes may go on with is read with that one."""
        buf = self.buf
        going, below = buf.rows[buf.top], buf.rows[min(buf.top + 1, buf.bottom)]
        if self.lines < ENOUGH_ROWS and buf.top == 0 and buf.bottom == self.lines - 1:
            if buf is self.main:
                self._keep(going, wrapped=wrapped)
                return
        elif self.waiting:
            self._wait_no_more()
        if going.view and below.view is None and below.chars.count(BLANK) != len(below.chars):
            self.before_loss()
        self._fallen = ()
        super()._scroll(wrapped=wrapped)

    def _wait_no_more(self) -> None:
        """Have everything read; what there is no time for is lost."""
        self.before_loss()
        self.waiting = 0

    def _keep(self, going: Row, *, wrapped: bool) -> None:
        """The top row of a low screen goes into the history, where it waits unless it was read."""
        if self.waiting or going.view is None:
            self.waiting += 1
            if self.waiting > ENOUGH_ROWS - self.lines:
                self.waiting -= 1
                self._wait_no_more()
        self._fallen = ()
        self.buf.scroll(self.pen.erase, wrapped=wrapped)

    def insert_lines(self, count: int | None = None) -> None:
        """IL."""
        super().insert_lines(count)
        self._met(self.buf.y + (count or 1))

    def delete_lines(self, count: int | None = None) -> None:
        """DL."""
        super().delete_lines(count)
        self._met(self.buf.y)

    def scroll_down(self, count: int | None = None) -> None:
        """SD."""
        super().scroll_down(count)
        self._met(self.buf.top + (count or 1))

    def reverse_index(self) -> None:
        """RI."""
        buf = self.buf
        at_margin, last = buf.y == buf.top, buf.rows[buf.bottom]
        super().reverse_index()
        if at_margin:
            whole = buf.bottom == self.lines - 1
            self._fallen = (last, *self.below[: _MOST_BELOW - 1]) if whole else ()
            self._fallen_of = buf
            self._met(buf.top + 1)

    def replacing(self, row: Row, first: int, end: int) -> None:
        """Cells ``first`` up to ``end`` of a row are about to be painted: it is read if need be."""
        if row.view is None:
            fresh = row is self.fresh
            if not fresh or (first < self.fresh_end and end > self.fresh_first):
                cells = row.chars[first:end]
                if cells.count(BLANK) != len(cells):
                    self.before_loss()
            if row.view is None:
                if fresh:
                    self.fresh_first = min(self.fresh_first, first)
                    self.fresh_end = max(self.fresh_end, end)
                return
        self.fresh, self.fresh_first, self.fresh_end = row, first, end

    def inserting(self, row: Row, x: int) -> None:
        """Cells are about to be put into a row at ``x``: what they part or push is read."""
        if row.view is None:
            cells = row.chars[x:]
            if self.fresh_end > x if row is self.fresh else cells.count(BLANK) != len(cells):
                self.before_loss()
            if row.view is None:
                return
        self.fresh, self.fresh_first, self.fresh_end = row, x, x

    def _met(self, at: int) -> None:
        """A row has another one above it now: it is read again, together with that one."""
        if self.buf.top <= at <= self.buf.bottom:
            self.buf.rows[at].view = None

    def erase_in_display(self, how: int = 0, *_: object, private: bool = False) -> None:
        """ED. An empty screen stays as it is."""
        self._fallen = ()
        if how > _ALL and self.waiting:
            self._wait_no_more()
        if how != _ALL or any(row.chars.count(BLANK) != len(row.chars) for row in self.buf.rows):
            super().erase_in_display(how, private=private)

    def erase_in_line(self, how: int = 0, *_: object, private: bool = False) -> None:
        """EL. Where nothing is erased nothing is lost, as at the end of most rows."""
        buf = self.buf
        row = buf.rows[buf.y]
        if how or private or self.origin or row.view is not None:
            super().erase_in_line(how, private=private)
            return
        if row is not self.fresh or buf.x < self.fresh_end:
            cells = row.chars[buf.x :]
            if cells.count(BLANK) != len(cells):
                self.before_loss()
        row.replace(buf.x, self.columns, self.pen.erase)
        if buf.x == 0:
            row.wrapped = False
