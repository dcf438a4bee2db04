"""A style in CSS: colours as ``#rrggbb`` (a theme, and xterm's fixed 256-colour cube), and lines.

Source: xterm's 256colres (a 6x6x6 cube from 16, 24 greys from 232). The first
sixteen are the theme's own.
"""

from __future__ import annotations

import re

import msgspec

from ptycassette.model.screen import Style

_CUBE = (0, 95, 135, 175, 215, 255)
_HEX = re.compile(r"#[0-9a-fA-F]{6}\Z")


class Theme(msgspec.Struct, frozen=True, kw_only=True):
    """Default colours and the sixteen that applications name by index."""

    foreground: str
    background: str
    cursor: str
    palette: tuple[str, ...]


DARK = Theme(
    foreground="#d8dee4",
    background="#14181d",
    cursor="#d8dee4",
    palette=(
        "#1f242b",
        "#e5534b",
        "#57ab5a",
        "#c69026",
        "#539bf5",
        "#b083f0",
        "#39c5cf",
        "#b8c0c8",
        "#636e7b",
        "#ff938a",
        "#6bc46d",
        "#daaa3f",
        "#6cb6ff",
        "#dcbdfb",
        "#56d4dd",
        "#f0f3f6",
    ),
)
LIGHT = Theme(
    foreground="#1f2328",
    background="#ffffff",
    cursor="#1f2328",
    palette=(
        "#24292f",
        "#cf222e",
        "#116329",
        "#7d4e00",
        "#0969da",
        "#8250df",
        "#1b7c83",
        "#6e7781",
        "#57606a",
        "#a40e26",
        "#1a7f37",
        "#633c01",
        "#218bff",
        "#a475f9",
        "#3192aa",
        "#8c959f",
    ),
)


def theme_named(name: str) -> Theme:
    """``light``, or else ``dark``."""
    return LIGHT if name == "light" else DARK


def css_color(color: int | str | None, theme: Theme, default: str) -> str:
    """A colour of a ``Style`` as ``#rrggbb``; ``default`` for None and for anything malformed."""
    match color:
        case int() if 0 <= color < 16:
            return theme.palette[color]
        case int() if 16 <= color < 232:
            index = color - 16
            parts = (_CUBE[index // 36], _CUBE[index // 6 % 6], _CUBE[index % 6])
            return "#{:02x}{:02x}{:02x}".format(*parts)
        case int() if 232 <= color < 256:
            return "#" + f"{8 + 10 * (color - 232):02x}" * 3
        case str() if _HEX.match(color):
            return color.lower()
        case _:
            return default


def css_lines(style: Style) -> str:
    """The value of ``text-decoration``; empty for none."""
    lines = (
        ("underline", style.underline),
        ("line-through", style.strike),
        ("overline", style.overline),
    )
    return " ".join(name for name, on in lines if on)
