"""The parameters of SGR that select a style (ECMA-48 8.3.117, and xterm's additions).

A screen may come from a stranger's cassette, with any text as a colour; text that is not a
colour gives no parameters.
"""

from __future__ import annotations

import re
from typing import Final

from ptycassette.model.screen import Style

_ATTRIBUTES: Final = {
    "bold": "1",
    "dim": "2",
    "italic": "3",
    "blink": "5",
    "reverse": "7",
    "hidden": "8",
    "strike": "9",
    "overline": "53",
}
_UNDERLINES: Final = {
    "single": "4",
    "double": "4:2",
    "curly": "4:3",
    "dotted": "4:4",
    "dashed": "4:5",
}
_RGB: Final = re.compile(r"#([0-9a-fA-F]{2})([0-9a-fA-F]{2})([0-9a-fA-F]{2})\Z")


def sgr_of(style: Style) -> str:
    """The parameters that select all of ``style``, from the default one."""
    codes = ["0", *attribute_parameters(style)]
    if style.underline in _UNDERLINES:
        codes.append(_UNDERLINES[style.underline])
    codes += color_parameters(style.fg, 30)
    codes += color_parameters(style.bg, 40)
    match style.underline_color:
        case int(index) if 0 <= index < 256:
            codes.append(f"58:5:{index}")
        case str(color) if rgb := _rgb(color):
            codes.append(f"58:2::{':'.join(rgb)}")
    return ";".join(codes)


def attribute_parameters(style: Style) -> list[str]:
    """The parameters of all attributes except colours and underlines."""
    return [code for name, code in _ATTRIBUTES.items() if getattr(style, name)]


def color_parameters(color: int | str | None, base: int) -> list[str]:
    """The parameters of a colour; ``base`` is 30 for the foreground, 40 for the background."""
    match color:
        case int() if 0 <= color < 8:
            return [str(base + color)]
        case int() if 8 <= color < 16:
            return [str(base + 60 + color - 8)]
        case int() if 16 <= color < 256:
            return [str(base + 8), "5", str(color)]
        case str() if rgb := _rgb(color):
            return [str(base + 8), "2", *rgb]
    return []


def _rgb(color: str) -> list[str]:
    """Red, green and blue of ``#rrggbb`` as decimal numbers; empty for anything else."""
    found = _RGB.match(color)
    return [str(int(part, 16)) for part in found.groups()] if found else []
