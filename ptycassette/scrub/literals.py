"""Where any of many fixed strings occurs: Aho-Corasick when installed, plain Python otherwise.

Both give the same result, so that a machine without the ``scrub`` extra
scrubs the same bytes, more slowly.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

try:
    import ahocorasick
except ImportError:  # pragma: no cover - both sides are run by the tests through ``fast``
    ahocorasick = None

__all__ = ["HAVE_AHO_CORASICK", "Literals", "literal_finder"]

HAVE_AHO_CORASICK = ahocorasick is not None
_GRAM = 4


class Literals(Protocol):
    """Finds fixed strings."""

    def find(self, text: str) -> list[tuple[int, int]]:
        """Every occurrence, overlapping ones too: (start, index of the literal), in order."""
        ...


class _AhoCorasick:
    """One pass over the text for all literals (pyahocorasick)."""

    def __init__(self, literals: tuple[str, ...]) -> None:
        automaton: Any = ahocorasick.Automaton()
        for index, literal in enumerate(literals):
            automaton.add_word(literal, (len(literal) - 1, index))
        automaton.make_automaton()
        self._automaton = automaton

    def find(self, text: str) -> list[tuple[int, int]]:
        found = [(end - back, index) for end, (back, index) in self._automaton.iter(text)]
        found.sort()
        return found


class _PlainPython:
    """Short literals by ``str.find``, long ones by a table of their first four characters."""

    def __init__(self, literals: tuple[str, ...]) -> None:
        self._short = [(text, i) for i, text in enumerate(literals) if len(text) < _GRAM]
        self._long: dict[str, list[tuple[str, int]]] = {}
        for index, literal in enumerate(literals):
            if len(literal) >= _GRAM:
                self._long.setdefault(literal[:_GRAM], []).append((literal, index))

    def find(self, text: str) -> list[tuple[int, int]]:
        found = []
        for literal, index in self._short:
            at = text.find(literal)
            while at >= 0:
                found.append((at, index))
                at = text.find(literal, at + 1)
        table = self._long
        if table:
            for at in range(len(text) - _GRAM + 1):
                candidates = table.get(text[at : at + _GRAM])
                if candidates is not None:
                    found += [(at, i) for literal, i in candidates if text.startswith(literal, at)]
        return sorted(found)


class _Nothing:
    """No literals: nothing is found."""

    def find(self, text: str) -> list[tuple[int, int]]:
        del text
        return []


def literal_finder(literals: Iterable[str], *, fast: bool | None = None) -> Literals:
    """A finder for ``literals`` (distinct, not empty).

    Args:
        literals: what to look for; results name them by their position here.
        fast: True for Aho-Corasick, False for plain Python, None for the best there is.
    """
    wanted = tuple(literals)
    if not wanted:
        return _Nothing()
    if HAVE_AHO_CORASICK if fast is None else fast:
        return _AhoCorasick(wanted)
    return _PlainPython(wanted)
