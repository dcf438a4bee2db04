"""Finds the moments at which two recordings begin to differ, by playing both. Without Textual.

Whenever either of them changes, the corresponding screens are compared. A difference begins
when a row begins to differ; a lasting difference is reported once. Very short differences are
ignored, because programs repaint in pieces, which are split differently each time. What still
differs at the end of an exchange is reported, however soon the next input came.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from itertools import zip_longest

import msgspec

from ptycassette import Screen, Size
from ptycassette.viewing import Cursor, cells_of_row, visible
from ptycassette_viewer.session.session import Head, ViewerSession

# Matching times of two recordings, and differing cells of two screens. Pure.


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


MAX_DIFFERENCES = 10_000
BLINK_US = 50_000
_MAX_ROWS = 50_000
_LEAST_LETTERS = 3
_SHOWN = 200


class Difference(msgspec.Struct, frozen=True):
    """A row that begins to differ, as on both sides then; safe to show."""

    t_us: int
    row: int
    first: str
    second: str


class CommonRows:
    """The rows of text that were on the screens of both; one thread adds, any may ask."""

    def __init__(self) -> None:
        self._rows: tuple[set[str], set[str]] = (set(), set())

    def add(self, *screens: Screen) -> None:
        """Take the rows of both screens."""
        for known, screen in zip(self._rows, screens, strict=True):
            for row in screen.rows:
                if row not in known and len(known) < _MAX_ROWS:
                    known.add(row)

    def share(self) -> float | None:
        """The share of rows of the smaller one that are also in the other; None without any text.

        Rows with less than three letters and digits, such as prompts and frames, do not count.
        """
        first, second = ({row.strip() for row in rows if _says(row)} for rows in self._rows)
        if not first and not second:
            return None
        return len(first & second) / max(1, min(len(first), len(second)))


def _says(row: str) -> bool:
    return sum(map(str.isalnum, row)) >= _LEAST_LETTERS


def differences(
    first: ViewerSession,
    second: ViewerSession,
    *,
    by_exchange: bool,
    stop: Callable[[], bool] = lambda: False,
    common: CommonRows | None = None,
    since_us: int = 0,
) -> Iterator[tuple[int, list[Difference]]]:
    """Yields the progress of the comparison, and the differences so far.

    Of the rows that begin to differ at the same moment, the first is reported.

    Args:
        first: indexed; its time counts, in microseconds.
        second: the other, indexed.
        by_exchange: see ``matching_time``.
        stop: called at every moment; true ends it.
        common: takes the rows of all screens.
        since_us: where to begin, on the clock of the first. Rows that differ there already are
            no differences until they were the same.
    """
    heads = first.head(), second.head()
    lasting = _Lasting()
    t_us = left = 0
    place = first.exchanges.place_of(first.index.at(since_us))
    if since_us:
        other_us = matching_time(since_us, first, second, by_exchange=by_exchange)
        if not (_move(heads[0], first, since_us, stop) and _move(heads[1], second, other_us, stop)):
            return
        lasting.begin(heads[0].screen, heads[1].screen)
    for t_us in _moments(first, second, by_exchange=by_exchange):
        if t_us < since_us:
            continue
        other_us = matching_time(t_us, first, second, by_exchange=by_exchange)
        if not (_move(heads[0], first, t_us, stop) and _move(heads[1], second, other_us, stop)):
            return
        screens = heads[0].screen, heads[1].screen
        if common is not None:
            common.add(*screens)
        before, place = place, first.exchanges.place_of(first.index.at(t_us))
        ended = lasting.settled() if by_exchange and place != before else []
        begun = [*ended, *lasting.at(t_us, *screens)]
        left += len(begun)
        yield t_us, begun
        if left >= MAX_DIFFERENCES:
            return
    yield t_us, lasting.at(t_us + BLINK_US, heads[0].screen, heads[1].screen)


class _Lasting:
    """Rows that differ, and since when; returns the beginnings of differences that last."""

    def __init__(self) -> None:
        self._rows: frozenset[int] = frozenset()
        self._since: dict[int, Difference] = {}

    def begin(self, first: Screen, second: Screen) -> None:
        """Rows that differ now are not reported."""
        self._rows = _differing_rows(first, second)

    def settled(self) -> list[Difference]:
        """The beginnings of all that differs now and is not reported yet."""
        begun = {since.t_us: since for _, since in sorted(self._since.items(), reverse=True)}
        self._since = {}
        return [begun[t_us] for t_us in sorted(begun)]

    def at(self, t_us: int, first: Screen, second: Screen) -> list[Difference]:
        """The beginnings of differences that lasted long enough and are not reported yet."""
        begun = {
            since.t_us: since
            for _, since in sorted(self._since.items(), reverse=True)
            if t_us - since.t_us >= BLINK_US
        }
        rows = _differing_rows(first, second)
        self._since = {
            row: since
            for row, since in self._since.items()
            if row in rows and since.t_us not in begun
        }
        for row in rows - self._rows:
            self._since[row] = Difference(t_us, row, _text(first, row), _text(second, row))
        self._rows = rows
        return [begun[t_us] for t_us in sorted(begun)]


def _text(screen: Screen, row: int) -> str:
    return visible(screen.rows[row] if row < len(screen.rows) else "", limit=_SHOWN)


def _move(head: Head, session: ViewerSession, t_us: int, stop: Callable[[], bool]) -> bool:
    return not stop() and head.move(session.index.at(t_us), stop)


def _moments(first: ViewerSession, second: ViewerSession, *, by_exchange: bool) -> Iterator[int]:
    """The times at which either screen may change, on the clock of the first, each once."""
    theirs = (
        matching_time(t_us, second, first, by_exchange=by_exchange) if by_exchange else t_us
        for t_us in _changes(second)
    )
    last = -1
    for t_us in heapq.merge(_changes(first), theirs):
        if t_us > last:
            yield t_us
            last = t_us


def _changes(session: ViewerSession) -> Iterator[int]:
    index = session.index
    for seq in heapq.merge(index.of_kind("output"), index.of_kind("resize")):
        yield index.time_of(seq)


def _differing_rows(a: Screen, b: Screen) -> frozenset[int]:
    return frozenset(
        row for row in range(max(a.size.rows, b.size.rows)) if _row(a, row) != _row(b, row)
    )


def _row(screen: Screen, row: int) -> tuple[object, ...]:
    """The text of a row; a missing row counts as blank."""
    text = screen.rows[row] if row < len(screen.rows) else ""
    return text, screen.styles[row] if row < len(screen.styles) else ()
