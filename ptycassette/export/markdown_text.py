"""Text of others in Markdown: inline code and fences that nothing in them can end."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from ptycassette.model.visible_text import printable, visible
from ptycassette.replaying.differences import folded_rows


def inline_code(text: str) -> str:
    """Inline code, also in a table, between more backticks than it contains."""
    shown = printable(text).replace("|", "\\|")
    ticks = "`" * (_longest_ticks(shown) + 1)
    space = " " if not shown.strip() or "`" in (shown[0], shown[-1]) else ""
    return f"{ticks}{space}{shown}{space}{ticks}"


def fenced(lines: Iterable[str]) -> Iterator[str]:
    """Literal lines in a fence that no line can close."""
    kept = list(lines)
    fence = "`" * max(3, 1 + max((_longest_ticks(line) for line in kept), default=0))
    yield from ("", fence, *kept, fence)


def screen_text_lines(rows: Iterable[str]) -> Iterator[str]:
    """The rows of a screen, blank ones folded."""
    for row in folded_rows(list(rows)):
        yield f"... {row} blank rows ..." if isinstance(row, int) else visible(row)


def _longest_ticks(text: str) -> int:
    return max((len(run) for run in re.findall("`+", text)), default=0)
