"""Frames as patches: of each frame only the rectangle that differs from the frame before."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from PIL import Image, ImageChops

from ptycassette.export._colors import Theme
from ptycassette.export.pictures.inks import (
    FEWER_SHADES,
    Inks,
    PaletteFullError,
    PaletteInks,
    TrueInks,
    palette_for,
)
from ptycassette.export.pictures.reel import Framing, Reel
from ptycassette.export.pictures.rows import RowPainter, color_of
from ptycassette.export.pictures.typeface import Metrics, Typeface

MARGIN = 8
"""Pixels around the screen."""
_PATIENCE = 10
"""After so many frames with too many colours for a palette, one is tried again."""
_KEPT_BYTES = 64 << 20
"""Of images of rows."""

_Box = tuple[int, int, int, int]
_Key = tuple[int, int | None]
"""The number of a row, and the column of the cursor in it."""


class Patch(NamedTuple):
    """A rectangle of a frame: all of the first one, of others what differs from the one before.

    ``image`` has the mode of the inks; ``palette`` belongs to mode ``L``. ``before`` is what was
    there, in the same numbers or colours; None where it was painted with others.
    """

    at: tuple[int, int]
    image: Image.Image
    palette: bytes | None
    before: Image.Image | None


def canvas_size(reel: Reel, metrics: Metrics) -> tuple[int, int]:
    """Width and height of a film's pictures in pixels; even, as films want them."""
    width = reel.size.cols * metrics.width + 2 * MARGIN
    height = reel.size.rows * metrics.height + 2 * MARGIN
    return width + width % 2, height + height % 2


class Painter:
    """Draws a film, frame by frame, in constant memory.

    Args:
        reel: what is drawn.
        typeface: with which glyphs.
        theme: in which colours.
        palettes: in numbers of palettes, as far as colours are few enough; in colours otherwise.
        even: patches begin and end at even pixels.
    """

    def __init__(
        self,
        reel: Reel,
        typeface: Typeface,
        theme: Theme,
        *,
        palettes: bool = False,
        even: bool = False,
    ) -> None:
        self.size = canvas_size(reel, typeface.metrics)
        self._reel = reel
        self._typeface = typeface
        self._theme = theme
        self._palettes = palettes
        self._even = even
        found = palette_for(reel.pairs(theme)) if palettes else TrueInks()
        self.palette = found.palette if isinstance(found, PaletteInks) else None
        """That of the whole film, if one is enough."""
        inks = found or PaletteInks()
        self._rows = RowPainter(typeface, theme, inks)
        self._begin(inks)

    def _begin(self, inks: Inks) -> None:
        """A clean canvas in these inks."""
        self._inks = inks
        self._since = 0
        self._rows.inks = inks
        ground = color_of(None, self._theme, self._theme.background)
        self._canvas = Image.new(inks.mode, self.size, inks.solid(ground))
        width, height = self._reel.size.cols, self._typeface.metrics.height
        blank = Image.new(
            inks.mode, (width * self._typeface.metrics.width, height), inks.solid(ground)
        )
        self._blank = blank
        self._shown: list[tuple[_Key | None, Image.Image]] = [
            (None, blank) for _ in range(self._reel.size.rows)
        ]
        self._kept: dict[_Key, Image.Image] = {}
        per_row = max(1, blank.width * blank.height * (1 if inks.mode == "L" else 4))
        self._most_kept = max(2 * self._reel.size.rows, _KEPT_BYTES // per_row)

    @property
    def is_exact(self) -> bool:
        """Whether colours are as they would be without palettes, so far."""
        return not isinstance(self._inks, PaletteInks) or self._inks.is_exact

    def patches(self) -> Iterator[Patch]:
        """One for each frame; of the smallest size where nothing can be seen of a change."""
        for number, (_, frame) in enumerate(self._reel.frames):
            yield self._patch(frame, whole=number == 0)

    def _patch(self, frame: Framing, *, whole: bool) -> Patch:
        self._since += 1
        without = self._palettes and isinstance(self._inks, TrueInks)
        try:
            # After a while without a palette, one may be enough again.
            changed = None if without and self._since > _PATIENCE else self._changed(frame)
        except PaletteFullError:
            changed = None
        if changed is None:
            changed, whole = self._restarted(frame), True
        box = (0, 0, *self.size) if whole else self._box(changed)
        before = None if whole else self._canvas.crop(box)
        for row, image, _ in changed:
            self._canvas.paste(image, (MARGIN, MARGIN + row * self._typeface.metrics.height))
        palette = self._inks.palette if isinstance(self._inks, PaletteInks) else None
        return Patch(box[:2], self._canvas.crop(box), palette, before)

    def _restarted(self, frame: Framing) -> list[tuple[int, Image.Image, _Box]]:
        """The whole frame, in a palette of its own, or in colours if it has too many."""
        attempts: tuple[Callable[[], Inks], ...] = (
            PaletteInks, lambda: PaletteInks(FEWER_SHADES), TrueInks,
        )  # fmt: skip
        for inks in attempts:
            self._begin(inks())
            try:
                return self._changed(frame)
            except PaletteFullError:
                continue
        raise AssertionError("true inks have no palette")

    def _changed(self, frame: Framing) -> list[tuple[int, Image.Image, _Box]]:
        """Rows that look different, with where; they count as shown from now on."""
        found = []
        for row, (old_key, old) in enumerate(self._shown):
            key = self._key(frame, row)
            if key == old_key:
                continue
            image = self._blank if key is None else self._image(key)
            box = ImageChops.difference(old, image).getbbox()
            self._shown[row] = (key, image)
            if box is not None:
                found.append((row, image, box))
        return found

    def _key(self, frame: Framing, row: int) -> _Key | None:
        if frame.caption is not None and row == self._reel.size.rows - 1:
            return frame.caption, None
        if row >= len(frame.rows):
            return None
        cursor = frame.cursor
        inside = cursor.visible and cursor.row == row and 0 <= cursor.col < frame.size.cols
        return frame.rows[row], cursor.col if inside else None

    def _image(self, key: _Key) -> Image.Image:
        image = self._kept.pop(key, None)
        if image is None:
            number, cursor = key
            image = self._rows.paint(self._reel.cells(number), cursor)
            if image.width < self._blank.width:
                narrow, image = image, self._blank.copy()
                image.paste(narrow, (0, 0))
            if len(self._kept) >= self._most_kept:
                del self._kept[next(iter(self._kept))]
        self._kept[key] = image  # the one used last is at the end
        return image

    def _box(self, changed: list[tuple[int, Image.Image, _Box]]) -> _Box:
        if not changed:
            return (0, 0, 2, 2) if self._even else (0, 0, 1, 1)
        height = self._typeface.metrics.height
        left = MARGIN + min(box[0] for _, _, box in changed)
        right = MARGIN + max(box[2] for _, _, box in changed)
        top = MARGIN + min(row * height + box[1] for row, _, box in changed)
        bottom = MARGIN + max(row * height + box[3] for row, _, box in changed)
        if self._even:
            left, top = left - left % 2, top - top % 2
            right, bottom = right + right % 2, bottom + bottom % 2
        return left, top, right, bottom
