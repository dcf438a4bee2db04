"""Whether letters are ordered as in names, or at random.

A name is made of words and abbreviations: only few letters are likely to follow two given ones.
Each letter of a text is scored by how much likelier it is at random than in a name, given the two
before it. The score of the text is the highest running sum from the eighth letter on. So the start
of a name never looks generated, and a name that is cut at the end of a row is still a name.

The table is in ``spelling.toml``: for each place one byte, compressed with zlib, in base64. It was
computed by ``python -m benchmarks.scrub_names --print`` from the identifiers in the standard
library of Python 3.11; the same program measures how well it works.
"""

from __future__ import annotations

import zlib
from base64 import b64decode
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import product

from ptycassette._tables import package_table

LETTERS = "abcdefghijklmnopqrstuvwxyz"
_EDGE = "^"  # before a text, behind what is no letter, and before the T of accessToken
_BEGINS = _EDGE * 2
_CONTEXTS = (
    pair for pair in product(_EDGE + LETTERS, repeat=2) if pair[1] != _EDGE or pair[0] == _EDGE
)
_ROWS = {before + last: at * len(LETTERS) for at, (before, last) in enumerate(_CONTEXTS)}
_COLUMNS = {letter: at for at, letter in enumerate(LETTERS)}
_FEWEST = 8
_PARTS_TELL = 6.0


def places(text: str) -> Iterator[tuple[str, str]]:
    """For each character of ``text`` the cases, and the letters, of it and the two before it.

    A case is U or L, and "^" where a word begins. Both are empty for other than ASCII letters.
    """
    cases = letters = _BEGINS
    for char in text:
        letter = char.lower()
        if letter not in _COLUMNS:
            cases = letters = _BEGINS
            yield "", ""
            continue
        case = "L" if char == letter else "U"
        if case == "U" and cases[1] == "L":
            letters = _BEGINS
        yield cases + case, letters + letter
        cases, letters = cases[1] + case, letters[1] + letter


def place(letters: str) -> int:
    """The index of three letters in the table."""
    return _ROWS[letters[:2]] + _COLUMNS[letters[2]]


class Spelling:
    """A model of how names are spelt.

    Args:
        table: for each ``place`` the number of a level.
        levels: by how many bits a letter there is likelier by chance than in a name.
        cases: the same for the cases of a letter and the two before it.
        most: the highest score of a name, in bits: in one case, and in mixed case.
    """

    def __init__(
        self,
        table: bytes,
        *,
        levels: Sequence[float],
        cases: Mapping[str, float],
        most: tuple[float, float],
    ) -> None:
        self._table = table
        self.levels = levels
        self.in_cases = cases
        self.most = most

    def bits(self, text: str) -> tuple[float, float]:
        """The highest running sums: of the part in one case, and of the part in mixed case."""
        spelt = cased = 0.0
        highest = [float("-inf")] * 2
        count = lower = inner_upper = 0
        for cases, letters in places(text):
            if not cases:  # a part of a name says little about the next one
                spelt, cased = (min(max(bits, 0.0), _PARTS_TELL) for bits in (spelt, cased))
                continue
            count += 1
            spelt += self.levels[self._table[place(letters)]]
            cased += self.in_cases[cases]
            lower |= cases[2] == "L"
            inner_upper |= cases[2] == "U" and cases[1] != _EDGE
            if count >= _FEWEST:
                both = lower & inner_upper
                highest[both] = max(highest[both], spelt + (cased if both else 0.0))
        return highest[0], highest[1]

    def by_chance(self, text: str) -> bool:
        """Whether ``text``, of letters and separators, looks generated."""
        return any(bits > most for bits, most in zip(self.bits(text), self.most, strict=True))


_data = package_table(__package__, "spelling.toml")
NAMES = Spelling(
    zlib.decompress(b64decode(_data["table"])),
    levels=_data["levels"],
    cases=_data["cases"],
    most=_data["most"],
)
"""Of identifiers."""


@lru_cache(maxsize=4096)
def spelt_by_chance(text: str) -> bool:
    """Whether ``text``, of letters and separators, is not spelt like a name."""
    return NAMES.by_chance(text)


def seems_by_chance(text: str) -> bool:
    """Whether eight letters or more of ``text`` are likelier by chance than in a name.

    For text in the place where the rest of a token is expected. About 3 % of words pass, too.
    """
    return max(NAMES.bits(text)) > 0
