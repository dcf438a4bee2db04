"""Answers of the parent's tape in their recorded order, whatever is asked after the change.

So everything but the change is held as it was recorded: what the program makes of the change is
seen, and not what the model would have made of it. An answer stays with its input: a question that
is asked between two inputs gets the answers that were given between these two. A question that was
not changed gets its own answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Protocol

from ptycassette.model import TapeEntry
from ptycassette.rerun import Gates
from ptycassette.tape.matching import Hit, Miss, Question, TapeExchange

_WAIT_S = 2.0
"""For the input whose answer it may be: a question can come before its input counts as sent."""
_POLL_S = 0.05


class Recorded(Protocol):
    """The part of a ``Branch`` that is used here."""

    @property
    def used(self) -> set[int]:
        """Entries that are over."""

    async def recorded(self, question: Question) -> Hit | Miss:
        """The answer to this very question."""


class HeldTail:
    """Recorded answers, in their order. An ``AnswerSource``.

    Args:
        branch: the run, which knows what was served before the change.
        exchanges: the tape.
        gates: how many inputs were sent.
    """

    def __init__(self, branch: Recorded, exchanges: Sequence[TapeExchange], gates: Gates) -> None:
        self._branch, self._exchanges, self._gates = branch, exchanges, gates
        self._served: set[int] = set()

    async def __call__(self, question: Question) -> Hit | Miss:
        """See ``AnswerSource``."""
        found = await self._branch.recorded(question)
        if isinstance(found, Hit):
            self._served.add(found.entry.entry)
            return found
        for _ in range(int(_WAIT_S / _POLL_S)):
            held = self._next(question)
            if held is not None:
                self._served.add(held.entry.entry)
                return recorded_hit(held)
            await asyncio.sleep(_POLL_S)
        return found

    def is_due(self) -> bool:
        """Whether a question of this stretch of inputs has not been asked yet."""
        return any(map(self._fits, self._exchanges))

    def _next(self, question: Question) -> TapeExchange | None:
        """The next answer of this stretch of inputs that was given on this way."""
        route = _route(question)
        return next(
            (one for one in self._exchanges if _route(one.entry) == route and self._fits(one)), None
        )

    def _fits(self, exchange: TapeExchange) -> bool:
        """Whether it is of this stretch of inputs, and not over."""
        entry = exchange.entry
        return (
            entry.entry not in self._served | self._branch.used
            and self._gates.needed(entry.t_us) == self._gates.sent
        )


def recorded_question(exchange: TapeExchange) -> Question:
    """A question of the tape, as a program asks it."""
    entry = exchange.entry
    return Question(
        kind=entry.kind,
        method=entry.method,
        target=entry.target,
        headers=entry.headers,
        body=exchange.question(),
        form=entry.form,
    )


def recorded_hit(exchange: TapeExchange) -> Hit:
    """The answer to a recorded question, in the names of the recording."""
    entry = exchange.entry
    answer = entry.answer
    headers = () if answer is None else answer.headers
    return Hit(
        entry=entry,
        status=None if answer is None else answer.status,
        headers=tuple(one for one in headers if one[0] != "content-length"),
        pieces=tuple(exchange.pieces()),
    )


def _route(asked: Question | TapeEntry) -> tuple[str, str, str]:
    return asked.kind, asked.method, asked.target.partition("?")[0]
