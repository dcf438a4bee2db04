"""Replay on the real clock, and of a real cassette from many threads at once."""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ptycassette import areplay, open_cassette, replay
from ptycassette.model.records import Output
from ptycassette.testing import write_cassette

pytestmark = pytest.mark.integration
COUNT = 1000


@pytest.fixture
def cassette(tmp_path: Path) -> Path:
    """A second of output, one event a millisecond."""
    path = tmp_path / "c"
    write_cassette(path, *(Output(n * 1000, b"%d\r\n" % n) for n in range(COUNT)))
    return path


@pytest.mark.slow
def test_realtime_does_not_drift_on_the_real_clock(cassette: Path) -> None:
    """A loaded machine makes single events late, and none behind them."""
    with open_cassette(cassette) as source:
        started = None
        late: list[float] = []
        for event in replay(source, mode="realtime"):
            started = time.perf_counter() if started is None else started
            late.append(time.perf_counter() - started - event.t_us / 1e6)

    assert min(late[-200:]) < 0.001
    assert min(late) > -0.001


@pytest.mark.slow
def test_the_async_face_does_not_drift_either(cassette: Path) -> None:
    """In an event loop, whose timers are coarser."""

    async def play() -> list[float]:
        late: list[float] = []
        started = None
        with open_cassette(cassette) as source:
            async for event in areplay(source, mode="realtime"):
                started = time.perf_counter() if started is None else started
                late.append(time.perf_counter() - started - event.t_us / 1e6)
        return late

    assert min(asyncio.run(play())[-200:]) < 0.002


@pytest.mark.slow
def test_one_open_cassette_serves_many_replays_at_once(cassette: Path) -> None:
    """Each thread gets all of it, in order."""
    expected = (cassette / "output.raw").read_bytes()
    with open_cassette(cassette) as source, ThreadPoolExecutor(8) as pool:

        def play(_: int) -> bytes:
            return b"".join(event.data for event in replay(source, mode="collapsed"))

        assert set(pool.map(play, range(16))) == {expected}
