"""At which request of a tape a fault of the provider strikes."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

pytest.importorskip("aiohttp", reason="the provider of a run needs the extra `tape`")

from ptycassette.agents.faults.registry import answer_fault, parse_fault
from ptycassette.agents.fork.io.branch import Branch
from ptycassette.agents.fork.io.forking import BehindTheFault, struck_entry
from ptycassette.agents.fork.io.held import recorded_hit, recorded_question
from ptycassette.agents.fork.places import ForkPlace, cut_at
from ptycassette.cassette.io.reader import open_cassette
from ptycassette.errors import NotFoundError, UsageError
from ptycassette.system.clock import MonotonicClock

TAPES = Path(__file__).parents[4] / "fixtures" / "tapes"


def struck(tape: str, fault: str) -> int | None:
    """The entry."""
    spec = parse_fault(fault)
    with open_cassette(TAPES / tape) as cassette:
        exchanges = list(cassette.tape())
        return struck_entry(exchanges, spec, answer_fault(spec), MonotonicClock())


def test_an_answer_that_came_late_is_not_given_again() -> None:
    """One that did not come is still to be given."""
    with open_cassette(TAPES / "client-tape") as cassette:
        exchanges = list(cassette.tape())
        cut = cut_at(ForkPlace("tape", 1), cassette.events(), [one.entry for one in exchanges])
        recorded = recorded_hit(exchanges[0])
        question = recorded_question(exchanges[0])
    used = []
    for fault in ("rate-limit", "dribble"):
        behind = BehindTheFault(Branch(cast("Any", None), cut, patience_s=1.0))
        spec = parse_fault(fault)
        behind.answered(answer_fault(spec).answer(question, recorded, MonotonicClock()))
        used.append(behind.used & {1, 2})

    assert used == [set(), {1}]


@pytest.mark.parametrize(
    ("tape", "fault", "entry"),
    [
        ("client-tape", "rate-limit", 1),
        ("client-tape", "rate-limit@2", 2),
        ("codex-tape", "rate-limit", 3),  # 1 is a handshake, 2 wants nothing generated
        ("codex-tape", "disconnect", None),  # all are messages over WebSockets
    ],
)
def test_where_it_strikes(tape: str, fault: str, entry: int | None) -> None:
    """The first request to a model that can have it, or the one that was named."""
    assert struck(tape, fault) == entry


def test_a_place_that_cannot_have_it_is_refused() -> None:
    """Before anything is started."""
    with pytest.raises(NotFoundError, match="the tape has 2 requests"):
        struck("client-tape", "rate-limit@3")
    with pytest.raises(UsageError, match="over HTTP"):
        struck("codex-tape", "disconnect@3")
