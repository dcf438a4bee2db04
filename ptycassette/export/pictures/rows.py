"""A row of a screen as an image."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

import msgspec
from PIL import Image, ImageDraw

from ptycassette.export._colors import Theme, css_color
from ptycassette.export.pictures.inks import Color, Inks, Laid, flattened
from ptycassette.export.pictures.shapes import hollow, is_shape, shape
from ptycassette.export.pictures.typeface import Typeface
from ptycassette.model.screen import DEFAULT_STYLE, Style
from ptycassette.replaying.cells import Cell

MOST_GLYPHS = 20_000
"""Of more in one film the rest become boxes. A glyph takes up to a millisecond; sessions have some
hundreds."""
_DIM = 153
"""Of 255: dim text is laid with 60 % of its colour."""
_Run = list[tuple[int, Cell]]


class Look(msgspec.Struct, frozen=True):
    """The colours of a cell, with reverse, dim and the cursor worked in."""

    front: Color
    ground: Color
    line: Color

    @property
    def laid(self) -> Laid:
        """Text on its ground."""
        return self.front, self.ground


def color_of(color: int | str | None, theme: Theme, default: str) -> Color:
    """A colour of a style as red, green and blue."""
    text = css_color(color, theme, default)
    return int(text[1:3], 16), int(text[3:5], 16), int(text[5:7], 16)


def look_of(style: Style, theme: Theme, *, cursor: bool = False) -> Look:
    """How a style is painted; the cursor is a block that shows the text in its ground."""
    front = color_of(style.fg, theme, theme.foreground)
    ground = color_of(style.bg, theme, theme.background)
    if style.reverse:
        front, ground = ground, front
    if cursor:
        front, ground = ground, color_of(theme.cursor, theme, theme.cursor)
        if front == ground:
            front = color_of(theme.background, theme, theme.background)
    elif style.dim:
        front = _mixed(front, ground)
    line = front
    if style.underline_color is not None and not cursor:
        line = color_of(style.underline_color, theme, theme.foreground)
    return Look(ground if style.hidden else front, ground, ground if style.hidden else line)


def _mixed(front: Color, ground: Color) -> Color:
    red, green, blue = (
        (a * _DIM + b * (255 - _DIM)) // 255 for a, b in zip(front, ground, strict=True)
    )
    return red, green, blue


class RowPainter:
    """Paints rows of cells in the inks of a picture.

    Args:
        typeface: for what is not a shape.
        theme: the colours that programs name by number, and the default ones.
        inks: of the image; they may be changed, glyphs are kept without colour.
    """

    def __init__(self, typeface: Typeface, theme: Theme, inks: Inks) -> None:
        self.inks = inks
        self._typeface = typeface
        self._theme = theme
        self._glyphs: dict[tuple[str, int, bool, bool], Image.Image] = {}
        self._looks: dict[tuple[Style, bool], Look] = {}

    def paint(self, cells: Sequence[Cell], cursor: int | None) -> Image.Image:
        """The image of a row; ``cursor`` is the column of the cursor, if it is in this row."""
        cell = self._typeface.metrics
        ground = self.inks.solid(self._look(DEFAULT_STYLE, cursor=False).ground)
        row = Image.new(self.inks.mode, (len(cells) * cell.width, cell.height), ground)
        for (style, has_cursor), run in _runs(cells, cursor):
            look = self._look(style, cursor=has_cursor)
            self._run(row, run, style, look)
            if style.underline or style.strike or style.overline:
                left = run[0][0] * cell.width
                right = left + sum(one.width for _, one in run) * cell.width
                self._lines(row, left, right, style, look)
        return row

    def _look(self, style: Style, *, cursor: bool) -> Look:
        look = self._looks.get((style, cursor))
        if look is None:
            look = self._looks[style, cursor] = look_of(style, self._theme, cursor=cursor)
        return look

    def _run(self, row: Image.Image, run: _Run, style: Style, look: Look) -> None:
        cell = self._typeface.metrics
        left = run[0][0]
        wide = sum(one.width for _, one in run) * cell.width
        if style.hidden or all(one.text == " " for _, one in run):
            box = (left * cell.width, 0, left * cell.width + wide, cell.height)
            row.paste(self.inks.solid(look.ground), box)
            return
        strip = Image.new("L", (wide, cell.height))
        stamps = []
        for col, one in run:
            if one.text == " ":
                continue
            glyph = self._glyph(one.text, one.width, style)
            if glyph.mode == "L":
                strip.paste(glyph, ((col - left) * cell.width, 0))
            else:
                stamps.append((col, glyph))
        self.inks.lay(row, (left * cell.width, 0), strip, look.laid)
        for col, glyph in stamps:
            self.inks.stamp(row, (col * cell.width, 0), glyph, look.ground)

    def _glyph(self, text: str, cells: int, style: Style) -> Image.Image:
        key = (text, cells, style.bold, style.italic)
        glyph = self._glyphs.get(key)
        if glyph is None:
            metrics = self._typeface.metrics
            if len(self._glyphs) >= MOST_GLYPHS:
                return hollow(cells * metrics.width, metrics.height)
            if is_shape(text):
                glyph = flattened(shape(text, cells * metrics.width, metrics.height))
            else:
                glyph = self._typeface.glyph(text, cells, bold=style.bold, italic=style.italic)
                glyph = flattened(glyph) if glyph.mode == "L" else glyph
            self._glyphs[key] = glyph
        return glyph

    def _lines(self, row: Image.Image, left: int, right: int, style: Style, look: Look) -> None:
        metrics = self._typeface.metrics
        draw = ImageDraw.Draw(row)
        thick = max(1, metrics.height // 20)

        def line(top: int, color: Color) -> None:
            box = (left, top, right - 1, top + thick - 1)
            draw.rectangle(box, fill=self.inks.solid(color))

        if style.strike:
            line(metrics.baseline - round(metrics.baseline * 0.3), look.front)
        if style.overline:
            line(0, look.front)
        if not style.underline:
            return
        below = min(metrics.baseline + 2, metrics.height - 3 * thick)
        match style.underline:
            case "double":
                line(below, look.line)
                line(below + 2 * thick, look.line)
            case "curly" | "dotted" | "dashed":
                fill = self.inks.solid(look.line)
                for box in _pattern(style.underline, left, right, below, thick):
                    draw.rectangle(box, fill=fill)
            case _:
                line(below, look.line)


def _pattern(
    kind: str, left: int, right: int, top: int, thick: int
) -> Iterator[tuple[int, int, int, int]]:
    """The rectangles of a line that is not straight or not whole, with their last pixels."""
    on, period = {"curly": (2, 4), "dotted": (1, 2), "dashed": (4, 6)}[kind]
    for begin in range(left - left % (period * thick), right, period * thick):
        for at, down in ((begin, 0), (begin + on * thick, thick)):
            end = min(at + on * thick, right) - 1
            if end >= max(at, left) and (not down or kind == "curly"):
                yield max(at, left), top + down, end, top + down + thick - 1


def _runs(cells: Sequence[Cell], cursor: int | None) -> Iterator[tuple[tuple[Style, bool], _Run]]:
    """Neighbours of one style, without the right halves of wide cells."""
    if cursor is not None:
        while cursor > 0 and not cells[cursor].width:
            cursor -= 1
    shown = ((col, cell) for col, cell in enumerate(cells) if cell.width)
    for key, group in groupby(shown, key=lambda one: (one[1].style, one[0] == cursor)):
        yield key, list(group)
