"""Base64 in lines (RFC 2045 6.8, RFC 7468) as one text, where it holds text.

Each line is read by itself elsewhere, and rows that a margin broke are joined on the screen.
A line wider than the terminal is neither. What is read here are the stretches of printable
characters that go over the end of a line; of binary data there are none.
"""

from __future__ import annotations

import re
from base64 import b64decode
from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate

from ptycassette.scrub.decoded import Decoded
from ptycassette.scrub.mask import BASE64

__all__ = ["base64_lines"]

_DIGIT = "[A-Za-z0-9+/_-]"
_SHORTEST = 32
_LONGEST = 4096
_LINE = re.compile(rf"\n[ \t]*({_DIGIT}{{2,}}+)(={{0,2}}+)[ \t\r]*+(?=\n|\Z)")
_BEGINS = re.compile(rf"{_DIGIT}{{{_SHORTEST},}}")
_PRINTABLE = rb"[\t\n\r\x20-\x7e]"
_SAID = re.compile(rb"%b{6}(?:%b|[\xc3-\xf4][\x80-\xbf]{1,3}){14,}" % (_PRINTABLE, _PRINTABLE))
_STANDARD = str.maketrans("-_", "+/")


class _Lines(Decoded):
    """Text from byte ``first`` on of what digits that stand in ``spans`` decode to.

    ``starts`` counts the digits before each span and all of them.
    """

    def __init__(
        self, text: str, *, first: int, spans: list[tuple[int, int]], starts: list[int]
    ) -> None:
        super().__init__(text, form=BASE64)
        self._first = first
        self._spans = spans
        self._starts = starts

    def source(self, start: int, end: int) -> tuple[int, int]:
        """See ``Decoded``. The ends of lines between the digits are in it."""
        last = min(self._starts[-1], -(-(self._first + end) * 8 // 6)) - 1
        return self._of((self._first + start) * 8 // 6), self._of(last) + 1

    def form_at(self, start: int) -> str:
        """See ``Decoded``."""
        return f"{BASE64}{(self._first + start) * 8 // 6 % 4}"

    def _of(self, digit: int) -> int:
        number = min(bisect_right(self._starts, digit), len(self._spans)) - 1
        return self._spans[number][0] + digit - self._starts[number]


def base64_lines(text: str) -> Iterator[Decoded]:
    """What goes over the ends of lines of base64 in canonical ``text``."""
    spans: list[tuple[int, int]] = []
    last = 0
    for line in _LINE.finditer(text):
        length = len(line[1])
        if not spans or line.start() != last or length > spans[-1][1] - spans[-1][0]:
            yield from _read(text, spans)
            start = _begins(text, line.start())
            spans = [(start, line.start())] if start < line.start() else []
        if not spans:
            continue
        spans.append(line.span(1))
        last = line.end()
        if line[2] or (len(spans) > 2 and length < spans[-2][1] - spans[-2][0]):
            yield from _read(text, spans)
            spans = []
    yield from _read(text, spans)


def _begins(text: str, end: int) -> int:
    """Where the digits begin that end there; the end itself when they are too few."""
    run = _BEGINS.match(text[max(0, end - _LONGEST) : end][::-1])
    return end - len(run.group()) if run else end


def _read(text: str, spans: list[tuple[int, int]]) -> Iterator[Decoded]:
    """What goes over the ends of these lines."""
    if len(spans) < 2:
        return
    start, end = spans[0]
    whole = text[start - 1 : start] in {"", "\n", " ", "\t"} and (end - start) % 4 == 0
    for skip in range(1 if whole else 4):
        parts = [(start + skip, end), *spans[1:]]
        digits = "".join([text[first:last] for first, last in parts]).translate(_STANDARD)
        digits = digits[: len(digits) - (len(digits) % 4 == 1)]
        raw = b64decode(digits + "=" * (-len(digits) % 4))
        starts = [*accumulate((last - first for first, last in parts[:-1]), initial=0), len(digits)]
        for said in _SAID.finditer(raw):
            first, last = said.start() * 8 // 6, said.end() * 8 // 6
            seam = starts[bisect_right(starts, first)]
            if seam < min(last, starts[-1]):
                said_text = said.group().decode("latin-1")
                yield _Lines(said_text, first=said.start(), spans=parts, starts=starts)
