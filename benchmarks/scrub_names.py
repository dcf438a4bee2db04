"""How well generated letters are told from names: ``python -m benchmarks.scrub_names``.

What stands behind ``token=`` without a digit is a name (``accessToken``) or a value. Of the
identifiers in the standard library one half gives a table, as ``scrub/rules/spelling.toml`` has
one of all. With both tables it counts how many identifiers of the other half, and of what is
installed, are taken for values, and how many values are found. ``--print`` gives that file.
"""

from __future__ import annotations

import argparse
import math
import random
import re
import sysconfig
import zlib
from base64 import encodebytes
from bisect import bisect
from collections import Counter
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path

from ptycassette.scrub.rules.values import LETTERS, NAMES, Spelling, place, places

STDLIB = Path(sysconfig.get_path("stdlib"))
INSTALLED = Path(sysconfig.get_path("purelib"))
IDENTIFIER = re.compile(r"\b[A-Za-z_]+\b")
LENGTHS = range(8, 16)
LEVELS = 8
ROUNDS = 60
MOST_BITS = 8.6
# How much a longer context weighs against the shorter one: as if it had been seen so often.
PAIR_WEIGHT = 20
TRIPLE_WEIGHT = 30


def identifiers(sources: Iterable[Path]) -> list[str]:
    """Those of some sources, without digits, in order."""
    found: set[str] = set()
    for source in sources:
        found.update(IDENTIFIER.findall(source.read_text(errors="ignore")))
    return sorted(found)


def standard() -> list[str]:
    """Identifiers of the standard library."""
    return identifiers(
        source for source in STDLIB.rglob("*.py") if "site-packages" not in source.parts
    )


class Chances:
    """How likely letters and cases are in names."""

    def __init__(self, names: Iterable[str]) -> None:
        triples: Counter[str] = Counter()
        cases: Counter[str] = Counter()
        for name in names:
            if sum(char != "_" for char in name) > 2:
                for case, letters in places(name):
                    if case:
                        cases[case] += 1
                        triples[letters] += 1
        self.cases = cases
        self._triples = triples
        self._before: Counter[str] = Counter()
        self._pairs: Counter[str] = Counter()
        self._first: Counter[str] = Counter()
        self._letters: Counter[str] = Counter()
        for letters, number in triples.items():
            self._before[letters[:2]] += number
            self._pairs[letters[1:]] += number
            self._first[letters[1]] += number
            self._letters[letters[2]] += number

    def weight(self, letters: str) -> float:
        """How often it comes to be asked for three letters, in names and by chance."""
        total = self._triples.total()
        return self._before[letters[:2]] / total * self.letter(letters) + len(LETTERS) ** -3

    def letter(self, letters: str) -> float:
        """How likely the third letter is behind two."""
        alone = self._letters[letters[2]] / self._letters.total()
        pair = (self._pairs[letters[1:]] + PAIR_WEIGHT * alone) / (
            self._first[letters[1]] + PAIR_WEIGHT
        )
        return (self._triples[letters] + TRIPLE_WEIGHT * pair) / (
            self._before[letters[:2]] + TRIPLE_WEIGHT
        )

    def case(self, cases: str) -> float:
        """How likely the third case is behind two."""
        both = self.cases[f"{cases[:2]}U"] + self.cases[f"{cases[:2]}L"]
        return (self.cases[cases] + 1) / (both + 2)


def contexts() -> list[str]:
    """All places of the table, in order."""
    found = {
        place(f"{one}{two}{three}"): f"{one}{two}{three}"
        for one in f"^{LETTERS}"
        for two in f"^{LETTERS}"
        for three in LETTERS
        if two != "^" or one == "^"
    }
    return [found[at] for at in range(len(found))]


def levelled(values: list[tuple[float, float]]) -> list[float]:
    """Some levels that are near to most of (value, weight)."""
    low, high = min(values)[0], max(values)[0]
    levels = [low + (high - low) * (at + 0.5) / LEVELS for at in range(LEVELS)]
    for _ in range(ROUNDS):
        borders = [(one + two) / 2 for one, two in pairwise(levels)]
        sums, weights = [0.0] * LEVELS, [0.0] * LEVELS
        for value, weight in values:
            at = bisect(borders, value)
            sums[at] += value * weight
            weights[at] += weight
        levels = [one / two for one, two in zip(sums, weights, strict=True)]
    return [round(level, 2) for level in levels]


def spelling(names: Iterable[str], most: tuple[float, float]) -> tuple[bytes, Spelling]:
    """What names tell, and the table of it."""
    chances = Chances(names)
    known = contexts()
    values = [
        (
            min(MOST_BITS, -math.log2(len(LETTERS) * chances.letter(letters))),
            chances.weight(letters),
        )
        for letters in known
    ]
    levels = levelled(values)
    borders = [(one + two) / 2 for one, two in pairwise(levels)]
    table = bytes(bisect(borders, value) for value, _ in values)
    cases = {
        f"{before}{case}": round(-math.log2(2 * chances.case(f"{before}{case}")), 2)
        for before in ("^^", "^L", "^U", "LL", "LU", "UL", "UU")
        for case in "LU"
    }
    return table, Spelling(table, levels=levels, cases=cases, most=most)


def report(name: str, judge: Spelling, names: dict[str, list[str]], number: int) -> None:
    """Print how many names are taken for values, and how many values are found."""
    print(name)
    for source, all_names in names.items():
        several = [each for each in all_names if each.isalpha() and len(each) in LENGTHS]
        taken = sum(map(judge.by_chance, several))
        joined = [each for each in all_names if "_" in each.strip("_")]
        taken_joined = sum(map(judge.by_chance, joined))
        print(
            f"  {source}: {taken} of {len(several)} taken ({taken / len(several):.2%}); "
            f"with underscores {taken_joined} of {len(joined)} ({taken_joined / len(joined):.2%})"
        )
    for kind, letters in (("small letters", LETTERS), ("both", LETTERS + LETTERS.upper())):
        by_length = []
        for length in LENGTHS:
            chance = random.Random(f"{kind}{length}")  # noqa: S311 - no secrets
            made = ["".join(chance.choices(letters, k=length)) for _ in range(number)]
            by_length.append(sum(map(judge.by_chance, made)) / number)
        lengths = " ".join(f"{found:.1%}" for found in by_length)
        print(f"  {kind}: {sum(by_length) / len(by_length):.2%} found; by length {lengths}")


def main() -> None:
    """Print the table, or the figures."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--print", action="store_true", help="the table of all identifiers")
    parser.add_argument("--values", type=int, default=2000, help="of each length")
    options = parser.parse_args()
    names = standard()
    if options.print:
        table, judge = spelling(names, NAMES.most)
        print(judge.levels, judge.in_cases)
        print(encodebytes(zlib.compress(table, 9)).decode())
        return
    random.Random(0).shuffle(names)  # noqa: S311 - no secrets
    half = len(names) // 2
    _, judge = spelling(names[:half], NAMES.most)
    installed = identifiers(INSTALLED.rglob("*.py"))
    report(
        "of one half of the standard library",
        judge,
        {"the other half": names[half:], "installed": installed},
        options.values,
    )
    report("as it is used", NAMES, {"installed": installed}, options.values)


if __name__ == "__main__":
    main()
