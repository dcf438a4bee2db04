"""Matching times of two recordings, and differing cells of two screens. Pure."""

from __future__ import annotations

from itertools import zip_longest

from ptycassette import Cursor, Screen, Size, cells_of_row
from ptycassette_viewer.session.session import ViewerSession

_BLANK = cells_of_row(Screen(size=Size(1, 1), rows=("",), cursor=Cursor(0, 0)), 0)[0]


def differing_cells(a: Screen, b: Screen) -> dict[int, frozenset[int]]:
    """Rows to the columns in which two screens differ, in text or in style.

    Cells that only the larger screen has are compared with blank ones.
    """
    found: dict[int, frozenset[int]] = {}
    for row in range(max(a.size.rows, b.size.rows)):
        ours = cells_of_row(a, row) if row < a.size.rows else []
        theirs = cells_of_row(b, row) if row < b.size.rows else []
        if ours == theirs:
            continue
        pairs = zip_longest(ours, theirs, fillvalue=_BLANK)
        cols = frozenset(col for col, (one, other) in enumerate(pairs) if one != other)
        if cols:
            found[row] = cols
    return found


def matching_time(
    t_us: int, ours: ViewerSession, theirs: ViewerSession, *, by_exchange: bool
) -> int:
    """The time in ``theirs`` that corresponds to ``t_us`` in ``ours``.

    By exchange, both are at the same fraction of the exchange of the same number, measured
    from its first event to its last. Both begin and end it together, however long each took.
    """
    if not by_exchange:
        return min(t_us, theirs.duration_us)
    place = ours.exchanges.place_of(ours.index.at(t_us))
    if place < 0:
        return 0
    other = _place_of_number(theirs, ours.exchanges.number(place))
    if not 0 <= other < len(theirs.exchanges):
        return theirs.duration_us if other >= 0 else 0
    start_us, length_us = _span(ours, place)
    other_us, other_length_us = _span(theirs, other)
    since_us = t_us - start_us
    if since_us >= length_us:
        return other_us + other_length_us
    return other_us - (-since_us * other_length_us // length_us)  # rounded up: not before it


def is_matched(t_us: int, ours: ViewerSession, theirs: ViewerSession) -> bool:
    """Whether ``theirs`` has an exchange of the number that is going on at ``t_us``."""
    place = ours.exchanges.place_of(ours.index.at(t_us))
    if place < 0:
        return True
    return 0 <= _place_of_number(theirs, ours.exchanges.number(place)) < len(theirs.exchanges)


def further_exchanges(ours: ViewerSession, theirs: ViewerSession) -> int:
    """How many exchanges ``theirs`` has after the last one of ``ours``."""
    last = [
        session.exchanges.number(len(session.exchanges) - 1) if len(session.exchanges) else -1
        for session in (ours, theirs)
    ]
    return max(0, last[1] - last[0])


def _place_of_number(session: ViewerSession, number: int) -> int:
    return number - session.exchanges.number(0)


def _span(session: ViewerSession, place: int) -> tuple[int, int]:
    """The start of an exchange, and the time to its last event."""
    cuts, index = session.exchanges, session.index
    last = cuts.starts[place + 1] - 1 if place + 1 < len(cuts) else index.count
    start_us = index.time_of(cuts.starts[place])
    return start_us, index.time_of(last) - start_us
