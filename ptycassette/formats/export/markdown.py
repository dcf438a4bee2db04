"""Export a recording as Markdown for a pull request: the input and, folded, the screens.

Each turn has the screen at its end (or the output, over pipes) and the events in it. The folds are
HTML (``details``), which GitHub and GitLab show. Untrusted text is escaped in their heads, and
inline code or in a fence below.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator
from html import escape

from ptycassette.errors import UsageError
from ptycassette.formats.export.page.recording import Item, ListedTurn, read_turns, turn_name
from ptycassette.formats.export.registry import ExportSource
from ptycassette.keys.quantities import clock_text
from ptycassette.model.visible_text import printable, visible
from ptycassette.replaying.divergence import folded_rows

# Untrusted text in Markdown: inline code and fences that nothing in them can end.


def inline_code(text: str) -> str:
    """Inline code, also valid in a table, between more backticks than it contains."""
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


def recording_markdown(
    source: ExportSource, *, title: str | None = None, exchanges: tuple[int, int] | None = None
) -> Iterator[bytes]:
    """A recording as Markdown, in pieces, UTF-8.

    Args:
        source: the recording.
        title: its heading; the program when None.
        exchanges: the first and the last exchange to include; all when None.

    Raises:
        UsageError: ``source`` is not a whole cassette, or has no such exchange.
    """
    name = title or shlex.join(source.manifest.command.argv or ()) or source.manifest.harness.name
    read = read_turns(source)
    chosen = [
        (turn, shown)
        for turn, shown in zip(read.listing.turns, read.shown, strict=True)
        if (turn.typed is not None or turn.items or shown) and _is_in(turn, exchanges)
    ]
    if not chosen:
        raise UsageError(
            "there is no such exchange",
            where=str(source.path),
            hint=f"the last one is {read.listing.turns[-1].last_exchange}",
        )
    yield from _written((f"# {inline_code(name)}", "", inline_code(read.summary)))
    for turn, shown in chosen:
        yield from _written(_turn(turn, shown))


def _is_in(turn: ListedTurn, exchanges: tuple[int, int] | None) -> bool:
    if exchanges is None:
        return True
    return turn.first_exchange <= exchanges[1] and turn.last_exchange >= exchanges[0]


def _written(lines: Iterable[str]) -> Iterator[bytes]:
    for line in lines:
        yield line.encode("utf-8", "replace") + b"\n"


def _turn(turn: ListedTurn, shown: tuple[str, ...]) -> Iterator[str]:
    typed = "" if turn.typed is None else "(masked)" if turn.masked else turn.typed
    code = f": <code>{escape(printable(typed, limit=400))}</code>" if typed else ""
    yield ""
    when = f"{clock_text(turn.t_us, decimals=2)} s"
    yield f"<details><summary>{turn_name(turn)}, {when}{code}</summary>"
    yield ""
    yield from (_item(item) for item in turn.items if item.kind != "terminal")
    yield from fenced(screen_text_lines(shown))
    yield from ("", "</details>")


def _item(item: Item) -> str:
    text = f" {inline_code(item.text[:400])}" if item.text else ""
    return f"- {clock_text(item.t_us, decimals=2)} s {item.label}{text}"
