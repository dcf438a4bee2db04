"""An adapter for reference checks: plain rows, cursor and cells.

For scripts that compare emulators: an object with ``feed``, ``resize(rows, cols)``,
``rows()``, ``cursor()`` as (x, y) and ``cells()`` as rows of (text, foreground,
background, attributes). Colours are ``None``, ``pN`` or ``#rrggbb``; attributes the
letters ``b i u r s``. Links count as underlined, as xterm.js draws them.
"""

from __future__ import annotations

from ptycassette.model.ports import Emulator
from ptycassette.model.screen import DEFAULT_STYLE, Screen, Size, Style

CheckedCell = tuple[str, str | None, str | None, str]


def _color(color: int | str | None) -> str | None:
    return f"p{color}" if isinstance(color, int) else color


def _checked(text: str, style: Style) -> CheckedCell:
    attributes = (
        ("b", style.bold),
        ("i", style.italic),
        ("u", bool(style.underline) or style.link is not None),
        ("r", style.reverse),
        ("s", style.strike),
    )
    letters = "".join(letter for letter, on in attributes if on)
    return text, _color(style.fg), _color(style.bg), letters


def cell_texts(emulator: Emulator) -> list[list[str]]:
    """The text of every cell; the right half of a wide one is empty.

    Taken from the emulator's own cells, because the text of a row does not show how
    many cells a cluster takes.
    """
    cells = getattr(emulator, "cells", None)
    if cells is None:
        raise TypeError(f"{type(emulator).__name__} does not show its cells")
    texts: list[list[str]] = cells()
    return texts


class CheckedScreen:
    """Wraps an emulator for a reference check.

    Args:
        emulator: any backend.
    """

    def __init__(self, emulator: Emulator) -> None:
        self.emulator = emulator

    def feed(self, data: bytes) -> None:
        """Consume output."""
        self.emulator.feed(data)

    def resize(self, rows: int, cols: int) -> None:
        """Take another size."""
        self.emulator.resize(Size(rows, cols))

    def rows(self) -> list[str]:
        """The visible rows."""
        return list(self.emulator.snapshot().rows)

    def cursor(self) -> tuple[int, int]:
        """Column and row, counted from 0."""
        cursor = self.emulator.snapshot().cursor
        return cursor.col, cursor.row

    def cells(self) -> list[list[CheckedCell]]:
        """Every cell with its style."""
        screen = self.emulator.snapshot()
        return [
            [_checked(text, style) for text, style in zip(row, styles, strict=True)]
            for row, styles in zip(cell_texts(self.emulator), _cell_styles(screen), strict=True)
        ]


def _cell_styles(screen: Screen) -> list[list[Style]]:
    rows = []
    for runs in screen.styles:
        styles = [DEFAULT_STYLE] * screen.size.cols
        for run in runs:
            styles[run.col : run.col + run.length] = [run.style] * run.length
        rows.append(styles)
    return rows
