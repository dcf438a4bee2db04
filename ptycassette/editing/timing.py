"""When things happened: faster, slower, with shorter pauses. Order and content stay."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator
from fractions import Fraction

from ptycassette.editing.session import BadEditError, Take, at
from ptycassette.model.journal import JournalEvent, Probed, Traffic

_Moved = Callable[[int], int]


def change_speed(take: Take, factor: float, start_us: int = 0, end_us: int | None = None) -> Take:
    """Make a session, or a stretch of it, ``factor`` times as fast; what follows moves along.

    Raises:
        BadEditError: ``factor`` is no finite number above 0, or nothing lies there.
    """
    try:
        exact = Fraction(factor).limit_denominator(1_000_000)
    except (OverflowError, ValueError):
        exact = Fraction(0)
    if exact <= 0:
        raise BadEditError(f"a speed is a finite number above 0, not {factor}")
    stop_us = take.end_us if end_us is None else min(end_us, take.end_us)
    if start_us >= stop_us and take.end_us:
        raise BadEditError("there is nothing between the start and the end")
    length_us = round((stop_us - start_us) / exact)

    def moved(t_us: int) -> int:
        if t_us <= start_us:
            return t_us
        if t_us <= stop_us:
            return start_us + round((t_us - start_us) / exact)
        return start_us + length_us + t_us - stop_us

    return _retimed(take, moved)


def limit_pauses(take: Take, limit_us: int) -> Take:
    """Shorten the pauses in which nothing happens to ``limit_us``.

    Raises:
        BadEditError: ``limit_us`` is negative.
    """
    if limit_us < 0:
        raise BadEditError("an idle limit is 0 or more")
    begins: list[int] = [0]  # where a pause is over its limit ...
    saved: list[int] = [0]  # ... and what is saved up to there
    last_us = gone_us = 0
    for event in take.source():
        if isinstance(event, Probed | Traffic):
            continue
        pause_us = event.t_us - last_us
        if pause_us > limit_us:
            begins += [last_us + limit_us, event.t_us]
            gone_us += pause_us - limit_us
            saved += [-1, gone_us]
        last_us = max(last_us, event.t_us)

    def moved(t_us: int) -> int:
        place = bisect_right(begins, t_us) - 1
        if saved[place] < 0:  # within a pause that is over its limit
            return begins[place] - saved[place - 1]
        return t_us - saved[place]

    return _retimed(take, moved)


def _retimed(take: Take, moved: _Moved) -> Take:
    def events() -> Iterator[JournalEvent]:
        for event in take.source():
            yield at(event, moved(event.t_us))

    return take.changed(events, end_us=moved(take.end_us))
