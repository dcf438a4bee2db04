"""The time index."""

from __future__ import annotations

import pytest

from ptycassette.cassette.timeline.index import TimeIndex
from ptycassette.model.records import Event, Noted, Output, Typed
from ptycassette.testing import events_of

EVENTS = events_of(
    Output(100, b"$ "), Typed(200, b"l"), Output(200, b"l"), Noted(350, {}), Output(900, b"!")
)


@pytest.mark.parametrize(
    ("t_us", "seq"), [(0, 0), (99, 0), (100, 1), (199, 1), (200, 3), (899, 4), (900, 5), (10**9, 5)]
)
def test_seek_finds_the_last_event_at_or_before_a_moment(t_us: int, seq: int) -> None:
    """Of several events at one moment it is the last; before all it is none."""
    assert TimeIndex(EVENTS).seek(t_us) == seq


def test_time_of_an_event() -> None:
    """Each seq has its time; a seq outside has none."""
    index = TimeIndex(EVENTS)

    assert [index.time_of(seq) for seq in range(1, 6)] == [100, 200, 200, 350, 900]
    for seq in (0, 6):
        with pytest.raises(KeyError):
            index.time_of(seq)


def test_neighbours_of_a_kind() -> None:
    """After and before look past a seq for one kind of event."""
    index = TimeIndex(EVENTS)

    assert [index.after(seq, "output") for seq in (0, 1, 3, 5)] == [1, 3, 5, None]
    assert [index.before(seq, "output") for seq in (1, 2, 5, 9)] == [None, 1, 3, 5]
    assert (index.after(0, "frame"), index.before(9, "frame")) == (None, None)


def test_what_an_index_says_about_the_whole() -> None:
    """Length, bounds, duration and counts."""
    index = TimeIndex(EVENTS)

    assert (len(index), index.first_seq, index.last_seq) == (5, 1, 5)
    assert index.duration_us == 900
    assert (index.count("output"), index.count("final")) == (3, 0)


def test_an_index_of_nothing() -> None:
    """No events: no duration, and every seek finds nothing."""
    index = TimeIndex([])

    assert (len(index), index.first_seq, index.last_seq, index.duration_us) == (0, 1, 0, 0)
    assert index.seek(5) == 0


def test_an_index_of_a_slice_keeps_its_seqs() -> None:
    """A slice starts at a later seq."""
    index = TimeIndex(EVENTS[2:])

    assert (index.first_seq, index.last_seq, index.seek(350), index.time_of(5)) == (3, 5, 4, 900)


@pytest.mark.parametrize(
    ("second", "message"),
    [((3, 500), "seq 3 is in the place of 2"), ((2, 50), "time goes back at seq 2")],
)
def test_events_out_of_order_are_refused(second: tuple[int, int], message: str) -> None:
    """Gaps in seq and time going back are misuse."""
    first = EVENTS[0]
    broken = Event(second[0], second[1], "output", first.record)

    with pytest.raises(ValueError, match=message):
        TimeIndex([first, broken])
