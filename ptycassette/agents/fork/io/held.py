"""Serve answers of the parent's tape in recorded order, whatever the program asks after the change.

So everything but the change is as recorded: the run shows the program's reaction to the change, not
the model's. An answer stays with its input: a question between two inputs gets the recorded answers
between these inputs. A question that did not change gets its own answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Protocol

import msgspec

from ptycassette.agents.faults.fault import FaultSpec
from ptycassette.agents.faults.provider import ProviderFault
from ptycassette.agents.rerun.gates import Gates
from ptycassette.errors import NotFoundError, UsageError
from ptycassette.model.ports import Clock
from ptycassette.model.records import NOT_JSON
from ptycassette.model.tape import TapeEntry
from ptycassette.tape.matching.matcher import Hit
from ptycassette.tape.matching.misses import Miss, TapeExchange
from ptycassette.tape.matching.question import Question
from ptycassette.tape.providers.openai_responses import asks
from ptycassette.tape.providers.questions import question_model

_WAIT_S = 2.0
"""The wait for the input of an answer: a question can come before its input counts as sent."""
_POLL_S = 0.05
_COUNTS = ("/count_tokens", ":countTokens")


class Recorded(Protocol):
    """The part of a ``Branch`` that is used here."""

    @property
    def used(self) -> set[int]:
        """Entries that are over."""

    async def recorded(self, question: Question) -> Hit | Miss:
        """The answer to this very question."""


class HeldTail:
    """Recorded answers, in order. An ``AnswerSource``.

    Args:
        branch: the run, which has the answers served before the change.
        exchanges: the tape.
        gates: how many inputs were sent.
        wait_s: how long a question waits for the input whose answer it may be; 2 s when None.
    """

    def __init__(
        self,
        branch: Recorded,
        exchanges: Sequence[TapeExchange],
        gates: Gates,
        *,
        wait_s: float | None = None,
    ) -> None:
        self._branch, self._exchanges, self._gates = branch, exchanges, gates
        self._wait_s = _WAIT_S if wait_s is None else wait_s
        self._served: set[int] = set()

    async def __call__(self, question: Question) -> Hit | Miss:
        """See ``AnswerSource``."""
        found = await self._branch.recorded(question)
        if isinstance(found, Hit):
            self._served.add(found.entry.entry)
            return found
        for look in range(int(self._wait_s / _POLL_S) + 1):
            if look:
                await asyncio.sleep(_POLL_S)
            held = self._next(question)
            if held is not None:
                self._served.add(held.entry.entry)
                return recorded_hit(held)
        return found

    def is_due(self) -> bool:
        """Whether a question of this stretch of inputs has not been asked yet."""
        return any(map(self._fits, self._exchanges))

    def _next(self, question: Question) -> TapeExchange | None:
        """The next answer of this stretch of inputs that came on the same route."""
        route = _route(question)
        return next(
            (one for one in self._exchanges if _route(one.entry) == route and self._fits(one)), None
        )

    def _fits(self, exchange: TapeExchange) -> bool:
        """Whether it belongs to this stretch of inputs, and was not used yet."""
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


def struck_entry(
    exchanges: Sequence[TapeExchange], spec: FaultSpec, fault: ProviderFault, clock: Clock
) -> int | None:
    """The entry at which the fault strikes; None if it has no place and no entry can have it."""
    for one in exchanges:
        if spec.at == one.entry.entry:
            fault.check(recorded_question(one), clock)
            return spec.at
        if spec.at is None and _is_of_model(one):
            try:
                fault.check(recorded_question(one), clock)
            except UsageError:
                continue
            return one.entry.entry
    if spec.at is not None:
        raise NotFoundError(f"there is no tape:{spec.at}: the tape has {len(exchanges)} requests")
    return None


def _is_of_model(exchange: TapeExchange) -> bool:
    entry, body = exchange.entry, exchange.question()
    if entry.target.partition("?")[0].endswith(_COUNTS):
        return False
    if entry.kind == "message" and not asks(body):
        return False
    try:
        document = msgspec.json.decode(body)
    except NOT_JSON:
        return False
    if isinstance(document, dict) and document.get("generate") is False:  # it only prepares
        return False
    return question_model(document, entry.target) is not None
