"""The recorded terminal, in its own size; scrolls where the window is smaller."""

from __future__ import annotations

import re

from rich.segment import Segment
from rich.style import Style as RichStyle
from textual.geometry import Size as TextualSize
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip

from ptycassette import Screen
from ptycassette_viewer.widgets.cells import BACKGROUND, FOREGROUND, row_segments, row_text

__all__ = ["ScreenView"]

_MAX_FOUND = 2_000
_OUTSIDE = RichStyle(color=FOREGROUND, bgcolor=BACKGROUND)


class ScreenView(ScrollView, inherit_bindings=False, can_focus=False):
    """Shows one ``Screen``. Set ``screen_shown``, ``pattern`` and ``different``."""

    DEFAULT_CSS = """
    ScreenView { background: #121212; color: #d8d8d8; scrollbar-size: 1 1; }
    """
    screen_shown: reactive[Screen | None] = reactive(None, layout=False)
    pattern: reactive[re.Pattern[str] | None] = reactive(None)
    different: reactive[dict[int, frozenset[int]]] = reactive(dict)

    def watch_screen_shown(self, before: Screen | None, after: Screen | None) -> None:
        """Repaint the rows that changed, or all of them."""
        if after is None:
            return
        size = TextualSize(after.size.cols, after.size.rows)
        if self.virtual_size != size:
            self.virtual_size = size
        if before is None or before.size != after.size or self.pattern is not None:
            self.refresh()
            return
        changed = {row for row in range(after.size.rows) if _row(before, row) != _row(after, row)}
        if before.cursor != after.cursor:
            changed |= {before.cursor.row, after.cursor.row}
        self.refresh_rows(changed)

    def refresh_rows(self, rows: set[int]) -> None:
        """Repaint some rows of the recorded screen."""
        top = self.scroll_offset.y
        for row in rows:
            if 0 <= row - top < self.size.height:
                self.refresh_line(row)

    def watch_pattern(self) -> None:
        """Repaint."""
        self.refresh()

    def watch_different(self) -> None:
        """Repaint."""
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """Paint one line of the window."""
        scroll_x, scroll_y = self.scroll_offset
        width = self.size.width
        row = y + scroll_y
        screen = self.screen_shown
        outside = _OUTSIDE
        if screen is None or row >= screen.size.rows:
            return Strip.blank(width, outside)
        segments = row_segments(
            screen, row, found=self._found(row), different=self.different.get(row, frozenset())
        )
        strip = Strip(segments, screen.size.cols)
        if screen.size.cols - scroll_x < width:  # a fine line shows where the recording ends
            strip = Strip([*segments, Segment("\u2502", outside + RichStyle(dim=True))])
        return strip.crop_extend(scroll_x, scroll_x + width, outside)

    def _found(self, row: int) -> list[tuple[int, int]]:
        if self.pattern is None or self.screen_shown is None:
            return []
        text, cols = row_text(self.screen_shown, row)
        spans: list[tuple[int, int]] = []
        for match in self.pattern.finditer(text):
            if match.end() > match.start():
                spans.append((cols[match.start()], cols[match.end() - 1] + 1))
            if len(spans) >= _MAX_FOUND:
                break
        return spans


def _row(screen: Screen, row: int) -> tuple[object, object]:
    text = screen.rows[row] if row < len(screen.rows) else ""
    return text, screen.styles[row] if row < len(screen.styles) else ()
