"""Maps parts of recorded rows to the lines of a window, wrapped or overlaid. Pure."""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache

import msgspec

from ptycassette import Cursor, Screen, Size, StyleRun, cells_of_row

_NO_CURSOR = Cursor(0, 0, visible=False)
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
