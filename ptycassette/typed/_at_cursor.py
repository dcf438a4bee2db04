"""The screen at one moment, as somebody sees it who types."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ptycassette.model.geometry import Size
from ptycassette.model.lazy_regex import lazy_pattern
from ptycassette.model.screen import Screen
from ptycassette.terminal.cells import split_cells
from ptycassette.terminal.emulator import default_emulator

BORDERS = "│┃|║▏▕╎┊ \t╭╮╰╯┌┐└┘─━═+-"
"""What stands around a field, blanks included."""

_MOST_STOPS = 64
# ECMA-48 8.3.21, and xterm's VPA: the cursor is put somewhere.
_PUT = lazy_pattern(rb"\x1b\[[0-9;]*[Hfd]")


class AtCursor(NamedTuple):
    """What is on the screen at one moment.

    Attributes:
        rows: the text of all rows, from the top.
        row: the number of the row in which the cursor is, from 0.
        before: what stands in that row left of the cursor, blanks included.
        cols: how many cells a row has.
        visible: whether the cursor is shown. Where it is not (ink), the program paints one of
            its own, and the terminal's stands anywhere below.
    """

    rows: tuple[str, ...]
    row: int
    before: str
    cols: int
    visible: bool = True

    @property
    def prompt(self) -> str:
        """What stands left of the cursor, without borders and blanks around it."""
        return self.before.strip(BORDERS)

    def full(self, row: int) -> bool:
        """Whether the text of a row may continue in the next one."""
        text = self.rows[row]
        cells_at_most = len(text) if text.isascii() else 2 * len(text)
        return cells_at_most >= self.cols - 1


def at_cursor(screen: Screen) -> AtCursor:
    """A screen as ``TypedSecrets`` looks at it."""
    row, col = screen.cursor.row, screen.cursor.col
    text = screen.rows[row]
    cells = text if text.isascii() else split_cells(text)
    before = "".join(cells[:col]) + " " * (col - len(cells))
    return AtCursor(screen.rows, row, before, screen.size.cols, screen.cursor.visible)


def stops(first: AtCursor, output: bytes) -> Iterator[AtCursor]:
    """The screen each time before a program puts its cursor somewhere else.

    Args:
        first: the screen before.
        output: what the program then prints; of much, the end is looked at.
    """
    puts = [*_PUT.finditer(output)][-_MOST_STOPS:]
    if not puts:
        return
    screen = default_emulator(Size(len(first.rows), first.cols))
    begun = "\r\n".join(first.rows) + f"\x1b[{first.row + 1};{len(split_cells(first.before)) + 1}H"
    screen.feed(begun.encode("utf-8", "replace"))
    fed = 0
    for put in puts:
        screen.feed(output[fed : put.start()])
        fed = put.start()
        yield at_cursor(screen.snapshot())
