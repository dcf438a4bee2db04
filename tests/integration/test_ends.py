"""A driver that ends the program: on the record, and held against it in replay."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from ptycassette import AsyncSession, Session, open_cassette, use
from ptycassette.errors import DivergenceError, WaitTimeoutError
from ptycassette.model.records import ExitStatus, Finished, Output, Signalled, Typed
from ptycassette.testing import write_cassette

pytestmark = pytest.mark.integration

LONG_S = 120
STUBBORN = ["bash", "-c", "trap 'echo bye; exit 4' TERM; echo ready; while :; do sleep 0.05; done"]
PLAIN = ["bash", "-c", "echo ready; while :; do sleep 0.05; done"]
FOUR = ExitStatus(code=4, exited=True, signaled=False)
KILLED = ExitStatus(code=-1, signal="killed", exited=False, signaled=True)


def run_sync(path: Path, argv: list[str], act: str, mode: str) -> tuple[Any, str]:
    """Wait for the program, end it; how it ended, and its last screen."""
    with use(path, argv, mode=mode) as session:
        session.wait_for_text("ready", timeout_s=LONG_S)
        status = getattr(session, act)()
        return status, "\n".join(session.screen().rows)


def run_async(path: Path, argv: list[str], act: str, mode: str) -> tuple[Any, str]:
    """As ``run_sync``, in an event loop."""

    async def run() -> tuple[Any, str]:
        async with use(path, argv, mode=mode) as session:
            await session.wait_for_text("ready", timeout_s=LONG_S)
            status = await getattr(session, act)()
            return status, "\n".join((await session.screen()).rows)

    return asyncio.run(run())


Run = Callable[[Path, list[str], str, str], tuple[Any, str]]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("run", [run_sync, run_async])
@pytest.mark.parametrize(
    ("argv", "act", "status"), [(STUBBORN, "terminate", FOUR), (PLAIN, "kill", KILLED)]
)
def test_how_a_driver_ended_the_program_is_recorded_and_replayed(
    tmp_path: Path, run: Run, argv: list[str], act: str, status: ExitStatus
) -> None:
    """As a signal; and the exit status comes out of replay as it was."""
    path = tmp_path / "ended.cassette"
    recorded = run(path, argv, act, "record")
    with open_cassette(path) as cassette:
        inputs = [(record.kind, record.signal) for record in cassette.inputs()]

    assert recorded[0] == status
    assert inputs == [("signal", {"terminate": "term", "kill": "kill"}[act])]
    assert run(path, argv, act, "replay") == recorded


@pytest.fixture
def terminated(tmp_path: Path) -> Path:
    """A recording that ``terminate`` ended, with status 4."""
    path = tmp_path / "terminated.cassette"
    write_cassette(
        path, Output(0, b"ready\r\n"), Signalled(1000, "term"), Output(2000, b"bye\r\n"),
        Finished(t_us=3000, exit=FOUR),
    )  # fmt: skip
    return path


@pytest.fixture
def by_itself(tmp_path: Path) -> Path:
    """A recording of a program that was sent a line, and ended by itself."""
    path = tmp_path / "by_itself.cassette"
    write_cassette(
        path, Output(0, b"ready\r\n"), Typed(1000, b"x\r"), Output(2000, b"bye\r\n"),
        Finished(t_us=3000, exit=FOUR),
    )  # fmt: skip
    return path


@pytest.mark.parametrize("act", ["kill", "terminate"])
def test_ending_where_the_recording_did_not_diverges_at_once(by_itself: Path, act: str) -> None:
    """Whoever ends the program is told, before an assertion on the status can hide it."""
    reached = []
    told = pytest.raises(DivergenceError, match=r"signal .* was not recorded")
    with told, use(by_itself) as session:
        session.wait_for_text("ready")
        reached.append("ready")
        getattr(session, act)()
        reached.append("behind it")

    assert reached == ["ready"]


def test_ending_in_another_way_diverges(terminated: Path) -> None:
    """SIGKILL is not SIGTERM."""
    with pytest.raises(DivergenceError, match="signal kill, which was not recorded"):
        run_sync(terminated, STUBBORN, "kill", "replay")


def test_ending_before_the_recorded_input_diverges(tmp_path: Path) -> None:
    """The signal is recorded, and something else comes before it."""
    path = tmp_path / "typed.cassette"
    write_cassette(
        path, Output(0, b"ready\r\n"), Typed(1000, b"x\r"), Signalled(2000, "kill"),
        Finished(t_us=3000, exit=KILLED),
    )  # fmt: skip
    with pytest.raises(DivergenceError, match="the driver sent signal kill where the recording"):
        run_sync(path, PLAIN, "kill", "replay")


def test_a_driver_that_leaves_the_recorded_end_out_diverges(terminated: Path) -> None:
    """When the block is left; a wait for the end says what it waits for."""
    leaves = pytest.raises(DivergenceError, match="input-missing")
    with leaves, use(terminated) as session:
        session.wait_for_text("ready")
    with pytest.raises(WaitTimeoutError) as waited, use(terminated) as session:
        session.wait_exit()

    assert "continues when signal term comes" in str(waited.value.__notes__)


@pytest.mark.parametrize("allowed", [False, True])
def test_closing_the_session_is_leaving_the_block(by_itself: Path, *, allowed: bool) -> None:
    """Input that the recording still holds is missing, unless that is allowed."""
    using = use(by_itself, allow_unplayed=allowed)
    left = nullcontext() if allowed else pytest.raises(DivergenceError, match="input-missing")
    with left, using as session:
        session.wait_for_text("ready")
        session.close()

    assert using.result.unplayed.inputs == 1
    assert bool(using.result.divergences) != allowed


def test_closing_an_async_session_is_leaving_the_block(by_itself: Path) -> None:
    """As ``Session.close``."""

    async def run() -> None:
        async with use(by_itself) as session:
            await session.wait_for_text("ready")
            await session.close()

    with pytest.raises(DivergenceError, match="input-missing"):
        asyncio.run(run())


def test_a_program_that_is_asked_to_end_ends_as_recorded(tmp_path: Path) -> None:
    """``request_end`` is what leaving a block does; it is not on the record."""
    path = tmp_path / "ended.cassette"
    with use(path, STUBBORN, mode="record") as session:
        session.wait_for_text("ready", timeout_s=LONG_S)
        session.request_end()
        recorded = session.wait_exit(timeout_s=LONG_S)
    with use(path) as session:
        session.wait_for_text("ready")
        session.request_end()
        replayed = session.wait_exit()

    assert recorded == replayed == FOUR


def test_the_signal_itself_ends_a_recorded_program_too(terminated: Path) -> None:
    """``terminate`` and ``signal("term")`` are one signal; the recorded status follows."""
    with use(terminated) as session:
        session.wait_for_text("ready")
        session.signal("term")
        session.wait_for_text("bye")
        status = session.wait_exit()

    assert status == FOUR


def test_a_lenient_replay_ends_by_the_signal_that_came(by_itself: Path) -> None:
    """It holds the divergence, and the program is as dead as the driver wanted it."""
    using = use(by_itself, lenient=True)
    with using as session:
        session.wait_for_text("ready")
        status = session.kill()

    assert status == KILLED
    assert [found.kind for found in using.result.divergences] == ["input-extra"]


def test_kill_is_sigkill() -> None:
    """Nothing comes before it."""
    with Session(PLAIN) as session:
        session.wait_for_text("ready", timeout_s=LONG_S)

        assert session.kill() == KILLED


@pytest.mark.asyncio
async def test_async_kill_is_sigkill() -> None:
    """As ``Session.kill``."""
    async with AsyncSession(STUBBORN) as session:
        await session.wait_for_text("ready", timeout_s=LONG_S)

        assert await session.kill() == KILLED
