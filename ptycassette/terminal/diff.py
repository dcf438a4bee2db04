"""What differs between two screens, in cells and in words.

``diff(a, b)`` compares everything a person can see. ``ScreenDiff.lines`` is for
people: one line per finding, with unprintable characters escaped.
``ScreenDiff.cells`` is for programs.
"""

from __future__ import annotations

from itertools import groupby
from typing import Final

import msgspec

from ptycassette.model import DEFAULT_STYLE, Screen, Style
from ptycassette.model.visible import visible
from ptycassette.terminal.cells import ScreenCell, screen_cells
from ptycassette.terminal.widths import WidthModeName

__all__ = ["CellChange", "ScreenDiff", "diff", "style_words"]

_MAX_SHOWN: Final = 200


class CellChange(msgspec.Struct, frozen=True):
    """One cell that differs. ``row`` and ``col`` count from 0."""

    row: int
    col: int
    before: ScreenCell
    after: ScreenCell


class ScreenDiff(msgspec.Struct, frozen=True, kw_only=True):
    """The differences. Falsy when there are none."""

    cells: tuple[CellChange, ...]
    lines: tuple[str, ...]

    def __bool__(self) -> bool:
        return bool(self.lines)

    def __str__(self) -> str:
        return "\n".join(self.lines)


def diff(
    before: Screen, after: Screen, *, styles: bool = True, width: WidthModeName = "cluster"
) -> ScreenDiff:
    """Compare two screens.

    Args:
        before: the screen expected, or the earlier one.
        after: the screen got, or the later one.
        styles: whether a difference in style alone counts.
        width: how the emulator measured.
    """
    lines = list(_facts(before, after))
    cells = tuple(_changed_cells(before, after, styles=styles, width=width))
    for row, changes in groupby(cells, key=lambda change: change.row):
        lines.extend(_row_lines(before, after, row, list(changes)))
    return ScreenDiff(cells=cells, lines=tuple(lines))


def _facts(before: Screen, after: Screen) -> list[str]:
    """Compare everything except cells."""
    lines = []
    if before.size != after.size:
        old, new = before.size, after.size
        lines.append(f"size: {old.rows} rows by {old.cols} columns became {new.rows} by {new.cols}")
    if before.alt_screen != after.alt_screen:
        lines.append(f"alternate screen: {'entered' if after.alt_screen else 'left'}")
    old_at, new_at = before.cursor, after.cursor
    if (old_at.row, old_at.col) != (new_at.row, new_at.col):
        lines.append(
            f"cursor: row {old_at.row + 1} column {old_at.col + 1} became "
            f"row {new_at.row + 1} column {new_at.col + 1}"
        )
    if old_at.visible != new_at.visible:
        lines.append(f"cursor: became {'visible' if new_at.visible else 'hidden'}")
    if before.title != after.title:
        lines.append(f"title: '{visible(before.title)}' became '{visible(after.title)}'")
    on, off = sorted(after.modes - before.modes), sorted(before.modes - after.modes)
    if on:
        lines.append(f"modes set: {', '.join(on)}")
    if off:
        lines.append(f"modes reset: {', '.join(off)}")
    return lines


def _changed_cells(
    before: Screen, after: Screen, *, styles: bool, width: WidthModeName
) -> list[CellChange]:
    old_rows, new_rows = screen_cells(before, width=width), screen_cells(after, width=width)
    outside = ScreenCell("", DEFAULT_STYLE)
    changes = []
    for row in range(max(len(old_rows), len(new_rows))):
        old = old_rows[row] if row < len(old_rows) else []
        new = new_rows[row] if row < len(new_rows) else []
        if old == new:
            continue
        for col in range(max(len(old), len(new))):
            a = old[col] if col < len(old) else outside
            b = new[col] if col < len(new) else outside
            if a.text != b.text or (styles and a.style != b.style):
                changes.append(CellChange(row, col, a, b))
    return changes


def _row_lines(before: Screen, after: Screen, row: int, changes: list[CellChange]) -> list[str]:
    first, last = changes[0].col + 1, changes[-1].col + 1
    where = f"row {row + 1}, " + (f"column {first}" if first == last else f"columns {first}-{last}")
    if row >= len(before.rows) or row >= len(after.rows):
        return [f"row {row + 1}: {'new' if row >= len(before.rows) else 'gone'}"]
    if all(change.before.text == change.after.text for change in changes):
        old, new = changes[0].before.style, changes[0].after.style
        return [f"{where}: {style_words(old)} became {style_words(new)}"]
    return [
        f"{where}:",
        f"  - {visible(before.rows[row], limit=_MAX_SHOWN)}",
        f"  + {visible(after.rows[row], limit=_MAX_SHOWN)}",
    ]


def style_words(style: Style) -> str:
    """A style in words: ``bold, red on blue``."""
    flags = ("bold", "dim", "italic", "blink", "reverse", "hidden", "strike", "overline")
    words = [name for name in flags if getattr(style, name)]
    if style.underline:
        words.append("underline" if style.underline == "single" else f"{style.underline} underline")
    if style.fg is not None:
        words.append(f"colour {style.fg}")
    if style.bg is not None:
        words.append(f"on {style.bg}")
    if style.underline_color is not None:
        words.append(f"underlined in {style.underline_color}")
    if style.link is not None:
        words.append(f"link to {visible(style.link, limit=80)}")
    return ", ".join(words) or "default style"
