"""What painters ask of fonts."""

from __future__ import annotations

from typing import Protocol

import msgspec
from PIL import Image


class Metrics(msgspec.Struct, frozen=True):
    """A cell in pixels; ``baseline`` is counted from its top."""

    width: int
    height: int
    baseline: int


class Typeface(Protocol):
    """Glyphs of one size."""

    @property
    def metrics(self) -> Metrics:
        """The size of a cell."""
        ...

    def glyph(self, text: str, cells: int, *, bold: bool, italic: bool) -> Image.Image:
        """A cluster: coverage (mode ``L``), or a coloured picture (mode ``RGBA``)."""
        ...
