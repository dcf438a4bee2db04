"""The state of the terminal, and the primitive operations that its functions share.

``Core`` keeps pyte's names for what pyte has (``columns``, ``lines``, ``cursor``,
``buffer``, ``mode``, ``margins``, ``display``, ``title``), so that code written for
pyte's ``Screen`` can read this one. Cells are stored differently; the reasons are
in ``ptycassette.terminal.grid``.

The cursor column ``buf.x`` may equal ``columns``: the last column was just
written, and the next character wraps ("wrap pending").
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from ptycassette.keys.names import Keyboard
from ptycassette.model.geometry import Size
from ptycassette.terminal._buffer import Buffer, Saved
from ptycassette.terminal._charsets import Charset
from ptycassette.terminal._pens import Pen, Pens
from ptycassette.terminal.grid import Row
from ptycassette.terminal.signals import Signal, SignalLog
from ptycassette.terminal.widths import NO_JOIN, WidthMode

if TYPE_CHECKING:
    import pyte

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
    """The state. See ``ptycassette.terminal._terminal.Terminal`` for the whole terminal.

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

    # -- what pyte calls these ------------------------------------------------------------

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
