"""A row of a ``Screen`` as cells: what is painted where, safe to send to a terminal.

A cluster is the content of one cell (or two, for wide ones): a character and its
combining marks, split and measured as in the emulator. The result contains nothing
that acts on a terminal or hides text: control characters become U+FFFD,
bidirectional and other format characters are dropped, except for the joiners
and selectors that hold a cluster together.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from functools import lru_cache

import msgspec

from ptycassette.model.screen import DEFAULT_STYLE, Screen, Style
from ptycassette.terminal.cells import split_cells

_JOINERS = frozenset("\u200c\u200d\ufe0e\ufe0f")
_ACTIVE = frozenset({"Cc", "Cs", "Zl", "Zp"})
_HIDDEN = frozenset({"Cf"})


class Cell(msgspec.Struct, frozen=True, gc=False):
    """One column. ``text`` is empty in the right half of a wide character."""

    text: str = " "
    style: Style = DEFAULT_STYLE
    width: int = 1


BLANK = Cell()
MAX_CLUSTER = 32
"""A cluster of more characters is cut: a cell with a thousand accents is an attack."""


@lru_cache(maxsize=4096)
def safe_cluster(cluster: str) -> str:
    """``cluster`` without anything that acts on a terminal; never empty."""
    kept = []
    for char in cluster:
        category = unicodedata.category(char)
        if category in _ACTIVE:
            kept.append("\ufffd")
        elif category not in _HIDDEN or char in _JOINERS:
            kept.append(char)
    text = "".join(kept)
    return text if text.strip("".join(_JOINERS)) else " "


def cells_of_row(screen: Screen, row: int, *, colors: bool = True) -> list[Cell]:
    """The cells of one row, exactly ``screen.size.cols`` of them.

    With ``colors=False`` only foreground and background are left out.
    """
    cols = screen.size.cols
    text = screen.rows[row] if row < len(screen.rows) else ""
    cells: list[Cell] = []
    if text.isascii() and text.isprintable():
        cells.extend(Cell(char) for char in text[:cols])
    else:
        cells.extend(_clusters(text, cols))
    cells.extend([BLANK] * (cols - len(cells)))
    if row < len(screen.styles):
        _paint_runs(screen, row, cells, colors=colors)
    return cells


def _clusters(text: str, cols: int) -> Iterator[Cell]:
    """The cells of ``text``, split as in the emulator; a wide one that is cut off is dropped."""
    texts = split_cells(text[: cols * MAX_CLUSTER])
    for col, cluster in enumerate(texts[:cols]):
        wide = texts[col + 1 : col + 2] == [""]
        if not cluster:
            yield Cell("", width=0)
        elif wide and col + 1 == cols:
            yield BLANK
        else:
            yield Cell(safe_cluster(cluster[:MAX_CLUSTER]), width=2 if wide else 1)


def _paint_runs(screen: Screen, row: int, cells: list[Cell], *, colors: bool) -> None:
    """Lay the style runs of ``row`` over its cells."""
    for run in screen.styles[row][: len(cells)]:  # more runs than cells would overlap
        style = run.style if colors else msgspec.structs.replace(run.style, fg=None, bg=None)
        for col in range(max(0, run.col), min(run.col + run.length, len(cells))):
            cell = cells[col]
            cells[col] = Cell(cell.text, style, cell.width)
