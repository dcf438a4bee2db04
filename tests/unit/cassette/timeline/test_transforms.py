"""Speed, idle limit and slices: only the time of events changes."""

from __future__ import annotations

import pytest

from ptycassette.cassette.timeline.transforms import between, chain, limit_idle, speed
from ptycassette.model.records import Event, FrameRecord, Output
from ptycassette.model.screen import Cursor, Size
from ptycassette.testing import events_of


def _frame(t_ms: int) -> FrameRecord:
    return FrameRecord(
        seq=0,
        t_ms=t_ms,
        size=Size(rows=1, cols=1),
        text=("",),
        cursor=Cursor(row=0, col=0),
        raw_start=0,
        raw_end=0,
        parser_offset=0,
    )


def _at(*times_us: int) -> list[Event]:
    return events_of(*(Output(t, b"x") for t in times_us))


def _times(events: object) -> list[int]:
    return [event.t_us for event in events]  # type: ignore[attr-defined]


def test_speed_divides_every_time() -> None:
    """Twice as fast is half the time, from the start of the recording."""
    assert _times(speed(2.0)(_at(0, 1_000_001, 3_000_000))) == [0, 500_000, 1_500_000]


def test_speed_rounds_moments_and_not_gaps() -> None:
    """Ten thousand gaps of one third of a microsecond add up to what they must."""
    events = _at(*range(10_001))

    assert _times(speed(3.0)(events))[-1] == 3333


@pytest.mark.parametrize("factor", [0.0, -1.0, float("nan"), float("inf")])
def test_speed_refuses_what_is_no_speed(factor: float) -> None:
    """Zero, negative and endless speeds are misuse."""
    with pytest.raises(ValueError, match="speed is a finite number above 0"):
        speed(factor)


def test_idle_limit_shortens_long_pauses_only() -> None:
    """A pause over the limit becomes the limit; shorter ones stay."""
    events = _at(500_000, 10_500_000, 11_000_000)

    assert _times(limit_idle(2_000_000)(events)) == [500_000, 2_500_000, 3_000_000]


def test_idle_limit_looks_through_frames_inside_a_pause() -> None:
    """A frame is no activity: the pause around it is limited once, not twice."""
    events = events_of(Output(0, b"x"), _frame(100), _frame(9_000), Output(10_000_000, b"y"))

    assert _times(limit_idle(1_000_000)(events)) == [0, 100_000, 1_000_000, 1_000_000]


def test_idle_limit_counts_from_the_start_of_a_slice() -> None:
    """Behind a slice, the time before it is no pause."""
    events = chain(
        _at(0, 5_000_000, 6_000_000),
        between(4_500_000),
        limit_idle(100_000, start_us=4_500_000),
    )

    assert _times(events) == [4_600_000, 4_700_000]


def test_idle_limit_refuses_negative_limits() -> None:
    """A negative pause is misuse."""
    with pytest.raises(ValueError, match="0 or more"):
        limit_idle(-1)


def test_a_slice_includes_both_of_its_ends() -> None:
    """Up to t ends in the state that a look at t shows."""
    kept = list(between(1_000, 3_000)(_at(999, 1_000, 2_000, 3_000, 3_001)))

    assert [event.seq for event in kept] == [2, 3, 4]
    assert _times(kept) == [1_000, 2_000, 3_000]


def test_a_slice_without_ends_is_everything() -> None:
    """None is the beginning and the end of the recording."""
    events = _at(0, 7)

    assert list(between()(events)) == events


def test_a_slice_reads_no_further_than_its_end() -> None:
    """The rest of a long recording is not touched."""
    stream = iter(_at(0, 10, 20, 30))
    list(between(None, 10)(stream))

    assert [event.t_us for event in stream] == [30]


def test_a_slice_cannot_end_before_it_starts() -> None:
    """Ends in the wrong order are misuse."""
    with pytest.raises(ValueError, match="before its start"):
        between(5, 4)


def test_transforms_leave_the_evidence_alone() -> None:
    """Record, data, seq and kind come out as the same objects that went in."""
    events = _at(0, 8_000_000)
    moved = list(chain(events, limit_idle(1_000_000), speed(2.0), None))

    assert all(
        a.record is b.record and a.data is b.data for a, b in zip(events, moved, strict=True)
    )
    assert [event.seq for event in moved] == [1, 2]
    assert _times(moved) == [0, 500_000]
