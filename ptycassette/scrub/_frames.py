"""Frames that another emulator made: their text is scrubbed."""

from __future__ import annotations

from ptycassette.scrub._patches import Patches
from ptycassette.scrub.match import canonical, plain
from ptycassette.scrub.search import Match, Searcher
from ptycassette.scrub.views import Line, View, joined_lines, panes, view_of


def scrubbed_rows(searcher: Searcher, rows: tuple[str, ...]) -> tuple[tuple[str, ...], list[Match]]:
    """The rows of one frame with secrets masked cell for cell, and the findings."""
    lines = []
    offset = 0
    for row in rows:
        starts = []
        for char in row:
            starts.append(offset)
            offset += len(canonical(char))
        offset += 1
        lines.append(Line(row, starts, wrapped=False))
    view: View = view_of({number: [pieces] for number, pieces in enumerate(panes(lines))}.values())
    patches = Patches()
    matches = list(searcher.search(view.text))
    found = [(view, match) for match in matches]
    joined = joined_lines(view, max(map(len, rows), default=0))
    if joined is not None:
        found += [(joined, match) for match in searcher.search_joined(joined)]
    for where, match in found:
        patches.cover(where.masks(match.stretches, match.form))
    if not found:
        return rows, []
    masked = patches.apply(canonical("\n".join(rows)).encode("latin-1"), 0).decode("latin-1")
    return tuple(plain(masked).split("\n")), [match for _, match in found]
