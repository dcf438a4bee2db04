"""Rewrite *when* events happen: speed, idle limit, a slice of time.

Each transform is a generator over events, so that they compose and stream.
They change ``Event.t_us`` alone: ``seq``, order, data and the record itself
(the evidence, with its own ``t_ms``) stay as they are.

Time is computed from the start, in whole microseconds, never by adding up
rounded gaps, so that no transform drifts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction

from ptycassette.model.records import Event

Transform = Callable[[Iterable[Event]], Iterator[Event]]
"""What every transform is once its numbers are given: events in, events out."""


def _moved(event: Event, t_us: int) -> Event:
    """``event`` at another time; the same object when the time is the same."""
    if t_us == event.t_us:
        return event
    return Event(event.seq, t_us, event.kind, event.record, event.data)


def chain(events: Iterable[Event], *transforms: Transform | None) -> Iterator[Event]:
    """Apply ``transforms`` from left to right; ``None`` is skipped."""
    stream = iter(events)
    for transform in transforms:
        if transform is not None:
            stream = transform(stream)
    return stream


def speed(factor: float) -> Transform:
    """Play ``factor`` times as fast: 2.0 halves every time, 0.5 doubles it.

    Raises:
        ValueError: ``factor`` is not a finite number above 0.
    """
    exact = _positive(factor, "speed")

    def transform(events: Iterable[Event]) -> Iterator[Event]:
        for event in events:
            yield _moved(event, round(event.t_us / exact))

    return transform


def limit_idle(limit_us: int, *, start_us: int = 0) -> Transform:
    """Shorten pauses to ``limit_us``; what follows moves up.

    Frames do not end a pause, because they are derived. One deep inside a pause moves to its
    shortened end.
    ``start_us`` is the moment from which on pauses count; events before it stay.

    Raises:
        ValueError: ``limit_us`` is negative.
    """
    if limit_us < 0:
        raise ValueError(f"an idle limit is 0 or more microseconds, not {limit_us}")

    def transform(events: Iterable[Event]) -> Iterator[Event]:
        last_us = start_us  # when something last happened, as recorded
        moved_us = start_us  # the same moment, moved
        for event in events:
            if event.t_us < start_us:
                yield event
                continue
            now_us = moved_us + min(event.t_us - last_us, limit_us)
            if event.kind != "frame":
                last_us, moved_us = event.t_us, now_us
            yield _moved(event, now_us)

    return transform


def between(start_us: int | None = None, end_us: int | None = None) -> Transform:
    """Keep the events from ``start_us`` to ``end_us``, both included, at their own times.

    The end is included so that a replay up to *t* ends in the state that a view at *t* shows.
    ``None`` is the beginning or the end of the recording.

    Raises:
        ValueError: the end is before the start.
    """
    if start_us is not None and end_us is not None and end_us < start_us:
        raise ValueError(f"a slice ends at {end_us} us, before its start at {start_us} us")

    def transform(events: Iterable[Event]) -> Iterator[Event]:
        for event in events:
            if end_us is not None and event.t_us > end_us:
                return
            if start_us is None or event.t_us >= start_us:
                yield event

    return transform


def _positive(value: float, name: str) -> Fraction:
    """``value`` as an exact number above 0."""
    try:
        exact = Fraction(value).limit_denominator(1_000_000)
    except (OverflowError, ValueError) as exc:
        raise ValueError(f"{name} is a finite number above 0, not {value}") from exc
    if exact <= 0:
        raise ValueError(f"{name} is a finite number above 0, not {value}")
    return exact
