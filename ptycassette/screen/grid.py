"""Rows of cells: the only place that knows how cells are stored.

A row is two parallel lists, ``chars`` and ``styles``, one item per cell. In
``chars`` a cell is

* a string of one grapheme cluster,
* ``""`` for the right half of the wide character before it, or
* ``BLANK`` (U+0000) for a cell that nothing was written to. It looks like a
  space, but reflow treats it as the end of the text.

``origins`` is the optional third list, for whoever must know which bytes
painted a cell (see ``ptycassette.screen.trace``). Every operation that moves
cells moves it along; the painting itself fills it only in a traced terminal, so
that the ordinary one does not pay.

``view`` caches the row's text and style runs; whoever changes a cell sets it to
``None``.

The semantics of insert, delete and replace, above all what happens to half of a
wide character, are those of xterm.js.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import groupby
from typing import Final

from ptycassette.model import DEFAULT_STYLE, Style, StyleRun
from ptycassette.screen.pens import is_protected, public_style

__all__ = ["BLANK", "Origin", "Row", "collect_runs"]

BLANK: Final = "\0"

Origin = tuple[int, int]
"""First byte and end of the stretch of output that painted a cell."""


@cache
def _default_styles(count: int) -> list[Style]:
    return [DEFAULT_STYLE] * count


def collect_runs(styles: list[Style]) -> Iterator[StyleRun]:
    """The stretches of equal style, the default one left out."""
    col = 0
    for style, group in groupby(styles):
        length = len(list(group))
        if style is not DEFAULT_STYLE and style != DEFAULT_STYLE:
            yield StyleRun(col, length, public_style(style))
        col += length


class Row:
    """One row of cells.

    Args:
        cols: how many cells.
        style: how the blank cells are painted.
        wrapped: whether the row continues the row before it.
        traced: whether to keep ``origins``.
    """

    __slots__ = ("chars", "origins", "styles", "view", "wrapped")

    def __init__(
        self,
        cols: int,
        style: Style = DEFAULT_STYLE,
        *,
        wrapped: bool = False,
        traced: bool = False,
    ) -> None:
        self.chars = [BLANK] * cols
        self.styles = [style] * cols
        self.origins: list[Origin | None] | None = [None] * cols if traced else None
        self.wrapped = wrapped
        self.view: tuple[str, tuple[StyleRun, ...] | None] | None = None

    def text(self, cols: int) -> str:
        """The row's text, right-trimmed. Cells beyond ``cols`` are hidden."""
        view = self.view
        if view is None:
            chars = self.chars if len(self.chars) <= cols else self.chars[:cols]
            view = self.view = ("".join(chars).replace(BLANK, " ").rstrip(" "), None)
        return view[0]

    def render(self, cols: int) -> tuple[str, tuple[StyleRun, ...]]:
        """Text and style runs: the stretches of cells that are not in the default style."""
        view = self.view
        if view is not None and view[1] is not None:
            return view  # type: ignore[return-value] # mypy does not narrow tuples
        text = self.text(cols)
        styles = self.styles if len(self.styles) <= cols else self.styles[:cols]
        runs: tuple[StyleRun, ...] = ()
        if styles != _default_styles(len(styles)):
            runs = tuple(collect_runs(styles))
        rendered = self.view = (text, runs)
        return rendered

    def is_wide(self, col: int) -> bool:
        """Whether the cell is the left half of a wide character."""
        chars = self.chars
        return col + 1 < len(chars) and chars[col + 1] == "" and chars[col] != ""

    def set_blank(self, col: int, style: Style) -> None:
        """Empty one cell."""
        self.chars[col] = BLANK
        self.styles[col] = style
        if self.origins is not None:
            self.origins[col] = None

    def fill(self, char: str, style: Style, *, unprotected_only: bool = False) -> None:
        """Set every cell."""
        if unprotected_only and any(map(is_protected, self.styles)):
            self.replace(0, len(self.chars), style, unprotected_only=True)
            return
        length = len(self.chars)
        self.chars = [char] * length
        self.styles = [style] * length
        if self.origins is not None:
            self.origins = [None] * length
        self.view = None

    def replace(
        self, start: int, end: int, style: Style, *, unprotected_only: bool = False
    ) -> None:
        """Empty the cells from ``start`` up to ``end``, and the other halves of wide characters."""
        chars = self.chars
        length = len(chars)
        end = min(end, length)
        self.view = None
        if start < length and chars[start] == "" and start:
            self.set_blank(start - 1, style)
        if start >= end:
            return
        if end < length and chars[end] == "":
            self.set_blank(end, style)
        if unprotected_only:
            for col in range(start, end):
                if not is_protected(self.styles[col]):
                    self.set_blank(col, style)
            self._mend()
            return
        chars[start:end] = [BLANK] * (end - start)
        self.styles[start:end] = [style] * (end - start)
        if self.origins is not None:
            self.origins[start:end] = [None] * (end - start)

    def insert(self, col: int, count: int, style: Style) -> None:
        """Shift the cells from ``col`` right by ``count``; what leaves the row is lost."""
        chars = self.chars
        length = len(chars)
        count = min(count, length - col)
        self.view = None
        if col and chars[col] == "":
            self.set_blank(col - 1, style)
            self.set_blank(col, style)
        keep = length - count
        if chars[keep:] and chars[keep] == "" and keep > col:
            self.set_blank(keep - 1, style)
        del chars[keep:]
        chars[col:col] = [BLANK] * count
        del self.styles[keep:]
        self.styles[col:col] = [style] * count
        if self.origins is not None:
            del self.origins[keep:]
            self.origins[col:col] = [None] * count

    def delete(self, col: int, count: int, style: Style) -> None:
        """Shift the cells right of ``col`` left by ``count``; blank ones follow from the right."""
        chars = self.chars
        length = len(chars)
        count = min(count, length - col)
        self.view = None
        if col and chars[col] == "":
            self.set_blank(col - 1, style)
        if col + count < length and chars[col + count] == "":
            self.set_blank(col + count, style)
        del chars[col : col + count]
        chars.extend([BLANK] * count)
        del self.styles[col : col + count]
        self.styles.extend([style] * count)
        if self.origins is not None:
            del self.origins[col : col + count]
            self.origins.extend([None] * count)

    def resize(self, cols: int, style: Style = DEFAULT_STYLE) -> None:
        """Cut the row or lengthen it with blank cells."""
        missing = cols - len(self.chars)
        if not missing:
            return
        self.view = None
        if missing > 0:
            self.chars.extend([BLANK] * missing)
            self.styles.extend([style] * missing)
            if self.origins is not None:
                self.origins.extend([None] * missing)
            return
        # A wide character that is cut in half stays, as in xterm.js.
        del self.chars[cols:]
        del self.styles[cols:]
        if self.origins is not None:
            del self.origins[cols:]

    def copy_cells(self, source: Row, start: int, col: int, count: int) -> None:
        """Copy ``count`` cells of ``source`` from ``start`` to ``col``."""
        self.chars[col : col + count] = source.chars[start : start + count]
        self.styles[col : col + count] = source.styles[start : start + count]
        if self.origins is not None and source.origins is not None:
            self.origins[col : col + count] = source.origins[start : start + count]
        self.view = None

    def trimmed_length(self) -> int:
        """How many cells there are up to the last one that was written to."""
        chars = self.chars
        for col in range(len(chars) - 1, -1, -1):
            if chars[col] != BLANK:
                return col + 1
        return 0

    def _mend(self) -> None:
        """Empty halves of wide characters that lost their other half."""
        chars = self.chars
        for col, char in enumerate(chars):
            if char == "" and (col == 0 or chars[col - 1] in {BLANK, ""}):
                chars[col] = BLANK
