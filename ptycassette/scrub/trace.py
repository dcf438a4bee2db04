"""The traced emulator, fast enough to run over every recording.

``ptycassette.screen.TracedEmulator`` looks at every character on its own. Here
runs of plain ASCII are painted by whole slices and complete control functions
are looked up, as the ordinary emulator does, and cells still know their bytes.
Everything else goes the slow way; both ways give the same cells.

For most cells ``origins`` holds the offset of the first byte alone, not a pair:
pairs cost a third of the time.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any, overload

from ptycassette.model import Size
from ptycassette.screen import TracedEmulator
from ptycassette.screen.grammar import GROUND, SPLIT, STARTERS
from ptycassette.screen.grid import BLANK, Row
from ptycassette.screen.trace import TracedParser, TracedTerminal
from ptycassette.screen.trace import _byte_length as byte_length
from ptycassette.screen.widths import NO_JOIN, PLAIN, width_mode

__all__ = ["FastTrace"]

_BLOCK = 1 << 14
_SLOW_LIMIT = 8
_ALL = 2
_WIDE_BYTES = re.compile("[^\x00-\x7f]+")


class _Starts(Sequence[int]):
    """Byte offset of each character of a text, worked out where it is asked for."""

    def __init__(self, text: str, base: int) -> None:
        self._text = text
        self._base = base
        self._firsts: list[int] = []
        self._ends: list[int] = []
        self._shifts = [0]
        shift = 0
        for match in _WIDE_BYTES.finditer(text):
            shift += len(match.group().encode()) - match.end() + match.start()
            self._firsts.append(match.start())
            self._ends.append(match.end())
            self._shifts.append(shift)

    @overload
    def __getitem__(self, index: int) -> int: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[int]: ...

    def __getitem__(self, index: int | slice) -> int | Sequence[int]:
        if isinstance(index, slice):
            start, stop = index.start, index.stop
            run = bisect_right(self._firsts, start)
            if (not run or start >= self._ends[run - 1]) and (
                run == len(self._firsts) or stop <= self._firsts[run]
            ):
                first = self._base + start + self._shifts[run]
                return range(first, first + stop - start)
            return self._several(start, stop)
        run = bisect_right(self._firsts, index)
        if run and index < self._ends[run - 1]:
            inside = self._text[self._firsts[run - 1] : index]
            return self._base + index + self._shifts[run - 1] + len(inside.encode()) - len(inside)
        return self._base + index + self._shifts[run]

    def _several(self, start: int, stop: int) -> Sequence[int]:
        first = self[start]
        text = self._text[start:stop]
        if text.isascii():
            return range(first, first + stop - start)
        return list(accumulate(map(byte_length, text[:-1]), initial=first))

    def __len__(self) -> int:
        return len(self._text)


class _Gap(Row):
    """Stands in the history for rows that nobody has painted so far: ``data`` gives them."""

    __slots__ = ("data", "offset")

    def __init__(self, data: bytes, offset: int) -> None:
        super().__init__(0)
        self.data = data
        self.offset = offset


class _Terminal(TracedTerminal):
    """Paints runs of text at once. ``before_loss`` is called before unread cells are lost."""

    before_loss: Callable[[], None]
    _last: tuple[Row, int] | None = None
    _next = -1

    def losing(self, first: int, last: int) -> None:
        """Rows are about to lose content: they are read first, unless they were read before."""
        for row in self.buf.rows[first : last + 1]:
            if row.view is None:
                self.before_loss()
                return

    def _scroll(self, *, wrapped: bool = False) -> None:
        """Text that the row below the one that goes may go on with is read with that one."""
        buf = self.buf
        going, below = buf.rows[buf.top], buf.rows[min(buf.top + 1, buf.bottom)]
        if going.view and below.view is None and below.chars.count(BLANK) != len(below.chars):
            self.before_loss()
        super()._scroll(wrapped=wrapped)

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
        at_margin = self.buf.y == self.buf.top
        super().reverse_index()
        if at_margin:
            self._met(self.buf.top + 1)

    def _met(self, at: int) -> None:
        """A row has another one above it now: it is read again, together with that one."""
        if self.buf.top <= at <= self.buf.bottom:
            self.buf.rows[at].view = None

    def erase_in_display(self, how: int = 0, *_: object, private: bool = False) -> None:
        """ED. An empty screen stays as it is."""
        if how != _ALL or any(row.chars.count(BLANK) != len(row.chars) for row in self.buf.rows):
            super().erase_in_display(how, private=private)

    def erase_in_line(self, how: int = 0, *_: object, private: bool = False) -> None:
        """EL. Where nothing is erased nothing is lost, as at the end of most rows."""
        buf = self.buf
        row = buf.rows[buf.y]
        if how or private or self.origin or row.view is not None:
            super().erase_in_line(how, private=private)
            return
        cells = row.chars[buf.x :]
        if cells.count(BLANK) != len(cells):
            self.before_loss()
        row.replace(buf.x, self.columns, self.pen.erase)
        if buf.x == 0:
            row.wrapped = False

    def resize(self, lines: int | None = None, columns: int | None = None) -> None:
        """Take another size; what was skipped is painted first, for it may come back."""
        history = self.main.history
        if any(isinstance(row, _Gap) for row in history):
            rows = list(history)
            history.clear()
            for row in rows:
                history.extend(self._painted(row) if isinstance(row, _Gap) else (row,))
        super().resize(lines, columns)

    def _painted(self, gap: _Gap) -> Sequence[Row]:
        """The rows that a gap stands for."""
        trace = FastTrace(Size(self.lines, self.columns), before_loss=lambda: None)
        trace.go_to(gap.offset)
        trace.feed(gap.data)
        trace.read()
        buf = trace.terminal.buf
        return [*buf.history, *buf.rows[: buf.y]]

    @property
    def steady(self) -> bool:
        """Whether lines scroll by: the cursor at the start of a fresh last row, nothing unusual.

        The history is full, so that its length does not change either.
        """
        buf = self.buf
        row = buf.rows[-1]
        return (
            buf.x == 0
            and buf.y == buf.bottom == self.lines - 1
            and buf.top == 0
            and self.autowrap
            and not (self.insert_mode or self.origin)
            and self.charset_map is None
            and len(buf.history) == buf.history.maxlen
            and row.chars.count(BLANK) == len(row.chars) == self.columns
        )

    def skip(self, data: bytes, offset: int) -> None:
        """Whole lines scroll by unseen, at least as many as there are rows.

        What follows is painted from the top of an empty screen; it is as it would be as soon
        as one line less than there are rows has followed.
        """
        buf = self.buf
        buf.history.extend(buf.rows[:-1])
        buf.history.append(_Gap(data, offset))
        for at in range(self.lines):
            buf.rows[at] = buf.blank_row(self.pen.style)
            buf.rows[at].text(self.columns)
        buf.x = buf.y = 0
        self.kind = NO_JOIN
        self._last = None

    def draw(self, data: str) -> None:
        """Paint text."""
        if self.charset_map is not None or self._repeated is not None:
            self._last = None
            super().draw(data)
            return
        self._next = self.at
        if self.insert_mode:
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

    def _paint_narrow(self, data: str) -> None:
        cols, buf = self.columns, self.buf
        total = len(data)
        at = self._next
        self._next = at + total
        starts = self.starts[at : at + total]
        x = buf.x
        end = x + total
        row = buf.rows[buf.y]
        if end <= cols and row.chars[x] and (end == len(row.chars) or row.chars[end]):
            # What nearly all text is: it fits in the row and cuts no wide character.
            if row.view is None and self._last != (row, x):
                self._look(total)
            row.chars[x:end] = data
            row.styles[x:end] = [self.pen.style] * total
            if row.origins is not None:
                row.origins[x:end] = starts  # type: ignore[assignment]
            row.view = None
            buf.x = end
            self._last = (row, end)
            return
        done = 0
        while done < total:
            count = min(total - done, cols - buf.x or cols) if self.autowrap else 1
            self._look(count)
            super()._paint_narrow(data[done : done + count] if count < total else data)
            row, end = buf.rows[buf.y], buf.x
            if row.origins is not None:
                row.origins[end - count : end] = starts[done : done + count]  # type: ignore[assignment]
            self._last = (row, end)
            done += count

    def _paint_wide(self, data: str) -> None:
        for char in data:
            self._begin(char)
            self._put(char, 2)
            self._last = (self.row, self.buf.x)

    def _step(self, char: str) -> None:
        if self._next >= 0:
            self._begin(char)
        super()._step(char)
        self._last = (self.row, self.buf.x)

    def _join(self, char: str, width: int, before: int) -> None:
        row, x = self.row, self.buf.x - 1
        origins: list[Any] = row.origins or []
        for at in (x - 1, x) if x > 0 and row.chars[x] == "" else (x,):
            if at >= 0 and isinstance(origins[at], int):
                origins[at] = (origins[at], origins[at] + len(row.chars[at].encode()))
        super()._join(char, width, before)

    def _begin(self, char: str) -> None:
        """Note where the next character stands, and have read what it replaces."""
        start = self.starts[self._next]
        self._origin = (start, start + byte_length(char))
        self._next += 1
        row = self.row
        if not self.insert_mode:
            self._look(2)
        elif row.view is None and self._last != (row, self.buf.x):
            self.before_loss()  # what goes on where it ended parts nothing more

    def _look(self, count: int) -> None:
        """Have a row read before the next ``count`` cells replace something unread in it.

        A run that goes on where the last one ended is no reason: what it replaces was
        read when the first one came.
        """
        buf = self.buf
        x = buf.x
        if x >= self.columns:
            if not self.autowrap:
                return
            x = 0
            if buf.y == buf.bottom:
                return  # it scrolls, and says so
            row = buf.rows[min(buf.y + 1, self.lines - 1)]
        else:
            row = buf.rows[buf.y]
        if row.view is not None:
            return
        last = self._last
        if last is not None and last[0] is row and last[1] == x:
            return
        cells = row.chars[x : x + count]
        if cells.count(BLANK) != len(cells):
            self.before_loss()


class _Parser(TracedParser):
    """Takes whole control functions from a table, and knows where it is."""

    screen: _Terminal

    @property
    def offset(self) -> int:
        """How many bytes there were so far."""
        return self._fed

    def go_to(self, offset: int) -> None:
        """What comes next stands at ``offset``."""
        self._fed = offset

    def _run(self, text: str) -> int | None:
        chunk = self._chunk
        if len(text) == len(chunk) and text.isascii():
            self.screen.starts = range(self._chunk_start, self._chunk_start + len(chunk))
        elif chunk.startswith(text.encode()):
            self.screen.starts = _Starts(text, self._chunk_start)
        else:
            self.screen.starts = self._starts(text)  # malformed bytes were dropped
        began: int | None = None
        at, length = 0, len(text)
        while at < length:
            stop = min(at + _BLOCK, length)
            slow = 0
            while at < stop:
                if self._state == GROUND and slow < _SLOW_LIMIT:
                    at += self._take(text[at:stop], at)
                    if at == stop:
                        break
                    slow += 1
                    began = at
                at, began = self._machine(text, at, stop, began, whole=slow >= _SLOW_LIMIT)
        return began

    def _take(self, block: str, base: int) -> int:
        """What ``Parser._fast`` does, with positions."""
        screen = self.screen
        known = self._actions.get
        parts = iter(SPLIT.split(block))
        at = base
        for text in parts:
            if text:
                screen.at = at
                screen.draw(text)
                at += len(text)
            control = next(parts, None)
            if control is None:
                break
            start, at = at, at + len(control)
            pen = screen.pen.next.get(control)
            if pen is not None:
                screen.pen = pen
                screen.kind = NO_JOIN
                continue
            action = known(control)
            if action is None:
                if control in STARTERS:
                    return start - base
                if control in "\x7f\x9c":
                    continue
                action = self._learn(control)
            action[0](*action[1])
            screen.kind = NO_JOIN
        return len(block)


class FastTrace(TracedEmulator):
    """A ``TracedEmulator`` that calls ``before_loss()`` while unread cells are still there.

    A row is unread as long as its ``view`` is None; whoever reads it sets that.
    """

    terminal: _Terminal

    def __init__(self, size: Size, *, before_loss: Callable[[], None]) -> None:
        super().__init__(size)
        self.terminal = _Terminal(
            self.terminal.columns,
            self.terminal.lines,
            width_mode=width_mode("cluster"),
        )
        self.terminal.before_loss = before_loss
        self._tracing = _Parser(self.terminal)
        self._parser = self._tracing

    def feed(self, data: bytes) -> None:
        """Consume output of the program. Never raises, whatever the bytes."""
        self._tracing.feed(data)

    def go_to(self, offset: int) -> None:
        """What is fed next stands at ``offset`` of the output. Not inside a sequence."""
        self._tracing.go_to(offset)

    @property
    def steady(self) -> bool:
        """Whether whole lines may be skipped here."""
        return not self._tracing.pending and not self._tracing.in_sequence and self.terminal.steady

    @property
    def offset(self) -> int:
        """How many bytes there were so far."""
        return self._tracing.offset

    @property
    def reached(self) -> int:
        """About how many bytes were painted so far: where in the output the last text stands."""
        starts = self.terminal.starts
        return starts[min(self.terminal.at, len(starts) - 1)] if starts else 0

    def skip(self, data: bytes) -> None:
        """Go on behind ``data``, whole lines, more than there are rows; not all of the lines.

        Only where the trace is ``steady``; a line less than there are rows has to follow.
        """
        offset = self._tracing.offset
        self.terminal.skip(data, offset)
        self.go_to(offset + len(data))

    def unread(self) -> None:
        """Count nothing on the screens as read: rows have other neighbours now."""
        terminal = self.terminal
        for buf in (terminal.main, terminal.alt):
            for row in buf.rows if buf is not None else ():
                row.view = None

    def read(self) -> None:
        """Count everything on screen as read."""
        for row in self.terminal.buf.rows:
            row.text(self.terminal.columns)
