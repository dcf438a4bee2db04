"""A screen on which one selects cells, with the keys and with the mouse."""

from __future__ import annotations

from typing import Any

import msgspec
from textual import events
from textual.message import Message

from ptycassette import Cursor, Region, Screen
from ptycassette_viewer.widgets.cells import row_text
from ptycassette_viewer.widgets.screen_view import ScreenView

_AROUND_WORDS = ".,:;!?()[]{}<>'\"`|\u2502"
_DOUBLE = 2


class SelectionView(ScreenView):
    """A screen with a cell that one moves, and the cells between it and the one where one began.

    Args:
        screen: what was shown.
    """

    class Changed(Message):
        """Other cells are selected; ``word`` if somebody clicked twice on one."""

        def __init__(self, *, word: bool = False) -> None:
            super().__init__()
            self.word = word

    def __init__(self, screen: Screen, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(follows=False, id=id)
        self.original = screen
        self.row = min(screen.cursor.row, screen.size.rows - 1)
        self.col = min(screen.cursor.col, screen.size.cols - 1)
        self._began: tuple[int, int] | None = None
        self._dragging = False
        self.paint(screen)

    def paint(self, screen: Screen, marked: dict[int, frozenset[int]] | None = None) -> None:
        """Show a screen of the same size, with the cell that one moves as its cursor."""
        cursor = Cursor(self.row, self.col, visible=True)
        self.different = marked or {}
        self.screen_shown = msgspec.structs.replace(screen, cursor=cursor)

    @property
    def selected(self) -> Region:
        """The selected cells."""
        row, col = self._began or (self.row, self.col)
        return Region(
            row=min(row, self.row) + 1,
            column=min(col, self.col) + 1,
            rows=abs(row - self.row) + 1,
            columns=abs(col - self.col) + 1,
        )

    @property
    def cells(self) -> dict[int, frozenset[int]]:
        """The same, by rows, counted from 0."""
        region = self.selected
        cols = frozenset(range(region.column - 1, region.column - 1 + region.columns))
        return dict.fromkeys(range(region.row - 1, region.row - 1 + region.rows), cols)

    @property
    def word(self) -> str:
        """The text that is selected in the row of the cell; of one cell the word there."""
        text, cols = row_text(self.original, self.row)
        region = self.selected
        low, high = region.column - 1, region.column - 1 + region.columns
        inside = [at for at, col in enumerate(cols) if low <= col < high]
        if region.columns > 1 or not inside or text[inside[0]].isspace():
            return "".join(text[at] for at in inside).strip()
        start, end = inside[0], inside[-1] + 1
        while start > 0 and not text[start - 1].isspace():
            start -= 1
        while end < len(text) and not text[end].isspace():
            end += 1
        return text[start:end].strip(_AROUND_WORDS)

    def move(self, cols: int, rows: int, *, select: bool) -> None:
        """Move the cell; with ``select``, what lies between is selected."""
        self._go(self.row + rows, self.col + cols, select=select or self._began is not None)

    def toggle(self) -> None:
        """Begin to select here, or forget what is selected."""
        self._began = None if self._began is not None else (self.row, self.col)
        self.post_message(self.Changed())

    def _go(self, row: int, col: int, *, select: bool) -> None:
        size = self.original.size
        if not select:
            self._began = None
        elif self._began is None:
            self._began = (self.row, self.col)
        self.row = min(max(0, row), size.rows - 1)
        self.col = min(max(0, col), size.cols - 1)
        self.show_row(self.row, self.col)
        self.post_message(self.Changed())

    def _cell(self, event: events.MouseEvent) -> tuple[int, int]:
        return event.y + self.scroll_offset.y, event.x + self.scroll_offset.x

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Begin where the mouse is."""
        self._go(*self._cell(event), select=False)
        self._dragging = True
        self.capture_mouse()

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Select up to where the mouse is."""
        if self._dragging and self._cell(event) != (self.row, self.col):
            self._go(*self._cell(event), select=True)

    def on_mouse_up(self, _: events.MouseUp) -> None:
        """Stop there."""
        self._dragging = False
        self.release_mouse()

    def on_click(self, event: events.Click) -> None:
        """Two clicks are for a word."""
        if event.chain == _DOUBLE:
            self.post_message(self.Changed(word=True))


def changed_cells(before: Screen, after: Screen) -> dict[int, frozenset[int]]:
    """The cells whose text differs, by rows."""
    found: dict[int, frozenset[int]] = {}
    for row in range(before.size.rows):
        texts: list[dict[int, Any]] = []
        for screen in (before, after):
            text, cols = row_text(screen, row)
            texts.append(dict(zip(cols, text, strict=True)))
        old, new = texts
        differing = {col for col in {*old, *new} if old.get(col, " ") != new.get(col, " ")}
        if differing:
            found[row] = frozenset(differing)
    return found
