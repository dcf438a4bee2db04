"""Reflow: what happens to wrapped lines when the width changes.

Lines that the terminal wrapped are joined and broken again at the new width.
Blank cells at the end of a line do not count. The line with the cursor stays as
it is: the program will repaint it, and expects it in its place.

The rules, above all how the view moves when lines come or go, are those of
xterm.js.
"""

from __future__ import annotations

from ptycassette.model.screen import DEFAULT_STYLE
from ptycassette.terminal.grid import BLANK, Row


class Lines:
    """History and screen as one list of rows.

    Args:
        rows: oldest first.
        base: index of the first row on screen.
        y: the cursor's row on screen.
        limit: how many rows fit, history included.
    """

    __slots__ = ("base", "limit", "rows", "saved_line", "y")

    def __init__(self, rows: list[Row], base: int, y: int, limit: int) -> None:
        self.rows = rows
        self.base = base
        self.y = y
        self.limit = limit
        self.saved_line = 0


def _length(group: list[Row], at: int, columns: int) -> int:
    """The number of cells of row ``at`` that belong to line ``group``."""
    row = group[at]
    if at == len(group) - 1:
        return row.trimmed_length()
    # A wide character that did not fit leaves the last cell blank.
    if row.chars[columns - 1] == BLANK and group[at + 1].is_wide(0):
        return columns - 1
    return columns


def _cells(group: list[Row], columns: int, width: int) -> Row:
    """The whole line in one row."""
    lengths = [_length(group, at, columns) for at in range(len(group))]
    line = Row(sum(lengths) + width, traced=group[0].origins is not None)
    col = 0
    for row, length in zip(group, lengths, strict=True):
        line.copy_cells(row, 0, col, length)
        col += length
    line.resize(col)
    return line


def _groups(rows: list[Row]) -> list[tuple[int, int]]:
    """Start and end of each stretch of rows that is one line."""
    starts = [at for at, row in enumerate(rows) if not row.wrapped or at == 0]
    return list(zip(starts, [*starts[1:], len(rows)], strict=True))


def _break(line: Row, width: int) -> list[Row]:
    """The line in rows of ``width`` cells; a wide character is never halved."""
    traced = line.origins is not None
    total = len(line.chars)
    rows: list[Row] = []
    col = 0
    while col < total or not rows:
        end = min(col + width, total)
        if end < total and line.chars[end] == "":
            end -= 1
        row = Row(width, DEFAULT_STYLE, wrapped=bool(rows), traced=traced)
        row.copy_cells(line, col, 0, end - col)
        rows.append(row)
        col = end
    return rows


def _holds_cursor(text: Lines, start: int, end: int) -> bool:
    return start <= text.base + text.y < end


def widen(text: Lines, before: int, columns: int, lines: int) -> None:
    """Join wrapped lines again. Rows have their new width already."""
    removed = 0
    rows: list[Row] = []
    for start, end in _groups(text.rows):
        group = text.rows[start:end]
        if len(group) == 1 or _holds_cursor(text, start, end):
            rows.extend(group)
            continue
        wrapped = group[0].wrapped
        broken = _break(_cells(group, before, columns), columns)
        broken[0].wrapped = wrapped
        rows.extend(broken)
        removed += len(group) - len(broken)
    text.rows = rows
    for _ in range(removed):
        if text.base:
            text.base -= 1
            continue
        text.y = max(text.y - 1, 0)
        if len(text.rows) < lines:
            text.rows.append(Row(columns, traced=rows[0].origins is not None))
    text.saved_line = max(text.saved_line - removed, 0)


def narrow(text: Lines, before: int, columns: int, lines: int) -> None:
    """Break lines that no longer fit. Rows have their old width still.

    From the bottom up, because room for the new rows is taken from the blank rows
    at the bottom first.
    """
    dropped = 0
    added_so_far = 0
    pieces: list[tuple[list[Row], int]] = []
    for start, end in reversed(_groups(text.rows)):
        group = text.rows[start:end]
        fits = len(group) == 1 and group[0].trimmed_length() <= columns
        if fits or _holds_cursor(text, start, end):
            pieces.append((group, len(group)))
            continue
        broken = _break(_cells(group, before, columns), columns)
        broken[0].wrapped = group[0].wrapped
        added = len(broken) - len(group)
        pieces.append((broken, len(group)))
        added_so_far += added
        length = len(text.rows) - dropped
        if text.base == 0 and text.y != length - 1:
            over = max(0, text.y - text.limit + added)
        else:
            over = max(0, length - text.limit + added)
        for _ in range(added - over):
            if text.base == 0 and text.y < lines - 1:
                text.y += 1
                dropped += 1
            elif text.base == 0 or text.base < min(text.limit, length + added_so_far) - lines:
                text.base += 1
        text.saved_line = min(text.saved_line + added, text.base + lines - 1)
    text.rows = _drop_last(pieces, dropped)


def _drop_last(pieces: list[tuple[list[Row], int]], count: int) -> list[Row]:
    """All rows from top to bottom, without the last ``count`` that were there before.

    ``pieces`` are in order from the bottom up, each with the number of rows that it had
    before. Usually the dropped rows are blank; if not, xterm.js loses the same text.
    """
    rows: list[Row] = []
    for piece, old in pieces:
        lost = min(count, old)
        count -= lost
        rows.extend(reversed(piece[: old - lost] + piece[old:]))
    rows.reverse()
    return rows
