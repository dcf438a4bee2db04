"""Fixed strings of which more come: all are found, few and many, whatever their lengths."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from ptycassette.scrub.match import Literals


def literals(number: int, sizes: tuple[int, ...]) -> list[str]:
    """So many strings of hexadecimal digits, each once."""
    chance = random.Random(number)
    made: dict[str, None] = {}
    while len(made) < number:
        size = chance.choice(sizes)
        made[f"{chance.getrandbits(4 * size):0{size}x}"] = None
    return list(made)


def occurrences(text: str, wanted: set[str]) -> Iterator[tuple[int, int]]:
    """What there is to find, the slow way."""
    lengths = sorted({len(literal) for literal in wanted}, reverse=True)
    for at in range(len(text)):
        for length in lengths:
            if text[at : at + length] in wanted and at + length <= len(text):
                yield at, -length


@pytest.mark.parametrize(("number", "step"), [(0, 1), (200, 7), (9000, 1500)])
def test_literals_of_all_lengths_are_found_in_order(number: int, step: int) -> None:
    """The longest of a place first, in however many batches they came."""
    wanted = [*literals(number, (4, 5, 6, 8, 9, 14)), *literals(30, (2, 3)), "\xe9\xff\x80\xe9"]
    finder = Literals(wanted[:9])
    for first in range(9, len(wanted), step):
        finder.add(wanted[first : first + step])
        finder.find("")
    text = "".join(random.Random(1).choices(wanted, k=60)) + "\xe9\xff\x80\xe9"

    assert finder.find(text) == list(occurrences(text, set(wanted)))
    assert finder.occur_in(text)


def test_no_literals_find_nothing() -> None:
    """Nor do literals where there are none."""
    assert Literals().find("anything") == []
    assert not Literals().occur_in("anything")
    assert not Literals(["abcd"]).occur_in("abc")


def test_adding_costs_what_is_added() -> None:
    """A string is put into a logarithmic number of automata, however small the batches."""
    finder = Literals()
    wanted = literals(40_000, (8,))
    taken = 0
    for first in range(0, len(wanted), 1000):
        before = {id(automaton) for automaton in finder._automata}
        finder.add(wanted[first : first + 1000])
        finder.find("")
        new = (automaton for automaton in finder._automata if id(automaton) not in before)
        taken += sum(len(automaton.literals) for automaton in new)

    assert taken < 8 * len(wanted)
    assert len(finder._automata) < 8
