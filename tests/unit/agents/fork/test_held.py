"""A tail that holds the recorded answers: in their order, each within its stretch of inputs."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from ptycassette.agents.fork.io import held as held_module
from ptycassette.agents.fork.io.held import HeldTail
from ptycassette.agents.rerun.gates import Gates
from ptycassette.tape.matching.matcher import Hit
from ptycassette.tape.matching.misses import Miss
from ptycassette.tape.matching.question import Question
from tests.tapes import MemoryExchange, asked, tape

NOTHING = Miss(asked="a question", reason="it is another one")


class Run:
    """A branch whose tape has no answer to any question, or one to this question."""

    def __init__(self, used: set[int], own: Hit | None = None) -> None:
        self.used, self._own = used, own

    async def recorded(self, question: Question) -> Hit | Miss:
        """The answer to this very question."""
        del question
        return self._own or NOTHING


def recorded() -> list[MemoryExchange]:
    """Four answers: 1 and 2 after the first input, 3 and 4 after the second; 4 on another route."""
    made = tape(*(({"n": n}, {"answer": n}) for n in (1, 2, 3)), (asked({}, target="/v1/x"), {}))
    for one, t_us in zip(made, (10, 20, 110, 120), strict=True):
        one.entry = msgspec.structs.replace(one.entry, t_us=t_us)
    return made


def served(tail: HeldTail, question: Question | None = None) -> int | None:
    """The entry that answers a question; None for none."""
    found = asyncio.run(tail(question or asked({"other": 1})))  # type: ignore[arg-type]
    return found.entry.entry if isinstance(found, Hit) else None


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing comes later in these tests."""
    monkeypatch.setattr(held_module, "_WAIT_S", 0.1)


def test_an_answer_stays_with_its_input() -> None:
    """In order, once, and none of what was used up, of another stretch or another route."""
    gates = Gates([5, 105])
    gates.sent = 1
    tail = HeldTail(Run({1}), recorded(), gates)
    assert tail.is_due()
    assert [served(tail), served(tail)] == [2, None]
    assert not tail.is_due()
    gates.sent = 2
    assert served(tail, asked({}, target="/v1/x")) == 4
    assert [served(tail), served(tail)] == [3, None]
    left = HeldTail(Run({2}), recorded(), gates)
    assert [served(left), served(left)] == [3, None]


def test_a_question_may_come_before_its_input_counts_as_sent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Then it is waited for."""
    monkeypatch.setattr(held_module, "_WAIT_S", 30.0)
    gates = Gates([5, 105])
    tail = HeldTail(Run(set()), recorded(), gates)

    async def ask() -> Any:
        asking = asyncio.ensure_future(tail(asked({})))
        await asyncio.sleep(0)
        gates.sent = 1
        return await asking

    assert asyncio.run(ask()).entry.entry == 1


def test_a_question_that_was_not_changed_gets_its_own_answer() -> None:
    """And that answer is used up."""
    exchanges, gates = recorded(), Gates([5, 105])
    gates.sent = 1
    own = Hit(entry=exchanges[1].entry, status=200, headers=(), pieces=())
    tail = HeldTail(Run({1}, own), exchanges, gates)
    assert served(tail) == 2
    assert not tail.is_due()
