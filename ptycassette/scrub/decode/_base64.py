"""Base64 in both alphabets (RFC 4648), at every alignment, in one line or in lines.

A run of digits is read from each of its first four: nobody knows where the encoded text begins.
Lines of digits that follow each other (RFC 2045 6.8, RFC 7468) are moreover read as one, for
text that crosses the end of a line.
"""

from __future__ import annotations

import re
from base64 import b64decode
from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate

from ptycassette.scrub.decode._decoded import Decoded, Run, is_readable
from ptycassette.scrub.decode._plug import Spans

__all__ = ["READABLE_BASE64", "base64_runs", "decoded_digits", "run_end", "run_start"]

_STANDARD = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_ALPHABET = f"{_STANDARD}-_"
_DIGIT = "[A-Za-z0-9+/_-]"
_GAP = re.compile("[^A-Za-z0-9+/_-]")
_TO_STANDARD = str.maketrans("-_", "+/")
_STEP = 4096  # characters that are looked at together where a run may be long
_FULL_LINE = 32  # digits; programs break lines at 64 or 76, on small screens earlier
_BELOW = re.compile(rf"[ \t\r]*\n[ \t]*({_DIGIT}{{2,}})(=*)[ \t\r]*(?=\n|\Z)")
_PRINTABLE = rb"[\t\n\r\x20-\x7e]"
# Of binary data no stretch of this length is text, in ASCII or in UTF-8.
_SAID = re.compile(rb"%b{6}(?:%b|[\xc3-\xf4][\x80-\xbf]{1,3}){14,}" % (_PRINTABLE, _PRINTABLE))


def _readable_digits() -> str:
    """A pattern of twelve digits that the encoding of every readable text contains.

    A printable character is 0x20 to 0x7e: of the four digits of three characters the first is
    8 to 31, the lower bits of the second 2 to 7, the last bits of the third 0 or 1. Ten
    characters make twelve whole digits, of which the first is the first, third or fourth of four.
    """
    first = f"[{_STANDARD[8:32]}]"
    second = "".join(digit for at, digit in enumerate(_STANDARD) if 2 <= at % 16 <= 7)
    third = "".join(digit for at, digit in enumerate(_STANDARD) if at % 4 <= 1)
    group = [first, f"[{second}_-]", f"[{third}_-]", _DIGIT]
    return "|".join("".join(group[(phase + at) % 4] for at in range(12)) for phase in (0, 2, 3))


READABLE_BASE64 = f"(?:{_readable_digits()}){_DIGIT}*"
"""Digits that stand for printable ASCII, and those behind them."""


def base64_runs(text: str, spans: Spans) -> Iterator[Decoded]:
    """Decode runs of digits: each run by itself, and runs that continue over line ends."""
    done = 0  # up to where lines were read as one
    for inside, end in spans:
        start = run_start(text, inside)
        for first in range(start, start + 4):
            raw = decoded_digits(text[first:end])
            if is_readable(raw):
                yield Run(raw.decode("latin-1"), spans=[(first, end)])
        if start >= done:
            lines = _lines(text, start, end)
            done = lines[-1][1]
            yield from _over_lines(text, lines)


def run_start(text: str, at: int) -> int:
    """The start of the run of digits that ends at ``at``."""
    while at > 0:
        before = text[max(0, at - _STEP) : at]
        digits = len(before) - len(before.rstrip(_ALPHABET))
        at -= digits
        if digits < len(before):
            break
    return at


def run_end(text: str, at: int) -> int:
    """The end of the run of digits that starts at ``at``."""
    gap = _GAP.search(text, at)
    return gap.start() if gap else len(text)


def decoded_digits(digits: str) -> bytes:
    """Decode ``digits``, of either alphabet; surplus digits at the end are decoded in part."""
    digits = digits[: len(digits) - (len(digits) % 4 == 1)].translate(_TO_STANDARD)
    return b64decode(digits + "=" * (-len(digits) % 4))


def _lines(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """The lines of digits to which this run belongs. All have the same length.

    The last one may be shorter, and before the digits of the first one may be something else.
    """
    spans = [(start, end)]
    while (above := _above(text, *spans[-1])) is not None:
        spans.append(above)
    spans.reverse()
    while _is_full(spans):
        below = _BELOW.match(text, spans[-1][1])
        if below is None:
            break
        longer = below.end(1) - below.start(1) > spans[-1][1] - spans[-1][0]
        if longer and len(spans) > 1:
            break
        spans.append(below.span(1))
        if below[2]:
            break
    return spans


def _is_full(spans: list[tuple[int, int]]) -> bool:
    """Whether the last line is as long as those before it, so that another one may follow."""
    lengths = [end - start for start, end in spans[-2:]]
    return lengths[-1] >= (lengths[0] if len(spans) > 2 else _FULL_LINE)


def _above(text: str, start: int, end: int) -> tuple[int, int] | None:
    """The digits at the end of the line above, if these begin their line."""
    before = text[max(0, start - _STEP) : start].rstrip(" \t")
    above = before[:-1].rstrip(" \t\r")
    if not (before.endswith("\n") and above.endswith(tuple(_ALPHABET))):
        return None
    at = max(0, start - _STEP) + len(above)
    first = run_start(text, at)
    return (first, at) if at - first >= max(_FULL_LINE, end - start) else None


def _over_lines(text: str, spans: list[tuple[int, int]]) -> Iterator[Decoded]:
    """The stretches of text that cross the ends of these lines."""
    if len(spans) < 2:
        return
    start, end = spans[0]
    whole = text[start - 1 : start] in {"", "\n", " ", "\t"} and (end - start) % 4 == 0
    for skip in range(1 if whole else 4):
        lines = [(start + skip, end), *spans[1:]]
        seams = [*accumulate(last - first for first, last in lines)][:-1]
        digits = "".join([text[first:last] for first, last in lines])
        for said in _SAID.finditer(decoded_digits(digits)):
            first, last = said.start() * 8 // 6, said.end() * 8 // 6
            seam = bisect_right(seams, first)
            if seam < len(seams) and seams[seam] < last:
                yield Run(said.group().decode("latin-1"), spans=lines, first=said.start())
