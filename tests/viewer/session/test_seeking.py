"""The law of seeking: the state after a seek is the state after playing to that moment."""

from __future__ import annotations

import random
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptycassette import Screen, Size, open_cassette
from ptycassette.model.records import JournalEvent, Output, Resized, Typed
from ptycassette.testing import manifest_of, write_cassette
from ptycassette.viewing import InputRecord, default_emulator, save_emulator
from ptycassette_viewer.session.session import ViewerSession
from ptycassette_viewer.session.source import CassetteSource
from tests.examples import examples

PIECES = st.sampled_from(
    [
        b"hello ",
        b"\r\n",
        b"\x1b[31mred\x1b[0m",
        b"\x1b[",
        b"5;3H",
        b"\x1b[2J",
        b"\x1b[?1049h",
        b"\x1b[?1049l",
        b"\xe6\xbc",
        b"\xa2",
        b"\x1b[?2026h",
        b"\x1b[S",
        b"\x1b]0;title\x07",
        b"long line " * 20,
    ]
)
ITEMS = st.lists(
    st.one_of(
        st.builds(lambda data: Output(0, data), st.lists(PIECES, min_size=1).map(b"".join)),
        st.builds(
            lambda rows, cols: Resized(0, Size(rows, cols)), st.integers(1, 30), st.integers(2, 90)
        ),
        st.just(Typed(0, b"x")),
    ),
    min_size=1,
    max_size=12,
)


def played(path: Path) -> list[tuple[int, Screen, bytes]]:
    """Time, screen and state behind every event, by playing from the start."""
    found = []
    with open_cassette(path) as cassette:
        terminal = cassette.manifest.terminal
        emulator = default_emulator(Size(terminal.initial_rows, terminal.initial_cols))
        for event in cassette.events():
            if event.kind == "output":
                emulator.feed(event.data)
            elif isinstance(event.record, InputRecord) and event.record.size is not None:
                emulator.resize(event.record.size)
            found.append((event.t_us, emulator.snapshot(), save_emulator(emulator)))
    return found


def session_on(path: Path) -> ViewerSession:
    """A session with a state kept behind every event."""
    session = ViewerSession(CassetteSource(open_cassette(path, check="manifest")))
    session.checkpoints.every_s = 0.0
    session.run()
    return session


@pytest.mark.slow
@examples(60)
@given(items=ITEMS, seed=st.integers(0, 10_000), budget=st.sampled_from([0, 400, 10_000_000]))
def test_state_after_seek_is_state_after_playing(
    tmp_path_factory: pytest.TempPathFactory,
    items: list[JournalEvent],
    seed: int,
    budget: int,
) -> None:
    """For any events, any order of seeks, and any number of states kept."""
    path = tmp_path_factory.mktemp("seek") / "made"
    timed = [type(item)(number * 1000, *_rest(item)) for number, item in enumerate(items)]
    write_cassette(path, *timed, manifest=manifest_of(size=Size(5, 20)))
    truth = played(path)
    session = ViewerSession(CassetteSource(open_cassette(path, check="manifest")))
    session.checkpoints.every_s = 0.0
    session.checkpoints._max_bytes = budget
    session.run()
    head = session.head()
    order = list(range(len(truth))) * 2
    random.Random(seed).shuffle(order)

    for place in order:
        t_us, screen, state = truth[place]
        assert head.move(place + 1)
        assert head.screen == screen
        if session.index.next_resize(place + 1) is not None:  # else rows above may be forgotten
            assert save_emulator(head.emulator) == state
        assert session.index.time_of(place + 1) == t_us
    session.close()


def _rest(item: JournalEvent) -> tuple[object, ...]:
    return (item.size,) if isinstance(item, Resized) else (item.data,)  # type: ignore[union-attr]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", ["codex-tui", "gemini-tui", "aider-tui", "llm-tui"])
def test_real_recordings_seek_exactly(agents: Path, name: str) -> None:
    """Every event of a real session, visited in a wild order."""
    truth = played(agents / name)
    session = session_on(agents / name)
    head = session.head()
    places = list(range(len(truth)))
    random.Random(7).shuffle(places)

    for place in places[:150]:
        assert head.move(place + 1)
        assert head.screen == truth[place][1], place
    session.close()


@pytest.mark.slow
def test_a_move_that_is_stopped_goes_on_later(tmp_path: Path) -> None:
    """Stopped in the middle of a long event, the head still comes out right."""
    path = tmp_path / "made"
    data = b"".join(b"line %d\r\n" % number for number in range(20_000))
    write_cassette(path, Output(0, data), Output(1000, b"end"))
    session = ViewerSession(CassetteSource(open_cassette(path, check="manifest")))
    session._fill()
    head = session.head()
    answers = iter([False, False, True])

    assert not head.move(2, lambda: next(answers, True))
    assert head.seq == 0
    assert head.move(2)
    assert head.screen == played(path)[1][1]
    session.close()


def test_time_to_event_and_back(tmp_path: Path) -> None:
    """A moment belongs to the last event at or before it."""
    path = tmp_path / "made"
    write_cassette(path, Output(1000, b"a"), Output(1000, b"b"), Output(5000, b"c"))
    session = session_on(path)
    at = session.index.at

    assert [at(0), at(999), at(1000), at(4999), at(5000), at(10**9)] == [0, 0, 2, 2, 4, 4]
    assert all(a <= b for a, b in pairwise(map(session.index.time_of, range(5))))
    session.close()
