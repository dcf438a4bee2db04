"""Rows of screens as pieces of equal style, and those as HTML."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import NamedTuple

from ptycassette.export.page.styles import StyleClasses
from ptycassette.model.geometry import Cursor, Size
from ptycassette.model.screen import DEFAULT_STYLE, Screen, StyleRun
from ptycassette.replaying.cells import Cell, cells_of_row
from ptycassette.replaying.differences import folded_rows

_AS_WIDE_AS_ITS_CELL = re.compile("[ -~\xa0-\u024f\u2500-\u259f]*")
"""What every monospace font draws one cell wide: Latin, lines and blocks."""


class Piece(NamedTuple):
    """A stretch of a row.

    ``classes`` are those of its style. ``cells`` is 0 for plain text; 1 or 2 for one character that
    gets a box of so many cells, because the reader's font may draw it wider or narrower.
    """

    text: str
    classes: str
    cells: int


def row_pieces(
    text: str, runs: Sequence[StyleRun], cols: int, classes: StyleClasses
) -> list[Piece]:
    """A row of ``cols`` columns, without blanks of the default style at its end."""
    if text.isascii() and (not text or text.isprintable()) and len(text) <= cols:
        if not runs:
            return [Piece(text.rstrip(), "", 0)] if text.strip() else []
        if _are_in_order(runs, cols):
            return _joined(_ascii_pieces(text, runs, classes))
    row = Screen(size=Size(1, cols), rows=(text,), styles=(tuple(runs),), cursor=Cursor(0, 0))
    cells = cells_of_row(row, 0)
    while cells and cells[-1].style == DEFAULT_STYLE and cells[-1].text == " ":
        cells.pop()
    return _joined(_cell_pieces(cells, classes))


def screen_rows(screen: Screen) -> Iterator[tuple[str, tuple[StyleRun, ...]]]:
    """Text and styles of each row of a screen; a stored one may have fewer than its size."""
    for row in range(screen.size.rows):
        text = screen.rows[row] if row < len(screen.rows) else ""
        yield text, screen.styles[row] if row < len(screen.styles) else ()


def _are_in_order(runs: Sequence[StyleRun], cols: int) -> bool:
    """Whether they do not overlap, as in every screen that an emulator made."""
    at = 0
    for run in runs:
        if run.col < at:
            return False
        at = run.col + run.length
    return at <= cols


def _ascii_pieces(text: str, runs: Sequence[StyleRun], classes: StyleClasses) -> Iterator[Piece]:
    at = 0
    for run in runs:
        end = run.col + run.length
        if run.col > at:
            yield Piece(text[at : run.col].ljust(run.col - at), "", 0)
        yield Piece(text[run.col : end].ljust(run.length), classes.of(run.style), 0)
        at = end
    if rest := text[at:].rstrip():
        yield Piece(rest, "", 0)


def _cell_pieces(cells: Iterable[Cell], classes: StyleClasses) -> Iterator[Piece]:
    for cell in cells:
        if cell.width:
            boxed = cell.width if cell.width > 1 or not _fits(cell.text) else 0
            yield Piece(cell.text, classes.of(cell.style), boxed)


def _fits(text: str) -> bool:
    return len(text) == 1 and _AS_WIDE_AS_ITS_CELL.fullmatch(text) is not None


def _joined(pieces: Iterable[Piece]) -> list[Piece]:
    """Neighbours of the same style as one piece; boxes stay alone."""
    joined: list[Piece] = []
    for piece in pieces:
        last = joined[-1] if joined else None
        if last is not None and not (piece.cells or last.cells) and piece.classes == last.classes:
            joined[-1] = Piece(last.text + piece.text, last.classes, 0)
        else:
            joined.append(piece)
    return joined


def row_html(pieces: Iterable[Piece]) -> str:
    """A row as spans; text of the default style is plain."""
    return "".join(_span(piece) for piece in pieces)


def _span(piece: Piece) -> str:
    names = " ".join(filter(None, (piece.classes, f"c{piece.cells}" if piece.cells else "")))
    shown = escape(piece.text)
    return f'<span class="{names}">{shown}</span>' if names else shown


def screen_lines(screen: Screen, classes: StyleClasses) -> list[str]:
    """The rows of a screen, as the content of a ``pre`` of class ``screen``."""
    cols = screen.size.cols
    return [row_html(row_pieces(*row, cols, classes)) for row in screen_rows(screen)]


def screen_fragment(screen: Screen, classes: StyleClasses) -> str:
    """``screen`` as the content of a ``pre`` of class ``screen``.

    Three or more consecutive blank rows become one line that counts them; blank rows at the end
    are left out.
    """
    return "\n".join(
        f'<i class="fold">{row} blank rows</i>' if isinstance(row, int) else row
        for row in folded_rows(screen_lines(screen, classes))
    )
