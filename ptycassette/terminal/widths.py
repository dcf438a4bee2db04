"""How many cells a character takes, and which characters share a cell.

Two modes, and the mode is part of the emulator's pinned identity:

``cluster``
    widths by extended grapheme cluster (UAX #29), what string-width, and with it
    every Ink-based CLI, assumes: a base with its marks, a ZWJ sequence, an emoji
    with a skin tone or VS16 is one cell of the width of its widest part.
``codepoint``
    widths by code point, as wcwidth does: marks of width 0 join the cell before
    them, every other character is alone.

The pattern ``runs`` splits text for painting: group 1 matches runs of narrow
characters with their marks, group 2 runs of wide ones, group 3 runs of marks, group 4
a single character that needs ``WidthMode.step``.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import cached_property
from typing import Final, Literal

import msgspec

from ptycassette.model.screen import DEFAULT_STYLE, Screen, Style

# Character classes, as data: grapheme cluster break and width of every code point.


OTHER: Final = 0
PREPEND: Final = 1
EXTEND: Final = 2
REGIONAL: Final = 3
SPACING_MARK: Final = 4
HANGUL_L: Final = 5
HANGUL_V: Final = 6
HANGUL_T: Final = 7
HANGUL_LV: Final = 8
HANGUL_LVT: Final = 9
ZWJ: Final = 10
PICTOGRAPH: Final = 11
IGNORED: Final = 12
SKIN_TONE: Final = 13

CLUSTER_CLASSES: Final[dict[tuple[int, int], str]] = {
    (OTHER, 2): (
        "2329+1 306+7 53+5 7f1+19 2+58 d+d5 1b+39 8+b 2 3+55 5+64 6+2a 2+32 2+29 2+55 a+2f 2+27 "
        "9+46 2 2+71f2 4+36 543a+1ff 311+9 17+22 2+12 2+3 96+5f 80+6 6ffa+3 f+4 a+1cda 25+21 "
        "60+72 e+391 f+32 1e1e+3 2+6 2+1 2+128 a 1e+2 3 f+4 8+18b 2005+56 a+16 1e38 52 10+9 "
        "2+13 2+1 a 5+8 18+5 575 826+fffd 3+fffd"
    ),
    (PREPEND, 1): "600+5 d8 32 181+1 51 46c 1036f 10 f5+1 20e 56e 2 143+5 2bd 1bc",
    (EXTEND, 0): (
        "300+6f 114+6 108+2c 2 2+1 2+1 2+2 47+a 31+14 11 66+6 3+5 3+1 2+3 24 1f+1a 5c+a 3b+8 a "
        "19+3 2+8 2+2 2+4 2c+2 3c+8 2b+17 2+1f 38 2 5+7 5 4+6 b+1 1e 3b 2 3+3 9 a b+1 1b 3+1 3a "
        "5+1 5+1 3+2 4 1f+1 4 c+1 3a 5+4 2+1 5 15+1 17+5 2 3b 2+1 2+3 9 6+4 b+1 1f 3c 2 d a 29 "
        "4 38 2+2 6+2 2+3 8+1 c+1 1e 3b 3+1 2 4+2 2+3 8+1 c+1 1d+1 3a+1 2 3+3 9 a b+1 1e 49 5 "
        "3+2 2 9 52 3+6 d+7 63 3+8 c+6 4a+1 1c 2 2 38+d 2+4 2+1 6+a 2+23 a 67+3 2+5 2+1 3+1 "
        "1a+1 5+2 11+3 e 3+1 7 10 2c0+2 3b3+3 1d+2 1e+1 1f+1 41+1 2+6 9 3+a a 2e+2 2 76+1 23 "
        "77+2 5+1 a 7+2 dc+1 3 3b 2+6 2 2 3+7 7+9 3 31+40 10+3 31+9 5+2 27+8 d+1 21+3 3+5 39 "
        "2+1 4 2+4 39+7 3+1 99+2 2+c 2+6 5 7 4+1 c7+3f 20d c4+20 bff+2 8e 61+1f 22b+5 6a+1 "
        "75d5+3 2+9 21+1 51+1 111 4 5 1a+1 6 98+1 1b+11 e 27+7 1a+a 2 2d+2 31 3+3 3+1 3 25 44+5 "
        "3+1 3+1 d 9 30 34 2+2 3+1 6+1 2 2b+1 9 ef 3 5 4f31 2e2+f 11+f 16f+1 25e e3 96+4 687+2 "
        "2+1 6+3 29+2 5 a6+1 23e+3 42+4 13e+1 1f+4 21+f 47+a 32+3 7c 37+e 2a 3+1 b+2 32+3 3+1 8 "
        "3e+2 25+4 2+7 3f d+1 35+8 2 9+3 3 60+2 3+3 7 3 9e 4+7 16+1 3a+1 2 2 d a f+6 4+4 44 3+5 "
        "2 3 2+2 5+2 2 f+1 56+7 3+2 2 18 52 3+5 2 3 2+1 2+1 ec 3+3 7+1 2+1 1c+1 56+7 3 2+1 6b 2 "
        "3+7 66 2 3+3 2+4 104+8 2+1 f6 b+3 5 91+3 3+1 5 21+9 29+5 3+3 9 a+5 3+2 2f+c 2+1 c7 2+2 "
        "2 ca+6 2+5 2 53+15 3+6 2+1 2+1 7b+5 4 2+1 2+6 2 49+1 4 2 59 103+1 c+1 35+4 6+2 18 14e6 "
        "7+e 2cc9+b 4+2 9c1+4 3c+6 419 40+3 52 c+1 4cac+1 1262+2d 3+16 1e1+1 3d+4 4+5 9+7 3+6 "
        "1f+3 95+2 c+2 9+1 3 21+1 77f+36 5+31 9 f 17+4 2+e 551+6 2+10 3+6 2+1 2+4 65 a1+6 178 "
        "3e+3 1fd+3 ff+1 f4 3 8+1 6 1db+6 6e+6 c16d6+5f 81+ef"
    ),
    (REGIONAL, 1): "1f1e6+19",
    (SPACING_MARK, 0): (
        "903 38 3+2 9+3 2+1 33+1 3c+1 7+1 3+1 37 3b+2 43 3b+2 9 2+1 36+1 3d 7+1 3+1 73 2+1 4+2 "
        "2+2 35+2 3e+3 3e+1 3b 3 2+1 2f f+1 3c+1 6+2 2+2 36+1 4d+1 7+6 14+1 14b+1 40 b2 a+1 "
        "1a+1 2d 732 8+7 2+1 15b+3 3+2 5+1 2+5 e1+1 3b 2 16+5 92 3a+3 41 1f 5+1 40 3+2 2 36+7 "
        "9+1 ac 16 8b2c+1 3 59+1 33+f 8f 31 31+1 5+1 3+1 70+1 3+1 19 9e 3+1 6 ee+1 2+1 2+1 2 "
        "6414 2 80 2e+2 5+1 74 19+1 3c 31+2 a f 5e+2 4+1 ad+2 20+1 3c 2+3 3+1 3+1 16+1 56+1 10 "
        "2+1 68+2 9+1 4 6c+1 7 2+1 2 3 ef+1 7+3 3 72+2 9+1 2 6e 2+1 6f 8 106+2 a f9+4 2+1 8 2 "
        "8f+2 9+3 5 55 1e+1 3f ca 4 2 c8 f 6b 8 3 d6+4 5+1 2 15f+1 d 31+1 9+1 41eb+2 e25+36"
    ),
    (SPACING_MARK, 1): "e33 80",
    (HANGUL_L, 2): "1100+5f 9801+1c",
    (HANGUL_V, 0): "1160+47 c609+16",
    (HANGUL_V, 1): "16d63 4+3",
    (HANGUL_T, 0): "11a8+57 c5cc+30",
    (ZWJ, 0): "200d",
    (PICTOGRAPH, 1): (
        "a9 5 1f8e d d9 17 5b+5 10+1 17e a7 1e+2 2+1 6+2 c8 e8+1 b a 3b+1 4+4 a 3 7 5 3 2+1 3 4 "
        "4+1 9+2 6 2 1d+1 3 2+1 2 13 3 14 2+3 2 2+1 4 7 9+1 17 7 2 2 16 7+1 3 3+2 9 6+1 3+1 2 3 "
        "2 2 7 4 12+1 10 3 1c+1 3d 193+1 1d0+2 1c525+3 65+b 10+1 10 10 26+9 71+1 d+1 30+36 1e+c "
        "2d+3 a+6 3+d 7+99 22 3+8 a 47 19+1 2+2 3+1 2c+3 6+b 14 2 2 48 2 bc 4c+1 25+1 3+6 e 3+3 "
        "3 15 3 9+1 a 6+2 d+2 9+2 3 2 5 7 4 7 d1 2+2 b+1 5+5 4 4+3 3 a+2 dd+3 d+3 1d+3 39+7 b+5 "
        "29+7 1f+1 d+3 3+d a+26 159+7 f+1 e+2 48 2+2 13 e+2 d+4 101+3fd"
    ),
    (PICTOGRAPH, 2): (
        "231a+1 ce+3 4 3 20a+1 16+1 33+b 2c 14 e 9+1 12+1 6+1 9 6 16 8+1 2 5 3 8 5+1 1d 24 2 "
        "5+2 2 3e+2 19 f 35c+1 34 5 4db d 25a 2 1bd6b cb bf 3+9 67+1 18 15 3+8 16+1 af+20 d+8 "
        "2+45 2+15 d+2a 5+4 d+10 4 4+2 6+3e 2 2+ba 3+3e e+3 2+17 13 1b+1 e 57+54 31+45 7 4+2 "
        "3+4 3+3 c+1 8+8 e4+b 5 11c+2e 2+9 2+b8 71+c 4+46 2 4+11 2+c 4+b"
    ),
    (IGNORED, 0): (
        "7f+20 e 56f a0f+1 c 2a+2 3+6 16 4+5 3 b+2 772 253 2+1 5a7 3+1 19+6 32+f 10f5 7917 2 "
        "2d4a+3 32+3 2700 a1 50+b 1725+1 1d0f+f 8861+3 14d0+7 c2e86+1f 61+7f f1+e0f"
    ),
    (SKIN_TONE, 2): "1f3fb+4",
}

CODE_POINT_WIDTHS: Final[dict[int, str]] = {
    0: (
        "7f+20 261+6f 114+6 108+2c 2 2+1 2+1 2 39+5 b+a 2 2f+14 11 66+7 2+5 3+1 2+3 22 2 1f+1a "
        "5c+a 3b+8 a 19+3 2+8 2+2 2+4 2c+2 78+2f 38 2 5+7 5 4+6 b+1 1e 3b 5+3 9 15+1 1b 3+1 3a "
        "5+1 5+1 3+2 4 1f+1 4 c+1 3a 5+4 2+1 5 15+1 17+5 2 3b 3 2+3 9 9 c+1 1f 3e d 33 4 3a+2 "
        "6+2 2+3 8+1 c+1 1e 3b 3 7 6+1 15+1 1d+1 3a+1 5+3 9 15+1 67 8+2 2 5b 3+6 d+7 63 3+8 c+5 "
        "4b+1 1c 2 2 38+d 2+4 2+1 6+a 2+23 a 67+3 2+5 2+1 3+1 1a+1 5+2 11+3 e 3+1 7 10 c3+9f "
        "15e+2 3b3+2 1e+2 1e+1 1f+1 41+1 2+6 9 3+a a 2e+3 77+1 23 77+2 5+1 a 7+2 dc+1 3 3b 2+6 "
        "2 2 3+7 7+9 3 31+e 42+3 31 2+4 2 6 29+8 d+1 21+3 3+1 2+2 39 2+1 4 2+2 3b+7 3+1 99+2 "
        "2+c 2+6 5 7 4+1 c7+39 2+4 20c+4 1b+4 32+4 2+9 61+20 bff+2 8e 61+1f 22b+3 6c+1 75d5+3 "
        "2+9 21+1 51+1 111 4 5 1a+1 9e+1 1b+11 e 27+7 1a+a 2f+2 31 3+3 3+1 28 44+5 3+1 3+1 d 9 "
        "30 34 2+2 3+1 6+1 2 2b+1 9 ef 3 5 4f31 2e2+f 11+f d0 fa+2 202 e3 96+4 687+2 2+1 6+3 "
        "29+2 5 a6+1 23e+3 21f+a b1 37+e 39+2 32+3 3+1 3 10 33+2 25+4 2+7 3f d+1 35+8 b+3 63+2 "
        "3 2+1 7 a1 4+7 16+1 3a+1 4 26+6 4+4 c4+7 3+2 2 18 55+5 2 5+1 2+1 ef+3 7+1 2+1 1c+1 "
        "56+7 3 2+1 6b 2 3+5 2 66+2 3+3 2+4 104+8 2+1 19a+3 3+1 5 21+9 29+5 3+3 9 a+5 3+2 2f+c "
        "2+1 197+6 2+5 2 53+15 3+6 2+1 2+1 7b+5 4 2+1 2+6 2 49+1 4 2 15c+1 153c+8 36b8+4 3c+6 "
        "419 40+3 4d0b+1 2+3 14c4+2 a+f 3+6 1f+3 95+2 7bc+36 5+31 9 f 17+4 2+e 551+6 2+10 3+6 "
        "2+1 2+4 106+6 1b6+3 5e1+6 6e+6 c16b7 1f+5f 81+ef"
    ),
    2: (
        "1100+5f 11bb+1 e+1 bf+3 4 3 20a+1 16+1 33+b 2c 14 e 9+1 12+1 6+1 9 6 16 8+1 2 5 3 8 "
        "5+1 1d 24 2 5+2 2 3e+2 19 f 35c+1 34 5 32b+19 2+58 d+d5 1b+b 5+29 5+10 3+55 5+64 6+2a "
        "2+5d 2+2a 6+23 d+2e 2+27 9+1b6f 41+568c 4+36 49a+1c 284+2ba3 215d+1ff 311+9 17+22 2+12 "
        "2+3 96+5f 80+6 6ffa+3 1d+17f7 9+2f2 250e+11e 32+2 12+3 9+18b 3d09 cb bf 3+9 66+2 e+2b "
        "5+8 8+1 f+5 9b+20 d+8 2+45 2+15 d+2a 5+4 d+10 4 4+46 2 2+ba 3+3e e+3 2+17 13 1b+1 e "
        "57+54 31+45 7 4+2 3 16+1 8+6 e6+b 122+64 2+3 4+28 3+5 4+1c 3+32 71+3 5+2 6+2 e+5 "
        "56b+fffd 3+fffd"
    ),
}


WidthModeName = Literal["cluster", "codepoint"]

NO_JOIN: Final = -1
"""The kind of "nothing was painted just before": a control function was in between."""

PLAIN: Final = OTHER
"""The kind of a character that nothing special follows from."""

_HANGUL_FIRST, _HANGUL_LAST, _HANGUL_T_COUNT = 0xAC00, 0xD7A3, 28
_RUN_KINDS = frozenset({OTHER, PICTOGRAPH, HANGUL_LV, HANGUL_LVT})
_BMP_LAST = 0xFFFF
_MEMO_LIMIT = 1 << 16

_VS16: Final = "\ufe0f"
_KEYCAP_BASES: Final = frozenset("#*0123456789")
_ALL_KINDS: Final = range(14)

_EXTENDS: Final[frozenset[tuple[int, int]]] = frozenset(
    # UAX #29: GB6, GB7, GB8
    [(HANGUL_L, after) for after in (HANGUL_L, HANGUL_V, HANGUL_LV, HANGUL_LVT)]
    + [(before, after) for before in (HANGUL_LV, HANGUL_V) for after in (HANGUL_V, HANGUL_T)]
    + [(before, HANGUL_T) for before in (HANGUL_LVT, HANGUL_T)]
    # GB9, GB9a, GB9b
    + [(before, after) for before in _ALL_KINDS for after in (EXTEND, SKIN_TONE, ZWJ, SPACING_MARK)]
    + [(PREPEND, after) for after in _ALL_KINDS]
    # GB11, without a look at the text before the joiner; GB12
    + [(ZWJ, PICTOGRAPH), (REGIONAL, REGIONAL)]
)

Range = tuple[int, int]


def _unpack(packed: str) -> list[Range]:
    """The ranges of a table entry, ends included. See ``_unicode_tables``."""
    ranges = []
    last = 0
    for item in packed.split():
        gap, _, length = item.partition("+")
        first = last + int(gap, 16)
        last = first + int(length or "0", 16)
        ranges.append((first, last))
    return ranges


def _between(ranges: list[Range], first: int, last: int) -> list[Range]:
    """The range ``first`` to ``last`` without ``ranges``."""
    left = []
    for start, end in sorted(ranges):
        if first < start <= last + 1:
            left.append((first, start - 1))
        first = max(first, end + 1)
    if first <= last:
        left.append((first, last))
    return left


def _character_class(ranges: list[Range]) -> str:
    """The inside of a regular expression's character class."""
    return "".join(
        re.escape(chr(first))
        if first == last
        else f"{re.escape(chr(first))}-{re.escape(chr(last))}"
        for first, last in sorted(ranges)
    )


def _classes(ranges: list[Range]) -> tuple[str, str]:
    """The character classes of the ranges in the BMP, and of those beyond it."""
    bmp = [item for item in ranges if item[1] <= _BMP_LAST]
    return _character_class(bmp), _character_class([item for item in ranges if item not in bmp])


class WidthMode:
    """One way to measure. Two objects exist; ``width_mode`` hands them out.

    Args:
        name: ``cluster`` or ``codepoint``.
    """

    def __init__(self, name: WidthModeName) -> None:
        self.name = name
        self.joining = name == "cluster"
        table: dict[Range, tuple[int, int]] = {}
        if self.joining:
            for value, packed in CLUSTER_CLASSES.items():
                table.update(dict.fromkeys(_unpack(packed), value))
        else:
            for width, packed in CODE_POINT_WIDTHS.items():
                table.update(dict.fromkeys(_unpack(packed), (OTHER, width)))
        ranges = sorted(table)
        self._starts = [first for first, _ in ranges]
        self._ends = [last for _, last in ranges]
        self._values = [table[item] for item in ranges]
        self._memo: dict[str, tuple[int, int]] = {}
        self._ranges = {item: table[item] for item in ranges}

    # Classes within the BMP are bitmaps, and many times faster than lists of ranges. Compiling
    # them takes 10 ms each, so that it waits for the first character that is not ASCII.

    @cached_property
    def narrow(self) -> re.Pattern[str]:
        """Matches characters of width 1 that join nothing."""
        return re.compile(f"[{self._narrow_class}]+")

    @cached_property
    def runs(self) -> re.Pattern[str]:
        """Matches narrow characters (group 1), wide ones that join nothing (2), marks (3), or one.

        Each narrow character comes with the marks after it, for ``cells`` to divide.
        """
        narrow = self._narrow_class
        wide, wide_astral = _classes(self._wide)
        marks, marks_astral = _classes(self._marks)
        return re.compile(
            f"([{narrow}][{narrow}{marks}]*)|([{wide}]+|[{wide_astral}]+)"
            f"|([{marks}]+|[{marks_astral}]+)|(.)",
            re.DOTALL,
        )

    @cached_property
    def cells(self) -> re.Pattern[str]:
        """Matches one narrow character with all its marks."""
        return re.compile(f"[{self._narrow_class}][{_classes(self._marks)[0]}]*")

    @cached_property
    def parts(self) -> re.Pattern[str]:
        """Matches narrow characters alone (group 1), or one more."""
        return re.compile(f"([{self._narrow_class}]+)|(.)", re.DOTALL)

    @cached_property
    def _marks(self) -> list[Range]:
        """Characters that join any cell before them, and never widen it."""
        mark = (EXTEND, 0) if self.joining else (OTHER, 0)
        marks = [item for item, value in self._ranges.items() if value == mark]
        vs16 = ord(_VS16)
        return [
            part
            for first, last in marks
            for part in ((first, min(last, vs16 - 1)), (max(first, vs16 + 1), last))
            if part[0] <= part[1]
        ]

    @cached_property
    def _wide(self) -> list[Range]:
        wide = [
            item for item, value in self._ranges.items() if value[1] == 2 and value[0] in _RUN_KINDS
        ]
        return [*wide, (_HANGUL_FIRST, _HANGUL_LAST)]

    @cached_property
    def _narrow_class(self) -> str:
        slow = [
            item
            for item, value in self._ranges.items()
            if not self._runs_narrow(value) and item not in self._wide
        ]
        return _character_class(_between([*self._wide, *slow], 0x20, _BMP_LAST))

    @staticmethod
    def _runs_narrow(value: tuple[int, int]) -> bool:
        return value[1] == 1 and value[0] in _RUN_KINDS

    def classify(self, char: str) -> tuple[int, int]:
        """The kind and the width (0, 1 or 2) of one character on its own."""
        value = self._memo.get(char)
        if value is None:
            if len(self._memo) >= _MEMO_LIMIT:
                self._memo.clear()
            value = self._memo[char] = self._look_up(ord(char))
        return value

    def _look_up(self, code: int) -> tuple[int, int]:
        if _HANGUL_FIRST <= code <= _HANGUL_LAST:
            if not self.joining:
                return OTHER, 2
            with_tail = (code - _HANGUL_FIRST) % _HANGUL_T_COUNT
            return (HANGUL_LVT if with_tail else HANGUL_LV), 2
        at = bisect_right(self._starts, code) - 1
        if at >= 0 and code <= self._ends[at]:
            return self._values[at]
        return OTHER, 1

    def step(
        self, char: str, kind_before: int, width_before: int, base: str
    ) -> tuple[int, int, bool]:
        """How ``char`` joins a character of ``kind_before`` and ``width_before``.

        Args:
            char: one character.
            kind_before: the kind of the character before, ``NO_JOIN`` without one.
            width_before: the width of the cell before.
            base: the first character of the cell before; "" without one.

        Returns:
            The kind and the width to remember for the next step, and whether
            ``char`` joins the cell before. When it does, the width is that of
            the whole cell.
        """
        kind, width = self.classify(char)
        if kind_before == NO_JOIN:
            return kind, width, False
        if not self.joining:
            extends = width == 0 and width_before > 0
            return kind, width_before if extends else width, extends
        if width and (kind_before, kind) not in _EXTENDS:
            return kind, width, False
        if kind == REGIONAL and kind_before == REGIONAL:
            return PLAIN, 2, True
        if char == _VS16:
            emoji = base in _KEYCAP_BASES or (base and self.classify(base)[0] == PICTOGRAPH)
            width = 2 if emoji else width_before
        elif kind == SKIN_TONE:
            width = 2 if kind_before == PICTOGRAPH else width_before
        elif kind in {SPACING_MARK, HANGUL_V, HANGUL_T} or width < width_before:
            width = width_before
        return kind, width, True

    def leads(self, kind: int) -> bool:
        """Whether an ordinary character after one of ``kind`` may join its cell."""
        return kind in {PREPEND, ZWJ, HANGUL_L}


_MODES: dict[str, WidthMode] = {}


def width_mode(name: WidthModeName) -> WidthMode:
    """The mode of that name.

    Raises:
        ValueError: no such mode.
    """
    if name not in {"cluster", "codepoint"}:
        raise ValueError(f"unknown width mode {name!r}; one of cluster, codepoint")
    mode = _MODES.get(name)
    if mode is None:
        mode = _MODES[name] = WidthMode(name)
    return mode


# A screen's rows cut into cells again.
#
# ``Screen.rows`` are text, in which a cluster occurs once, however many cells it takes. Cutting
# follows the width mode of the emulator. A row painted in ways that its text does not show (a mark
# after a cursor movement) may come out a cell longer or shorter; it is cut or filled to the
# screen's width.


class ScreenCell(msgspec.Struct, frozen=True):
    """One cell: a cluster, ``""`` for the right half of a wide one, and its style."""

    text: str = " "
    style: Style = DEFAULT_STYLE


def split_cells(text: str, width: WidthModeName = "cluster") -> list[str]:
    """The cells of ``text``, with ``""`` after each wide one."""
    mode = width_mode(width)
    cells: list[str] = []
    kind, last_width = NO_JOIN, 0
    at = 0
    for char in text:
        base = cells[at][:1] if cells else ""
        kind, now, extends = mode.step(char, kind, last_width, base)
        if extends and cells:
            cells[at] += char
            cells.extend([""] * (max(now, 1) - max(last_width, 1)))
        else:
            at = len(cells)
            cells.append(char)
            cells.extend([""] * (now - 1))
        last_width = now
    return cells


def split_clusters(text: str, width: WidthModeName = "cluster") -> list[tuple[int, str]]:
    """The clusters of ``text``, each with the number of cells that it takes."""
    clusters: list[tuple[int, str]] = []
    for cell in split_cells(text, width):
        if cell or not clusters:
            clusters.append((1, cell))
        else:
            cells, cluster = clusters[-1]
            clusters[-1] = (cells + 1, cluster)
    return clusters


def row_cells(screen: Screen, row: int, *, width: WidthModeName = "cluster") -> list[ScreenCell]:
    """The cells of row ``row``, exactly as many as the screen has columns."""
    cols = screen.size.cols
    texts = split_cells(screen.rows[row], width)[:cols]
    texts.extend([" "] * (cols - len(texts)))
    styles = [DEFAULT_STYLE] * cols
    for run in screen.styles[row] if row < len(screen.styles) else ():
        styles[run.col : run.col + run.length] = [run.style] * run.length
    return [ScreenCell(text, style) for text, style in zip(texts, styles[:cols], strict=True)]
