"""Answer the questions of a forked run: from the parent's tape, and after the change from the tail.

The server asks in its own thread; the typist waits here in another one. If the tape does not have a
question before the change, the fork fails: ``diverged`` has the question, and the run stops.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from typing import Protocol

from ptycassette.agents.fork.places import Cut
from ptycassette.agents.rerun.report import RequestMiss
from ptycassette.model.screen import Screen
from ptycassette.recording.session.core import SessionView
from ptycassette.recording.session.session import Idle
from ptycassette.tape.matching.matcher import Hit
from ptycassette.tape.matching.misses import Miss
from ptycassette.tape.matching.question import Question

AnswerSource = Callable[[Question], Awaitable[Hit | Miss]]


class Desk(Protocol):
    """The methods of ``TapeDesk`` that are used here."""

    misses: list[RequestMiss]

    def ask(self, question: Question) -> Hit | Miss:
        """The recorded answer."""

    def fingerprint(self) -> str:
        """The fingerprint of questions and answers."""


class Branch:
    """The questions of one forked run.

    Args:
        desk: the parent's tape.
        cut: the recording, cut at the fork.
        patience_s: how long a question at the fork waits for the others before it.
        at_once: do not wait: answer the question at the fork when it comes.

    Attributes:
        here: answers the question at the fork, given the recorded answer.
        tail: answers the questions after it.
        learn: receives the answers that were served before the change.
        diverged: questions before the change that the parent's tape does not have.
        served: entries of the parent's tape that were asked for before the change.
        later: how many questions came after it.
        unanswered: how many of these had no answer.
        reached: the question at the fork has come.
    """

    def __init__(self, desk: Desk, cut: Cut, *, patience_s: float, at_once: bool = False) -> None:
        self._desk, self._cut, self._patience_s = desk, cut, patience_s
        self._at_once = at_once
        self.here: Callable[[Question, Hit], Awaitable[Hit | Miss]] | None = None
        self.tail: AnswerSource = self.recorded
        self.served: set[int] = set()
        self.later = 0
        self.unanswered: list[str] = []
        self.handshakes: list[Question] = []
        self.learn: Callable[[Question, Hit], None] | None = None
        self.reached = threading.Event()
        self.diverged: tuple[RequestMiss, ...] = ()
        self._changed = threading.Condition()
        self._proceeds = threading.Event()
        self._forked = False

    async def answer(self, question: Question) -> Hit | Miss:
        """The answer to the next question. Called in the server's loop."""
        if question.kind == "websocket":
            self.handshakes.append(question)
        found = self._before(question)
        if found is None:
            return await self._later(question)
        if isinstance(found, Hit) and found.entry.entry == self._cut.entry:
            self.served.discard(found.entry.entry)
            self.reached.set()
            if self._at_once:
                self.fork()
            else:  # the typist makes the change, in another thread
                await asyncio.to_thread(self._proceeds.wait, 4 * self._patience_s)
            return await self._here(question, found)
        return found

    def note_answer(self, question: Question, answer: Hit | Miss) -> None:
        """Pass an answer from another source to the tail."""
        if self.learn is not None and isinstance(answer, Hit):
            self.learn(question, answer)

    def _before(self, question: Question) -> Hit | Miss | None:
        """The recorded answer; None after the fork."""
        with self._changed:
            if self._forked:
                return None
            found = self._desk.ask(question)
            if isinstance(found, Miss):
                self.diverged = tuple(self._desk.misses)
            else:
                self.served.add(found.entry.entry)
                if found.entry.entry != self._cut.entry:
                    self.note_answer(question, found)
            self._changed.notify_all()
            return found

    async def _here(self, question: Question, recorded: Hit) -> Hit | Miss:
        """The answer to the question at the fork; the recorded one if no change was made."""
        if not self._forked or self.here is None:
            return recorded
        self.later += 1
        return await self.here(question, recorded)

    @property
    def used(self) -> set[int]:
        """Entries of the parent's tape that are over: asked for before the change, or changed."""
        return self.served if self._cut.entry is None else self.served | {self._cut.entry}

    async def recorded(self, question: Question) -> Hit | Miss:
        """The answer of the parent's tape to exactly this question."""
        with self._changed:
            return self._desk.ask(question)

    async def _later(self, question: Question) -> Hit | Miss:
        self.later += 1
        found = await self.tail(question)
        if isinstance(found, Miss):
            self.unanswered.append(found.text())
        return found

    def wait_for_requests(self, timeout_s: float) -> tuple[int, ...]:
        """Wait until all entries before the fork were asked for; return those that were not."""
        with self._changed:
            self._changed.wait_for(
                lambda: bool(self.diverged) or self._cut.before <= self.served, timeout_s
            )
            return tuple(sorted(self._cut.before - self.served))

    def fork(self) -> tuple[str, frozenset[int]]:
        """Switch to the tail; called before any part of the change is made.

        Returns:
            The fingerprint of questions and answers, and its entries. The entry at the fork is one
            of them, with its recorded answer.
        """
        with self._changed:
            self._forked = True
            here = set() if self._cut.entry is None else {self._cut.entry}
            return self._desk.fingerprint(), frozenset(self.served | here)

    def proceed(self) -> None:
        """Answer the question at the fork, because the change is made."""
        self._proceeds.set()


# Wait for the next input after the change: until its recorded screen, or until all is quiet.


QUIET_MS = 700
"""How long the program must be quiet before an input is typed without its recorded screen: longer
than the pauses between the pieces of a local provider's answers. While a question is open, the
program never counts as quiet."""
_LONG_QUIET_MS = 3000
"""The same while a recorded question is still expected at this place: a real CLI computes for more
than a second before it asks."""
_LOOKS_US = 100_000


class ItsTurn:
    """Waits for the recorded screen, or for a quiet program without an open question.

    Args:
        shown: whether a screen is the recorded one; None without a recorded screen.
        is_open: whether a question is being answered.
        is_due: whether a question of the recording is still to come.
    """

    what = "the recorded screen, or a quiet program"

    def __init__(
        self,
        shown: Callable[[Screen], bool] | None,
        is_open: Callable[[], bool],
        is_due: Callable[[], bool],
        *,
        quiet_ms: int = QUIET_MS,
    ) -> None:
        self._shown, self._is_open, self._is_due = shown, is_open, is_due
        self._idle, self._long_idle = Idle(quiet_ms), Idle(max(quiet_ms, _LONG_QUIET_MS))
        self._looked_us = 0

    def met(self, view: SessionView, now_us: int) -> bool:
        """Whether the next input may be typed."""
        self._looked_us = now_us
        if view.finished or (self._shown is not None and self._shown(view.screen)):
            return True
        idle = self._long_idle if self._is_due() else self._idle
        return not self._is_open() and idle.met(view, now_us)

    def due_us(self, view: SessionView) -> int | None:
        """When to check again."""
        soon_us = self._looked_us + _LOOKS_US
        due_us = self._idle.due_us(view)
        return soon_us if due_us is None else max(due_us, soon_us)
