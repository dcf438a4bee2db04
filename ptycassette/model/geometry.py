"""Sizes and cursor positions, spelled as the format spells them."""

from __future__ import annotations

import msgspec


class Size(msgspec.Struct, frozen=True, forbid_unknown_fields=False):
    """A terminal size in character cells. JSON: ``{"Rows": 24, "Cols": 80}``."""

    rows: int = msgspec.field(name="Rows")
    cols: int = msgspec.field(name="Cols")

    def __str__(self) -> str:
        """``COLSxROWS``, such as ``80x24``; ``ptycassette.keys.quantities.parse_size`` reads it."""
        return f"{self.cols}x{self.rows}"


class Cursor(msgspec.Struct, frozen=True):
    """A cursor position, counted from 0. JSON: ``{"Row": 0, "Col": 0, "Visible": true}``."""

    row: int = msgspec.field(name="Row")
    col: int = msgspec.field(name="Col")
    visible: bool = msgspec.field(name="Visible", default=True)
