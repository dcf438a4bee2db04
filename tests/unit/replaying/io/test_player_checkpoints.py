"""States kept for seeking."""

from __future__ import annotations

from ptycassette.model.ports import Emulator
from ptycassette.model.records import Event, Output
from ptycassette.model.screen import Size
from ptycassette.replaying.io.replayer import KEEP, Checkpoints
from ptycassette.terminal.emulator import default_emulator
from ptycassette.terminal.state import load_emulator, save_emulator
from ptycassette.testing import events_of

SIZE = Size(rows=2, cols=20)


def _events(count: int) -> list[Event]:
    return events_of(*(Output(n * 1000, b"\r%05d" % n) for n in range(1, count + 1)))


def _kept(count: int, every_bytes: int = 12) -> Checkpoints[Emulator]:
    kept: Checkpoints[Emulator] = Checkpoints(save_emulator, load_emulator, every_bytes=every_bytes)  # type: ignore[arg-type]
    emulator = default_emulator(SIZE)
    for event in _events(count):
        emulator.feed(event.data)
        kept.fed(emulator, event)
    return kept


def test_the_last_state_before_a_moment_is_found() -> None:
    """With the screen that was there, and where to go on."""
    found = _kept(10).before(5_999)

    assert found is not None
    assert (found[0], found[1].snapshot().text) == (4, "00004")


def test_a_state_at_the_very_moment_counts() -> None:
    """What follows at the same moment has a later seq."""
    found = _kept(10).before(6_000)

    assert found is not None
    assert found[0] == 6


def test_before_the_first_state_there_is_none() -> None:
    """Then the beginning is the place."""
    assert _kept(10).before(1_999) is None


def test_going_the_same_way_again_keeps_nothing_twice() -> None:
    """Only what lies behind the last state is new."""
    kept = _kept(10)
    emulator = default_emulator(SIZE)
    for event in _events(10):
        kept.fed(emulator, event)

    assert [seq for seq, _, _ in kept._states] == [2, 4, 6, 8, 10]


def test_many_states_are_thinned_out() -> None:
    """Their number is bounded, and they span everything."""
    kept = _kept(KEEP * 10, every_bytes=6)
    seqs = [seq for seq, _, _ in kept._states]

    assert len(seqs) <= KEEP
    assert seqs[0] <= KEEP
    assert seqs[-1] >= KEEP * 9
