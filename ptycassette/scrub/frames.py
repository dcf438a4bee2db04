"""Frames whose screens were made elsewhere: scrubbed as the text that they hold."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain

from ptycassette.scrub.canonical import canonical, plain
from ptycassette.scrub.panes import pane_texts
from ptycassette.scrub.paragraphs import unwrapped
from ptycassette.scrub.patches import Patches
from ptycassette.scrub.rows import (
    RowCopy,
    ScreenView,
    Segment,
    joined_rows,
    line_of,
    put_together,
)
from ptycassette.scrub.search import Match, Searcher

__all__ = ["scrubbed_rows"]


def scrubbed_rows(searcher: Searcher, rows: tuple[str, ...]) -> tuple[tuple[str, ...], list[Match]]:
    """The rows of one frame with secrets masked, cell for cell, and what was found."""
    whole = canonical("\n".join(rows))
    view = _view(rows)
    patches = Patches()
    matches = list(searcher.search(view.text))
    for match in matches:
        for start, end in match.stretches:
            for offset, data in view.patches(start, end, match.form):
                patches.add(offset, data)
    if not matches:
        return rows, matches
    masked = patches.apply(whole.encode("latin-1"), 0).decode("latin-1")
    return tuple(plain(masked).split("\n")), matches


def _view(rows: Iterable[str]) -> ScreenView:
    """The rows as they would be searched on a screen; offsets count canonical characters."""
    copies, padded = [], []
    offset = 0
    for row in rows:
        chars = list(row)
        origins = []
        for char in chars:
            origins.append(offset)
            offset += len(canonical(char))
        copies.append(RowCopy(chars, origins, wrapped=False))
        padded.append(line_of(RowCopy([*chars, " "], [*origins, None], wrapped=False)))
        offset += 1
    lines = [*map(line_of, copies)]
    texts: list[str] = []
    starts: list[int] = []
    segments: list[Segment | None] = []
    length = 0
    paragraphs = (
        put_together((padded[number], start, end) for number, start, end in pieces)
        for pieces in unwrapped([line.text.rstrip() for line in lines])
    )
    width = max((len(copy.chars) for copy in copies), default=0)
    in_panes = pane_texts([_as_wide(copy, width) for copy in copies], width)
    for text, parts in chain(joined_rows(lines), paragraphs, in_panes):
        for position, segment in parts:
            starts.append(length + position)
            segments.append(segment)
        starts.append(length + len(text))
        segments.append(None)
        texts.append(text)
        length += len(text) + 1
    return ScreenView("\n".join(texts), starts=starts, segments=segments)


def _as_wide(row: RowCopy, width: int) -> RowCopy:
    """A row with blanks behind it, so that what stands in one column of all has one number."""
    behind = width - len(row.chars)
    return RowCopy([*row.chars, *" " * behind], [*row.origins, *[None] * behind], wrapped=False)
