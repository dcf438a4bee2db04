"""``replay`` and ``areplay``: stream a cassette's events in recorded, scaled or no time.

The decisions are those of ``ptycassette.replaying.scheduler.Scheduler``; here are only the
clock and the sleeping. Replays share nothing, so one open cassette serves any
number of threads or tasks at once. To stop, leave the loop: there is nothing to
close, and a cancelled task is cancelled in its sleep.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Protocol

from ptycassette.model.events import Event
from ptycassette.model.manifest import Manifest
from ptycassette.model.ports import AsyncSleeper, Clock, Sleeper
from ptycassette.replaying.scheduler import Emit, ReplayMode, Scheduler, Wait, replay_mode
from ptycassette.system.clock import MonotonicClock, SystemAsyncSleeper, SystemSleeper
from ptycassette.timeline.transforms import between, chain, limit_idle


class Replayable(Protocol):
    """An open ``Cassette``, or anything with the same methods."""

    @property
    def manifest(self) -> Manifest:
        """Has the default mode of replays."""
        ...

    def events(self) -> Iterator[Event]:
        """A fresh pass over all events."""
        ...


def seconds_to_us(seconds: float | None) -> int | None:
    """Seconds as whole microseconds; None stays None."""
    return None if seconds is None else round(seconds * 1_000_000)


def timed_events(
    cassette: Replayable,
    *,
    start: float | None = None,
    end: float | None = None,
    idle_limit: float | None = None,
) -> Iterator[Event]:
    """The events from ``start`` to ``end`` (seconds as recorded), pauses cut to ``idle_limit``.

    The slice is taken first; after it, time starts at ``start``.
    """
    idle_us = seconds_to_us(idle_limit)
    start_us = seconds_to_us(start) or 0
    idle = None if idle_us is None else limit_idle(idle_us, start_us=start_us)
    return chain(cassette.events(), between(start_us, seconds_to_us(end)), idle)


def _scheduler(
    cassette: Replayable,
    *,
    mode: ReplayMode | None,
    scale: float,
    start: float | None,
    end: float | None,
    idle_limit: float | None,
) -> Scheduler:
    return Scheduler(
        timed_events(cassette, start=start, end=end, idle_limit=idle_limit),
        mode=replay_mode(cassette.manifest, mode, scale=scale),
        scale=scale,
        start_us=seconds_to_us(start) or 0,
    )


def replay(
    cassette: Replayable,
    *,
    mode: ReplayMode | None = None,
    scale: float = 1.0,
    sleeper: Sleeper | None = None,
    clock: Clock | None = None,
    start: float | None = None,
    end: float | None = None,
    idle_limit: float | None = None,
) -> Iterator[Event]:
    """Iterate over the events of ``cassette``, each when it is due.

    Args:
        cassette: an open cassette; stays open and the caller's.
        mode: ``realtime`` sleeps the recorded gaps, ``scaled`` multiplies them
            by ``scale``, ``collapsed`` never sleeps. None: ``scaled`` when a
            scale is given, else what the manifest says.
        scale: 2.0 is half as fast, 0.5 twice as fast.
        sleeper: sleeps; the system's when None. Give the clock too: both must agree.
        clock: tells the time; the system's monotonic clock when None.
        start: from this moment on, seconds as recorded; included.
        end: up to this moment, seconds as recorded; included.
        idle_limit: no pause longer than this, seconds.

    Yields:
        Events in order of ``seq``, chunks as recorded. A caller that is slow
        gets what is late at once; nothing is dropped, and no delay adds up.

    Raises:
        ValueError: an unknown mode, a scale that is not a positive number or that
            the mode does not use, an end before the start.
    """
    scheduler = _scheduler(
        cassette, mode=mode, scale=scale, start=start, end=end, idle_limit=idle_limit
    )
    return _run(scheduler, sleeper or SystemSleeper(), clock or MonotonicClock())


def _run(scheduler: Scheduler, sleeper: Sleeper, clock: Clock) -> Iterator[Event]:
    while True:
        decision = scheduler.step(clock.now_us())
        if isinstance(decision, Emit):
            yield decision.event
        elif isinstance(decision, Wait):
            sleeper.sleep(decision.us / 1_000_000)
        else:
            return


def areplay(
    cassette: Replayable,
    *,
    mode: ReplayMode | None = None,
    scale: float = 1.0,
    sleeper: AsyncSleeper | None = None,
    clock: Clock | None = None,
    start: float | None = None,
    end: float | None = None,
    idle_limit: float | None = None,
) -> AsyncIterator[Event]:
    """Iterate as ``replay`` does, in an event loop; arguments, events and errors are the same.

    Without sleeps (``collapsed``) it still lets other tasks run now and then.
    """
    scheduler = _scheduler(
        cassette, mode=mode, scale=scale, start=start, end=end, idle_limit=idle_limit
    )
    return _arun(scheduler, sleeper or SystemAsyncSleeper(), clock or MonotonicClock())


TURN_EVENTS = 64
"""After so many events without a sleep, other tasks get their turn."""


async def _arun(scheduler: Scheduler, sleeper: AsyncSleeper, clock: Clock) -> AsyncIterator[Event]:
    since_turn = 0
    while True:
        decision = scheduler.step(clock.now_us())
        if isinstance(decision, Emit):
            since_turn += 1
            if since_turn >= TURN_EVENTS:
                since_turn = 0
                await sleeper.sleep(0)
            yield decision.event
        elif isinstance(decision, Wait):
            since_turn = 0
            await sleeper.sleep(decision.us / 1_000_000)
        else:
            return
