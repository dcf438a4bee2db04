"""Waiting for the driver's turn."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from ptycassette.errors import WaitTimeoutError
from ptycassette.recording.session.async_session import AsyncSession
from ptycassette.recording.session.session import Session
from ptycassette.terminal.core import Signal, turn_after
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


Act = Callable[[Any], object]
IDLE_AT: dict[str, tuple[Act, Act, int, str, float]] = {
    # what the program does; what the driver does first; how long quiet counts; shown; at seconds
    "who works is not idle, however quiet; its word ends the wait at once": (
        lambda pty: pty.say(WORKING + "thinking").say(IDLE + "done", after_s=5),
        lambda session: session.wait_for_text("thinking"), 300, "thinkingdone", 5,
    ),
    "a word from before the input does not count": (
        lambda pty: (
            pty.say(IDLE + "> ").expect("hi").say(WORKING, after_s=0.1).say(IDLE + "!", after_s=2)
        ),
        lambda session: (session.wait_idle(300), session.type("hi")), 300, "> !", 2.4,
    ),
    "who tells nothing is idle when nothing new came for so long": (
        lambda pty: (
            pty.say("one").say("two", after_s=0.2).say("three", after_s=0.2).say("late", after_s=9)
        ),
        lambda session: session.wait_for_text("one"), 300, "onetwothree", 0.7,
    ),
    "quiet is counted from the last input": (
        lambda pty: pty.say("> ").expect("x").say("answer", after_s=0.2),
        lambda session: (session.wait_stable(5000), session.type("x")), 300, "> answer", 5.5,
    ),
    "who ended is idle, whatever was said last": (
        lambda pty: pty.say(WORKING + "bye").exits(0), lambda _: None, 60_000, "bye", 0,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", IDLE_AT)
def test_a_program_is_idle(name: str, stage: Stage) -> None:
    """At the moment at which it is, with the screen of that moment."""
    script, begin, quiet_ms, text, at_s = IDLE_AT[name]
    script(stage.pty)
    with stage.session() as session:
        begin(session)
        screen, now_s = session.wait_idle(quiet_ms), stage.now_s

    assert screen.text == text
    assert now_s == pytest.approx(at_s, abs=0.11)


def test_work_without_an_end_runs_out_of_time(stage: Stage) -> None:
    """The error says what was waited for and shows the screen."""
    stage.pty.say(WORKING + "busy").say("x", after_s=60)
    with stage.session() as session:
        session.wait_for_text("busy")
        with pytest.raises(WaitTimeoutError, match="an idle program") as caught:
            session.wait_idle(100, timeout_s=2)

    assert caught.value.screen == ("busy",)


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
