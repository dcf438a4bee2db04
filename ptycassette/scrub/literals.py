"""Where any of many fixed strings occurs: Aho-Corasick when installed, plain Python otherwise.

Both give the same result, so that a machine without the ``scrub`` extra
scrubs the same bytes, more slowly.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Protocol

try:
    import ahocorasick
except ImportError:  # pragma: no cover - both sides are run by the tests through ``fast``
    ahocorasick = None

__all__ = ["HAVE_AHO_CORASICK", "GrowingLiterals", "Literals", "literal_finder"]

HAVE_AHO_CORASICK = ahocorasick is not None
_GRAM = 4
_FEW = 1024
_STEP = 3


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


class _Layers:
    """Automata of sizes that differ by factors: one cannot grow, and making it costs its size."""

    def __init__(self) -> None:
        self._layers: list[tuple[list[str], Any]] = []

    def add(self, literals: list[str]) -> None:
        """Have some more, all of them new."""
        kept = self._layers
        while kept and len(kept[-1][0]) <= max(_FEW, _STEP * len(literals)):
            literals = kept.pop()[0] + literals
        automaton: Any = ahocorasick.Automaton()
        for literal in literals:
            automaton.add_word(literal, len(literal))
        automaton.make_automaton()
        kept.append((literals, automaton))

    def find(self, text: str) -> list[tuple[int, int]]:
        """Every occurrence: (start, minus its length), in order."""
        found = [
            (end + 1 - length, -length)
            for _, automaton in self._layers
            for end, length in automaton.iter(text)
        ]
        found.sort()
        return found


class _Table:
    """The same in plain Python: by their first four characters, then by their lengths."""

    def __init__(self) -> None:
        self._short: list[str] = []
        self._lengths: dict[str, list[int]] = {}
        self._long: set[str] = set()

    def add(self, literals: list[str]) -> None:
        """Have some more, all of them new."""
        for literal in literals:
            if len(literal) < _GRAM:
                self._short.append(literal)
                continue
            self._long.add(literal)
            lengths = self._lengths.setdefault(literal[:_GRAM], [])
            if len(literal) not in lengths:
                lengths.append(len(literal))

    def find(self, text: str) -> list[tuple[int, int]]:
        """Every occurrence: (start, minus its length), in order."""
        return sorted(self._occurrences(text))

    def _occurrences(self, text: str) -> Iterator[tuple[int, int]]:
        for literal in self._short:
            at = text.find(literal)
            while at >= 0:
                yield at, -len(literal)
                at = text.find(literal, at + 1)
        known = self._lengths.get
        for at in range(len(text) - _GRAM + 1) if self._lengths else ():
            lengths = known(text[at : at + _GRAM])
            if lengths is not None:
                for length in lengths:
                    if text[at : at + length] in self._long:
                        yield at, -length


class GrowingLiterals:
    """Fixed strings of which more may come at any time; adding some costs no more than they do.

    Args:
        fast: as for ``literal_finder``.
    """

    def __init__(self, *, fast: bool | None = None) -> None:
        self._new: list[str] = []
        self._finder: _Layers | _Table
        self._finder = _Layers() if (HAVE_AHO_CORASICK if fast is None else fast) else _Table()

    def add(self, literals: Iterable[str]) -> None:
        """Have some more, each of them new and not empty."""
        self._new += literals

    def find(self, text: str) -> list[tuple[int, int]]:
        """Every occurrence, overlapping ones too: (start, minus the length of the literal).

        In order, so that of those that begin together the longest comes first.
        """
        if self._new:
            self._finder.add(self._new)
            self._new = []
        return self._finder.find(text)
