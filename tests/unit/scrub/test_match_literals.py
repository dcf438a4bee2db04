"""Fixed strings of which more come: all are found, few and many, whatever their lengths."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from ptycassette.scrub.match import Literals, Pieces


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


@pytest.mark.parametrize("literal", ["a?b", "b\u2026"])
def test_characters_that_are_no_bytes_are_in_no_literal(literal: str) -> None:
    """Canonical text has none of them, but a literal and a text may."""
    finder = Literals([literal, "abc"])

    assert finder.find("a\u2026b abc") == [(4, -3)]
    assert finder.occur_in("\u2026abc")
    assert not finder.occur_in("a\u2026b")


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


@pytest.mark.parametrize("number", [3, 400])
def test_rare_literals_in_a_long_text_are_found_as_in_a_short_one(number: int) -> None:
    """Overlapping literals too, those at the ends, and those with signs."""
    wanted = [*literals(number, (5, 8, 14)), "aaaa", "aaaaaa", "(.*)", "\x00\xff\n"]
    finder = Literals(wanted)
    rare = random.Random(2).choices(wanted, k=9)
    text = "aaaaaaaa" + "".join(f"{'-' * 3000}{one}" for one in [*rare, *wanted[-4:]])
    for _ in range(20):
        assert finder.find(text) == list(occurrences(text, set(wanted)))
    assert not finder.occur_in("-" * 3000)
    dense = "".join(wanted) * (1 + 2000 // number)

    assert finder.find(dense) == list(occurrences(dense, set(wanted)))


@pytest.mark.parametrize(("values", "step"), [(1, 1), (40, 7), (300, 300)])
def test_pieces_are_found_as_literals_are(values: int, step: int) -> None:
    """Windows of values, whole words, and pieces that are no windows of anything."""
    words = [*literals(values, (18,)), "0123456701234567"]
    windows = {word[at : at + 8]: None for word in words for at in range(len(word) - 7)}
    wanted = [*windows, *literals(values, (5, 6, 9)), words[0]]
    finder = Pieces(wanted[:5])
    for first in range(5, len(wanted), step):
        finder.add(wanted[first : first + step])
        finder.find("")
    chance = random.Random(3)
    text = "".join(
        f"{word[chance.randrange(8) : chance.randrange(9, 19)]}{'-' * chance.choice((0, 1, 900))}"
        for word in chance.choices(words, k=80)
    )

    assert finder.find(text) == list(occurrences(text, set(wanted)))
