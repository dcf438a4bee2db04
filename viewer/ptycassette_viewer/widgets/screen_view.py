"""The recorded terminal, in its own size; scrolls or wraps where the window is smaller.

Until somebody scrolls, the rows around a visible cursor stay in view. Two recordings are shown
side by side in two views that are partners, or in one, with ``over`` the screen of the second.
"""

from __future__ import annotations

from rich.segment import Segment
from rich.style import Style as RichStyle
from textual.geometry import Size as TextualSize
from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip

from ptycassette import Screen
from ptycassette_viewer.patterns import Pattern, TooSlowError
from ptycassette_viewer.widgets.cells import (
    ADDED,
    BACKGROUND,
    DIFFERENT,
    FOREGROUND,
    row_segments,
    row_text,
)
from ptycassette_viewer.widgets.rows_as_lines import Line, overlaid_lines, row_of, wrapped_lines

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
