"""Waiting for the driver's turn."""

from __future__ import annotations

import asyncio

import pytest

from ptycassette.errors import WaitTimeoutError
from ptycassette.session.async_session import AsyncSession
from ptycassette.session.session import Session
from ptycassette.terminal.signals import Signal
from ptycassette.terminal.turns import turn_after
from ptycassette.testing import ManualClock, ScriptedPty

WORKING, IDLE = "\x1b]7501;state=working:app=x\x07", "\x1b]7501;state=idle:app=x\x07"


class Stage:
    """A script and its clock."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.pty = ScriptedPty(self.clock)

    @property
    def now_s(self) -> float:
        """Seconds since the start."""
        return self.clock.now_us() / 1e6

    def session(self) -> Session:
        """A session over the script."""
        return Session.over(self.pty, clock=self.clock, sleeper=self.clock)


@pytest.fixture
def stage() -> Stage:
    """An empty script, to be filled by the test."""
    return Stage()


def test_a_program_that_works_is_not_idle_however_quiet(stage: Stage) -> None:
    """It thinks for five seconds without a word; its own word ends the wait at once."""
    stage.pty.say(WORKING + "thinking").say(IDLE + "done", after_s=5)
    with stage.session() as session:
        session.wait_for_text("thinking")
        screen, at_s = session.wait_idle(300), stage.now_s

    assert screen.text == "thinkingdone"
    assert at_s == pytest.approx(5, abs=0.1)


def test_its_word_from_before_the_input_does_not_count(stage: Stage) -> None:
    """It was idle, gets a prompt, and takes a moment to say that it works."""
    stage.pty.say(IDLE + "> ").expect("hi").say(WORKING, after_s=0.1).say(IDLE + "!", after_s=2)
    with stage.session() as session:
        session.wait_idle(300)
        session.type("hi")
        screen = session.wait_idle(300)

    assert screen.text == "> !"


def test_a_program_that_tells_nothing_is_idle_when_it_is_quiet(stage: Stage) -> None:
    """Nothing new for so long after the last output."""
    stage.pty.say("one").say("two", after_s=0.2).say("three", after_s=0.2).say("late", after_s=9)
    with stage.session() as session:
        session.wait_for_text("one")
        screen, at_s = session.wait_idle(300), stage.now_s

    assert screen.text == "onetwothree"
    assert at_s == pytest.approx(0.7, abs=0.01)


def test_quiet_is_counted_from_the_last_input(stage: Stage) -> None:
    """The answer is still on its way when the screen has been still for long."""
    stage.pty.say("> ").expect("x").say("answer", after_s=0.2)
    with stage.session() as session:
        session.wait_stable(5000)
        session.type("x")
        screen = session.wait_idle(300)

    assert screen.text == "> answer"


def test_work_without_an_end_runs_out_of_time(stage: Stage) -> None:
    """The error says what was waited for and shows the screen."""
    stage.pty.say(WORKING + "busy").say("x", after_s=60)
    with stage.session() as session:
        session.wait_for_text("busy")
        with pytest.raises(WaitTimeoutError, match="an idle program") as caught:
            session.wait_idle(100, timeout_s=2)

    assert caught.value.screen == ("busy",)


def test_a_program_that_ended_is_idle(stage: Stage) -> None:
    """Nobody works any more, whatever was said last."""
    stage.pty.say(WORKING + "bye").exits(0)
    with stage.session() as session:
        screen = session.wait_idle(60_000)

    assert screen.text == "bye"


def test_the_async_session_waits_likewise(stage: Stage) -> None:
    """One core, two faces."""
    stage.pty.say(WORKING + "a").say(IDLE + "b", after_s=3)

    async def drive() -> str:
        session = AsyncSession.over(stage.pty, clock=stage.clock, sleeper=stage.clock)
        async with session:
            await session.wait_for_text("a")
            return (await session.wait_idle(100)).text

    assert asyncio.run(drive()) == "ab"


@pytest.mark.parametrize(
    ("signals", "turn"),
    [
        ([], None),
        ([Signal("bell")], None),
        ([Signal("turn", {"state": "working"})], "working"),
        ([Signal("turn", {"state": "working"}), Signal("turn", {"state": "done"})], "idle"),
        ([Signal("turn", {"state": "clear"})], "idle"),
        ([Signal("prompt", {"mark": "C"})], "working"),
        ([Signal("prompt", {"mark": "D"})], "idle"),
        ([Signal("prompt", {"mark": "A"}), Signal("bell")], "idle"),
        ([Signal("turn", {"state": "working"}), Signal("reset")], "unknown"),
    ],
)
def test_the_last_word_on_the_turn_counts(signals: list[Signal], turn: str | None) -> None:
    """OSC 7501 and the prompt marks; everything else says nothing about it."""
    assert turn_after(signals) == turn
