"""Cells as pyte has them, for code that was written for pyte."""

from __future__ import annotations

from typing import Final

import pyte

from ptycassette.model.screen import Style
from ptycassette.terminal.grid import BLANK

_SGR_NAMES: Final = ("black", "red", "green", "brown", "blue", "magenta", "cyan", "white")


def _color(color: int | str | None) -> str:
    """A colour in pyte's notation."""
    if color is None:
        return "default"
    if isinstance(color, str):
        return color.removeprefix("#")
    if color < len(_SGR_NAMES):
        return _SGR_NAMES[color]
    if color < 2 * len(_SGR_NAMES):
        return f"bright{_SGR_NAMES[color - len(_SGR_NAMES)]}"
    return str(pyte.graphics.FG_BG_256[color])


def pyte_cell(char: str, style: Style) -> pyte.screens.Char:
    """A character and its style as pyte's ``Char``."""
    return pyte.screens.Char(
        " " if char == BLANK else char,
        _color(style.fg),
        _color(style.bg),
        style.bold,
        style.italic,
        bool(style.underline),
        style.strike,
        style.reverse,
        style.blink,
    )
