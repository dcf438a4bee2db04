"""Finds many fixed strings in a text (Aho-Corasick). Strings can be added at any time.

An automaton cannot grow, and making one costs its size. So there are several, whose sizes differ
by factors: a new one takes in those that are not much larger, and each string is put into an
automaton a logarithmic number of times. Text is searched once for each automaton.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import ahocorasick

_FEW = 1024
"""Automata up to this size are made anew each time: 1,000 pieces take 1 ms."""
_STEP = 3


class _Automaton(NamedTuple):
    literals: list[str]
    engine: Any


class Literals:
    """Fixed strings, to be found in text.

    Args:
        literals: to begin with; distinct and not empty.
    """

    def __init__(self, literals: Iterable[str] = ()) -> None:
        self._new = list(literals)
        self._automata: list[_Automaton] = []

    def add(self, literals: Iterable[str]) -> None:
        """Add strings, each of them new and not empty."""
        self._new += literals

    def find(self, text: str) -> list[tuple[int, int]]:
        """Every occurrence, overlapping ones too: (start, minus the length of the literal).

        Sorted: of several that begin at one place, the longest comes first.
        """
        if self._new:
            self._take_in()
        found = [
            (end + 1 - length, -length)
            for automaton in self._automata
            for end, length in automaton.engine.iter(text)
        ]
        found.sort()
        return found

    def occur_in(self, text: str) -> bool:
        """Whether any of them occurs in ``text``."""
        if self._new:
            self._take_in()
        return any(
            next(automaton.engine.iter(text), None) is not None for automaton in self._automata
        )

    def _take_in(self) -> None:
        literals, self._new = self._new, []
        kept = self._automata
        while kept and len(kept[-1].literals) <= max(_FEW, _STEP * len(literals)):
            literals = kept.pop().literals + literals
        engine: Any = ahocorasick.Automaton()
        for literal in literals:
            engine.add_word(literal, len(literal))
        engine.make_automaton()
        kept.append(_Automaton(literals, engine))
