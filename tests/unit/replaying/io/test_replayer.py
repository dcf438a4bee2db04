"""``replay`` and ``areplay`` with clocks and sleepers handed in."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from ptycassette.model.records import Event, Manifest, Output, Typed
from ptycassette.replaying.io.replayer import TURN_EVENTS, areplay, replay
from ptycassette.testing import ManualClock, events_of, manifest_of

EVENTS = events_of(
    Output(1_000_000, b"a"),
    Typed(1_500_000, b"b"),
    Output(9_500_000, b"c"),
    Output(9_500_000, b"d"),
)


class Tape:
    """The smallest thing that can be replayed."""

    def __init__(self, events: list[Event], replay_default: str = "realtime") -> None:
        self._events = events
        self._manifest = manifest_of(replay_default=replay_default)

    @property
    def manifest(self) -> Manifest:
        """Whatever is not asked for is here."""
        return self._manifest

    def events(self) -> Iterator[Event]:
        """A fresh pass."""
        return iter(self._events)


class AsyncClock(ManualClock):
    """A manual clock whose sleep is awaited."""

    async def sleep(self, seconds: float) -> None:  # type: ignore[override]
        """Advance instead of waiting."""
        super().sleep(seconds)
        await asyncio.sleep(0)


def test_realtime_sleeps_the_recorded_gaps() -> None:
    """Each event comes when it is due, in order, as recorded."""
    clock = ManualClock()

    seen = [(clock.now_us(), event) for event in replay(Tape(EVENTS), sleeper=clock, clock=clock)]

    assert [when for when, _ in seen] == [1_000_000, 1_500_000, 9_500_000, 9_500_000]
    assert [event for _, event in seen] == EVENTS


def test_the_manifest_says_the_mode_when_nobody_else_does() -> None:
    """A cassette that is to be collapsed never sleeps."""
    clock = ManualClock()
    list(replay(Tape(EVENTS, "collapsed"), sleeper=clock, clock=clock))

    assert clock.slept == []


def test_a_scale_multiplies_the_gaps() -> None:
    """Scale one tenth is ten times as fast."""
    clock = ManualClock()
    list(replay(Tape(EVENTS), scale=0.1, sleeper=clock, clock=clock))

    assert clock.now_us() == 950_000


def test_start_end_and_idle_limit_are_taken_together() -> None:
    """The slice goes first, then pauses are cut, and time starts at the start."""
    clock = ManualClock()
    events = replay(Tape(EVENTS), start=1.5, end=9.5, idle_limit=2, sleeper=clock, clock=clock)

    assert [event.seq for event in events] == [2, 3, 4]
    assert clock.now_us() == 2_000_000


def test_a_slow_reader_gets_what_is_late_at_once() -> None:
    """Delays of the reader are caught up, never added to what follows."""
    clock = ManualClock()
    when = []
    for event in replay(Tape(EVENTS), sleeper=clock, clock=clock):
        when.append(clock.now_us())
        clock.advance(4.0 if event.seq == 1 else 0)

    assert when == [1_000_000, 5_000_000, 9_500_000, 9_500_000]


def test_many_replays_of_one_cassette_do_not_meddle() -> None:
    """Two replays in turns see the same events, each on its own clock."""
    tape, clocks = Tape(EVENTS), (ManualClock(), ManualClock(70))
    streams = [replay(tape, sleeper=clock, clock=clock) for clock in clocks]

    assert [(a, b) for a, b in zip(*streams, strict=True)] == [(e, e) for e in EVENTS]
    assert [clock.now_us() for clock in clocks] == [9_500_000, 9_500_070]


def test_misuse_is_refused_at_the_call() -> None:
    """Not at the first event, where nobody would look for it."""
    with pytest.raises(ValueError, match="for mode 'scaled'"):
        replay(Tape(EVENTS), mode="collapsed", scale=2.0)
    with pytest.raises(ValueError, match="before its start"):
        areplay(Tape(EVENTS), start=2, end=1)
    for play in replay, areplay:
        for path in "a.cassette", Path("a.cassette"):
            with pytest.raises(TypeError, match=r"use open_cassette\('a.cassette'\)"):
                play(path)  # type: ignore[operator]


def test_the_async_face_plays_the_same() -> None:
    """Same events, same times."""
    clock = AsyncClock()

    async def play() -> list[tuple[int, Event]]:
        stream = areplay(Tape(EVENTS), sleeper=clock, clock=clock)
        return [(clock.now_us(), event) async for event in stream]

    assert asyncio.run(play()) == [(event.t_us, event) for event in EVENTS]


def test_a_collapsed_async_replay_lets_others_run() -> None:
    """Another task gets its turns during a long collapsed replay."""
    tape = Tape(events_of(*(Output(0, b"x") for _ in range(TURN_EVENTS * 4))))
    turns = 0

    async def count_turns() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    async def play() -> int:
        other = asyncio.create_task(count_turns())
        count = len([event async for event in areplay(tape, mode="collapsed")])
        other.cancel()
        return count

    assert asyncio.run(play()) == TURN_EVENTS * 4
    assert turns >= 4


def test_a_cancelled_replay_stops_in_its_sleep() -> None:
    """Cancellation comes through as such, and no event after it."""
    seen: list[int] = []

    async def play() -> None:
        async for event in areplay(Tape(EVENTS)):
            seen.append(event.seq)  # noqa: PERF401 - what came before the cancellation counts

    async def cancel_soon() -> None:
        task = asyncio.create_task(play())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancel_soon())

    assert seen == []
