"""The recorded terminal, in its own size; scrolls or wraps where the window is smaller.

Until somebody scrolls, the rows around a visible cursor stay in view. Two recordings are shown
side by side in two views that are partners, or in one, with ``over`` the screen of the second.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from functools import lru_cache
from itertools import pairwise
from typing import ClassVar

import msgspec
from rich.cells import cell_len
from rich.color import Color
from rich.segment import Segment
from rich.style import Style as RichStyle
from textual import events
from textual.geometry import Region
from textual.geometry import Size as TextualSize
from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widget import Widget

from ptycassette import Screen, Size
from ptycassette.viewing import Cell, Cursor, Style, StyleRun, cells_of_row
from ptycassette_viewer.kinds import KIND_STYLES, MarkKind
from ptycassette_viewer.search import Pattern, TooSlowError
from ptycassette_viewer.session.index import EventIndex
from ptycassette_viewer.session.session import SignalLines

# A recorded screen as segments for the terminal, with its colours and widths.


FOREGROUND = "#d8d8d8"
BACKGROUND = "#121212"
_BASIC = (
    *("#2e2e2e", "#e06c75", "#98c379", "#e5c07b", "#61afef", "#c678dd", "#56b6c2", "#d0d0d0"),
    *("#808080", "#ff7b86", "#b5e890", "#ffd68a", "#8cc8ff", "#e29bf5", "#7fdbe6", "#ffffff"),
)
_CUBE = (0, 95, 135, 175, 215, 255)


def _rgb(color: int | str | None, default: str) -> str:
    """A colour as ``#rrggbb``; the default for anything else."""
    if isinstance(color, str):
        digits = color.removeprefix("#")
        known = len(digits) == 6 and all(c in "0123456789abcdefABCDEF" for c in digits)
        return f"#{digits}" if known else default
    if color is None or not 0 <= color < 256:
        return default
    if color < 16:
        return _BASIC[color]
    if color < 232:
        cube = color - 16
        parts = (_CUBE[cube // 36], _CUBE[cube // 6 % 6], _CUBE[cube % 6])
    else:
        parts = (8 + (color - 232) * 10,) * 3
    return "#" + "".join(f"{part:02x}" for part in parts)


@lru_cache(maxsize=4096)
def rich_style(style: Style) -> RichStyle:
    """The Rich style. Links are dropped; blinking is shown as bold."""
    front, back = _rgb(style.fg, FOREGROUND), _rgb(style.bg, BACKGROUND)
    if style.reverse:
        front, back = back, front
    if style.hidden:
        front = back
    return RichStyle(
        color=Color.parse(front),
        bgcolor=Color.parse(back),
        bold=style.bold or style.blink,
        dim=style.dim,
        italic=style.italic,
        underline=bool(style.underline) and style.underline != "double",
        underline2=style.underline == "double",
        strike=style.strike,
        overline=style.overline,
    )


@lru_cache(maxsize=8192)
def fitted(text: str, width: int) -> str:
    """``text`` cut or filled to exactly ``width`` columns, as Rich counts them."""
    measured = cell_len(text)
    if measured == width:
        return text
    if measured < width:
        return text + " " * (width - measured)
    first = text[:1]
    return first if cell_len(first) == width else "\ufffd" * width


_NO_CURSOR = Cursor(0, 0, visible=False)
_CURSOR = RichStyle(color=BACKGROUND, bgcolor="#f0f0f0")
# Hits are underlined, too, to be visible without colours.
FOUND = RichStyle(color="#000000", bgcolor="#ffd75f", bold=True, underline=True)
DIFFERENT = RichStyle(color="#ffffff", bgcolor="#8c3a3a")
ADDED = RichStyle(color="#ffffff", bgcolor="#2f6b3a")


def row_segments(
    screen: Screen,
    row: int,
    *,
    found: list[tuple[int, int]] | None = None,
    different: frozenset[int] = frozenset(),
    marked: RichStyle | None = None,
) -> list[Segment]:
    """One row.

    Args:
        screen: the screen.
        row: which row, from 0.
        found: ranges of columns to highlight.
        different: columns to mark as different.
        marked: the style for these; ``DIFFERENT`` when None.
    """
    cursor = screen.cursor
    has_cursor = cursor.visible and cursor.row == row
    if not (found or different or has_cursor):
        text = screen.rows[row] if row < len(screen.rows) else ""
        runs = screen.styles[row] if row < len(screen.styles) else ()
        return _plain_row(text, runs, screen.size.cols)
    special: dict[int, RichStyle] = dict.fromkeys(different, marked or DIFFERENT)
    for start, end in found or ():
        special.update(dict.fromkeys(range(start, end), FOUND))
    if has_cursor:
        special[cursor.col] = _CURSOR
    return _segments(cells_of_row(screen, row), special)


@lru_cache(maxsize=4096)
def _plain_row(text: str, runs: tuple[StyleRun, ...], cols: int) -> list[Segment]:
    """A row without marks; cached, because programs repaint most rows often."""
    row = Screen(size=Size(1, cols), rows=(text,), styles=(runs,), cursor=_NO_CURSOR)
    return _segments(cells_of_row(row, 0), {})


def _segments(cells: list[Cell], special: dict[int, RichStyle]) -> list[Segment]:
    segments: list[Segment] = []
    text: list[str] = []
    last_style: RichStyle | None = None
    raw: Style | None = None
    style = last_style
    for col, cell in enumerate(cells):
        if not cell.width:
            continue
        if cell.style is not raw:
            raw = cell.style
            style = rich_style(raw)
        painted = special.get(col, style) if special else style
        if painted is not last_style:
            if text:
                segments.append(Segment("".join(text), last_style))
                text = []
            last_style = painted
        shown = cell.text or " "
        text.append(shown if shown.isascii() and cell.width == 1 else fitted(shown, cell.width))
    if text:
        segments.append(Segment("".join(text), last_style))
    return segments


def row_text(screen: Screen, row: int) -> tuple[str, list[int]]:
    """The text of a row, and the column of each of its characters."""
    text: list[str] = []
    cols: list[int] = []
    for col, cell in enumerate(cells_of_row(screen, row)):
        text.append(cell.text)
        cols.extend([col] * len(cell.text))
    return "".join(text), cols


# Maps parts of recorded rows to the lines of a window, wrapped or overlaid. Pure.


_MAX_LINES_PER_ROW = 50


class Line(msgspec.Struct, frozen=True):
    """Columns ``start`` to ``end`` of a row. ``of`` 1: of the second of two screens.

    ``sign`` is as in a diff: ``-`` only in the first, ``+`` only in the second, else a blank.
    """

    row: int
    start: int
    end: int
    of: int = 0
    sign: str = " "


def row_of(screen: Screen, row: int) -> tuple[str, tuple[StyleRun, ...]]:
    """Text and styles of a row; empty if the screen has no such row."""
    text = screen.rows[row] if row < len(screen.rows) else ""
    return text, screen.styles[row] if row < len(screen.styles) else ()


def wrapped_lines(screen: Screen, width: int, *, beside: Screen | None = None) -> list[Line]:
    """The rows of a screen in lines of ``width`` columns, without blank ends of rows.

    With ``beside`` each row takes at least as many lines as in that screen.
    """
    lines: list[Line] = []
    for row in range(max(screen.size.rows, beside.size.rows if beside else 0)):
        parts = _parts(screen, row, width)
        others = len(_parts(beside, row, width)) if beside else 0
        cols = screen.size.cols
        blank = [(cols, cols)] * (others - len(parts))
        lines += [Line(row, start, end) for start, end in (*parts, *blank)]
    return lines


def overlaid_lines(
    first: Screen, second: Screen, different: Collection[int], width: int | None
) -> list[Line]:
    """Both screens in one: a differing row appears twice, first of the first screen.

    If it is blank on one side, only the other appears. ``width`` None does not wrap.
    """
    lines: list[Line] = []
    for row in range(max(first.size.rows, second.size.rows)):
        sides: tuple[tuple[int, str], ...] = ((0, " "),)
        if row in different:
            shown = [side for side in ((0, "-"), (1, "+")) if _shows((first, second)[side[0]], row)]
            sides = tuple(shown) or sides
        for of, sign in sides:
            screen = second if of else first
            if row < screen.size.rows:
                parts = _parts(screen, row, width) if width else ((0, screen.size.cols),)
                lines += [Line(row, start, end, of, sign) for start, end in parts]
    return lines


def _shows(screen: Screen, row: int) -> bool:
    text, runs = row_of(screen, row)
    return bool(text.strip() or runs)


def _parts(screen: Screen, row: int, width: int) -> tuple[tuple[int, int], ...]:
    if row >= screen.size.rows:
        return ((0, 0),)
    return _cut(*row_of(screen, row), screen.size.cols, max(2, width))


@lru_cache(maxsize=4096)
def _cut(
    text: str, runs: tuple[StyleRun, ...], cols: int, width: int
) -> tuple[tuple[int, int], ...]:
    """The column to cut a row at, never through a wide character."""
    if cols <= width:
        return ((0, cols),)
    row = Screen(size=Size(1, cols), rows=(text,), styles=(runs,), cursor=_NO_CURSOR)
    cells = cells_of_row(row, 0)
    used = max((n + 1 for n, cell in enumerate(cells) if cell.text.strip()), default=0)
    parts: list[tuple[int, int]] = []
    start = 0
    while start < used and len(parts) < _MAX_LINES_PER_ROW:
        end = min(cols, start + width)
        if end < cols and not cells[end].width:
            end -= 1
        parts.append((start, end))
        start = end
    return tuple(parts) or ((0, min(cols, width)),)


_MAX_FOUND = 2_000
_HURRY_S = 0.01
_AROUND_ROWS = 3
_OUTSIDE = RichStyle(color=FOREGROUND, bgcolor=BACKGROUND)
_SIGN = _OUTSIDE + RichStyle(dim=True)
_GOES_ON = Segment("\u21b5", _SIGN)
_EDGE = Segment("\u2502", _OUTSIDE + RichStyle(dim=True))


class ScreenView(ScrollView, inherit_bindings=False, can_focus=False):
    """Shows one ``Screen``. Set ``screen_shown``, ``pattern`` and ``different``."""

    DEFAULT_CSS = """
    ScreenView { background: #121212; color: #d8d8d8; scrollbar-size: 0 1; }
    """
    screen_shown: reactive[Screen | None] = reactive(None, layout=False)
    pattern: reactive[Pattern | None] = reactive(None)
    different: reactive[dict[int, frozenset[int]]] = reactive(dict)
    wrap: reactive[bool] = reactive(False)
    over: reactive[Screen | None] = reactive(None, layout=False)
    partner: ScreenView | None = None

    class Moved(Message):
        """Posted when other rows or columns are in view."""

    def __init__(
        self,
        *,
        follows: bool = True,
        id: str | None = None,  # noqa: A002 - as all widgets name it
    ) -> None:
        super().__init__(id=id)
        self._hurried: Pattern | None = None
        self._painted: dict[int, tuple[object, object, object, Strip]] = {}
        self.follows = follows
        self._lines: list[Line] | None = None
        self._taken_along = False

    def watch_screen_shown(self, before: Screen | None, after: Screen | None) -> None:
        """Repaint the rows that changed, or all of them."""
        if after is None:
            return
        in_lines = self._lines is not None
        self._lay_out()
        self._follow()
        if in_lines or self._lines is not None or before is None or before.size != after.size:
            self._painted.clear()
            self.refresh()
            return
        changed = {row for row in range(after.size.rows) if not _same(before, after, row)}
        if before.cursor != after.cursor:
            changed |= {before.cursor.row, after.cursor.row}
        self.refresh_rows(changed)

    def _fit(self) -> None:
        """Hide the scroll bar if the recording is as wide as the window, for its last column."""
        screen = self.screen_shown
        tight = screen is not None and self._lines is None and screen.size.cols == self.size.width
        if self.styles.scrollbar_size_vertical != (0 if tight else 1):
            self.styles.scrollbar_size_vertical = 0 if tight else 1

    def _lay_out(self) -> None:
        """Map rows to lines, and set the virtual size."""
        screen = self.screen_shown
        if screen is None:
            return
        width = self.size.width - 2  # the bar, and the mark of a row that goes on
        partner = self.partner.screen_shown if self.partner is not None else None
        if self.partner is not None:
            width = min(width, self.partner.size.width - 2)
        wider = max(screen.size.cols, *(s.size.cols for s in (partner, self.over) if s), 0) > width
        wraps = self.wrap and wider and width > 1
        if self.over is not None:
            shown = self.over
            inner = width - 1 if wraps else None
            self._lines = overlaid_lines(screen, shown, self.different, inner)
        else:
            self._lines = wrapped_lines(screen, width, beside=partner) if wraps else None
        cols = screen.size.cols + (self.over is not None)
        count = screen.size.rows if self._lines is None else len(self._lines)
        size = TextualSize(1 if wraps else cols, count)
        if self.virtual_size != size:
            self.virtual_size = size
            self._fit()

    def lay_out_again(self) -> None:
        """Lay out again, after a change of the partner."""
        if self._lines is not None or self.wrap:
            self._lay_out()
            self._painted.clear()
            self.refresh()

    def watch_wrap(self) -> None:
        """Lay out again."""
        self._lay_out()
        self._painted.clear()
        self.refresh()

    def watch_over(self) -> None:
        """Lay out again."""
        self.watch_wrap()

    def _line_of(self, row: int) -> int:
        """The line in which a row begins."""
        if self._lines is None:
            return row
        return next((n for n, line in enumerate(self._lines) if line.row >= row), 0)

    @property
    def rows_in_view(self) -> tuple[int, int] | None:
        """The first and the last row, counted from 1; None when all are in view."""
        screen, height = self.screen_shown, self.scrollable_content_region.height
        if screen is None or self._lines is not None or not 0 < height < screen.size.rows:
            return None
        top = self.scroll_offset.y
        return top + 1, min(screen.size.rows, top + height)

    @property
    def cols_in_view(self) -> tuple[int, int] | None:
        """The first and the last column, counted from 1; None when all are in view."""
        screen, width = self.screen_shown, self.scrollable_content_region.width
        if screen is None or self._lines is not None or not 0 < width < screen.size.cols:
            return None
        left = self.scroll_offset.x
        return left + 1, min(screen.size.cols, left + width)

    def watch_scroll_x(self, old_value: float, new_value: float) -> None:
        """Other columns or rows are in view."""
        super().watch_scroll_x(old_value, new_value)
        self._scrolled()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Other columns or rows are in view."""
        super().watch_scroll_y(old_value, new_value)
        self._scrolled()

    def _scrolled(self) -> None:
        """Scroll the partner, too, and post ``Moved``."""
        if self.partner is not None and not self._taken_along:
            self.partner.go_along(self.scroll_x, self.scroll_y)
        self.post_message(self.Moved())

    def go_along(self, x: float, y: float) -> None:
        """Scroll as the partner did, as far as possible."""
        self._taken_along = True
        self.scroll_to(x=x, y=y, animate=False, immediate=True, force=True)
        self._taken_along = False

    def show_row(self, row: int, col: int = 0) -> None:
        """Bring a row and a column into view, and stop following the cursor."""
        self.stay()
        line = self._line_of(row)
        top, height = self.scroll_offset.y, self.scrollable_content_region.height
        if height and not top <= line < top + height:
            self._scroll_rows(max(0, line - height // 2))
        left, width = self.scroll_offset.x, self.scrollable_content_region.width
        if width and not left <= col < left + width:
            x = max(0, col - width // 2)
            self.scroll_to(x=x, animate=False, immediate=True, force=True)

    def show_found(self) -> None:
        """Bring a row with a hit into view, unless one is."""
        screen = self.screen_shown
        if screen is None:
            return
        rows = [row for row in range(screen.size.rows) if self._found(screen, row)]
        top, height = self.scroll_offset.y, self.scrollable_content_region.height
        if rows and not any(top <= self._line_of(row) < top + height for row in rows):
            self.show_row(rows[0])

    def scroll_by(self, cols: int, rows: int) -> None:
        """Scroll, and stop following the cursor."""
        self.stay()
        self.scroll_relative(x=cols, y=rows, animate=False)

    def stay(self) -> None:
        """Stop following the cursor."""
        for view in (self, self.partner):
            if view is not None:
                view.follows = False

    def on_mouse_scroll_down(self) -> None:
        """The user scrolls."""
        self.stay()

    def on_mouse_scroll_up(self) -> None:
        """The user scrolls."""
        self.stay()

    def on_resize(self) -> None:
        """Keep the cursor in view."""
        self._painted.clear()
        self._lay_out()
        self._fit()
        if self.partner is not None:
            self.partner.lay_out_again()
        self.call_after_refresh(self._follow)
        self.post_message(self.Moved())

    def _follow(self) -> None:
        screen = self.screen_shown
        height = self.scrollable_content_region.height
        if not self.follows or screen is None or not screen.cursor.visible or height < 2:
            return
        top, row = self.scroll_offset.y, self._line_of(screen.cursor.row)
        around = min(_AROUND_ROWS, (height - 1) // 2)
        last = (screen.size.rows if self._lines is None else len(self._lines)) - 1
        highest, lowest = max(0, row - around), min(last, row + around)
        if highest < top:
            self._scroll_rows(highest)
        elif lowest >= top + height:
            self._scroll_rows(lowest - height + 1)

    def _scroll_rows(self, top: int) -> None:
        self.scroll_to(y=top, animate=False, immediate=True, force=True)

    def refresh_rows(self, rows: set[int]) -> None:
        """Repaint some rows of the recorded screen."""
        top = self.scroll_offset.y
        for row in rows:
            if 0 <= row - top < self.size.height:
                self.refresh_line(row)

    def watch_pattern(self) -> None:
        """Repaint."""
        self._hurried = None if self.pattern is None else self.pattern.hurried(_HURRY_S)
        self._painted.clear()
        self.refresh()

    def watch_different(self, before: object, after: object) -> None:
        """Repaint."""
        if before != after:
            if self.over is not None:
                self._lay_out()
            self.refresh()

    def render_line(self, y: int) -> Strip:
        """Paint one line of the window."""
        scroll_x, scroll_y = self.scroll_offset
        width = self.size.width
        row = y + scroll_y
        screen = self.screen_shown
        if self._lines is not None and screen is not None:
            return self._render_part(screen, row, width)
        if screen is None or row >= screen.size.rows:
            return Strip.blank(width, _OUTSIDE)
        text, runs = row_of(screen, row)
        cursor = screen.cursor
        has_cursor = cursor.visible and cursor.row == row
        rest = (
            screen.size.cols,
            scroll_x,
            width,
            cursor.col if has_cursor else -1,
            self.different.get(row),
        )
        known = self._painted.get(row)
        if known is not None and known[0] is text and known[1] is runs and known[2] == rest:
            return known[3]
        strip = self._paint(screen, row).crop_extend(scroll_x, scroll_x + width, _OUTSIDE)
        self._painted[row] = (text, runs, rest, strip)
        return strip

    def _render_part(self, screen: Screen, number: int, width: int) -> Strip:
        """Paint one line of a screen that is wrapped or overlaid."""
        lines = self._lines or []
        if number >= len(lines):
            return Strip.blank(width, _OUTSIDE)
        line = lines[number]
        overlaid = self.over is not None
        of = self.over if line.of and self.over is not None else screen
        scroll_x = self.scroll_offset.x
        strip = Strip([])
        if line.row < of.size.rows and line.end > line.start:
            segments = row_segments(
                of,
                line.row,
                found=self._found(of, line.row),
                different=self.different.get(line.row, frozenset()),
                marked=ADDED if line.of else DIFFERENT,
            )
            strip = Strip(segments, of.size.cols).crop(line.start + scroll_x, line.end)
        following = lines[number + 1] if number + 1 < len(lines) else None
        on = following is not None and (following.row, following.of) == (line.row, line.of)
        if on and following is not None and following.end > following.start:
            strip = Strip([*strip, _GOES_ON])
        if overlaid:
            sign = _SIGN if line.sign == " " else ADDED if line.of else DIFFERENT
            strip = Strip([Segment(line.sign, sign), *strip])
        return strip.crop_extend(0, width, _OUTSIDE)

    def _paint(self, screen: Screen, row: int) -> Strip:
        segments = row_segments(
            screen,
            row,
            found=self._found(screen, row),
            different=self.different.get(row, frozenset()),
        )
        if screen.size.cols - self.scroll_offset.x < self.size.width:
            # A thin line marks the edge of the recording.
            return Strip([*segments, _EDGE], screen.size.cols + 1)
        return Strip(segments, screen.size.cols)

    def _found(self, screen: Screen, row: int) -> list[tuple[int, int]]:
        if self._hurried is None:
            return []
        text, cols = row_text(screen, row)
        spans: list[tuple[int, int]] = []
        try:
            for start, end in self._hurried.spans(text):
                if end > start:
                    spans.append((cols[start], cols[end - 1] + 1))
                if len(spans) >= _MAX_FOUND:
                    break
        except TooSlowError:
            self._hurried = None  # not again and again
        return spans


def _same(before: Screen, after: Screen, row: int) -> bool:
    (text, runs), (old_text, old_runs) = row_of(after, row), row_of(before, row)
    return (text is old_text or text == old_text) and (runs is old_runs or runs == old_runs)


# The timeline: output density, marks of other events, and the playhead.


_BLOCKS = " \u2581\u2582\u2583\u2584\u2585\u2586\u2587\u2588"
MARKS: tuple[tuple[MarkKind, str, str], ...] = (
    ("signal", "!", "signal"),
    ("resize", "\u2194", "resize"),
    ("input", "\u25b2", "input"),
    ("final", "\u25a0", "end"),
    ("service-event", "\u25cf", "service event"),
    ("terminal-signal", "\u25e6", "terminal signal"),
)
"""Kind, shape, word: the first of a column wins."""
EXTRA_MARKS: tuple[tuple[str, str], ...] = (
    ("/", "search hit"),
    ("\u2260", "difference"),
    ("\u25c6", "marker"),
    ("Y", "fork"),
    ("\u2717", "divergence"),
)
"""Shape, word: the last of a column wins, also over what was recorded there."""
_EXTRA_STYLES = {
    "search hit": FOUND,
    "difference": DIFFERENT,
    "marker": RichStyle(color="green", bold=True),
    "fork": RichStyle(color="cyan", bold=True),
    "divergence": RichStyle(color="red", bold=True),
}


_HEIGHT = 3
_OUTPUT = RichStyle.parse(KIND_STYLES["output"])
_Mark = tuple[str, RichStyle]


def _painted(below: str, marks: list[_Mark | None] | None, base: RichStyle) -> Strip:
    """Marks over the output density ``below``."""
    parts = [
        Segment(char, base + _OUTPUT) if mark is None else Segment(mark[0], base + mark[1])
        for char, mark in zip(below, marks or [None] * len(below), strict=True)
    ]
    return Strip(Segment.simplify(parts), len(below))


class Timeline(Widget):
    """Set ``position_us``; posts ``Timeline.Seek`` when it is clicked or dragged."""

    DEFAULT_CSS = """
    Timeline { height: 3; background: $surface; color: $text; }
    """
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "timeline--played",
        "timeline--rest",
    }
    position_us: reactive[int] = reactive(0, repaint=False)

    class Seek(Message):
        """The user wants to be at ``t_us``."""

        def __init__(self, t_us: int) -> None:
            super().__init__()
            self.t_us = t_us

    def __init__(
        self,
        index: EventIndex,
        signals: SignalLines,
        *,
        id: str | None = None,  # noqa: A002 - as all widgets name it
    ) -> None:
        super().__init__(id=id)
        self._index = index
        self._signals = signals
        self._duration_us = 0
        self._dragging = False
        self._extra_us: dict[str, tuple[int, ...]] = {}
        self._cache: tuple[object, str, list[_Mark | None]] = (None, "", [])

    def set_duration(self, duration_us: int) -> None:
        """How long the whole is."""
        if duration_us != self._duration_us:
            self._duration_us = duration_us
            self.refresh()

    def set_extra(self, word: str, times_us: Iterable[int]) -> None:
        """Where marks of ``EXTRA_MARKS`` are."""
        self._extra_us[word] = tuple(times_us)
        self._cache = (None, "", [])
        self.refresh()

    def watch_position_us(self, before: int, after: int) -> None:
        """Paint the bar anew when the playhead is in another column."""
        if self.column_of(before) != self.column_of(after):
            self.refresh(Region(0, self.size.height - 1, self.size.width, 1))

    def column_of(self, t_us: int) -> int:
        """The column of a moment."""
        width = max(1, self.size.width)
        return min(width - 1, t_us * (width - 1) // max(1, self._duration_us))

    def time_at(self, column: int) -> int:
        """The moment of a column."""
        width = max(2, self.size.width)
        return min(max(column, 0), width - 1) * self._duration_us // (width - 1)

    def render_line(self, y: int) -> Strip:
        """Paint one of the lines."""
        width = self.size.width
        base = self.rich_style
        if y >= self.size.height or not width:
            return Strip.blank(width, base)
        if y == self.size.height - 1:
            return self._bar(width, base)
        density, marks = self._lines(width)
        below = " " * width if y else density
        over = y > 0 or self.size.height < _HEIGHT
        return _painted(below, marks if over else None, base)

    def _bar(self, width: int, base: RichStyle) -> Strip:
        at = self.column_of(self.position_us)
        known = self.column_of(self._index.duration_us) + 1
        rest = "\u2500" * max(0, known - at - 1)
        return Strip(
            [
                Segment("\u2501" * at, base + self.get_component_rich_style("timeline--played")),
                Segment("\u25cf", base + RichStyle(bold=True)),
                Segment(
                    rest + "\u00b7" * (width - at - 1 - len(rest)),
                    base + self.get_component_rich_style("timeline--rest"),
                ),
            ],
            width,
        )

    def _lines(self, width: int) -> tuple[str, list[_Mark | None]]:
        key = (width, self._index.count, len(self._signals), self._duration_us)
        if self._cache[0] != key:
            self._cache = (key, self._density(width), self._marks(width))
        return self._cache[1:]

    def _borders(self, width: int) -> list[int]:
        """The ``seq`` up to which events lie in front of each column's right border."""
        index, total = self._index, max(1, self._duration_us)
        columns = range(1, width)
        # A moment t is in column t * (width - 1) // total.
        ends = [index.at(-(-column * total // max(1, width - 1)) - 1) for column in columns]
        return [0, *ends, index.count]

    def _density(self, width: int) -> str:
        borders = self._borders(width)
        end = self._index.output_end
        amounts = [end(b) - end(a) for a, b in pairwise(borders)]
        most = math.log1p(max(amounts, default=0)) or 1.0
        steps = len(_BLOCKS) - 1
        return "".join(_BLOCKS[math.ceil(math.log1p(n) / most * steps)] for n in amounts)

    def _marks(self, width: int) -> list[_Mark | None]:
        borders = self._borders(width)
        line: list[_Mark | None] = [None] * width
        for column in range(width):
            first, last = borders[column] + 1, borders[column + 1]
            for kind, shape, _ in MARKS:
                if first <= last and self._between(kind, first, last):
                    line[column] = (shape, RichStyle.parse(KIND_STYLES[kind]))
                    break
        for shape, word in EXTRA_MARKS:
            for t_us in self._extra_us.get(word, ()):
                line[self.column_of(t_us)] = (shape, _EXTRA_STYLES[word])
        return line

    def _between(self, kind: MarkKind, first: int, last: int) -> int:
        if kind == "terminal-signal":
            return self._signals.between(first, last)
        return self._index.between(kind, first, last)

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Seek, and drag from here."""
        self._dragging = True
        self.capture_mouse()
        self.post_message(self.Seek(self.time_at(event.x)))

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Drag."""
        if self._dragging:
            self.post_message(self.Seek(self.time_at(event.x)))

    def on_mouse_up(self, event: events.MouseUp) -> None:  # noqa: ARG002 - the protocol
        """Stop dragging."""
        self._dragging = False
        self.release_mouse()
