"""Panes and cells of tables: texts side by side with vertical bars between them.

Each is read as a screen of its own, which has the border of its bar at the right: what a program
broke inside of it goes on there as it does in a box. A box with nothing beside it is none, for
its rows are read without borders anyway. What stands behind a margin is one, too: behind the
signs of a diff or of comments, or in a box that is drawn with such.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import chain, pairwise
from typing import NamedTuple

from ptycassette.scrub.joins import BORDER, EDGE, ROWS_REMEMBERED, Line, names
from ptycassette.scrub.paragraphs import may_be_torn, unwrapped
from ptycassette.scrub.rows import BLANK, RowCopy, Segment, joined_rows, line_of, put_together
from ptycassette.scrub.words import looks_torn_off, named_when_joined, names_a_secret

__all__ = ["Pane", "may_have_panes", "of_pane", "pane_lines", "pane_texts", "panes"]

_SIGNS = frozenset(":=")
_WORD = re.compile(r"\S+")
_BARS = frozenset("\u2502\u2503\u2551|")
_BAR = re.compile(f"[{''.join(sorted(_BARS))}]")
_CLOSING = "\u2502"
_MARGIN = re.compile(
    r"[ \d]{0,10}(\+(?!-+(?:[+\s]|\Z))|-(?!-)|#(?!#)|(?:[*:!%;~=$]|//|--)(?= |\Z)"
    rf"|(?![{BORDER}])[^\x00-\x7f\w\s])"  # as the arrow behind a number
)
_WIDEST_MARGIN = 14
_NOTHING = frozenset(("", " ", BLANK))
_NARROWEST = 8
_FEWEST = 2
_MOST = 24
_PADDING = 8  # so that only what reaches its bar fills a row


class Pane(NamedTuple):
    """Rows ``first`` up to ``last``, in them the cells ``left`` up to ``right`` (with the bar).

    One that is ``closed`` has a sign there that is no bar, and stands for one.
    """

    first: int
    last: int
    left: int
    right: int
    closed: bool = False


def panes(rows: Sequence[Sequence[str]], cols: int) -> Iterator[Pane]:
    """The panes in these rows (a string per cell, or a text without wide characters).

    A bar is one that stands in the same column of the row above or below.
    """
    bars = [_bars(row) for row in rows]
    none: frozenset[int] = frozenset()
    begun: dict[tuple[int, int], int] = {}
    for number, (above, own, below) in enumerate(
        zip((none, *bars), bars, (*bars[1:], none), strict=False)
    ):
        standing = sorted(own & (above | below))
        edges = (-1, *standing, cols) if standing else ()
        cells = [cell for cell in pairwise(edges) if cell[1] - cell[0] > _NARROWEST]
        for cell in [cell for cell in begun if cell not in cells]:
            yield from _of_use(rows, begun.pop(cell), number, cell)
        for cell in cells:
            begun.setdefault(cell, number)
    for cell, first in begun.items():
        yield from _of_use(rows, first, len(rows), cell)


def margins(rows: Sequence[Sequence[str]], cols: int) -> Iterator[Pane]:
    """What stands behind the same sign in the same column of several rows. See ``panes``."""
    first, sign = 0, ("", 0)
    for number in range(len(rows) + 1):
        own = _margin(rows[number]) if number < len(rows) else ("", 0)
        if own == sign and own[0]:
            continue
        if sign[0]:
            yield from _in_margins(rows, (first, number), sign, cols)
        first, sign = number, own


def _margin(row: Sequence[str]) -> tuple[str, int]:
    """The sign before what a row says, and the column behind it."""
    begins = row[:_WIDEST_MARGIN]
    text = begins if isinstance(begins, str) else "".join(char or BLANK for char in begins)
    margin = _MARGIN.match(text.replace(BLANK, " "))
    return (margin[1], margin.end()) if margin else ("", 0)


def _in_margins(
    rows: Sequence[Sequence[str]], span: tuple[int, int], sign: tuple[str, int], cols: int
) -> Iterator[Pane]:
    """The pane behind a sign, up to the same sign at the right if all of these rows have it."""
    first, last = span
    ends = {len(_trimmed(row)) - 1 for row in rows[first:last]}
    right = ends.pop()
    closed = not ends and right > sign[1] and all(r[right] == sign[0] for r in rows[first:last])
    for start in range(first, last, _MOST):
        stop = min(last, start + _MOST + 1)
        if stop - start >= _FEWEST:
            yield Pane(start, stop, sign[1], right if closed else cols, closed)


def _trimmed(row: Sequence[str]) -> Sequence[str]:
    if isinstance(row, str):
        return row.rstrip()
    end = len(row)
    while end and row[end - 1] in _NOTHING:
        end -= 1
    return row[:end]


def may_have_panes(texts: Sequence[str]) -> bool:
    """Whether panes may be parted in rows that show these, or a token broken behind a margin.

    Quick, for it is asked for all rows.
    """
    looks = list(map(_look, texts))
    if sum(look.barred for look in looks) >= _FEWEST and any(look.inside for look in looks):
        return True  # and no box that is alone
    return any(
        above.sign != ""
        and above.sign == below.sign
        and may_be_torn(texts[at].rstrip(f" {above.sign}"), texts[at + 1][below.end :])
        for at, (above, below) in enumerate(pairwise(looks))
    )


class _Look(NamedTuple):
    """Whether a row has bars, and one that is no border; its margin, as ``_margin`` gives it."""

    barred: bool
    inside: bool
    sign: str
    end: int


@lru_cache(maxsize=ROWS_REMEMBERED)
def _look(text: str) -> _Look:
    barred = _BAR.search(text) is not None
    margin = _MARGIN.match(text)
    return _Look(
        barred,
        barred and _BAR.search(text.strip()[1:-1]) is not None,
        margin[1] if margin else "",
        margin.end() if margin else 0,
    )


def pane_texts(
    rows: Sequence[RowCopy], cols: int
) -> Iterator[tuple[str, list[tuple[int, Segment]]]]:
    """Everything that goes on in panes, as ``joined_rows`` gives it."""
    cells = [row.chars for row in rows]
    for pane in chain(panes(cells, cols), margins(cells, cols)):
        lines = pane_lines(rows, pane)
        numbers = {id(line.row): number for number, line in enumerate(lines)}
        for text, segments in joined_rows(lines):
            if segments and of_pane(lines, [numbers[id(part.row)] for _, part in segments]):
                yield text, segments
        for pieces in unwrapped([line.shown for line in lines], pane.right - pane.left):
            yield put_together((lines[row], start, end) for row, start, end in pieces)


def of_pane(lines: Sequence[Line], numbers: Sequence[int]) -> bool:
    """Whether a text that is put together of these lines (their numbers) of a pane is of use.

    One that stands for itself is below a name, for the print stream has it otherwise.
    """
    if len(numbers) > 1:
        return any(_broken(lines[above], lines[below]) for above, below in pairwise(numbers))
    return any(
        line.text[line.end - 1 : line.end] in _SIGNS
        for line in lines[max(0, numbers[0] - 1) : numbers[0] + 1]
    )


def _broken(above: Line, below: Line) -> bool:
    """Whether what goes on from one row to the next may be of use: cells of tables are full, too.

    Words are not, nor a name with another one below it.
    """
    last = above.text[above.text.rfind(" ", above.left, above.end) + 1 : above.end]
    first = _WORD.match(below.text, below.left, below.end)
    if not last or first is None:
        return False
    if last[-1] not in _SIGNS and names_a_secret(above.text, above.end):
        return names(above, below) or looks_torn_off(first.group())
    whole = last + first.group()
    return not whole.isalpha() or looks_torn_off(whole) or named_when_joined(last, first.group())


def _bars(row: Sequence[str]) -> frozenset[int]:
    if isinstance(row, str):
        return frozenset(bar.start() for bar in _BAR.finditer(row))
    return frozenset(at for at, char in enumerate(row) if char[:1] in _BARS)


def _of_use(
    rows: Sequence[Sequence[str]], first: int, last: int, cell: tuple[int, int]
) -> Iterator[Pane]:
    """A pane with text in it, unless it is a box that is alone in its rows."""
    left, right = max(0, cell[0]), cell[1]
    span = rows[first:last]
    if len(span) < _FEWEST or sum(_says(row[left:right]) for row in span) < _FEWEST:
        return
    if not any(_says(row[:left]) or _says(row[right + 1 :]) or _nested(row[:left]) for row in span):
        return
    for start in range(first, last, _MOST):
        stop = min(last, start + _MOST + 1)
        if stop - start >= _FEWEST:
            yield Pane(start, stop, cell[0] + 1, right + 1)


def _says(cells: Sequence[str]) -> bool:
    return "".join(cells).replace(BLANK, " ").strip(EDGE) != ""


def _nested(cells: Sequence[str]) -> bool:
    return _BAR.search("".join(cells)) is not None


def pane_lines(rows: Sequence[RowCopy], pane: Pane) -> list[Line]:
    """The rows of a pane, as those of a screen of its own."""
    left, right = pane.left, pane.right
    padding = [_CLOSING if pane.closed else " ", *" " * _PADDING]
    nowhere = [None] * len(padding)
    copies = (
        RowCopy([*row.chars[left:right], *padding], [*row.origins[left:right], *nowhere], False)
        for row in rows[pane.first : pane.last]
    )
    return [line_of(copy) for copy in copies]
