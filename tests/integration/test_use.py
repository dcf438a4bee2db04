"""``use``: the same block replayed, recorded and live; nothing is kept of what failed."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from contextvars import copy_context
from pathlib import Path
from typing import Any

import pytest

from ptycassette.errors import (
    DivergenceError,
    NotFoundError,
    RefusedError,
    SessionError,
    UsageError,
    WaitTimeoutError,
)
from ptycassette.model.records import ExitStatus, Finished, Output, Typed
from ptycassette.model.screen import Size
from ptycassette.recording.io.recording import record
from ptycassette.recording.session.async_session import AsyncSession
from ptycassette.recording.session.session import Session
from ptycassette.replaying.io.using import use
from ptycassette.testing import write_cassette

pytestmark = pytest.mark.integration
CAT = ["cat"]
LONG_S = 120  # a busy machine takes its time to start a program; ten seconds were too few
OK = ExitStatus(code=0, exited=True, signaled=False)


def talk(session: Any, line: str = "hello") -> ExitStatus:
    """What a test of ``cat`` does."""
    session.type(f"{line}\n")
    session.wait_for_text(f"{line}\n{line}", timeout_s=LONG_S)
    session.send_key("ctrl-d")
    status: ExitStatus = session.wait_exit(timeout_s=LONG_S)
    return status


@pytest.fixture
def cassette(tmp_path: Path) -> Path:
    """A recording of ``cat``."""
    path = tmp_path / "cat.cassette"
    with use(path, CAT, mode="auto") as session:
        talk(session)
    return path


@pytest.mark.sampled(2)
@pytest.mark.parametrize("mode", ["replay", "auto", "record", "rerecord", "rewrite", "live"])
def test_the_same_block_runs_in_every_mode(cassette: Path, mode: str) -> None:
    """With the same outcome."""
    using = use(cassette, CAT, mode=mode)
    with using as session:
        assert talk(session) == OK
    assert using.result.divergences == ()


@pytest.mark.slow
@pytest.mark.parametrize("pause_s", [0.05, 2.5, 30])
def test_a_slow_driver_passes(cassette: Path, pause_s: float) -> None:
    """The pause is what is tested."""
    with use(cassette, CAT) as session:
        for text in ("hel", "lo", "\n"):
            time.sleep(pause_s)
            session.type(text)
        session.wait_for_text("hello\nhello", timeout_s=LONG_S)
        session.send_key("ctrl-d")

        assert session.wait_exit(timeout_s=LONG_S) == OK


def test_the_mode_comes_from_the_environment(
    cassette: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When nothing stronger says otherwise."""
    monkeypatch.setenv("PTYCASSETTE_MODE", "live")
    using = use(cassette, CAT)
    with using as session:
        talk(session, "something else")

    assert using.result.action == "live"


def test_other_input_raises_where_it_is_sent(cassette: Path) -> None:
    """With expected, got and the screen."""
    with pytest.raises(DivergenceError, match="hello<enter>"), use(cassette) as session:
        session.type("hullo\n")


def test_a_divergence_that_the_block_swallows_is_raised_at_its_end(cassette: Path) -> None:
    """It is sticky."""
    with pytest.raises(DivergenceError), use(cassette) as session, suppress(DivergenceError):
        session.type("hullo\n")


def test_a_block_that_ends_early_is_a_divergence(cassette: Path) -> None:
    """Unless that is allowed."""
    with pytest.raises(DivergenceError, match="input-missing"), use(cassette) as session:
        session.type("hello\n")
    using = use(cassette, allow_unplayed=True)
    with using as session:
        session.type("hello\n")

    assert using.result.unplayed.inputs == 1


def test_lenient_keeps_divergences_for_the_caller(cassette: Path) -> None:
    """And the recording continues."""
    using = use(cassette, lenient=True)
    with using as session:
        session.type("hullo\n")
        session.wait_for_text("hello\nhello")
        session.send_key("ctrl-d")

    assert [found.kind for found in using.result.divergences] == ["input-changed"]


def test_waiting_for_what_never_comes_takes_no_time(cassette: Path) -> None:
    """The clock of a replay is logical; the error shows the screen."""
    with pytest.raises(WaitTimeoutError, match="nonsense"), use(cassette) as session:
        session.wait_for_text("nonsense", timeout_s=3600)


@pytest.mark.parametrize(("masked", "told"), [(False, "hello<enter>"), (True, "what was typed")])
def test_a_wait_that_comes_before_its_input_says_which(
    tmp_path: Path, masked: bool, told: str
) -> None:
    """The recording does not go on without it; the result counts what is left."""
    path = tmp_path / "a.cassette"
    typed = Typed(1, b"hello\r", masked=masked)
    write_cassette(path, typed, Output(2, b"> "), Finished(t_us=3, exit=OK))
    using = use(path)
    with pytest.raises(WaitTimeoutError) as caught, using as session:
        session.wait_for_text("> ")

    assert f"the recording continues when input 1 comes: {told}" in str(caught.value.__notes__)
    assert (using.result.unplayed.inputs, using.result.unplayed.outputs) == (1, 1)


def test_a_wait_for_what_never_comes_says_nothing_of_input(tmp_path: Path) -> None:
    """When none is left."""
    path = tmp_path / "a.cassette"
    write_cassette(path, Output(0, b"> "), Typed(1, b"hello\r"), Finished(t_us=3, exit=OK))

    def block() -> None:
        with use(path) as session:
            session.submit("hello")
            session.wait_for_text("never")

    with pytest.raises(SessionError) as caught:
        block()

    assert "the recording continues" not in str(getattr(caught.value, "__notes__", ""))


def test_what_is_shown_for_a_moment_can_be_waited_for(tmp_path: Path) -> None:
    """As in a live session: recorded time is kept."""
    path = tmp_path / "spinner.cassette"
    write_cassette(
        path, Output(0, b"working"), Output(2_000_000, b"\r\x1b[Kdone"),
        Finished(t_us=3_000_000, exit=OK),
    )  # fmt: skip
    with use(path) as session:
        session.wait_for_text("working")
        session.wait_for_text("done")

        assert 1.9 < session.elapsed_us / 1e6 < 2.1


@pytest.mark.parametrize("mode", ["live", "record"])
def test_the_program_starts_alike_whether_it_is_recorded_or_not(mode: str, tmp_path: Path) -> None:
    """In its directory, with its environment and its TERM; options of the recording do no harm."""
    options = {
        "cwd": tmp_path, "env": {"WORD": "said"}, "base_env": {"PATH": os.environ["PATH"]},
        "term": "vt100", "timeout_s": 60, "title": "t", "meta": {"a": 1},
    }  # fmt: skip
    argv = ["sh", "-c", "echo $WORD $TERM $HOME. $(pwd)"]
    with use(tmp_path / "c", argv, mode=mode, size=Size(10, 200), **options) as session:
        session.wait_for_text(f"said vt100 . {tmp_path}", timeout_s=60)


@pytest.mark.parametrize("mode", ["replay", "live", "record"])
def test_an_option_that_is_not_there_is_an_error_in_every_mode(mode: str, tmp_path: Path) -> None:
    """At once, not when the test is recorded again a year later."""
    with pytest.raises(TypeError, match="take no option titel"):
        use(tmp_path / "c", ["true"], mode=mode, titel="x")


def test_a_command_that_is_one_text_is_an_error_that_shows_a_list(tmp_path: Path) -> None:
    """In place of a program that is called as the first letter."""
    text: Any = "echo hello"
    for start in (
        lambda: use(tmp_path / "c", text, mode="replay"),
        lambda: record(text, tmp_path / "c").__enter__(),
        lambda: record(str(tmp_path / "c"), text).__enter__(),  # the other way round
        lambda: Session(text),
        lambda: AsyncSession(text.encode()),
    ):
        with pytest.raises(TypeError, match="list of words"):
            start()
    with pytest.raises(TypeError, match="not 5"):
        use(tmp_path / "c", ["sleep", 5])  # type: ignore[list-item]
    with Session([Path("/bin/echo"), b"\xc3\xa9"]) as session:  # type: ignore[list-item]
        session.wait_for_text("é", timeout_s=LONG_S)


@pytest.mark.parametrize("size", ["80x24", (80, 24)])
def test_a_size_that_is_none_is_an_error_that_shows_one(size: Any, tmp_path: Path) -> None:
    """At once, in replay as well."""
    for start in (
        lambda: use(tmp_path / "c", CAT, size=size),
        lambda: record(CAT, tmp_path / "c", size=size).__enter__(),
        lambda: Session(CAT, size=size),
    ):
        with pytest.raises(TypeError, match="Size\\(rows=24, cols=80\\)"):
            start()


def test_a_missing_cassette_says_how_to_record_it(tmp_path: Path) -> None:
    """In replay nothing is ever run."""
    with pytest.raises(NotFoundError, match="PTYCASSETTE_MODE=auto"), use(tmp_path / "x", CAT):
        pass


def test_auto_in_ci_records_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is a replay there."""
    monkeypatch.setenv("CI", "true")
    with pytest.raises(NotFoundError), use(tmp_path / "x", CAT, mode="auto"):
        pass
    assert not (tmp_path / "x").exists()


def test_nothing_is_kept_of_a_block_that_failed(tmp_path: Path) -> None:
    """The cassette is not there."""
    recorded = use(tmp_path / "x", CAT, mode="record")
    with pytest.raises(ZeroDivisionError), recorded as session:
        session.wait_for_text(str(talk(session)) * (1 // 0))
    assert not (tmp_path / "x").exists()


def test_an_empty_recording_is_refused(tmp_path: Path) -> None:
    """It would replay as one for ever."""
    with (
        pytest.raises(RefusedError, match="empty"),
        use(tmp_path / "x", ["sleep", "9"], mode="record"),
    ):
        pass
    assert not (tmp_path / "x").exists()


def test_rerecord_reports_drift_and_changes_nothing(cassette: Path) -> None:
    """The cassette stays as it was."""
    before = (cassette / "manifest.json").read_bytes()
    using = use(cassette, CAT, mode="rerecord")
    with using as session:
        talk(session, "hullo")

    assert using.result.drift
    assert (cassette / "manifest.json").read_bytes() == before


def test_rewrite_replaces_and_reports_drift(cassette: Path) -> None:
    """The next replay plays the new recording; a first recording has nothing to differ from."""
    using = use(cassette, CAT, mode="rewrite")
    with using as session:
        talk(session, "hullo")
    fresh = use(cassette.with_name("fresh"), CAT, mode="rewrite")
    with fresh as session:
        talk(session, "hullo")

    assert [change.got for change in using.result.drift.exchanges][:1] == ["hullo<enter>"]
    assert fresh.result.drift is None
    with use(cassette, mode="replay") as session:
        talk(session, "hullo")


def test_a_rewrite_that_fails_keeps_what_was_there(cassette: Path) -> None:
    """As every recording."""
    before = (cassette / "manifest.json").read_bytes()
    with pytest.raises(KeyError), use(cassette, CAT, mode="rewrite"):
        raise KeyError("x")

    assert (cassette / "manifest.json").read_bytes() == before


def test_an_error_of_a_rerecording_names_nothing_that_is_gone(cassette: Path) -> None:
    """The recording that was made aside is removed, its diagnostic too."""
    with pytest.raises(KeyError) as caught, use(cassette, CAT, mode="rerecord"):
        raise KeyError("x")

    assert "diagnostic" not in str(getattr(caught.value, "__notes__", ""))


def test_the_recorded_program_is_run_when_none_is_named(cassette: Path) -> None:
    """Its argv is in the manifest."""
    with use(cassette, mode="live") as session:
        talk(session)
    with (
        pytest.raises(UsageError, match="the program is missing"),
        use(cassette / "x", mode="live"),
    ):
        pass


def test_another_size_is_a_divergence(cassette: Path) -> None:
    """The program would have drawn something else."""
    small = use(cassette, size=Size(rows=5, cols=5))
    with pytest.raises(DivergenceError, match="size-mismatch"), small as session:
        session.type("hello\n")


def test_a_typo_in_a_mode_is_an_error_before_anything_happens(tmp_path: Path) -> None:
    """Not when the block is entered."""
    with pytest.raises(UsageError, match="not one of replay"):
        use(tmp_path / "x", mode="recrod")


def test_a_result_is_there_only_after_a_use(cassette: Path) -> None:
    """Otherwise there is nothing to tell."""
    with pytest.raises(RuntimeError):
        _ = use(cassette).result


def test_functions_and_generators_get_a_session_each_time(cassette: Path) -> None:
    """By name, or first."""

    @use(cassette)
    def named(word: str, session: Any = None) -> tuple[str, ExitStatus]:
        return word, talk(session)

    @use(cassette)
    def first(session_object: Any, word: str) -> tuple[str, ExitStatus]:
        return word, talk(session_object)

    @use(cassette)
    def generator(session: Any) -> Iterator[str]:
        session.type("hello\n")
        yield "typed"
        session.send_key("ctrl-d")
        yield "ended"

    assert [named("a"), named("b")] == [("a", OK), ("b", OK)]
    assert first("c") == ("c", OK)
    assert list(generator()) == ["typed", "ended"]


async def async_talk(session: Any) -> ExitStatus:
    """As ``talk``."""
    await session.type("hello\n")
    await session.wait_for_text("hello\nhello", timeout_s=LONG_S)
    await session.send_key("ctrl-d")
    status: ExitStatus = await session.wait_exit(timeout_s=LONG_S)
    return status


@pytest.mark.parametrize("mode", ["replay", "record", "rerecord", "live"])
def test_coroutines_and_async_generators_get_an_async_session(cassette: Path, mode: str) -> None:
    """In every mode."""

    @use(cassette, CAT, mode=mode)
    async def coroutine(session: Any) -> ExitStatus:
        return await async_talk(session)

    @use(cassette, CAT, mode=mode)
    async def generator(session: Any) -> AsyncIterator[ExitStatus]:
        yield await async_talk(session)

    async def run() -> list[ExitStatus]:
        async with use(cassette, CAT, mode=mode) as session:
            third = await async_talk(session)
        return [await coroutine(), *[status async for status in generator()], third]

    assert asyncio.run(run()) == [OK, OK, OK]


def test_tasks_and_threads_share_nothing(cassette: Path) -> None:
    """Many at once, over one object."""
    using = use(cassette)

    async def one() -> ExitStatus:
        async with using as session:
            return await async_talk(session)

    async def many() -> list[ExitStatus]:
        return list(await asyncio.gather(*(one() for _ in range(10))))

    statuses: list[ExitStatus] = []

    def work() -> None:
        with using as session:
            statuses.append(talk(session))

    threads = [threading.Thread(target=work) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert asyncio.run(many()) == [OK] * 10
    assert statuses == [OK] * 5


def test_a_block_may_be_left_in_another_thread_or_task(cassette: Path) -> None:
    """As fixtures do that are set up in one and torn down in another."""
    using = use(cassette)
    sessions: list[Session] = []
    entering = threading.Thread(target=lambda: sessions.append(using.__enter__()))
    entering.start()
    entering.join()
    assert talk(sessions[0]) == OK
    using.__exit__(None, None, None)

    async def over_tasks() -> None:
        session = await asyncio.create_task(using.__aenter__())
        assert await async_talk(session) == OK
        await asyncio.create_task(using.__aexit__(None, None, None))

    asyncio.run(over_tasks())


def test_which_of_several_blocks_is_left_elsewhere_is_an_error_that_names_the_way_out(
    cassette: Path,
) -> None:
    """Leaving the wrong one would judge the wrong session."""
    using = use(cassette, allow_unplayed=True)

    async def left() -> None:
        contexts = [copy_context() for _ in range(2)]
        for context in contexts:
            await asyncio.create_task(using.__aenter__(), context=context)
        with pytest.raises(RuntimeError, match=r"2 open blocks.*once for each block"):
            await using.__aexit__(None, None, None)
        for context in contexts:
            await asyncio.create_task(using.__aexit__(None, None, None), context=context)

    asyncio.run(left())


def test_a_query_that_was_recorded_with_its_answer_is_passed(tmp_path: Path) -> None:
    """The session's own terminal answers again, and later."""
    path = tmp_path / "query.cassette"
    write_cassette(
        path, Output(0, b"\x1b[c"), Typed(1, b"\x1b[?62;22c", source="terminal"),
        Output(2, b"> "), Typed(3, b"x\r"), Finished(t_us=4, exit=OK),
    )  # fmt: skip
    with use(path, match="exact") as session:
        session.wait_for_text(">")
        session.type("x\n")
