"""Lists as programs print them: bytes as numbers, and text in strings of a few characters."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ptycassette.scrub._mask import NUMBERS, TEXT
from ptycassette.scrub.decode._decoded import READABLE, Decoded, is_readable, of_digits, rewritten
from ptycassette.scrub.decode._plug import Spans

__all__ = ["NUMBERS_LIST", "STRINGS_LIST", "numbers", "short_strings"]

_NUMBER = "(?:3[2-9]|[4-9][0-9]|1[0-9][0-9]|2[0-4][0-9]|25[0-5]|9|10|13)"
NUMBERS_LIST = rf"\b{_NUMBER}(?:[ \n\r\t,]+{_NUMBER}){{{READABLE - 1},}}\b"
"""Decimal numbers, each a byte of text."""

# Six strings of at most eight characters; lists of words have longer ones among them.
STRINGS_LIST = "|".join(
    rf"{string}(?:,[ \n\r\t]*{string}){{5,}}"
    for string in (rf"{quote}(?:[^{quote}\\\n]|\\[^\n]){{1,8}}{quote}" for quote in "\"'")
)
"""Strings of a few characters, with commas between."""

_DIGITS = re.compile("[0-9]+")
_CONTENT = re.compile(r"\"(?P<double>(?:[^\"\\]|\\.)*)\"|'(?P<single>(?:[^'\\]|\\.)*)'")


def numbers(text: str, spans: Spans) -> Iterator[Decoded]:
    """Decode lists of numbers."""
    for span in spans:
        found = list(_DIGITS.finditer(text, *span))
        raw = bytes(int(number.group()) for number in found)
        if is_readable(raw):
            yield of_digits(raw, [number.span() for number in found], form=NUMBERS)


def short_strings(text: str, spans: Spans) -> Iterator[Decoded]:
    """Join the strings of each list."""
    for start, end in spans:
        strings = _CONTENT.finditer(text, start, end)
        inside = [string.span(string.lastgroup or 0) for string in strings]
        ends = [start, *(last for _, last in inside)]
        starts = [*(first for first, _ in inside), end]
        between = [(*gap, "") for gap in zip(ends, starts, strict=True)]
        yield rewritten(text, between, form=TEXT, within=(start, end))
