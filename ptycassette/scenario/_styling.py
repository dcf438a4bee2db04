"""The predicate on styles, by the style runs of our frames or the cells of the reference's.

Cells are ``{"Char", "Mode", "FG", "BG"}`` with the emulator's own colour numbers
(``vt10x``: palette indexes, and 1<<24 and above for the defaults), compared as they are.
"""

from __future__ import annotations

from typing import Any

from wcwidth import wcwidth

from ptycassette.model import DEFAULT_STYLE, FrameRecord, Style
from ptycassette.scenario._predicate import Base, Failed, Look
from ptycassette.terminal import split_cells

__all__ = ["StyleIs", "styled"]


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
        """As its class says."""
        return look.frame_is(
            lambda frame: styled(frame, self),
            f"{self.text!r} painted so",
            lambda _: "no such text, or painted otherwise",
        )


def styled(frame: FrameRecord, wanted: StyleIs) -> bool:
    """Whether the text stands somewhere in the frame with every cell painted as wanted."""
    if not wanted.text:
        return False
    if frame.styles is None and frame.cells is not None:
        return any(_row_of_cells(row, wanted) for row in frame.cells)
    return any(_row_of_runs(frame, number, wanted) for number in range(len(frame.text)))


def _row_of_runs(frame: FrameRecord, number: int, wanted: StyleIs) -> bool:
    row = frame.text[number]
    runs = frame.styles[number] if frame.styles and number < len(frame.styles) else ()
    by_cell = {col: run.style for run in runs for col in range(run.col, run.col + run.length)}
    at = row.find(wanted.text)
    while at >= 0:
        first = len(split_cells(row[:at]))
        cells = range(first, first + len(split_cells(wanted.text)))
        if all(_painted(by_cell.get(cell, DEFAULT_STYLE), wanted) for cell in cells):
            return True
        at = row.find(wanted.text, at + 1)
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
    chars = [chr(cell.get("Char", 32) or 32) for cell in row]
    length = sum(wcwidth(char) != 0 for char in wanted.text)
    for first in range(len(chars) - length + 1):
        if "".join(chars[first : first + length]) != wanted.text:
            continue
        if all(
            (wanted.fg is None or cell.get("FG") == wanted.fg)
            and (wanted.bg is None or cell.get("BG") == wanted.bg)
            for cell in row[first : first + length]
        ):
            return True
    return False
