"""A terminal whose rows are read before anything unread on them is lost.

Most output is printed in order: character after character, line below line. Such rows have the
same text as the print stream, and need not be read here. A row is *unread* when something was
painted on it that is elsewhere in the print stream: after the cursor was moved, over other text,
in insert mode, in another character set, by REP. Before cells of unread rows are erased, painted
over, moved or scrolled away, ``read`` passes all unread rows to the reader.

Whether a row counts as unread depends on the bytes alone, never on how they were chunked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, chain, compress, count
from typing import Any, Final

from ptycassette.model.re2_engine import lazy_pattern
from ptycassette.model.screen import Screen, Size
from ptycassette.terminal.core import DEFAULT_SCROLLBACK, bounded
from ptycassette.terminal.emulator import STRIKE, Parser, PyteEmulator, Terminal
from ptycassette.terminal.grid import BLANK, Row
from ptycassette.terminal.widths import PLAIN, WidthMode, width_mode

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
            self._moved = self._moved or self._last in unread  # later text there is new again
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
        """Wrap into the next row. Text already in that row forms new text with the wrapped part."""
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
        """ICH: like ``Editing.insert_characters``, and marks the row as unread."""
        super().insert_characters(count)
        self._touch(self.buf.y, self.buf.y)

    def delete_characters(self, count: int | None = None) -> None:
        """DCH: like ``Editing.delete_characters``, and marks the row as unread."""
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


# Which bytes painted which cell: a terminal that maps text on the screen to the raw output.


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
        """Skip ``length`` bytes of the output."""
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


# The emulator behind the screen reader. It paints on demand.


# UTF-8 (RFC 3629) without the C1 controls, which are obeyed; at the end it may be cut anywhere.
_WIDE = (
    rb"\xc2[\xa0-\xbf]|[\xc3-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}"
)
_CUT = rb"\r|[\xc3-\xf4]|[\xe0-\xf4][\x80-\xbf]|[\xf0-\xf4][\x80-\xbf]{2}"
_LINES = lazy_pattern(rb"[\x20-\x7e]*(?:(?:\r\n|%b)[\x20-\x7e]*)*(?P<cut>%b)?" % (_WIDE, _CUT))
_MUCH = 4
"""Screens with their history that are held before what cannot be seen any more is left out."""


class _TracedWatchedTerminal(WatchedTerminal, TracedTerminal):
    """Watched and traced."""


class LazyEmulator(PyteEmulator):
    """The default emulator, with a watched terminal.

    Args:
        size: the size to start with.
        on_read: see ``WatchedTerminal``.
        traced: whether cells know which bytes painted them; takes 1.5 times as long.
    """

    terminal: WatchedTerminal

    def __init__(self, size: Size, on_read: OnRead, *, traced: bool = True) -> None:
        super().__init__(size)
        size = bounded(size)
        kind = _TracedWatchedTerminal if traced else WatchedTerminal
        self.terminal = kind(size.cols, size.rows, width_mode=width_mode("cluster"))
        self.terminal.on_read = on_read
        self._parser = (
            TracedParser(self.terminal)
            if isinstance(self.terminal, TracedTerminal)
            else Parser(self.terminal)
        )
        self._held: list[bytes] = []
        self._length = 0
        self._cut = b""
        self._most = _most(size.rows, size.cols)

    def feed(self, data: bytes) -> None:
        """See ``Emulator``."""
        if self._held or self._scrolls_as_printed():
            lines = _LINES.fullmatch(self._cut + data)
            if lines is not None:
                self._cut = lines["cut"] or b""
                self._held.append(data)
                self._length += len(data)
                if self._length > _MUCH * self._most and not self._drop():
                    self.paint()
                return
            self.paint()
        super().feed(data)

    def _scrolls_as_printed(self) -> bool:
        parser = self._parser
        return not parser.pending and not parser.in_sequence and self.terminal.scrolls_as_printed()

    def _drop(self) -> bool:
        """Drop lines that have scrolled out of the history; False without such lines."""
        data = b"".join(self._held)
        rows = self.terminal.lines + self.terminal.scrollback
        gone, *last = data.rsplit(b"\n", rows + 1)
        at = len(gone) + 1 if len(last) > rows else 0
        if data.isascii():  # a row shows a byte in each cell, and two end a line
            at = max(at, data.rfind(b"\n", 0, len(data) - self._most) + 1)
        if not at:
            return False
        self.terminal.clear_for_lines()
        if isinstance(self._parser, TracedParser):
            self._parser.skip(at)
        self._held = [data[at:]]
        self._length = len(data) - at
        return True

    def paint(self) -> None:
        """Paint the output that is waiting."""
        if self._length > self._most:
            self._drop()
        if self._held:
            held, self._held, self._length, self._cut = b"".join(self._held), [], 0, b""
            super().feed(held)

    def resize(self, size: Size) -> None:
        """See ``Emulator``."""
        self.paint()
        super().resize(size)
        self._most = _most(self.terminal.lines, self.terminal.columns)

    def snapshot(self) -> Screen:
        """See ``Emulator``."""
        self.paint()
        return super().snapshot()

    @property
    def pending(self) -> int:
        """See ``Emulator``."""
        self.paint()
        return super().pending


def _most(rows: int, cols: int) -> int:
    """The number of bytes of ASCII lines that certainly fill the screen and its history."""
    return (rows + DEFAULT_SCROLLBACK) * (cols + 2)


# Which bytes of the output painted a part of the screen.


class PaintedBytes:
    """Collects the stretches of output whose characters are seen in a part of the screen.

    Args:
        size: of the screen at the start.
        rows: the rows, counted from 0; all when None.
        columns: the cells of each, counted from 0; all when None.
    """

    def __init__(
        self, size: Size, *, rows: range | None = None, columns: range | None = None
    ) -> None:
        size = bounded(size)
        self._terminal = _Listening(size.cols, size.rows, width_mode=width_mode("cluster"))
        self._terminal.rows, self._terminal.cells = rows, columns
        self._parser = TracedParser(self._terminal)

    def feed(self, data: bytes, *, listen: bool) -> None:
        """Take output. It counts only while ``listen`` is true."""
        terminal = self._terminal
        if listen and not terminal.listens:
            terminal.listens = True
            terminal.look()
        terminal.listens = listen
        self._parser.feed(data)
        if listen:
            terminal.look()

    def resize(self, size: Size) -> None:
        """Take another size."""
        self._terminal.resize(size.rows, size.cols)
        if self._terminal.listens:
            self._terminal.look()

    def stretches(self) -> list[tuple[int, int]]:
        """The stretches (start, end) of all output, in order, neighbours joined."""
        found: list[tuple[int, int]] = []
        for start, end in sorted(self._terminal.seen):
            if found and start <= found[-1][1]:
                found[-1] = found[-1][0], max(end, found[-1][1])
            else:
                found.append((start, end))
        return found


class _Listening(TracedTerminal):
    """A traced terminal that notes the text in a part of it before it is lost."""

    watched = True
    listens = False
    rows: range | None = None
    cells: range | None = None

    def _set_up(self) -> None:
        if not hasattr(self, "seen"):
            self.seen: set[tuple[int, int]] = set()
        super()._set_up()

    def losing(self, first: int, last: int) -> None:
        del first, last
        if self.listens:
            self.look()

    def draw(self, data: str) -> None:
        """Paint text. If the part is the whole screen, text is seen at any place."""
        if not self.listens:
            super().draw(data)
            return
        if self.rows is None and self.cells is None and self._repeated is None:
            place = next(self.places)
            self.places = chain((place,), self.places)
            last = place + len(data) - 1
            self.seen.add((self.starts[place], self.starts[last] + len(data[-1].encode())))
            super().draw(data)
            return
        above = self.buf.y
        super().draw(data)
        self._see(range(min(above, self.buf.y), self.buf.y + 1))

    def look(self) -> None:
        if self.rows is None and self.cells is None:
            return
        self._see(range(self.lines))

    def _see(self, numbers: range) -> None:
        rows = self.buf.rows
        for number in numbers:
            if self.rows is None or number in self.rows:
                self._see_row(rows[number])

    def _see_row(self, row: Row) -> None:
        if row.origins is None:
            return
        cells = (
            slice(self.columns)
            if self.cells is None
            else slice(self.cells.start, min(self.cells.stop, self.columns))
        )
        for origin, char in zip(row.origins[cells], row.chars[cells], strict=True):
            if isinstance(origin, int):
                self.seen.add((origin, origin + len(char.encode())))
            elif origin is not None and origin[0] < origin[1]:
                self.seen.add(origin)
