"""The moments at which two recordings begin to differ, found by playing both. No Textual here.

Whenever either of them changes, the corresponding screens are compared. A difference begins
when a row begins to differ; a lasting difference is reported once. Very short differences are
ignored, because programs repaint in pieces, which are split differently each time.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator

from ptycassette import Screen
from ptycassette_viewer.comparing import matching_time
from ptycassette_viewer.session import Head, ViewerSession

__all__ = ["MAX_DIFFERENCES", "differences"]

MAX_DIFFERENCES = 10_000
BLINK_US = 50_000


def differences(
    first: ViewerSession,
    second: ViewerSession,
    *,
    by_exchange: bool,
    stop: Callable[[], bool] = lambda: False,
) -> Iterator[tuple[int, dict[int, int]]]:
    """How far the comparison is, and the moments known by now at which differences begin.

    Each moment with the first of the rows that begin to differ.

    Args:
        first: indexed; whose time is counted, in microseconds.
        second: the other, indexed.
        by_exchange: see ``matching_time``.
        stop: asked at every moment; ends it.
    """
    heads = first.head(), second.head()
    lasting = _Lasting()
    t_us = left = 0
    for t_us in _moments(first, second, by_exchange=by_exchange):
        other_us = matching_time(t_us, first, second, by_exchange=by_exchange)
        if not (_move(heads[0], first, t_us, stop) and _move(heads[1], second, other_us, stop)):
            return
        begun = lasting.at(t_us, _differing_rows(heads[0].screen, heads[1].screen))
        left += len(begun)
        yield t_us, begun
        if left >= MAX_DIFFERENCES:
            return
    yield t_us, lasting.at(t_us + BLINK_US, lasting.rows)


class _Lasting:
    """Rows that differ, and since when; returns the beginnings of differences that last."""

    def __init__(self) -> None:
        self.rows: frozenset[int] = frozenset()
        self._since: dict[int, int] = {}

    def at(self, t_us: int, rows: frozenset[int]) -> dict[int, int]:
        """The beginnings of differences that lasted long enough and are not reported yet."""
        begun = {
            since: row
            for row, since in sorted(self._since.items(), reverse=True)
            if t_us - since >= BLINK_US
        }
        self._since = {
            row: since for row, since in self._since.items() if row in rows and since not in begun
        }
        self._since.update(dict.fromkeys(rows - self.rows, t_us))
        self.rows = rows
        return dict(sorted(begun.items()))


def _move(head: Head, session: ViewerSession, t_us: int, stop: Callable[[], bool]) -> bool:
    return not stop() and head.move(session.index.at(t_us), stop)


def _moments(first: ViewerSession, second: ViewerSession, *, by_exchange: bool) -> Iterator[int]:
    """When either screen may change, on the clock of the first, each once."""
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


def _row(screen: Screen, row: int) -> tuple[object, ...] | None:
    if row >= screen.size.rows:
        return None
    text = screen.rows[row] if row < len(screen.rows) else ""
    return text, screen.styles[row] if row < len(screen.styles) else (), screen.size.cols
