"""Rows of the screen split into panes between bars, and the text in each pane.

A screen is split at bars and joined at margins. A bar is a vertical line that is also in the same
column of the row above or below. The area between two bars is read as a screen of its own.
``_joined_lines`` decides which lines continue in the next one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import NamedTuple

from ptycassette.scrub.match import canonical, plain
from ptycassette.terminal.grid import BLANK, Row
from ptycassette.terminal.widths import width_mode

BARS = frozenset("\u2502\u2503\u2551|\u254e\u2506\u258f\u2595\u258c\u2590")
EDGE = " \t\xa0|>" + "".join(map(chr, range(0x2500, 0x2600))) + "\u23bf\u23fa\u276f\u2022\xb7"
"""Borders, bullets and what pads them: U+2500 to U+25FF, the signs before items of agents."""

_BAR = re.compile(f"[{''.join(sorted(BARS))}]")
_BROKEN = re.compile("[\udc80-\udcff]")  # a byte of no character, which takes a cell
_NONE: frozenset[int] = frozenset()
_REMEMBERED = 4096
"""Most rows are read several times: with those beside them that are new."""

_Cells = Sequence[str]
_Side = tuple[int, int]
_Pane = tuple[_Side, int, int]


class Line(NamedTuple):
    """A row as it was at one moment.

    ``cells`` has a string per cell ("" behind a wide character), trimmed at the right; a text of
    narrow characters alone is its own list of cells. ``origins`` says which bytes painted each:
    a stretch, or the offset of the first one, or None. ``wrapped`` says that the terminal broke
    the line before this one, ``spaced`` that a blank stands in the last column.
    """

    cells: _Cells
    origins: Sequence[tuple[int, int] | int | None]
    wrapped: bool
    spaced: bool = False


class Piece(NamedTuple):
    """Cells ``start`` up to ``end`` of a line."""

    line: Line
    start: int
    end: int

    def text(self) -> str:
        """The text of the cells, canonical."""
        cells = self.line.cells
        if isinstance(cells, str):
            return _canonical(cells, self.start, self.end)
        return canonical("".join(cells[self.start : self.end]))

    def sources(self) -> list[int]:
        """For each canonical character its offset in the output, or -1."""
        sources: list[int] = []
        cells = self.line.cells[self.start : self.end]
        for char, origin in zip(cells, self.line.origins[self.start : self.end], strict=False):
            width = 1 if char.isascii() and len(char) == 1 else len(char.encode())
            known = 0 if origin is None else width
            start = -1 if origin is None else origin
            if isinstance(start, tuple):
                start, end = start
                if end - start != width:  # something stood between its parts
                    known = min(width, len(char[:1].encode()))
            sources += [*range(start, start + known), *[-1] * (width - known)]
        return sources


def line_of(row: Row, cols: int) -> Line:
    """A copy of a row that is ``cols`` wide."""
    text = row.text(cols)
    cells: _Cells = text
    if not (text.isascii() or _is_narrow(text)):
        cells = [" " if char == BLANK else char for char in row.chars[:cols]]
        while cells and cells[-1] == " ":
            cells.pop()
    chars = row.chars
    spaced = len(chars) >= cols and chars[cols - 1] == " "
    origins = () if row.origins is None else row.origins[: len(cells)]
    return Line(cells, origins, row.wrapped, spaced)


def line_of_text(text: str, offset: int) -> Line:
    """A row of canonical text, which is at ``offset``, in the cells of a terminal."""
    row = _BROKEN.sub("?", plain(text))
    ends = [*accumulate((len(canonical(char)) for char in row), initial=offset)]
    if row.isascii() or _is_narrow(row):
        return Line(row, ends[:-1], wrapped=False)
    cells: list[str] = []
    origins: list[int | None] = []
    for char, start in zip(row, ends, strict=False):
        beside = max(0, width_mode("cluster").classify(char)[1] - 1)
        cells += [char, *[""] * beside]
        origins += [start, *[None] * beside]
    return Line(cells, origins, wrapped=False)


@lru_cache(maxsize=_REMEMBERED)
def _canonical(cells: str, start: int, end: int) -> str:
    return canonical(cells[start:end])


@lru_cache(maxsize=_REMEMBERED)
def _is_narrow(text: str) -> bool:
    """Whether each character has a cell of its own."""
    return width_mode("cluster").narrow.fullmatch(text) is not None


def panes(lines: Sequence[Line]) -> Iterator[list[Piece]]:
    """The texts of these lines, each a list of pieces below each other.

    A line that is blank between its bars ends a text, and so does another layout of bars.
    """
    bars = [_bars(line.cells) for line in lines]
    if not any(bars):
        yield from _texts(lines)
        return
    begun: dict[_Side, list[Piece]] = {}
    before: Sequence[_Pane] = ()
    for line, above, own, below in zip(
        lines, (_NONE, *bars), bars, (*bars[1:], _NONE), strict=False
    ):
        between = _between_bars(own, above, below, len(line.cells))
        if between is not before:
            standing = {side for side, _, _ in between}
            for side in [side for side in begun if side not in standing]:
                yield begun.pop(side)
            before = between
        for side, start, end in between:
            piece = _stripped(line, start, end)
            if piece is not None:
                if side in begun:
                    begun[side].append(piece)
                else:
                    begun[side] = [piece]
            elif side in begun:
                yield begun.pop(side)
    yield from begun.values()


@lru_cache(maxsize=_REMEMBERED)
def _between_bars(
    own: frozenset[int], above: frozenset[int], below: frozenset[int], length: int
) -> Sequence[_Pane]:
    """The panes of a line: what names each, where its cells start, and where they end."""
    bars = (-1, *sorted(own & (above | below)), length)
    # What is right of the last bar ends anywhere.
    return tuple(
        ((left, right if right < length else -1), left + 1, right) for left, right in pairwise(bars)
    )


def _texts(lines: Sequence[Line]) -> Iterator[list[Piece]]:
    """The texts of lines without bars."""
    text: list[Piece] = []
    for line in lines:
        piece = _stripped(line, 0, len(line.cells))
        if piece is not None:
            text.append(piece)
        elif text:
            yield text
            text = []
    if text:
        yield text


def _bars(cells: _Cells) -> frozenset[int]:
    if not isinstance(cells, str):
        return frozenset(at for at, char in enumerate(cells) if char in BARS)
    return _bars_of(cells)


@lru_cache(maxsize=_REMEMBERED)
def _bars_of(text: str) -> frozenset[int]:
    if text.isascii() and "|" not in text:
        return _NONE
    return frozenset([bar.start() for bar in _BAR.finditer(text)])


@lru_cache(maxsize=_REMEMBERED)
def _shown(text: str) -> tuple[int, int]:
    """The start and end of the text without padding."""
    return len(text) - len(text.lstrip(EDGE)), len(text.rstrip(EDGE))


def _stripped(line: Line, start: int, end: int) -> Piece | None:
    """The text between two bars without its padding; None if there is none."""
    cells = line.cells
    if isinstance(cells, str):
        left, right = _shown(cells[start:end])
        return Piece(line, start + left, start + right) if left < right else None
    while start < end and cells[start] in EDGE:
        start += 1
    while end > start and cells[end - 1] in EDGE:
        end -= 1
    return Piece(line, start, end) if start < end else None
