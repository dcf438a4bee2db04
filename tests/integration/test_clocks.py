"""Recording, replaying and waiting where a test has frozen time, and in other event loops."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from ptycassette import AsyncSession, Session, arecord, open_cassette, record, use
from ptycassette.errors import UsageError, WaitTimeoutError
from ptycassette.replaying.io.replayer import replay
from ptycassette.system.clock import MonotonicClock

pytestmark = pytest.mark.integration

ASK = ["bash", "-c", "read -p 'name? ' name; echo hello $name"]
PATIENCE_S = 90
Freezer = Callable[[], AbstractContextManager[Any]]


@pytest.fixture(params=["freezegun", "freezegun-asyncio", "freezegun-ticks", "time-machine"])
def frozen(request: pytest.FixtureRequest) -> Freezer:
    """Time that stands still, or ticks from another moment on."""
    kind = str(request.param)
    if kind == "time-machine":
        travel = pytest.importorskip("time_machine").travel
        return lambda: travel("2020-01-01", tick=False)  # type: ignore[no-any-return]
    freeze = pytest.importorskip("freezegun").freeze_time
    options = {"freezegun-asyncio": {"real_asyncio": True}, "freezegun-ticks": {"tick": True}}
    return lambda: freeze("2020-01-01", **options.get(kind, {}))  # type: ignore[no-any-return]


def talk(session: Any) -> int | None:
    """Wait, send, pause and time out."""
    session.wait_for_text("name?", timeout_s=PATIENCE_S)
    session.wait_stable(20, timeout_s=PATIENCE_S)
    session.submit("Ada")
    session.wait_for_text("hello Ada", timeout_s=PATIENCE_S)
    code: int = session.wait_exit(timeout_s=PATIENCE_S).code
    return code


async def atalk(session: Any) -> int | None:
    """The same in a loop."""
    await session.wait_for_text("name?", timeout_s=PATIENCE_S)
    await session.wait_stable(20, timeout_s=PATIENCE_S)
    await session.submit("Ada")
    await session.wait_for_text("hello Ada", timeout_s=PATIENCE_S)
    code: int = (await session.wait_exit(timeout_s=PATIENCE_S)).code
    return code


def times_of(path: Path) -> list[int]:
    """The times of a recording's output."""
    with open_cassette(path) as cassette:
        return [event.record.t_us or 0 for event in cassette.events()]


def test_recordings_have_real_times_under_frozen_time(frozen: Freezer, tmp_path: Path) -> None:
    """Recorded, used in each mode, and driven; the times are those of a real clock."""
    path = tmp_path / "x.cassette"
    with frozen():
        with record(ASK, path) as session:
            assert talk(session) == 0
        for mode in ("rewrite", "replay", "rerecord", "live"):
            with use(path, ASK, mode=mode) as used:
                assert talk(used) == 0
    times = times_of(path)

    assert times == sorted(times)
    assert 20_000 < times[-1] < PATIENCE_S * 1_000_000


def test_waits_end_in_time_under_frozen_time(frozen: Freezer) -> None:
    """A timeout passes although the clock of the test stands still, also in a loop."""

    async def wait_in_loop() -> None:
        async with AsyncSession(ASK) as session:
            await session.wait_for_text("name?", timeout_s=PATIENCE_S)
            with pytest.raises(WaitTimeoutError):
                await session.wait_for_text("never", timeout_s=0.05)
            assert await atalk(session) == 0

    with frozen():
        with Session(ASK) as session:
            with pytest.raises(WaitTimeoutError):
                session.wait_for_text("never", timeout_s=0.05)
            assert talk(session) == 0
        asyncio.run(wait_in_loop())


def test_replay_takes_its_time_under_frozen_time(frozen: Freezer, tmp_path: Path) -> None:
    """``realtime`` sleeps the recorded pauses."""
    path = tmp_path / "x.cassette"
    with record(ASK, path) as session:
        talk(session)
    last_us = times_of(path)[-1]
    started = time.clock_gettime(time.CLOCK_MONOTONIC)
    with frozen(), open_cassette(path) as cassette:
        for _ in replay(cassette, mode="realtime"):
            pass

    assert time.clock_gettime(time.CLOCK_MONOTONIC) - started >= last_us / 1e6 * 0.9


def test_importing_while_time_is_frozen_changes_nothing(tmp_path: Path) -> None:
    """Nothing is bound to the clock of the test."""
    pytest.importorskip("freezegun")
    code = f"""
from freezegun import freeze_time
with freeze_time("2020-01-01"):
    from ptycassette import record
    with record({ASK!r}, "x.cassette") as session:
        session.wait_for_text("name?")
        session.submit("Ada")
        session.wait_exit()
"""
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True, timeout=PATIENCE_S)

    assert times_of(tmp_path / "x.cassette")[-1] > 0


class Jumping(MonotonicClock):
    """A clock that goes back again and again."""

    def __init__(self) -> None:
        super().__init__()
        self._calls = 0

    def now_us(self) -> int:
        """An hour less at each third call."""
        self._calls += 1
        return super().now_us() - (3_600_000_000 if self._calls % 3 == 0 else 0)


def test_a_clock_that_goes_back_spoils_no_recording(tmp_path: Path) -> None:
    """The times of a recording only grow."""
    path = tmp_path / "x.cassette"
    with record(ASK, path, clock=Jumping()) as session:
        assert talk(session) == 0
    times = times_of(path)

    assert times == sorted(times)
    assert times[0] >= 0


def test_the_clock_of_the_system_is_never_seen_going_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """It goes on from where it was; after a single wrong reading it is right again."""
    readings = iter([5_000_000, 3_000_000, 4_000_000, 9_000_000, 1_000_000, 2_000_000])
    monkeypatch.setattr(time, "clock_gettime_ns", lambda _: next(readings))
    clock = MonotonicClock()

    assert [clock.now_us() for _ in range(6)] == [5000, 5000, 6000, 9000, 9000, 10_000]


class Behind(MonotonicClock):
    """A clock that goes back once, for good."""

    back_us = 0

    def now_us(self) -> int:
        """An hour less from the moment that ``back_us`` names."""
        return super().now_us() - self.back_us


def test_no_wait_is_longer_because_a_clock_goes_back(tmp_path: Path) -> None:
    """Waits for a quiet screen and timeouts go on from where they were."""
    clock = Behind()
    with record(ASK, tmp_path / "x.cassette", clock=clock) as session:
        session.wait_for_text("name?", timeout_s=PATIENCE_S)
        clock.back_us = 3_600_000_000
        session.wait_stable(20, timeout_s=PATIENCE_S)
        with pytest.raises(WaitTimeoutError):
            session.wait_for_text("never", timeout_s=0.05)
        session.submit("Ada")
        assert session.wait_exit(timeout_s=PATIENCE_S).code == 0
    times = times_of(tmp_path / "x.cassette")

    assert times == sorted(times)
    assert 70_000 <= times[-1] < 3_600_000_000


def test_timeouts_end_although_the_clock_of_the_system_goes_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A deadline that was an hour away by the clock before is not one of the clock after."""
    real, back_ns = time.clock_gettime_ns, [0]
    monkeypatch.setattr(time, "clock_gettime_ns", lambda which: real(which) - back_ns[0])
    with Session(ASK) as session:
        session.wait_for_text("name?", timeout_s=PATIENCE_S)
        back_ns[0] = 3_600 * 10**9
        with pytest.raises(WaitTimeoutError):
            session.wait_for_text("never", timeout_s=0.05)
        back_ns[0] = 7_200 * 10**9
        session.submit("Ada")
        assert session.wait_exit(timeout_s=PATIENCE_S).code == 0


def test_trio_is_refused_before_anything_starts(tmp_path: Path) -> None:
    """With the reason, and what to do; nothing is left behind."""
    trio = pytest.importorskip("trio")

    async def used() -> None:
        async with use(tmp_path / "x.cassette", ASK, mode="record"):
            pytest.fail("entered")

    async def recorded() -> None:
        async with arecord(ASK, tmp_path / "x.cassette"):
            pytest.fail("entered")

    async def driven() -> None:
        async with AsyncSession(ASK):
            pytest.fail("entered")

    for attempt in (used, recorded, driven):
        with pytest.raises(UsageError, match=r"event loop of asyncio") as caught:
            trio.run(attempt)
        assert "to_thread" in (caught.value.hint or "")
    assert list(tmp_path.iterdir()) == []


def test_the_synchronous_form_works_in_a_thread_of_trio(tmp_path: Path) -> None:
    """As the hint advises."""
    trio = pytest.importorskip("trio")

    def run() -> int | None:
        with use(tmp_path / "x.cassette", ASK, mode="record") as session:
            return talk(session)

    assert trio.run(trio.to_thread.run_sync, run) == 0
