"""Repaints a terminal from one screen to the next with few bytes, all of them harmless.

The output consists only of printable text, SGR (colours and attributes), CUP and CHA
(cursor position), EL and ED (erase), and DECTCEM (cursor shown or hidden). Titles,
links, modes, queries and anything else in a recording never reach the terminal.

Terminals disagree on the width of some characters. After each one that is not
ASCII the cursor is set to its position in the recording, so that a disagreement
affects one cell only.

Underlines are plain or double, and have no colour of their own: terminals
that do not know ``4:3`` or ``58;5;n`` take them for something else.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache

import msgspec

from ptycassette.model.screen import DEFAULT_STYLE, Cursor, Screen, Size, Style, StyleRun
from ptycassette.terminal.repaint import attribute_parameters, color_parameters
from ptycassette.terminal.widths import split_cells

# A row of a ``Screen`` as cells, safe to send to a terminal.


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


@lru_cache(maxsize=1024)
def sgr(style: Style) -> str:
    """The SGR sequence that sets exactly ``style``, whatever was set before (ECMA-48 8.3.117)."""
    codes = ["0", *attribute_parameters(style)]
    if style.underline:
        codes.append("21" if style.underline == "double" else "4")
    codes += color_parameters(style.fg, 30)
    codes += color_parameters(style.bg, 40)
    return f"\x1b[{';'.join(codes)}m"


def paint(before: Screen | None, after: Screen, *, colors: bool = True) -> bytes:
    """The bytes that turn a terminal showing ``before`` into one showing ``after``.

    The terminal has the size of ``after`` or is larger; clip first when it is
    not. ``before=None`` or another size paints everything on a cleared screen.
    Equal screens give no bytes.
    """
    if before == after:
        return b""
    out: list[str] = []
    if before is None or before.size != after.size:
        out.append("\x1b[0m\x1b[2J")
        before = None
    for row in range(after.size.rows):
        if before is not None and _same_row(before, after, row):
            continue
        old = (
            [BLANK] * after.size.cols
            if before is None
            else cells_of_row(before, row, colors=colors)
        )
        out.extend(_row_changes(row, old, cells_of_row(after, row, colors=colors)))
    moved = bool(out) or before is None or before.cursor != after.cursor
    if out:
        out.insert(0, "\x1b[?25l")
        out.append("\x1b[0m")
    if moved:
        out.append(_cursor(after.cursor, after.size))
    return "".join(out).encode("utf-8", "replace")


def _same_row(a: Screen, b: Screen, row: int) -> bool:
    return _text(a, row) == _text(b, row) and _styles(a, row) == _styles(b, row)


def _text(screen: Screen, row: int) -> str:
    return screen.rows[row] if row < len(screen.rows) else ""


def _styles(screen: Screen, row: int) -> tuple[StyleRun, ...]:
    return screen.styles[row] if row < len(screen.styles) else ()


def _cursor(cursor: Cursor, size: Size) -> str:
    if not cursor.visible:
        return "\x1b[?25l"
    row = min(max(cursor.row, 0), size.rows - 1)
    col = min(max(cursor.col, 0), size.cols - 1)
    return f"\x1b[{row + 1};{col + 1}H\x1b[?25h"


def _row_changes(row: int, old: Sequence[Cell], new: Sequence[Cell]) -> Iterator[str]:
    """Repaint from the first to the last cell that differs, if any."""
    first = next((col for col, (a, b) in enumerate(zip(old, new, strict=True)) if a != b), None)
    if first is None:
        return
    while new[first].width == 0:
        first -= 1  # never start in the middle of a wide character
    last = max(col for col, (a, b) in enumerate(zip(old, new, strict=True)) if a != b)
    end = len(new)
    while end > first and new[end - 1] == BLANK:
        end -= 1
    yield f"\x1b[{row + 1};{first + 1}H"
    yield _run_of_cells(new, first, min(last + 1, end))
    if last >= end:
        yield "\x1b[0m\x1b[K"


def _run_of_cells(cells: Sequence[Cell], first: int, end: int) -> str:
    """The cells from ``first`` up to ``end``, with the whole of a wide one at the end."""
    out: list[str] = []
    style: Style | None = None
    adrift = False  # the terminal may have its cursor elsewhere than we do
    for col in range(first, end):
        cell = cells[col]
        if cell.width == 0:
            continue
        if adrift:
            out.append(f"\x1b[{col + 1}G")
        if cell.style != style:
            style = cell.style
            out.append(sgr(style))
        out.append(cell.text)
        adrift = not cell.text.isascii()
    return "".join(out)


def clipped(screen: Screen, size: Size) -> Screen:
    """The upper left part of ``screen`` that fits into ``size``, as a screen of that size.

    A smaller screen is padded. A wide character that would be cut in half is left out.
    """
    if screen.size == size:
        return screen
    rows = []
    for row in range(min(size.rows, screen.size.rows)):
        cells = cells_of_row(screen, row)[: size.cols]
        if cells and cells[-1].width == 2:
            cells[-1] = BLANK
        rows.append("".join(cell.text for cell in cells).rstrip())
    rows.extend([""] * (size.rows - len(rows)))
    inside = screen.cursor.row < size.rows and screen.cursor.col < size.cols
    return msgspec.structs.replace(
        screen,
        size=size,
        rows=tuple(rows),
        styles=tuple(_styles(screen, row) for row in range(size.rows)),
        cursor=msgspec.structs.replace(screen.cursor, visible=screen.cursor.visible and inside),
    )


def with_status(screen: Screen, status: str) -> Screen:
    """``screen`` with its last row replaced by ``status`` in reverse video."""
    cols = screen.size.cols
    bar = StyleRun(col=0, length=cols, style=Style(reverse=True))
    last = screen.size.rows - 1
    styles = tuple(_styles(screen, row) for row in range(last))
    return msgspec.structs.replace(
        screen,
        rows=(*screen.rows[:last], status[:cols].ljust(cols)),
        styles=(*styles, (bar,)),
    )


def ansi_lines(screen: Screen, *, colors: bool = True) -> Iterator[str]:
    """The rows as lines with SGR only, for printing at the cursor.

    Blank cells at the end of a row are left out; each line ends in the default style.
    """
    for row in range(screen.size.rows):
        cells = cells_of_row(screen, row, colors=colors)
        end = len(cells)
        while end and cells[end - 1] == BLANK:
            end -= 1
        line = "".join(_plain_run(cells[:end]))
        yield f"{line}\x1b[0m" if "\x1b" in line else line


def _plain_run(cells: Sequence[Cell]) -> Iterator[str]:
    style = DEFAULT_STYLE
    for cell in cells:
        if cell.width and cell.style != style:
            style = cell.style
            yield sgr(style)
        yield cell.text
