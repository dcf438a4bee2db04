"""The state of the terminal, and the primitive operations that its functions share.

``Core`` keeps pyte's names for what pyte has (``columns``, ``lines``, ``cursor``,
``buffer``, ``mode``, ``margins``, ``display``, ``title``), so that code written for
pyte's ``Screen`` can read this one. Cells are stored differently; the reasons are
in ``ptycassette.terminal.grid``.

The cursor column ``buf.x`` may equal ``columns``: the last column was just
written, and the next character wraps ("wrap pending").
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final, Literal

import msgspec

from ptycassette.keys.names import Keyboard
from ptycassette.model.screen import Size
from ptycassette.terminal.grid import BLANK, Buffer, Charset, Pen, Pens, Row, Saved
from ptycassette.terminal.widths import NO_JOIN, PLAIN, WidthMode

if TYPE_CHECKING:
    import pyte


# Signals: reports of a program to its terminal besides text, such as titles and turns.


MAX_SIGNALS: Final = 4096
"""Signals kept until somebody takes them; the oldest are dropped first."""

MAX_TEXT: Final = 4096
"""Characters kept of any value."""


class Signal(msgspec.Struct, frozen=True):
    """One signal. ``data`` depends on ``name``; see the table in the module."""

    name: str
    data: dict[str, str] = {}

    def __getitem__(self, key: str) -> str:
        return self.data[key]


class SignalLog:
    """Signals in order, bounded, until they are taken."""

    __slots__ = ("_kept", "dropped")

    def __init__(self) -> None:
        self._kept: list[Signal] = []
        self.dropped = 0

    def add(self, signal: Signal) -> None:
        """Append a signal."""
        if len(self._kept) >= MAX_SIGNALS:
            del self._kept[: MAX_SIGNALS // 2]
            self.dropped += MAX_SIGNALS // 2
        self._kept.append(signal)

    def tell(self, name: str, **data: str) -> None:
        """Append a signal made of text; long values are cut."""
        self.add(Signal(name, {key: value[:MAX_TEXT] for key, value in data.items()}))

    def take(self) -> tuple[Signal, ...]:
        """The signals since the last call."""
        kept = tuple(self._kept)
        self._kept.clear()
        return kept


MAX_SIZE: Final = 1000
"""No screen has more rows or columns."""

MIN_COLUMNS: Final = 2
"""A wide character must fit."""

DEFAULT_SCROLLBACK: Final = 1000
"""Rows kept after they scrolled off the top."""

MAX_CLUSTER: Final = 32
"""Code points in one cell; further combining characters are dropped."""

DECAWM: Final = 7 << 5
DECTCEM: Final = 25 << 5
"""Private modes are kept shifted, as pyte does, so that they cannot be taken for ANSI ones."""

_DEFAULT_MODES: Final = frozenset({DECAWM, DECTCEM})


def bounded(size: Size) -> Size:
    """The size, no smaller and no larger than a screen can be."""
    return Size(
        rows=min(max(size.rows, 1), MAX_SIZE), cols=min(max(size.cols, MIN_COLUMNS), MAX_SIZE)
    )


class Core:
    """The state. See ``ptycassette.terminal.emulator.Terminal`` for the whole terminal.

    Args:
        columns: cells in a row.
        lines: rows.
        width_mode: how characters are measured.
        scrollback: rows kept after they scrolled off the top.
    """

    columns: int
    lines: int
    title: str
    icon_name: str
    mode: set[int]

    traced = False
    """Whether cells remember which bytes painted them."""

    struck = False
    """Whether the text that is painted next goes on where a character is struck over another."""

    watched = False
    """Whether ``losing`` is called before anything on screen is lost."""

    def __init__(
        self,
        columns: int,
        lines: int,
        *,
        width_mode: WidthMode,
        scrollback: int = DEFAULT_SCROLLBACK,
    ) -> None:
        size = bounded(Size(lines, columns))
        self.columns, self.lines = size.cols, size.rows
        self.width_mode = width_mode
        self.scrollback = scrollback
        self.pens = Pens()
        self.signals = SignalLog()
        self.replies: list[str] = []
        self.title = self.icon_name = ""
        self._set_up()

    def _set_up(self) -> None:
        """Set everything that RIS resets."""
        self.main = Buffer(self.lines, self.columns, self.scrollback, traced=self.traced)
        self.alt: Buffer | None = None
        self.buf = self.main
        self.alt_saved: Saved | None = None
        self.pen: Pen = self.pens.default
        self.mode = set(_DEFAULT_MODES)
        self.autowrap = True
        self.insert_mode = self.newline_mode = self.origin = self.reverse_wrap = False
        self.cursor_style = 0
        self.mouse_protocol = 0
        self.mouse_encoding = 0
        self.keyboard = Keyboard()
        self.gsets: list[Charset | None] = [None] * 4
        self.glevel = 0
        self.charset_map: Charset | None = None
        # The character before, for joining and for REP.
        self.kind, self.width = NO_JOIN, 0
        self.title_stack: list[str] = []
        self.icon_stack: list[str] = []

    def reset(self) -> None:
        """RIS: reset everything except the titles (ECMA-48 8.3.105)."""
        self.losing(0, self.lines - 1)
        self._set_up()
        self.signals.add(Signal("reset"))

    # -- pyte's names for these -----------------------------------------------------------

    @property
    def cursor(self) -> pyte.screens.Cursor:
        """The cursor, a copy: column (``columns`` while a wrap is pending), row, whether hidden."""
        import pyte  # noqa: PLC0415 - loads slowly, and only code written for pyte asks

        cursor = pyte.screens.Cursor(self.buf.x, self.buf.y)
        cursor.hidden = DECTCEM not in self.mode
        return cursor

    @property
    def margins(self) -> pyte.screens.Margins | None:
        """Top and bottom margin, counted from 0; ``None`` when they are the screen's edges."""
        if (self.buf.top, self.buf.bottom) == (0, self.lines - 1):
            return None
        import pyte  # noqa: PLC0415 - as for the cursor

        return pyte.screens.Margins(self.buf.top, self.buf.bottom)

    @property
    def tabstops(self) -> set[int]:
        """Columns with a tab stop."""
        return self.buf.tabs

    @property
    def display(self) -> list[str]:
        """The rows' text, right-trimmed."""
        cols = self.columns
        return [row.text(cols) for row in self.buf.rows]

    @property
    def buffer(self) -> Mapping[int, Mapping[int, pyte.screens.Char]]:
        """Every cell as pyte's ``Char``, by row and column. Made on each call: for inspection."""
        from ptycassette.terminal._pyte_cells import pyte_cell  # noqa: PLC0415 - loads pyte

        return {
            y: {x: pyte_cell(row.chars[x], row.styles[x]) for x in range(self.columns)}
            for y, row in enumerate(self.buf.rows)
        }

    # -- small moves ----------------------------------------------------------------------

    @property
    def row(self) -> Row:
        """The row that the cursor is in."""
        return self.buf.rows[self.buf.y]

    def losing(self, first: int, last: int) -> None:
        """Called before rows ``first`` to ``last`` lose content, for watched terminals."""

    def _restrict(self, last: int | None = None) -> None:
        """Clamp the cursor to the screen. Cancels a pending wrap unless ``last`` is ``columns``."""
        buf = self.buf
        if last is None:
            last = self.columns - 1
        if buf.x > last:
            buf.x = last
        elif buf.x < 0:
            buf.x = 0
        low, high = (buf.top, buf.bottom) if self.origin else (0, self.lines - 1)
        if buf.y > high:
            buf.y = high
        elif buf.y < low:
            buf.y = low

    def _move_to(self, x: int, y: int) -> None:
        """Set the cursor. With DECOM the row counts from the top margin."""
        self.buf.x = x
        self.buf.y = self.buf.top + y if self.origin else y
        self._restrict()

    def _move_by(self, x: int, y: int) -> None:
        """Move the cursor. As in xterm.js, DECOM adds the top margin a second time."""
        self._restrict()
        self._move_to(self.buf.x + x, self.buf.y + y)

    def _scroll(self, *, wrapped: bool = False) -> None:
        if self.watched:
            self.losing(self.buf.top, self.buf.top)
        self.buf.scroll(self.pen.erase, wrapped=wrapped)

    def _set_charset(self) -> None:
        self.charset_map = self.gsets[self.glevel]


# Painting text: characters become cells.


class Painting(Core):
    """The part of the terminal that paints."""

    def draw(self, data: str) -> None:
        """Paint text, which contains no control characters."""
        table = self.charset_map
        if table is not None:
            data = data.translate(table)
        if self.insert_mode:
            for char in data:
                self._step(char)
            return
        if self.kind > PLAIN:
            self._paint_mixed(data)
            return
        if data.isascii():
            self.kind = PLAIN
        elif self.width_mode.narrow.fullmatch(data):
            self.kind = self.width_mode.classify(data[-1])[0]
        else:
            self._paint_mixed(data)
            return
        self.width = 1
        buf = self.buf
        x = buf.x
        end = x + len(data)
        if end > self.columns:
            self._paint_narrow(data)
            return
        # The usual case: ASCII that fits in the row.
        row = buf.rows[buf.y]
        if not row.own:
            row.take_over()
        chars, styles, style = row.chars, row.styles, self.pen.style
        if chars[x] == "" and x:
            chars[x - 1] = BLANK
            styles[x - 1] = style
        if end < len(chars) and chars[end] == "":
            chars[end] = BLANK
            styles[end] = style
        chars[x:end] = data
        styles[x:end] = [style] * (end - x)
        row.view = None
        buf.x = end

    def repeat(self, count: int | None = None) -> None:
        """REP: repeat the last character, unless a control function came after it."""
        if self.kind == NO_JOIN:
            return
        x = self.buf.x - self.width
        text = self.row.chars[x] if 0 <= x < self.columns else ""
        if not text or text == BLANK:
            return
        count = count or 1
        limit = self.columns * self.lines
        if count > limit:
            # The screen is full of it; only the cursor's final column is still open.
            count = limit + (count - limit) % self.columns
        if self.traced:
            self._repeat_traced(text, count)
        else:
            self.draw(text * count)

    def _repeat_traced(self, text: str, count: int) -> None:
        self.draw(text * count)

    def _paint_mixed(self, data: str) -> None:
        mode = self.width_mode
        match = mode.runs.match
        at, end = 0, len(data)
        kind = self.kind
        while at < end:
            found = match(data, at)
            assert found is not None  # noqa: S101 - its last alternative takes any character
            group = found.lastindex
            if group == 4 or (kind > PLAIN and mode.leads(kind)):
                self.kind = kind
                self._step(data[at])
                kind = self.kind
                at += 1
                continue
            if group == 3:
                self.kind = kind
                self._paint_marks(found.group())
                kind, at = self.kind, found.end()
                continue
            at = found.end()
            if group == 1:
                text = found.group()
                if text.isascii() or mode.narrow.fullmatch(text):
                    self._paint_narrow(text)
                else:
                    self._paint_cells(text)
                self.width = 1
            else:
                self._paint_wide(found.group())
                self.width = 2
            kind = mode.classify(data[at - 1])[0]
        self.kind = kind

    def _paint_marks(self, data: str) -> None:
        """Paint marks. Skip those that a full cell would drop."""
        head = len(data) if self.traced else MAX_CLUSTER + 1
        for char in data[:head]:
            self._step(char)
        if not (self.width or self.width_mode.joining):  # each takes a cell
            for char in data[head:]:
                self._step(char)

    def _paint_cells(self, data: str) -> None:
        """Paint narrow characters with their marks."""
        cells = self.width_mode.cells.findall(data)
        if max(map(len, cells)) > MAX_CLUSTER:
            cells = [cell[:MAX_CLUSTER] for cell in cells]
        self._paint_narrow(cells)

    def _paint_narrow(self, data: str | list[str]) -> None:
        """Paint the texts of cells that are one column wide."""
        buf, cols = self.buf, self.columns
        style = self.pen.style
        left = len(data)
        done = 0
        while True:
            x = buf.x
            if x >= cols:
                if self.autowrap:
                    self._wrap()
                    x = 0
                else:
                    x = cols - 1
            count = min(left, cols - x)
            row = buf.rows[buf.y]
            if not row.own:
                row.take_over()
            chars, styles = row.chars, row.styles
            end = x + count
            if chars[x] == "" and x:
                chars[x - 1] = BLANK
                styles[x - 1] = style
            if end < len(chars) and chars[end] == "":
                chars[end] = BLANK
                styles[end] = style
            if left == count:
                chars[x:end] = data[done:] if done else data
            elif self.autowrap:
                chars[x:end] = data[done : done + count]
            else:
                # Without DECAWM every further character replaces the last column.
                chars[x:end] = [*data[done : done + count - 1], data[-1]]
                count = left
            styles[x:end] = [style] * (end - x)
            row.view = None
            buf.x = end
            left -= count
            if not left:
                return
            done += count

    def _paint_wide(self, data: str) -> None:
        buf, cols = self.buf, self.columns
        style = self.pen.style
        done, total = 0, len(data)
        while done < total:
            x = buf.x
            count = min(total - done, (cols - x) // 2)
            if count < 1 or not self.autowrap:
                self._put(data[done], 2)
                done += 1
                continue
            row = buf.rows[buf.y]
            if not row.own:
                row.take_over()
            chars, styles = row.chars, row.styles
            end = x + 2 * count
            if chars[x] == "" and x:
                chars[x - 1] = BLANK
                styles[x - 1] = style
            if end < len(chars) and chars[end] == "":
                chars[end] = BLANK
                styles[end] = style
            chars[x:end:2] = data[done : done + count]
            chars[x + 1 : end : 2] = [""] * count
            styles[x:end] = [style] * (2 * count)
            row.view = None
            buf.x = end
            done += count

    def _wrap(self) -> None:
        """Go to the start of the next row, which continues this one."""
        buf = self.buf
        buf.x = 0
        if buf.y == buf.bottom:
            self._scroll(wrapped=True)
            return
        buf.y = min(buf.y + 1, self.lines - 1)
        buf.rows[buf.y].wrapped = True

    def _before(self) -> int:
        """The column of the cell before the cursor; for a wide one, its left half."""
        chars = self.row.chars
        x = self.buf.x - 1
        while x > 0 and chars[x] == "":
            x -= 1
        return x

    def _base(self) -> str:
        x = self._before()
        return self.row.chars[x][:1] if x >= 0 else ""

    def _step(self, char: str) -> None:
        """Paint one character that may join the one before it."""
        base = self._base() if char == "\ufe0f" else ""
        kind, width, extends = self.width_mode.step(char, self.kind, self.width, base)
        if extends and self.buf.x:
            self._join(char, width, self.width)
        else:
            self._put(char, width)
        self.kind, self.width = kind, width

    def _join(self, char: str, width: int, before: int) -> None:
        """Add a character to the cell before the cursor, which is then ``width`` wide."""
        buf, cols = self.buf, self.columns
        if buf.x + width - before > cols:
            if not self.autowrap:
                buf.x = cols - 1
                return
            self._carry_over(before)
        row = buf.rows[buf.y]
        row.take_over()
        chars = row.chars
        x = self._before()
        if len(chars[x]) < MAX_CLUSTER:
            chars[x] = char if chars[x] == BLANK else chars[x] + char
        row.view = None
        for _ in range(width - before):
            self._set(row, buf.x, "")
            buf.x += 1
        if buf.x < len(chars) and chars[buf.x] == "" and width > before:
            row.set_blank(buf.x, self.pen.style)

    def _carry_over(self, width: int) -> None:
        """Move the cell before the cursor to the next row, because it grows and does not fit."""
        buf = self.buf
        old = buf.rows[buf.y]
        start = buf.x - width
        self._wrap()
        row = buf.rows[buf.y]
        row.copy_cells(old, start, 0, width)
        buf.x = width
        for x in range(start, self.columns):
            old.set_blank(x, self.pen.style)
        old.view = None

    def _put(self, char: str, width: int) -> None:
        """Paint one character into its own cell. A character of width 0 also takes a cell."""
        buf, cols = self.buf, self.columns
        width = width or 1
        if buf.x + width > cols:
            if self.autowrap:
                row = buf.rows[buf.y]
                if buf.x < cols and row.chars[buf.x] == "":
                    row.set_blank(buf.x - 1, self.pen.style)
                for x in range(buf.x, cols):
                    row.set_blank(x, self.pen.style)
                row.view = None
                self._wrap()
            else:
                buf.x = cols - 1
                if width > 1:
                    return
        row, x = buf.rows[buf.y], buf.x
        if self.insert_mode:
            row.insert(x, width, self.pen.style)
        row.take_over()
        chars = row.chars
        if chars[x] == "" and x:
            row.set_blank(x - 1, self.pen.style)
        end = x + width
        if end < len(chars) and chars[end] == "":
            row.set_blank(end, self.pen.style)
        self._set(row, x, char)
        if width > 1:
            self._set(row, x + 1, "")
        row.view = None
        buf.x = end

    def _set(self, row: Row, x: int, char: str) -> None:
        """Write one cell. A traced terminal also stores its origin."""
        row.chars[x] = char
        row.styles[x] = self.pen.style


# Moving the cursor: C0 format effectors, cursor addressing, tabs, saving.


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
        """DECRC, SCORC: restore the last saved state; the home position if nothing was."""
        buf, saved = self.buf, self.buf.saved
        buf.x, buf.y = saved.x, max(saved.line - len(buf.history), 0)
        self.pen, self.charset_map = saved.pen or self.pens.default, saved.charset
        self._restrict()


# Whose turn it is, the user's or the program's, as the program's signals report it.
#
# There are two conventions: OSC 7501 (``state=working``, ``idle``, ``done``, ``clear``; Codex and
# others) and the prompt marks of OSC 133 and OSC 633 (``C``: a command runs; ``D``, ``A``, ``B``:
# it is done, a prompt is shown). For a program that uses neither, the turn stays ``unknown``.


Turn = Literal["unknown", "idle", "working"]

_WORKING = frozenset({"working", "busy", "running"})


def turn_after(signals: Iterable[Signal]) -> Turn | None:
    """The side whose turn it is after ``signals``; None if none of them is about turns."""
    turn: Turn | None = None
    for signal in signals:
        match signal.name:
            case "turn":
                turn = "working" if signal.data.get("state") in _WORKING else "idle"
            case "prompt":
                turn = "working" if signal.data.get("mark") == "C" else "idle"
            case "reset":
                turn = "unknown"
            case _:
                pass
    return turn
