"""The recorded terminal, in its own size; scrolls where the window is smaller.

Until somebody scrolls, the rows around a visible cursor stay in view.
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
from ptycassette_viewer.widgets.cells import BACKGROUND, FOREGROUND, row_segments, row_text

__all__ = ["ScreenView"]

_MAX_FOUND = 2_000
_HURRY_S = 0.01
_AROUND_ROWS = 3
_OUTSIDE = RichStyle(color=FOREGROUND, bgcolor=BACKGROUND)
_EDGE = Segment("\u2502", _OUTSIDE + RichStyle(dim=True))


class ScreenView(ScrollView, inherit_bindings=False, can_focus=False):
    """Shows one ``Screen``. Set ``screen_shown``, ``pattern`` and ``different``."""

    DEFAULT_CSS = """
    ScreenView { background: #121212; color: #d8d8d8; scrollbar-size: 1 1; }
    """
    screen_shown: reactive[Screen | None] = reactive(None, layout=False)
    pattern: reactive[Pattern | None] = reactive(None)
    different: reactive[dict[int, frozenset[int]]] = reactive(dict)

    class Moved(Message):
        """Other rows are in view."""

    def __init__(
        self,
        *,
        follows: bool = True,
        id: str | None = None,  # noqa: A002 - as all widgets name it
    ) -> None:
        super().__init__(id=id)
        self._hurried: Pattern | None = None
        self._painted: dict[int, tuple[object, object, object, Strip]] = {}
        self._follows = follows

    def watch_screen_shown(self, before: Screen | None, after: Screen | None) -> None:
        """Repaint the rows that changed, or all of them."""
        if after is None:
            return
        size = TextualSize(after.size.cols, after.size.rows)
        if self.virtual_size != size:
            self.virtual_size = size
            self._fit()
        self._follow()
        if before is None or before.size != after.size:
            self._painted.clear()
            self.refresh()
            return
        changed = {row for row in range(after.size.rows) if not _same(before, after, row)}
        if before.cursor != after.cursor:
            changed |= {before.cursor.row, after.cursor.row}
        self.refresh_rows(changed)

    def _fit(self) -> None:
        """No bar for a recording as wide as the window: it would hide the last column."""
        screen = self.screen_shown
        tight = screen is not None and screen.size.cols == self.size.width
        if self.styles.scrollbar_size_vertical != (0 if tight else 1):
            self.styles.scrollbar_size_vertical = 0 if tight else 1

    @property
    def rows_in_view(self) -> tuple[int, int] | None:
        """The first and the last row, counted from 1; None when all are in view."""
        screen, height = self.screen_shown, self.scrollable_content_region.height
        if screen is None or not 0 < height < screen.size.rows:
            return None
        top = self.scroll_offset.y
        return top + 1, min(screen.size.rows, top + height)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Say so."""
        super().watch_scroll_y(old_value, new_value)
        self.post_message(self.Moved())

    def show_row(self, row: int) -> None:
        """Bring a row into view, unless it is."""
        top, height = self.scroll_offset.y, self.scrollable_content_region.height
        if height and not top <= row < top + height:
            self._scroll_rows(max(0, row - height // 2))

    def scroll_by(self, cols: int, rows: int) -> None:
        """Scroll, and stay there."""
        self._follows = False
        self.scroll_relative(x=cols, y=rows, animate=False)

    def on_mouse_scroll_down(self) -> None:
        """The user scrolls."""
        self._follows = False

    def on_mouse_scroll_up(self) -> None:
        """The user scrolls."""
        self._follows = False

    def on_resize(self) -> None:
        """Keep the cursor in view."""
        self._painted.clear()
        self._fit()
        self.call_after_refresh(self._follow)
        self.post_message(self.Moved())

    def _follow(self) -> None:
        screen = self.screen_shown
        height = self.scrollable_content_region.height
        if not self._follows or screen is None or not screen.cursor.visible or height < 2:
            return
        top, row = self.scroll_offset.y, screen.cursor.row
        around = min(_AROUND_ROWS, (height - 1) // 2)
        highest, lowest = max(0, row - around), min(screen.size.rows - 1, row + around)
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
            self.refresh()

    def render_line(self, y: int) -> Strip:
        """Paint one line of the window."""
        scroll_x, scroll_y = self.scroll_offset
        width = self.size.width
        row = y + scroll_y
        screen = self.screen_shown
        if screen is None or row >= screen.size.rows:
            return Strip.blank(width, _OUTSIDE)
        text, runs = _row(screen, row)
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

    def _paint(self, screen: Screen, row: int) -> Strip:
        segments = row_segments(
            screen, row, found=self._found(row), different=self.different.get(row, frozenset())
        )
        if screen.size.cols - self.scroll_offset.x < self.size.width:
            # A fine line shows where the recording ends.
            return Strip([*segments, _EDGE], screen.size.cols + 1)
        return Strip(segments, screen.size.cols)

    def _found(self, row: int) -> list[tuple[int, int]]:
        if self._hurried is None or self.screen_shown is None:
            return []
        text, cols = row_text(self.screen_shown, row)
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


def _row(screen: Screen, row: int) -> tuple[object, object]:
    text = screen.rows[row] if row < len(screen.rows) else ""
    return text, screen.styles[row] if row < len(screen.styles) else ()


def _same(before: Screen, after: Screen, row: int) -> bool:
    (text, runs), (old_text, old_runs) = _row(after, row), _row(before, row)
    return (text is old_text or text == old_text) and (runs is old_runs or runs == old_runs)
