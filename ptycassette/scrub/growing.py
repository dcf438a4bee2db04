"""Where any of fixed strings occurs, of which more may come at any time.

Few of them are found by Aho-Corasick when it is installed: text without any costs least then. An
automaton of many does not fit in the cache and takes long to make; many pieces of values are
looked up by their first four characters, and so is everything without the ``scrub`` extra. The
result is the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from heapq import merge
from itertools import chain, compress
from typing import Any

from ptycassette.scrub.literals import HAVE_AHO_CORASICK
from ptycassette.scrub.patterns import any_of

try:
    import ahocorasick
except ImportError:  # pragma: no cover - both sides are run by the tests through ``fast``
    ahocorasick = None

__all__ = ["Floor", "GrowingLiterals"]

_HEAD = 4
_PIECE = 8
_BEGINNING = 6
_FEW = 1024
_STEP = 3
_MANY = 8192
_MUCH = 1 << 20
_BYTES = "latin-1"  # canonical text


class Floor:
    """Up to where in a text somebody knows already what is there: ``at``."""

    __slots__ = ("at",)

    def __init__(self) -> None:
        self.at = 0


class GrowingLiterals:
    """Fixed strings of canonical text; adding some costs no more than they do.

    Args:
        fast: as for ``literal_finder``.
    """

    def __init__(self, *, fast: bool | None = None) -> None:
        self._fast = HAVE_AHO_CORASICK if fast is None else fast
        self._new: list[str] = []
        self._number = 0
        self._layers = _Layers()
        self._table = _Table()

    def add(self, literals: Iterable[str]) -> None:
        """Have some more, each of them new and not empty."""
        self._new += literals

    def find(self, text: str) -> list[tuple[int, int]]:
        """Every occurrence, overlapping ones too: (start, minus the length of the literal).

        In order, so that of those that begin together the longest comes first.
        """
        return list(self.behind(text, Floor()))

    def behind(self, text: str, floor: Floor) -> Iterable[tuple[int, int]]:
        """The same one by one, for who moves ``floor``: what ends there may be left out."""
        if self._new:
            self._take_in()
        if not self._table:
            return self._layers.find(text)
        found, others = self._table.find(text, floor), self._layers.find(text)
        return merge(found, others) if others else found

    def _take_in(self) -> None:
        """Be ready to find what is new."""
        new, self._new = self._new, []
        self._number += len(new)
        if self._fast and self._number <= _MANY:
            self._layers.add(new)
            return
        if not self._table:
            new = self._layers.take() + new
        if self._fast:  # the table would look for short ones and for each length by itself
            others = [literal for literal in new if not _HEAD <= len(literal) <= _PIECE]
            if others:
                self._layers.add(others)
                new = [literal for literal in new if _HEAD <= len(literal) <= _PIECE]
        self._table.add(new)


class _Layer:
    """An automaton, and what tells many times faster that there is nothing for it in a text.

    That is made for who has searched much with it; most layers of many do not live so long.
    """

    __slots__ = ("_any", "_automaton", "_left", "literals")

    def __init__(self, literals: list[str]) -> None:
        self.literals = literals
        self._automaton: Any = ahocorasick.Automaton()
        for literal in literals:
            self._automaton.add_word(literal, len(literal))
        self._automaton.make_automaton()
        self._left = _MUCH
        self._any: Callable[[str], bool] | None = None

    def find(self, text: str) -> Iterable[tuple[int, int]]:
        """Every occurrence: (its last character, its length)."""
        if self._left > 0:
            self._left -= len(text)
            if self._left <= 0:
                self._any = any_of({literal[:_BEGINNING] for literal in self.literals})
        if self._any is not None and not self._any(text):
            return ()
        found: Iterable[tuple[int, int]] = self._automaton.iter(text)
        return found


class _Layers:
    """Automata of sizes that differ by factors: one cannot grow, and making it costs its size."""

    def __init__(self) -> None:
        self._layers: list[_Layer] = []

    def __len__(self) -> int:
        return len(self._layers)

    def add(self, literals: list[str]) -> None:
        """Have some more, all of them new."""
        kept = self._layers
        while kept and len(kept[-1].literals) <= max(_FEW, _STEP * len(literals)):
            literals = kept.pop().literals + literals
        kept.append(_Layer(literals))

    def take(self) -> list[str]:
        """All literals, which are gone then."""
        layers, self._layers = self._layers, []
        return [literal for layer in layers for literal in layer.literals]

    def find(self, text: str) -> list[tuple[int, int]]:
        """Every occurrence: (start, minus its length), in order."""
        found = [
            (end + 1 - length, -length)
            for layer in self._layers
            for end, length in layer.find(text)
        ]
        found.sort()
        return found


class _Table:
    """A table by the first four characters, as numbers: no step of Python for most places."""

    def __init__(self) -> None:
        self._short: list[str] = []
        self._heads: set[int] = set()
        self._lengths: dict[str, tuple[int, ...]] = {}
        self._long: set[str] = set()

    def __len__(self) -> int:
        return len(self._long) + len(self._short)

    def add(self, literals: list[str]) -> None:
        """Have some more, all of them new."""
        self._short += [literal for literal in literals if len(literal) < _HEAD]
        long = [literal for literal in literals if len(literal) >= _HEAD]
        self._long.update(long)
        heads = [literal[:_HEAD] for literal in long]
        self._heads.update(_numbers("".join(heads).encode(_BYTES)))
        for head, length in zip(heads, map(len, long), strict=True):
            lengths = self._lengths.setdefault(head, (length,))
            if length not in lengths:
                self._lengths[head] = tuple(sorted((*lengths, length), reverse=True))

    def find(self, text: str, floor: Floor) -> Iterable[tuple[int, int]]:
        """Every occurrence: (start, minus its length), in order; none that ends at ``floor``."""
        long = self._behind(text, floor)
        return sorted(chain(long, self._of_short(text))) if self._short else long

    def _of_short(self, text: str) -> Iterator[tuple[int, int]]:
        for literal in self._short:
            at = text.find(literal)
            while at >= 0:
                yield at, -len(literal)
                at = text.find(literal, at + 1)

    def _behind(self, text: str, floor: Floor) -> Iterator[tuple[int, int]]:
        for at in self._places(text):
            for length in self._lengths[text[at : at + _HEAD]]:
                if at + length <= floor.at:
                    break
                if text[at : at + length] in self._long and at + length <= len(text):
                    yield at, -length

    def _places(self, text: str) -> list[int]:
        """Where one of them may begin."""
        raw = text.encode(_BYTES)
        places: list[int] = []
        for first in range(min(_HEAD, len(raw) - _HEAD + 1)):
            numbers = _numbers(raw[first : len(raw) - (len(raw) - first) % _HEAD])
            places += compress(
                range(first, len(raw), _HEAD), map(self._heads.__contains__, numbers)
            )
        places.sort()
        return places


def _numbers(raw: bytes) -> memoryview:
    """Each four bytes as a number."""
    return memoryview(raw).cast("I")
