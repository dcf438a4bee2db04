"""One screen as text and as ANSI. Pure; the results can be shown anywhere.

Text that a program painted is data here: characters that act on a terminal or hide
text are replaced, and links are left out.
"""

from __future__ import annotations

import re
from itertools import groupby
from typing import Final

from ptycassette.model import Screen, Style
from ptycassette.terminal.cells import row_cells
from ptycassette.terminal.widths import WidthModeName

__all__ = ["render_ansi", "render_text", "sgr_of"]

_UNSAFE: Final = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
_UNDERLINES: Final = {
    "single": "4",
    "double": "4:2",
    "curly": "4:3",
    "dotted": "4:4",
    "dashed": "4:5",
}
_FLAGS: Final = {
    "bold": "1",
    "dim": "2",
    "italic": "3",
    "blink": "5",
    "reverse": "7",
    "hidden": "8",
    "strike": "9",
    "overline": "53",
}


def _safe(text: str) -> str:
    return _UNSAFE.sub("\ufffd", text)


def render_text(screen: Screen) -> str:
    """The rows joined by newlines, without empty rows at the end."""
    return "\n".join(_safe(row) for row in screen.rows).rstrip("\n")


def sgr_of(style: Style) -> str:
    """The SGR parameters that select a style, from the default one."""
    codes = ["0"]
    codes += [code for name, code in _FLAGS.items() if getattr(style, name)]
    if style.underline:
        codes.append(_UNDERLINES[style.underline])
    for color, basic, code in ((style.fg, (30, 90), 38), (style.bg, (40, 100), 48)):
        codes.extend(_color_codes(color, basic, code))
    codes.extend(_color_codes(style.underline_color, None, 58))
    return ";".join(codes)


def _color_codes(color: int | str | None, basic: tuple[int, int] | None, code: int) -> list[str]:
    if color is None:
        return []
    if isinstance(color, str):
        red, green, blue = (int(color[at : at + 2], 16) for at in (1, 3, 5))
        return [
            f"{code}:2::{red}:{green}:{blue}" if code == 58 else f"{code};2;{red};{green};{blue}"
        ]
    if basic is not None and color < 16:
        return [str(basic[color // 8] + color % 8)]
    return [f"{code}:5:{color}" if code == 58 else f"{code};5;{color}"]


def render_ansi(screen: Screen, *, width: WidthModeName = "cluster") -> str:
    """Rows with SGR sequences, newlines between them; nothing else that acts on a terminal."""
    return "\n".join(_ansi_row(screen, row, width) for row in range(len(screen.rows)))


def _ansi_row(screen: Screen, row: int, width: WidthModeName) -> str:
    cells = row_cells(screen, row, width=width)
    parts = []
    for style, group in groupby(cells, key=lambda cell: cell.style):
        text = _safe("".join(cell.text for cell in group))
        parts.append(text if style == Style() else f"\x1b[{sgr_of(style)}m{text}\x1b[0m")
    line = "".join(parts)
    return line.rstrip(" ")
