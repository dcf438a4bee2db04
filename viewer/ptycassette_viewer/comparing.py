"""What two recordings have in common in time, and where two screens differ. Pure."""

from __future__ import annotations

from ptycassette import Screen, cells_of_row
from ptycassette_viewer.session import Session

__all__ = ["differing_cells", "matching_time"]


def differing_cells(a: Screen, b: Screen) -> dict[int, frozenset[int]]:
    """Rows to the columns in which two screens differ, in text or in style."""
    found: dict[int, frozenset[int]] = {}
    for row in range(max(a.size.rows, b.size.rows)):
        ours = cells_of_row(a, row) if row < a.size.rows else []
        theirs = cells_of_row(b, row) if row < b.size.rows else []
        if ours == theirs:
            continue
        found[row] = frozenset(
            col
            for col in range(max(len(ours), len(theirs)))
            if col >= len(ours) or col >= len(theirs) or ours[col] != theirs[col]
        )
    return found


def matching_time(t_us: int, ours: Session, theirs: Session, *, by_exchange: bool) -> int:
    """The moment of ``theirs`` that belongs to ``t_us`` of ``ours``.

    By exchange, both stand as long behind the start of the exchange of the same
    number; where theirs was shorter, it waits at its end.
    """
    if not by_exchange:
        return min(t_us, theirs.duration_us)
    place = ours.exchanges.place_of(ours.index.at(t_us))
    if place < 0:
        return min(t_us, theirs.duration_us)
    number = ours.exchanges.number(place)
    other = number - theirs.exchanges.number(0)
    cuts = theirs.exchanges
    if not 0 <= other < len(cuts):
        return theirs.duration_us if other >= 0 else 0
    since_us = t_us - ours.index.time_of(ours.exchanges.starts[place])
    start_us = theirs.index.time_of(cuts.starts[other])
    end_us = theirs.duration_us
    if other + 1 < len(cuts):
        end_us = theirs.index.time_of(cuts.starts[other + 1] - 1)
    return min(start_us + since_us, max(start_us, end_us))
