"""Fixed strings of which more come: all are found, few and many, whatever their lengths."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest

from ptycassette.scrub import growing
from ptycassette.scrub.growing import Floor, GrowingLiterals

BOTH = pytest.mark.parametrize("fast", [True, False])


def literals(number: int, sizes: tuple[int, ...]) -> list[str]:
    """So many strings of two letters and digits, each once."""
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


@BOTH
@pytest.mark.parametrize("number", [200, 9000])
def test_literals_of_all_lengths_are_found_in_order(number: int, fast: bool) -> None:
    """As many as automata keep and more; also what is shorter or longer than pieces of values."""
    wanted = [*literals(number, (4, 5, 6, 8, 9, 14)), *literals(30, (2, 3)), "\xe9\xff\x80\xe9"]
    finder = GrowingLiterals(fast=fast)
    for first in range(0, len(wanted), 1500):
        finder.add(wanted[first : first + 1500])
        finder.find("")
    text = "".join(random.Random(1).choices(wanted, k=60)) + "\xe9\xff\x80\xe9"

    assert finder.find(text) == list(occurrences(text, set(wanted)))


@BOTH
@pytest.mark.parametrize("text", ["", "a", "abc", "abcd", "xabcde"])
def test_short_texts_are_searched(text: str, fast: bool) -> None:
    """Also those that no literal fits in."""
    wanted = [*literals(9000, (8,)), "abcd", "abcdefgh", "ab"]
    finder = GrowingLiterals(fast=fast)
    finder.add(wanted)

    assert finder.find(text) == list(occurrences(text, set(wanted)))


@pytest.mark.parametrize("extra", [[], ["fghijklmnopqr"]])
def test_what_ends_before_the_floor_is_left_out(extra: list[str]) -> None:
    """Whoever goes on with a hit as far as it goes does not ask for the pieces in it."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    pieces = [letters[at : at + 8] for at in range(19)]
    finder = GrowingLiterals()
    finder.add([*pieces, *extra])
    finder.find("")
    finder.add(literals(9000, (8,)))
    floor = Floor()
    found = []
    for start, minus_length in finder.behind(letters, floor):
        found.append((start, minus_length))
        floor.at = max(floor.at, 20)

    assert len(found) < 10 + len(extra)
    assert [one for one in found if one[0] - one[1] > 20] == [(at, -8) for at in range(13, 19)]


def counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is put into automata from now on."""
    added: list[str] = []
    make = growing.ahocorasick.Automaton

    class Counted:
        def __init__(self) -> None:
            self._automaton: Any = make()

        def add_word(self, literal: str, length: int) -> None:
            added.append(literal)
            self._automaton.add_word(literal, length)

        def __getattr__(self, name: str) -> Any:
            return getattr(self._automaton, name)

    monkeypatch.setattr(growing.ahocorasick, "Automaton", Counted)
    return added


def test_many_pieces_are_put_into_no_automaton(monkeypatch: pytest.MonkeyPatch) -> None:
    """Making one takes time, of which each new batch would cost some again."""
    added = counted(monkeypatch)
    finder = GrowingLiterals(fast=True)
    wanted = literals(40_000, (8,))
    for first in range(0, len(wanted), 1000):
        finder.add(wanted[first : first + 1000])
        finder.find(wanted[0])

    assert len(added) < len(wanted)


def test_what_is_longer_than_pieces_is_left_to_automata(monkeypatch: pytest.MonkeyPatch) -> None:
    """The table looks for each length by itself, and lines that grow have one for each step."""
    added = counted(monkeypatch)
    finder = GrowingLiterals(fast=True)
    finder.add(literals(9000, (8,)))
    letters = "".join(random.Random(2).choices("abcdefgh", k=300))
    finder.add(letters[:end] for end in range(9, 300))

    assert finder.find(letters[:100]) == [(0, -end) for end in range(100, 8, -1)]
    assert len(added) == 291


@BOTH
def test_nothing_is_missed_by_who_has_searched_much(
    fast: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A look at whether there is anything comes first, then: signs and bytes are what they are."""
    monkeypatch.setattr(growing, "_MUCH", 100)
    wanted = ["(a|b)*[c]", "\xe2\x94\x82\xe9\xff\x80\x00\n", "a.c$^?+{2}", "abcdefghijkl"]
    finder = GrowingLiterals(fast=fast)
    finder.add(wanted)
    text = "abc\xe9".join(wanted)
    for _ in range(9):
        assert finder.find("abcd " * 9 + "a|b aac a.c") == []

    assert finder.find(text) == list(occurrences(text, set(wanted)))
    assert finder.find("abcdefghi" + wanted[3]) == [(9, -12)]
