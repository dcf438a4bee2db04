"""Finds the moments at which two recordings begin to differ, by playing both. Without Textual.

Whenever either of them changes, the corresponding screens are compared. A difference begins
when a row begins to differ; a lasting difference is reported once. Very short differences are
ignored, because programs repaint in pieces, which are split differently each time. What still
differs at the end of an exchange is reported, however soon the next input came.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator

import msgspec

from ptycassette import Screen, visible
from ptycassette_viewer.comparison.matching import matching_time
from ptycassette_viewer.session.head import Head
from ptycassette_viewer.session.session import ViewerSession

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
