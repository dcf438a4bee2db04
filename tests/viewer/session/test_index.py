"""The index: kinds, neighbours, exchanges, idle limits."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from ptycassette import Size
from ptycassette.model.records import JournalEvent, Noted, Output, Resized, Signalled, Typed
from ptycassette.testing import events_of
from ptycassette.viewing import exchanges
from ptycassette_viewer.dialogs import Playback, clock_text
from ptycassette_viewer.session.index import EventIndex
from ptycassette_viewer.session.session import ExchangeCuts

S = 1_000_000
ITEM: st.SearchStrategy[JournalEvent] = st.sampled_from(
    [
        Output(0, b"out"),
        Output(0, b"\x1b]7501;state=working\x07"),
        Output(0, b"\x1b]7501;state=idle\x07"),
        Typed(0, b"in"),
        Typed(0, b"answer", source="terminal"),
        Resized(0, Size(5, 5)),
        Signalled(0, "int"),
        Noted(0, {}),
    ]
)


@given(st.lists(ITEM, max_size=30))
def test_exchanges_begin_where_the_library_says(items: list[JournalEvent]) -> None:
    """First event and number of each."""
    index, cuts = EventIndex(Size(5, 5)), ExchangeCuts()
    events = events_of(*items)
    for event in events:
        cuts.add(event, index.add(event))
    truth = list(exchanges(events))

    assert list(cuts.starts) == [exchange.first_seq for exchange in truth]
    assert [cuts.number(n) for n in range(len(cuts))] == [exchange.number for exchange in truth]
    assert all(
        cuts.place_of(seq) == place
        for place, exchange in enumerate(truth)
        for seq in range(exchange.first_seq, exchange.last_seq + 1)
    )


def test_neighbours_sizes_and_bytes_are_known(
    make: Callable[..., Path], session_of: Callable[[Path], Any]
) -> None:
    """Before and after, by kind."""
    path = make(Output(0, b"abc"), Typed(1, b"x"), Resized(2, Size(9, 30)), Output(3, b"de"))
    index = session_of(path).index

    assert (index.after(1, "output"), index.before(4, "output")) == (4, 1)
    assert (index.after(4, "output"), index.before(1, "output")) == (None, None)
    assert index.after(0, "resize", "input") == 2
    assert [index.output_end(seq) for seq in range(6)] == [0, 3, 3, 3, 5, 5]
    assert [index.size_at(seq).cols for seq in (0, 2, 3, 5)] == [80, 80, 30, 30]
    assert [index.kind_of(seq) for seq in range(1, 6)] == [
        "output",
        "input",
        "resize",
        "output",
        "final",
    ]


def playback_of(*items: JournalEvent) -> Playback:
    """A playback over events."""
    index = EventIndex(Size(5, 5))
    for event in events_of(*items):
        index.add(event)
    playback = Playback(index)
    playback.playing = True
    return playback


def test_pauses_are_shortened_to_the_limit() -> None:
    """After a pause of the limit's length the next event is there."""
    playback = playback_of(Output(0, b"a"), Output(60 * S, b"b"), Output(61 * S, b"c"))
    playback.idle_limit_us = 500_000
    times = []
    for _ in range(5):
        playback.tick(0.25, end_us=61 * S)
        times.append(playback.t_us)

    assert times == [250_000, 500_000, 60_250_000, 60_500_000, 61 * S]


def test_a_sleeping_machine_does_not_jump_to_the_end() -> None:
    """A tick is never longer than a quarter of a second."""
    playback = playback_of(Output(0, b"a"), Output(60 * S, b"b"))
    playback.tick(3600.0, end_us=60 * S)

    assert playback.t_us == 250_000


def test_speeds_have_ends() -> None:
    """0.1x to 100x."""
    playback = playback_of(Output(0, b"a"))
    for _ in range(20):
        playback.faster()
    fastest = playback.speed
    for _ in range(20):
        playback.slower()

    assert (fastest, playback.speed) == (100.0, 0.1)


def test_clocks_are_for_people() -> None:
    """Minutes, and hours when there are any."""
    assert [clock_text(t) for t in (0, 62_345_678, 3_723_000_000)] == [
        "0:00.000",
        "1:02.345",
        "1:02:03.000",
    ]
