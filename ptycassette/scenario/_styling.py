"""The predicate on styles, by the style runs of our frames or the cells of the reference's.

Cells are ``{"Char", "Mode", "FG", "BG"}`` with the emulator's own colour numbers
(``vt10x``: palette indexes, and 1<<24 and above for the defaults), compared as they are.
"""

from __future__ import annotations

import bisect
import itertools
from typing import Any

from ptycassette.model.events import FrameRecord
from ptycassette.model.screen import DEFAULT_STYLE, Style
from ptycassette.scenario._predicate import Base, Failed, Look
from ptycassette.terminal.cells import split_cells

_PER_CELL = 300


class StyleIs(Base, frozen=True, kw_only=True, tag="style"):
    """Text painted so at ``at_ms``. Colours are palette numbers or ``#rrggbb``.

    The attributes are an extension.
    """

    text: str
    fg: int | str | None = None
    bg: int | str | None = None
    bold: bool | None = None
    dim: bool | None = None
    italic: bool | None = None
    underline: bool | None = None
    reverse: bool | None = None
    strike: bool | None = None

    def judge(self, look: Look) -> Failed | None:

        def right(frame: FrameRecord) -> bool:
            cells = sum(map(len, frame.cells or frame.text)) + sum(map(len, frame.styles or ()))
            look.effort.spend(_PER_CELL * cells)
            return styled(frame, self)

        return look.frame_is(
            right,
            f"{self.text!r} painted so",
            lambda _: "no such text, or painted otherwise",
        )


def styled(frame: FrameRecord, wanted: StyleIs) -> bool:
    """Whether the frame has the text somewhere with all of its cells in the wanted style."""
    if not wanted.text:
        return False
    if frame.styles is None and frame.cells is not None:
        return any(_row_of_cells(row, wanted) for row in frame.cells)
    return any(_row_of_runs(frame, number, wanted) for number in range(len(frame.text)))


def _row_of_runs(frame: FrameRecord, number: int, wanted: StyleIs) -> bool:
    row = frame.text[number]
    if wanted.text not in row:
        return False
    cells = split_cells(row)
    runs = frame.styles[number] if frame.styles and number < len(frame.styles) else ()
    right = [_painted(DEFAULT_STYLE, wanted)] * len(cells)
    for run in runs:
        end = min(run.col + run.length, len(cells))
        right[run.col : end] = [_painted(run.style, wanted)] * max(0, end - run.col)
    return _stands(row, wanted.text, right, [*itertools.accumulate(map(len, cells), initial=0)])


def _stands(row: str, text: str, right: list[bool], starts: list[int]) -> bool:
    """Whether the row has the text at a place where all of its cells are right.

    Args:
        row: its text.
        text: the wanted text.
        right: for each cell whether its style is right.
        starts: for each cell the index of its first character in the row, and the end.
    """
    wrong = [0, *itertools.accumulate(not one for one in right)]  # in the cells before each
    at = row.find(text)
    while at >= 0:
        first = bisect.bisect_right(starts, at) - 1
        last = bisect.bisect_right(starts, at + len(text)) - 1
        if wrong[last] == wrong[first]:
            return True
        at = row.find(text, at + 1)
    return False


def _painted(style: Style, wanted: StyleIs) -> bool:
    if wanted.fg is not None and style.fg != wanted.fg:
        return False
    if wanted.bg is not None and style.bg != wanted.bg:
        return False
    for name in ("bold", "dim", "italic", "reverse", "strike"):
        want = getattr(wanted, name)
        if want is not None and getattr(style, name) != want:
            return False
    return wanted.underline is None or bool(style.underline) == wanted.underline


def _row_of_cells(row: list[dict[str, Any]], wanted: StyleIs) -> bool:
    chars = "".join(chr(cell.get("Char", 32) or 32) for cell in row)
    right = [
        (wanted.fg is None or cell.get("FG") == wanted.fg)
        and (wanted.bg is None or cell.get("BG") == wanted.bg)
        for cell in row
    ]
    return _stands(chars, wanted.text, right, [*range(len(row) + 1)])
