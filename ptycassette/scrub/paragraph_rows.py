"""A row of text taken apart: its borders and its gutter, its first and its last word."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from ptycassette.scrub.joins import EDGE
from ptycassette.scrub.words import names_a_value

__all__ = ["ParagraphRow", "ParagraphRows", "row_of"]

_GUTTER = re.compile(r"(?:(\d{1,6})(?:[ \t]*[\u2502|:])?|#+|//+|--|;+|%|\*|\xbb)[ \t]{1,4}")
_ASSIGNS = re.compile(r"[+-]?\w+ = ")
_BLANK = re.compile(" ")
_WORD = re.compile(r"\S+")


class ParagraphRow(NamedTuple):
    """Where the text of a row begins, borders and gutters left off, and ends; what is in it.

    ``named`` says whether the word before the last one names a value.
    """

    text: str
    left: int
    start: int
    end: int
    first: str
    last: str
    number: int
    named: bool

    @property
    def alone(self) -> bool:
        """Whether it has one word."""
        return len(self.last) == self.end - self.start

    @property
    def blanks(self) -> list[int]:
        """Where its blanks are."""
        return [blank.start() for blank in _BLANK.finditer(self.text, self.start, self.end)]

    @property
    def assigns(self) -> bool:
        """Whether it gives a value to a name."""
        return _ASSIGNS.match(self.text, self.start, self.end) is not None


class ParagraphRows:
    """Rows below each other, each looked at when it is asked for.

    A number before one counts the rows only where a neighbour has the next one.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = texts

    def __len__(self) -> int:
        return len(self._texts)

    def __getitem__(self, at: int) -> ParagraphRow:
        row = row_of(self._texts[at])
        if row.number and row.number not in (self._number(at - 1) + 1, self._number(at + 1) - 1):
            return row_of(self._texts[at], numbered=False)
        return row

    def _number(self, at: int) -> int:
        return row_of(self._texts[at]).number if 0 <= at < len(self._texts) else 0

    def between(self, start: int, stop: int) -> list[ParagraphRow]:
        """Those from one number up to another."""
        return [self[at] for at in range(max(0, start), min(len(self), stop))]


@lru_cache(maxsize=1 << 12)
def row_of(text: str, *, numbered: bool = True) -> ParagraphRow:
    """A (right-trimmed) row taken apart. A number before it is its gutter if it is ``numbered``."""
    left = len(text) - len(text.lstrip(EDGE))
    end = max(left, len(text.rstrip(EDGE)))
    gutter = _GUTTER.match(text, left, end)
    if gutter is not None and not numbered and gutter.group().strip() == gutter[1]:
        gutter = None  # one without a bar behind it
    start = gutter.end() if gutter else left
    first = _WORD.match(text, start, end)
    begins = text.rfind(" ", left, end) + 1 or left
    last = text[begins:end]
    named = begins > left + 1 and names_a_value(text, begins - 1)
    number = int(gutter[1] or 0) if gutter else 0
    return ParagraphRow(text, left, start, end, first.group() if first else "", last, number, named)
