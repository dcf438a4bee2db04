"""The replay state machine, with times handed in."""

from __future__ import annotations

from typing import Any

import pytest

from ptycassette.errors import ManifestError
from ptycassette.model.records import Event, Output, Typed
from ptycassette.replaying.scheduler import (
    DONE,
    LONGEST_WAIT_US,
    AwaitInput,
    Emit,
    Scheduler,
    Wait,
    replay_mode,
)
from ptycassette.testing import events_of, manifest_of

EVENTS = events_of(Output(1_000, b"a"), Output(4_000, b"b"), Output(4_000, b"c"))


def _play(scheduler: Scheduler, *, now_us: int = 0, late_us: int = 0) -> list[tuple[int, int]]:
    """Run with a sleeper that oversleeps by ``late_us``: (when, seq) of each event."""
    seen: list[tuple[int, int]] = []
    while True:
        decision = scheduler.step(now_us)
        match decision:
            case Emit(event=event):
                seen.append((now_us, event.seq))
            case Wait(us=us):
                now_us += us + late_us
            case _:
                assert decision == DONE
                return seen


@pytest.mark.parametrize(
    ("options", "now_us", "seen"),
    [
        ({}, 50, [(1_050, 1), (4_050, 2), (4_050, 3)]),
        ({"mode": "scaled", "scale": 2.0}, 0, [(2_000, 1), (8_000, 2), (8_000, 3)]),
        ({"mode": "collapsed"}, 7, [(7, 1), (7, 2), (7, 3)]),
        ({"start_us": 500}, 0, [(500, 1), (3_500, 2), (3_500, 3)]),
    ],
    ids=["realtime", "half as fast", "collapsed", "from its start"],
)
def test_an_event_is_emitted_when_it_is_due(
    options: dict[str, Any], now_us: int, seen: list[tuple[int, int]]
) -> None:
    """Counted from the first step; each keeps the time of the recording."""
    assert _play(Scheduler(EVENTS, **options), now_us=now_us) == seen
    assert [event.t_us for event in EVENTS] == [1_000, 4_000, 4_000]


def test_a_late_sleeper_never_makes_a_replay_drift() -> None:
    """Over 10,000 events each is late by one oversleep at most, the last one too."""
    events = events_of(*(Output(n * 700, b"x") for n in range(1, 10_001)))

    late = [now - seq * 700 for now, seq in _play(Scheduler(events), late_us=90)]

    assert max(late) <= 90
    assert min(late) >= 0


def test_a_third_of_the_speed_does_not_drift_by_rounding() -> None:
    """Due times are rounded once each, from the start."""
    events = events_of(*(Output(n, b"x") for n in range(1, 10_001)))

    assert _play(Scheduler(events, mode="scaled", scale=1 / 3))[-1] == (3_333, 10_000)


def test_one_wait_is_never_longer_than_a_system_call_takes() -> None:
    """A time of ages is waited for hour by hour, whatever the scale."""
    events = events_of(Output(10**15, b"x"))

    assert Scheduler(events).step(0) == Wait(LONGEST_WAIT_US)
    assert Scheduler(events, mode="scaled", scale=1e300).step(0) == Wait(LONGEST_WAIT_US)


@pytest.mark.parametrize("scale", [0.0, -2.0, float("nan"), float("inf")])
def test_a_scale_is_a_number_above_zero(scale: float) -> None:
    """Anything else is misuse, at the start and later."""
    with pytest.raises(ValueError, match="finite number above 0"):
        Scheduler(EVENTS, mode="scaled", scale=scale)
    with pytest.raises(ValueError, match="finite number above 0"):
        Scheduler(EVENTS).rescale(0, scale)


@pytest.mark.parametrize("mode", ["realtime", "collapsed"])
def test_a_scale_needs_the_mode_that_scales(mode: str) -> None:
    """A scale that would be ignored is refused."""
    with pytest.raises(ValueError, match="for mode 'scaled'"):
        Scheduler(EVENTS, mode=mode, scale=2.0)  # type: ignore[arg-type]


def test_an_unknown_mode_is_refused() -> None:
    """The three modes and no other."""
    with pytest.raises(ValueError, match="realtime, scaled, collapsed"):
        Scheduler(EVENTS, mode="fast")  # type: ignore[arg-type]


TALK = events_of(
    Output(1_000, b"$ "),
    Typed(9_000, b"ls\r"),
    Output(9_300, b"\x1b[c"),
    Typed(9_400, b"\x1b[?6c", source="terminal"),
    Output(9_500, b"a"),
)


def test_awaited_input_stops_the_replay() -> None:
    """Output up to the input comes in time; the input is awaited however long it takes."""
    scheduler = Scheduler(TALK, await_input=True)
    scheduler.step(0)
    scheduler.step(1_000)

    assert scheduler.step(1_000) == AwaitInput(TALK[1])
    assert scheduler.step(99_000_000) == AwaitInput(TALK[1])


def test_what_follows_an_input_is_timed_from_its_arrival() -> None:
    """The answer comes as long after the input as in the recording."""
    scheduler = Scheduler(TALK[1:], await_input=True)
    scheduler.step(0)

    assert scheduler.input_arrived(50_000) is TALK[1]
    assert scheduler.step(50_000) == Wait(300)


def test_answers_of_the_terminal_are_not_awaited() -> None:
    """Nobody sends them: they are emitted like output."""
    scheduler = Scheduler(TALK[2:], mode="collapsed", await_input=True)
    scheduler.step(0)

    assert scheduler.step(0) == Emit(TALK[3])


@pytest.mark.parametrize(
    ("events", "awaits"), [(TALK[:1], True), (TALK[4:], True), ([], True), (TALK[1:], False)]
)
def test_input_cannot_arrive_when_none_is_awaited(events: list[Event], *, awaits: bool) -> None:
    """In front of output, at the end, and in a plain replay, which emits inputs like the rest."""
    scheduler = Scheduler(events, mode="collapsed", await_input=awaits)
    with pytest.raises(RuntimeError, match="no input is awaited"):
        scheduler.input_arrived(0)

    assert scheduler.step(0) == (Emit(events[0]) if events else DONE)


def test_a_skipped_wait_is_not_caught_up() -> None:
    """After a step by hand, the next event keeps its distance to the skipped one."""
    scheduler = Scheduler(EVENTS)
    scheduler.step(0)

    assert scheduler.skip(10) is EVENTS[0]
    assert scheduler.step(10) == Wait(3_000)


def test_there_is_nothing_to_skip_at_the_end() -> None:
    """A step beyond the end is misuse."""
    with pytest.raises(RuntimeError, match="the replay is over"):
        Scheduler([]).skip(0)


def test_the_position_moves_with_time_and_stops_at_the_next_event() -> None:
    """It is the moment of the recording that is being shown."""
    scheduler = Scheduler(EVENTS, mode="scaled", scale=2.0)
    before = scheduler.position_us(0)
    scheduler.step(100)

    assert (before, scheduler.position_us(1_100), scheduler.position_us(90_000)) == (0, 500, 1_000)


def test_the_position_runs_on_behind_the_last_event() -> None:
    """Behind the end there is no event to stop at."""
    scheduler = Scheduler(EVENTS[:1])
    _play(scheduler)

    assert scheduler.next_event is None
    assert scheduler.position_us(5_000) == 5_000


def test_another_scale_goes_on_from_the_same_moment() -> None:
    """What was played stays played; only gaps to come change."""
    scheduler = Scheduler(EVENTS)
    scheduler.step(0)
    scheduler.rescale(500, 4.0)

    assert scheduler.scale == 4.0
    assert scheduler.position_us(500) == 500
    assert scheduler.step(500) == Wait(2_000)


def test_a_scale_does_not_make_a_collapsed_replay_wait() -> None:
    """Collapsed stays collapsed."""
    scheduler = Scheduler(EVENTS, mode="collapsed")
    scheduler.rescale(0, 2.0)

    assert scheduler.step(0) == Emit(EVENTS[0])


def test_a_pause_ends_where_it_began() -> None:
    """Anchoring the position to now takes the pause out of the schedule."""
    scheduler = Scheduler(EVENTS)
    scheduler.step(0)
    scheduler.anchor(7_000_000, 400)

    assert scheduler.step(7_000_000) == Wait(600)


@pytest.mark.parametrize(
    ("asked", "scale", "default", "mode"),
    [
        ("realtime", 1.0, "collapsed", "realtime"),
        (None, 1.0, "collapsed", "collapsed"),
        (None, 1.0, "realtime", "realtime"),
        (None, 2.0, "collapsed", "scaled"),
    ],
)
def test_the_mode_is_the_one_asked_for_or_the_manifests(
    asked: str | None, scale: float, default: str, mode: str
) -> None:
    """Asked for goes first, then a scale, then the manifest."""
    manifest = manifest_of(replay_default=default)

    assert replay_mode(manifest, asked, scale=scale) == mode  # type: ignore[arg-type]


def test_a_manifest_with_an_unknown_default_says_so() -> None:
    """The error names the value and the file."""
    with pytest.raises(ManifestError, match="'bogus'"):
        replay_mode(manifest_of(replay_default="bogus"))
