"""A recorded screen as segments for the terminal, with its colours and widths.

Text comes from ``cells_of_row``, which removes what acts or hides.
"""

from __future__ import annotations

from functools import lru_cache

from rich.cells import cell_len
from rich.color import Color
from rich.segment import Segment
from rich.style import Style as RichStyle

from ptycassette import Cell, Cursor, Screen, Size, Style, StyleRun, cells_of_row

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
