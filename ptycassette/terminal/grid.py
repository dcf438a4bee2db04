"""Rows of cells: the only place that knows how cells are stored.

A row is two parallel lists, ``chars`` and ``styles``, one item per cell. In
``chars`` a cell is

* a string of one grapheme cluster,
* ``""`` for the right half of the wide character before it, or
* ``BLANK`` (U+0000) for a cell that nothing was written to. It looks like a
  space, but reflow treats it as the end of the text.

``origins`` is an optional third list: which bytes painted each cell (see
``ptycassette.terminal._trace``). Every operation that moves cells moves it, too. Only a
traced terminal fills it, so that an ordinary one is not slowed down.

``view`` caches the row's text and style runs. Code that changes a cell sets it to
``None``.

Rows whose cells are all equal (blank, or filled by DECALN) share their lists. So
clearing or scrolling a screen of a million cells costs no more than its rows. ``own``
is true if the lists belong to the row alone; if not, code that changes them calls
``take_over`` first.

The semantics of insert, delete and replace, above all what happens to half of a
wide character, are those of xterm.js.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import groupby
from typing import Final

from ptycassette.model.screen import DEFAULT_STYLE, Style, StyleRun
from ptycassette.terminal._pens import is_protected, public_style

BLANK: Final = "\0"

Origin = int | tuple[int, int]
"""The first byte that painted a cell, or first byte and end of the stretch that did."""


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


class Uniform:
    """The lists that rows of equal cells share. Immutable.

    Args:
        cols: how many cells.
        char: the text of each cell.
        style: the style of each cell.
    """

    __slots__ = ("chars", "style", "styles", "view")

    def __init__(self, cols: int, char: str, style: Style) -> None:
        self.style = style
        self.chars = [char] * cols
        self.styles = [style] * cols
        text = "" if char == BLANK else char * cols
        self.view = (text, tuple(collect_runs(self.styles)))


class Row:
    """One row of cells.

    Args:
        cols: how many cells.
        style: how the blank cells are painted.
        wrapped: whether the row continues the row before it.
        traced: whether to keep ``origins``.
    """

    __slots__ = ("chars", "origins", "own", "styles", "view", "wrapped")

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
        self.own = True
        self.origins: list[Origin | None] | None = [None] * cols if traced else None
        self.wrapped = wrapped
        self.view: tuple[str, tuple[StyleRun, ...] | None] | None = None

    @classmethod
    def sharing(cls, cells: Uniform, *, wrapped: bool = False) -> Row:
        """A row that shares its lists until something is written to it. Untraced."""
        row = cls.__new__(cls)
        row.chars, row.styles, row.view = cells.chars, cells.styles, cells.view
        row.own = False
        row.origins = None
        row.wrapped = wrapped
        return row

    def share(self, cells: Uniform) -> None:
        """Share these lists from now on."""
        self.chars, self.styles, self.view = cells.chars, cells.styles, cells.view
        self.own = False

    def take_over(self) -> None:
        """Copy shared lists, because they are about to change."""
        if not self.own:
            length = len(self.chars)
            self.chars, self.styles = [self.chars[0]] * length, [self.styles[0]] * length
            self.own = True

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
        if not self.own:
            self.take_over()
        self.chars[col] = BLANK
        self.styles[col] = style
        if self.origins is not None:
            self.origins[col] = None

    def fill(self, cells: Uniform, *, unprotected_only: bool = False) -> None:
        """Set every cell."""
        length = len(self.chars)
        if unprotected_only and any(
            map(is_protected, self.styles if self.own else self.styles[:1])
        ):
            self.replace(0, length, cells.style, unprotected_only=True)
            return
        if self.origins is None and length == len(cells.chars):
            self.share(cells)
            return
        # It is still as long as on a wider screen, or it is traced.
        self.chars = [cells.chars[0]] * length
        self.styles = [cells.style] * length
        self.own = True
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
        if not self.own:
            if self._is_blank(style):
                return
            self.take_over()
            chars = self.chars
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
        if not self.own:
            if self._is_blank(style):
                return
            self.take_over()
            chars = self.chars
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
        if not self.own:
            if self._is_blank(style):
                return
            self.take_over()
            chars = self.chars
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
        self.take_over()
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
        self.take_over()
        self.chars[col : col + count] = source.chars[start : start + count]
        self.styles[col : col + count] = source.styles[start : start + count]
        if self.origins is not None and source.origins is not None:
            self.origins[col : col + count] = source.origins[start : start + count]
        self.view = None

    def trimmed_length(self) -> int:
        """The number of cells up to the last one that was written to."""
        chars = self.chars
        if not self.own and chars[0] == BLANK:
            return 0
        for col in range(len(chars) - 1, -1, -1):
            if chars[col] != BLANK:
                return col + 1
        return 0

    def _is_blank(self, style: Style) -> bool:
        """Whether the cells of this row are all blank in that style already."""
        return self.chars[0] == BLANK and self.styles[0] is style

    def _mend(self) -> None:
        """Empty halves of wide characters that lost their other half."""
        chars = self.chars
        for col, char in enumerate(chars):
            if char == "" and (col == 0 or chars[col - 1] in {BLANK, ""}):
                chars[col] = BLANK
