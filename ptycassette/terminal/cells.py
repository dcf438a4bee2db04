"""A screen's rows cut into cells again.

``Screen.rows`` are text, in which a cluster occurs once, however many cells it takes.
Cutting follows the width mode of the emulator. A row painted in ways that its text does
not show (a mark after a cursor movement) may come out a cell longer or shorter; it is cut
or filled to the screen's width.
"""

from __future__ import annotations

import msgspec

from ptycassette.model.screen import DEFAULT_STYLE, Screen, Style
from ptycassette.terminal.widths import NO_JOIN, WidthModeName, width_mode


class ScreenCell(msgspec.Struct, frozen=True):
    """One cell: a cluster, ``""`` for the right half of a wide one, and its style."""

    text: str = " "
    style: Style = DEFAULT_STYLE


def split_cells(text: str, width: WidthModeName = "cluster") -> list[str]:
    """The cells of ``text``, with ``""`` after each wide one."""
    mode = width_mode(width)
    cells: list[str] = []
    kind, last_width = NO_JOIN, 0
    at = 0
    for char in text:
        base = cells[at][:1] if cells else ""
        kind, now, extends = mode.step(char, kind, last_width, base)
        if extends and cells:
            cells[at] += char
            cells.extend([""] * (max(now, 1) - max(last_width, 1)))
        else:
            at = len(cells)
            cells.append(char)
            cells.extend([""] * (now - 1))
        last_width = now
    return cells


def split_clusters(text: str, width: WidthModeName = "cluster") -> list[tuple[int, str]]:
    """The clusters of ``text``, each with the number of cells that it takes."""
    clusters: list[tuple[int, str]] = []
    for cell in split_cells(text, width):
        if cell or not clusters:
            clusters.append((1, cell))
        else:
            cells, cluster = clusters[-1]
            clusters[-1] = (cells + 1, cluster)
    return clusters


def row_cells(screen: Screen, row: int, *, width: WidthModeName = "cluster") -> list[ScreenCell]:
    """The cells of row ``row``, exactly as many as the screen has columns."""
    cols = screen.size.cols
    texts = split_cells(screen.rows[row], width)[:cols]
    texts.extend([" "] * (cols - len(texts)))
    styles = [DEFAULT_STYLE] * cols
    for run in screen.styles[row] if row < len(screen.styles) else ():
        styles[run.col : run.col + run.length] = [run.style] * run.length
    return [ScreenCell(text, style) for text, style in zip(texts, styles[:cols], strict=True)]
