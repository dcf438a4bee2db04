"""Laws of time: order and evidence stay, nothing drifts, and a look at t is a replay to t."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st

from ptycassette.cassette.timeline.exchange_cutting import exchanges
from ptycassette.cassette.timeline.index import TimeIndex
from ptycassette.cassette.timeline.transforms import between, chain, limit_idle, speed
from ptycassette.model.records import Event, FinalRecord, Finished, Manifest, Output, Typed
from ptycassette.model.screen import Size
from ptycassette.replaying.io.replayer import Checkpoints, PaintedView, Player, PlayOptions
from ptycassette.replaying.scheduler import Done, Emit, Scheduler, Wait
from ptycassette.terminal.emulator import default_emulator
from ptycassette.terminal.state import load_emulator, save_emulator
from ptycassette.testing import ManualClock, events_of, manifest_of

GAPS = st.lists(st.integers(0, 5_000_000), min_size=1, max_size=25)
KINDS = st.lists(st.sampled_from("oit"), min_size=25, max_size=25)


def _events(gaps: list[int], kinds: list[str]) -> list[Event]:
    items: list[Output | Typed | Finished] = []
    t_us = 0
    for number, gap in enumerate(gaps):
        t_us += gap
        data = b"%d," % number
        match kinds[number]:
            case "o":
                items.append(Output(t_us, data))
            case "i":
                items.append(Typed(t_us, data))
            case _:
                items.append(Typed(t_us, data, source="terminal"))
    return events_of(*items, Finished(t_us=t_us))


EVENTS = st.builds(_events, GAPS, KINDS)
TRANSFORMS = st.one_of(
    st.builds(speed, st.floats(0.01, 100)),
    st.builds(limit_idle, st.integers(0, 3_000_000)),
    st.builds(between, st.integers(0, 10_000_000), st.none()),
)


@given(EVENTS, st.lists(TRANSFORMS, max_size=4))
def test_transforms_keep_order_and_evidence(events: list[Event], transforms: list[object]) -> None:
    """However they are chained, time never goes back, and only ``t_us`` changes."""
    known = {event.seq: event for event in events}
    moved = list(chain(events, *transforms))  # type: ignore[arg-type]

    assert [event.seq for event in moved] == sorted(event.seq for event in moved)
    assert all(a.t_us <= b.t_us for a, b in itertools.pairwise(moved))
    assert all(event.record is known[event.seq].record for event in moved)


@given(EVENTS, st.integers(0, 2_000_000))
def test_no_gap_is_longer_than_the_idle_limit(events: list[Event], limit_us: int) -> None:
    """And none that is shorter changes."""
    gaps = [b.t_us - a.t_us for a, b in itertools.pairwise(events)]
    moved = list(limit_idle(limit_us)(events))
    new = [b.t_us - a.t_us for a, b in itertools.pairwise(moved)]

    assert new == [min(gap, limit_us) for gap in gaps]


@given(EVENTS, st.integers(0, 20_000_000), st.integers(0, 300), st.floats(0.01, 100))
def test_replay_is_late_by_one_oversleep_at_most(
    events: list[Event], now_us: int, late_us: int, scale: float
) -> None:
    """And never early, at any scale, wherever the clock stands."""
    scheduler = Scheduler(events, mode="scaled", scale=scale)
    start_us, seen = now_us, []
    while not isinstance(decision := scheduler.step(now_us), Done):
        match decision:
            case Wait(us=us):
                now_us += us + late_us
            case Emit(event=event):
                seen.append((event, now_us - start_us))

    assert [event for event, _ in seen] == events
    assert all(0 <= at - round(event.t_us * scale) <= late_us for event, at in seen)


@given(EVENTS)
def test_exchanges_hold_every_event_once(events: list[Event]) -> None:
    """In order, numbered without a gap, each but the first begun by an input."""
    found = list(exchanges(events))
    seqs = sorted(event.seq for one in found for event in (*one.inputs, *one.answers))

    assert seqs == [event.seq for event in events]
    assert [one.number for one in found] == list(
        range(found[0].number, found[0].number + len(found))
    )
    assert all(one.inputs for one in found[1:])


@given(EVENTS, st.integers(0, 20_000_000))
def test_the_index_seeks_as_a_search_would(events: list[Event], t_us: int) -> None:
    """The last event at or before a moment."""
    index = TimeIndex(events)

    assert index.seek(t_us) == max((e.seq for e in events if e.t_us <= t_us), default=0)


class _Still:
    """A terminal that is never touched: seeks are made while paused."""

    size = Size(rows=4, cols=10)
    resized = False

    def write(self, data: bytes) -> None:
        """Nobody looks."""

    def keys(self, timeout_s: float) -> list[str]:
        """Nobody types."""
        return []

    def suspend(self) -> None:
        """Nobody stops it."""


class _Tape:
    def __init__(self, events: list[Event]) -> None:
        self._events = events
        self.manifest: Manifest = manifest_of(size=Size(rows=4, cols=10))
        record = events[-1].record
        assert isinstance(record, FinalRecord)
        self.final = record

    def events(self) -> Iterator[Event]:
        return iter(self._events)


@given(EVENTS, st.lists(st.integers(0, 20_000_000), min_size=1, max_size=4))
def test_seeking_to_t_is_replaying_to_t(events: list[Event], moments: list[int]) -> None:
    """Back and forth, the screen is the one that the output up to then makes."""
    terminal = _Still()
    kept = Checkpoints(save_emulator, load_emulator, every_bytes=8)
    view = PaintedView(terminal, default_emulator, terminal.size, checkpoints=kept)
    player = Player(_Tape(events), terminal, view, options=PlayOptions(), clock=ManualClock())
    for t_us in moments:
        player._seek(t_us)
    fresh = default_emulator(terminal.size)
    for event in between(None, moments[-1])(events):
        if event.kind == "output":
            fresh.feed(event.data)

    assert view.screen == fresh.snapshot()
