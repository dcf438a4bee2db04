"""The first readable screen of a recording, where the viewer starts.

Many programs clear the screen, query the terminal and paint in pieces before anything can be
read. The first readable screen is at the end of the first burst of output after which there is
text.
"""

from __future__ import annotations

from collections.abc import Callable

from ptycassette_viewer.session.session import ViewerSession

_LONGEST_US = 500_000
_PAUSE_US = 100_000
"""A pause as long as this ends a burst; spinners turn about as fast."""
_MAX_BYTES = 1_000_000
_WAIT_S = 0.02


def first_sight(session: ViewerSession, stop: Callable[[], bool] = lambda: False) -> int | None:
    """The event after which there is something to read; None when there is none.

    Args:
        session: the recording; waits until it is indexed.
        stop: ends the search.
    """
    head, index = session.head(), session.index
    while not session.indexed.wait(_WAIT_S):
        if stop():
            return None
    seq = index.after(0, "output")
    while seq is not None and index.output_end(seq) <= _MAX_BYTES and head.move(seq, stop):
        if any(row.strip() for row in head.screen.rows):
            return _end_of_burst(session, seq)
        seq = index.after(seq, "output")
    return None


def _end_of_burst(session: ViewerSession, seq: int) -> int:
    """The last output before a pause or input."""
    index = session.index
    start_us = index.time_of(seq)
    while True:
        following = index.after(seq, "output", "input", "resize", "signal", "final")
        if following is None or index.kind_of(following) != "output":
            return seq
        t_us = index.time_of(following)
        if t_us - index.time_of(seq) >= _PAUSE_US or t_us - start_us > _LONGEST_US:
            return seq
        seq = following
