"""One screen as text and as ANSI. Pure; the results can be shown anywhere.

Text that a program painted is data here: characters that act on a terminal or hide
text are replaced, and links are left out.
"""

from __future__ import annotations

import re
from itertools import groupby
from typing import Final

from ptycassette.model.screen import Screen, Style
from ptycassette.terminal.repaint import sgr_of
from ptycassette.terminal.widths import WidthModeName, row_cells

_UNSAFE: Final = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)


def _safe(text: str) -> str:
    return _UNSAFE.sub("\ufffd", text)


def render_text(screen: Screen) -> str:
    """The rows joined by newlines, without empty rows at the end."""
    return "\n".join(_safe(row) for row in screen.rows).rstrip("\n")


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
