"""The table of predicates: each is one class, and readers of the guide find it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ptycassette.replaying.scenario._predicates import PREDICATES, Predicate, type_name
from ptycassette.replaying.scenario.predicate import Base, Look, PredicateContext

GUIDE = (Path(__file__).resolve().parents[4] / "docs" / "scenarios.md").read_text(encoding="utf-8")
TABLE = {
    name
    for row in re.findall(r"^\| (`[a-z_`, ]+) \|", GUIDE, re.MULTILINE)
    for name in re.findall(r"`(\w+)`", row)
}


def _classes(base: type) -> set[type]:
    return {base}.union(*(_classes(one) for one in base.__subclasses__()))


def test_every_class_that_is_no_base_is_in_the_table() -> None:
    """One that is not could never be read from a file."""
    leaves = {one for one in _classes(Base) if not one.__subclasses__()}

    assert leaves == set(PREDICATES)


@pytest.mark.parametrize("predicate", PREDICATES, ids=type_name)
def test_every_predicate_says_all_of_itself(predicate: type[Predicate]) -> None:
    """What is wrong with its fields, whether it holds, and what it is for."""
    assert predicate.judge.__annotations__["look"] == Look.__name__
    assert predicate.problem.__annotations__["known"] == PredicateContext.__name__
    assert predicate.__doc__


def test_the_guide_lists_the_predicates_that_there_are() -> None:
    """No more and no fewer."""
    assert {type_name(one) for one in PREDICATES} == TABLE
