"""Bytes as digits: pairs of hexadecimal digits, lists of decimal numbers, and dumps.

Pairs stand next to each other or apart, with or without ``0x``, in one line or in several. Lines of
a dump (``xxd``, ``hexdump -C``) have an offset before them and characters behind them.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from ptycassette.model.lazy_regex import lazy_pattern
from ptycassette.scrub._mask import ESCAPED, HEX, NUMBERS, TEXT
from ptycassette.scrub.decode._decoded import READABLE, Decoded, Spans, is_readable, of_digits

_DIGIT = "[0-9A-Fa-f]"
_OFFSET = rf"[ \t]*{_DIGIT}{{4,16}}:?[ \t]{{1,3}}"
_LINE_END = rf"(?: {{2}}[^\n]{{1,20}}|[ \t\r]*)\n(?:{_OFFSET}|[ \t]*)"
_BETWEEN = rf"(?:{_LINE_END}|[ :,]{{0,2}}(?:0[xX])?)"
READABLE_HEX = (
    f"(?:(?:[2-7]{_DIGIT}{_BETWEEN}){{{READABLE - 1}}}[2-7]{_DIGIT}"
    f"|(?:[2-7]{_DIGIT}{_BETWEEN}00{_BETWEEN}){{{READABLE - 1}}}[2-7]{_DIGIT}{_BETWEEN}00)"
    f"(?:{_BETWEEN}{_DIGIT}{{2}})*{_DIGIT}?"
)
"""Pairs that stand for printable ASCII, in UTF-16 too, and those behind them."""

_FIRST_OFFSET = lazy_pattern(_OFFSET)
_PAIR = lazy_pattern(f"{_LINE_END}|(?:0[xX])?({_DIGIT}{{2}})")
_THREE = lazy_pattern(f"{_DIGIT}{{3}}")
# Pairs that stand before others, read backwards.
_BEFORE = lazy_pattern(f"(?:[xX]0)?(?:[ :,]{{0,2}}{_DIGIT}{{2}}(?:[xX]0)?)*")
_MOST_BEFORE = 512  # what is cut off is not text: the run would have been found there

_NUMBER = "(?:3[2-9]|[4-9][0-9]|1[0-9][0-9]|2[0-4][0-9]|25[0-5]|9|10|13)"
NUMBERS_LIST = rf"\b{_NUMBER}(?:[ \n\r\t,]+{_NUMBER}){{{READABLE - 1},}}\b"
"""Decimal numbers, each a byte of text."""
_NUMBERS = lazy_pattern("[0-9]+")


# A cell is three wide behind a blank: a character, the name of one that has no picture, or its
# octal digits (POSIX, od: -t c).
_CELL = r" {3}([ -~])| {2,3}\\([0abefnrtv])| ([0-3][0-7]{2})"
_CELLS = lazy_pattern(_CELL)
_NAMED = dict(zip("0abefnrtv", "\0\a\b\x1b\f\n\r\t\v", strict=True))
CELLS = rf"(?: {{3}}[!-~]){{4}}(?:{_CELL})*(?:[ \r]*\n(?:[0-9A-Fa-f]{{6,8}})?(?:{_CELL})+)*"
"""Lines of cells."""


_CHARACTER = r"(?:[^\"\\\n]|\\[^\n]|[\x80-\xff]{2,4})"
CHARACTERS = rf'"{_CHARACTER}"(?:,[ \n\r\t]*"{_CHARACTER}"){{5,}}'
"""Strings of a character each, with commas between."""
_CONTENT = lazy_pattern(r'"\\?([^\n]|[\x80-\xff]{2,4})"')


def hex_runs(text: str, spans: Spans) -> Iterator[Decoded]:
    """Decode runs of pairs."""
    for inside, end in spans:
        floor = max(text.rfind("\n", 0, inside) + 1, inside - _MOST_BEFORE)
        offset = _FIRST_OFFSET.match(text, floor, inside)
        before = _BEFORE.match(text[offset.end() if offset else floor : inside][::-1])
        for view in pairs_of(text, inside - (before.end() if before else 0), end):
            if is_readable(view.text.encode("latin-1")):
                yield view


def pairs_of(text: str, start: int, end: int) -> Iterator[Decoded]:
    """Decode the pairs between two places. Digits without gaps may be paired in two ways."""
    for first in (start, start + 1) if _THREE.match(text, start, end) else (start,):
        pairs = [pair for pair in _PAIR.finditer(text, first, end) if pair[1]]
        raw = bytes.fromhex("".join([pair[1] for pair in pairs]))
        yield of_digits(raw, [pair.span(1) for pair in pairs], form=HEX)


def numbers(text: str, spans: Spans) -> Iterator[Decoded]:
    """Decode lists of numbers."""
    for span in spans:
        found = list(_NUMBERS.finditer(text, *span))
        raw = bytes(int(number.group()) for number in found)
        if is_readable(raw):
            yield of_digits(raw, [number.span() for number in found], form=NUMBERS)


def cells(text: str, spans: Spans) -> Iterator[Decoded]:
    """Decode dumps of characters."""
    for inside, end in spans:
        found = list(_CELLS.finditer(text, text.rfind("\n", 0, inside) + 1, end))
        raw = "".join([one[1] or _NAMED.get(one[2]) or chr(int(one[3], 8)) for one in found])
        places = [one.span(one.lastindex or 0) for one in found]
        if is_readable(raw.encode("latin-1")):
            yield of_digits(raw.encode("latin-1"), places, form=ESCAPED)


def characters(text: str, spans: Spans) -> Iterator[Decoded]:
    """Join the characters of each list."""
    for span in spans:
        found = list(_CONTENT.finditer(text, *span))
        places = [at for one in found for at in pairwise(range(one.start(1), one.end(1) + 1))]
        yield Decoded("".join([one[1] for one in found]), places.__getitem__, form=TEXT, apart=0)
