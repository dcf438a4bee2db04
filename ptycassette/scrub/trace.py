"""The traced emulator, fast enough to run over every recording.

``ptycassette.screen.TracedEmulator`` looks at every character on its own. Here
runs of plain ASCII are painted by whole slices and complete control functions
are looked up, as the ordinary emulator does, and cells still know their bytes.
Everything else goes the slow way; both ways give the same cells.

For most cells ``origins`` holds the offset of the first byte alone, not a pair:
pairs cost a third of the time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any

from ptycassette.model import Size
from ptycassette.screen import TracedEmulator
from ptycassette.screen.grammar import GROUND, SPLIT, STARTERS
from ptycassette.screen.grid import BLANK, Row
from ptycassette.screen.trace import TracedParser
from ptycassette.screen.trace import _byte_length as byte_length
from ptycassette.screen.widths import NO_JOIN, PLAIN, width_mode
from ptycassette.scrub.starts import Starts
from ptycassette.scrub.unread import UnreadTerminal

__all__ = ["FastTrace"]

_BLOCK = 1 << 14
_SLOW_LIMIT = 8


class _Gap(Row):
    """Stands in the history for rows that nobody has painted so far: ``data`` gives them."""

    __slots__ = ("data", "offset")

    def __init__(self, data: bytes, offset: int) -> None:
        super().__init__(0)
        self.data = data
        self.offset = offset


class _Terminal(UnreadTerminal):
    """Paints runs of text at once."""

    _next = -1

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

    def gone(self, most: int) -> list[Row]:
        """The last rows that scrolled off the screen and were read, in order; as far as known.

        None of a line that the terminal wrapped: the print stream has it whole.
        """
        rows: list[Row] = []
        first = self.buf.history[-self.waiting] if self.waiting else self.buf.rows[0]
        if not first.wrapped:
            for row in islice(reversed(self.buf.history), self.waiting, self.waiting + most):
                if row.wrapped or isinstance(row, _Gap):
                    break
                rows.append(row)
        return rows[::-1]

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

    def draw(self, data: str) -> None:
        """Paint text."""
        if self.charset_map is not None or self._repeated is not None:
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
            self.replacing(row, x, end)
            row.chars[x:end] = data
            row.styles[x:end] = [self.pen.style] * total
            if row.origins is not None:
                row.origins[x:end] = starts  # type: ignore[assignment]
            row.view = None
            buf.x = end
            return
        done = 0
        while done < total:
            count = min(total - done, cols - buf.x or cols) if self.autowrap else 1
            self._replacing_next(count)
            super()._paint_narrow(data[done : done + count] if count < total else data)
            row, end = buf.rows[buf.y], buf.x
            if row.origins is not None:
                row.origins[end - count : end] = starts[done : done + count]  # type: ignore[assignment]
            done += count

    def _paint_wide(self, data: str) -> None:
        for char in data:
            self._begin(char)
            self._replacing_next(2)
            self._put(char, 2)

    def _step(self, char: str) -> None:
        if self._next >= 0:
            self._begin(char)
        row, x = self.row, self.buf.x
        end = self.fresh_end if row is self.fresh else x
        if self.insert_mode:
            self._inserting_next(2)
        else:
            self._replacing_next(2)
        if row.view is not None:
            end = x  # all of it was read
        super()._step(char)
        if self.row is row is self.fresh:
            self.fresh_end = max(end, self.buf.x)

    def _join(self, char: str, width: int, before: int) -> None:
        row, x = self.row, self.buf.x - 1
        origins: list[Any] = row.origins or []
        for at in (x - 1, x) if x > 0 and row.chars[x] == "" else (x,):
            if at >= 0 and isinstance(origins[at], int):
                origins[at] = (origins[at], origins[at] + len(row.chars[at].encode()))
        if row is self.fresh:
            self.fresh_first = min(self.fresh_first, x - 1)
        super()._join(char, width, before)

    def _begin(self, char: str) -> None:
        """Note where the next character stands."""
        start = self.starts[self._next]
        self._origin = (start, start + byte_length(char))
        self._next += 1

    def _replacing_next(self, count: int) -> None:
        """The next ``count`` cells are about to be painted, here or where the line goes on."""
        buf, cols = self.buf, self.columns
        x, row = buf.x, buf.rows[buf.y]
        if x < cols:
            self.replacing(row, x, x + count)
            if x + count <= cols:
                return
        if self.autowrap and buf.y != buf.bottom:  # where it scrolls that says so
            self.replacing(buf.rows[min(buf.y + 1, self.lines - 1)], 0, count)

    def _inserting_next(self, count: int) -> None:
        """The same where what stands there moves to the right."""
        buf = self.buf
        self.inserting(buf.rows[buf.y], buf.x)
        if buf.x + count > self.columns and self.autowrap and buf.y != buf.bottom:
            self.inserting(buf.rows[min(buf.y + 1, self.lines - 1)], 0)
            self.fresh = None


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
            self.screen.starts = Starts(text, self._chunk_start)
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
        terminal.fresh = None
        for buf in (terminal.main, terminal.alt):
            for row in buf.rows if buf is not None else ():
                row.view = None

    def read(self) -> None:
        """Count everything on screen as read."""
        for row in self.terminal.buf.rows:
            row.text(self.terminal.columns)
