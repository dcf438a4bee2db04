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

from ptycassette.terminal._unicode_tables import (
    CLUSTER_CLASSES,
    CODE_POINT_WIDTHS,
    EXTEND,
    HANGUL_L,
    HANGUL_LV,
    HANGUL_LVT,
    HANGUL_T,
    HANGUL_V,
    OTHER,
    PICTOGRAPH,
    PREPEND,
    REGIONAL,
    SKIN_TONE,
    SPACING_MARK,
    ZWJ,
)

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
    # GB11, without looking at what stands before the joiner; GB12
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

        Each narrow character comes with the marks behind it, for ``cells`` to divide.
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
        """What joins any cell before it, and never widens it."""
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
            kind_before: the kind of the character before, ``NO_JOIN`` when there is none.
            width_before: the width of the cell before.
            base: the first character of the cell before; "" when there is none.

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
