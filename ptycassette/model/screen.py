"""A rendered screen as a value: rows of text, runs of equal style, cursor, title, modes.

``Screen.rows`` are right-trimmed. A wide character appears once in the text and takes two cells;
``StyleRun`` counts in cells. Only runs that differ from the default style are listed.
"""

from __future__ import annotations

from typing import Annotated

import msgspec

# Sizes and cursor positions, spelled as the format spells them.


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


class Style(msgspec.Struct, frozen=True, omit_defaults=True):
    """How a cell is painted (ECMA-48 SGR, 8.3.117, and xterm's additions).

    A colour is ``None`` (default), an ``int`` 0-255 (palette index) or a
    string ``#rrggbb``. ``underline`` is ``""``, ``single``, ``double``,
    ``curly``, ``dotted`` or ``dashed``.
    """

    fg: int | str | None = None
    bg: int | str | None = None
    bold: bool = False
    dim: bool = False
    italic: bool = False
    underline: str = ""
    underline_color: int | str | None = None
    blink: bool = False
    reverse: bool = False
    hidden: bool = False
    strike: bool = False
    overline: bool = False
    link: str | None = None


DEFAULT_STYLE = Style()


class StyleRun(msgspec.Struct, frozen=True):
    """``length`` cells from column ``col`` (0-based) painted in one style.

    Decoding refuses what fits no terminal, so that a cassette cannot make its
    readers allocate what it likes.
    """

    col: Annotated[int, msgspec.Meta(ge=0, le=0xFFFF)]
    length: Annotated[int, msgspec.Meta(ge=1, le=0xFFFF)]
    style: Style


class Screen(msgspec.Struct, frozen=True, kw_only=True):
    """One screen. ``styles`` has one tuple of runs per row."""

    size: Size
    rows: tuple[str, ...]
    styles: tuple[tuple[StyleRun, ...], ...] = ()
    cursor: Cursor
    title: str = ""
    alt_screen: bool = False
    modes: frozenset[str] = frozenset()

    @property
    def text(self) -> str:
        """All rows, joined by newlines, without empty rows at the end."""
        return "\n".join(self.rows).rstrip("\n")
