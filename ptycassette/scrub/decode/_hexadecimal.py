"""Text as pairs of hexadecimal digits, next to each other or apart, with or without ``0x``."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ptycassette.scrub._mask import HEX
from ptycassette.scrub.decode._decoded import READABLE, Decoded, Run, is_readable, of_digits
from ptycassette.scrub.decode._plug import Spans

__all__ = ["READABLE_HEX", "hex_runs"]

_DIGIT = "[0-9A-Fa-f]"
_BETWEEN = "[ :,]{0,2}(?:0[xX])?"
READABLE_HEX = (
    f"(?:[2-7]{_DIGIT}{_BETWEEN}){{{READABLE - 1}}}[2-7]{_DIGIT}"
    f"(?:{_BETWEEN}{_DIGIT}{{2}})*{_DIGIT}?"
)
"""Pairs that stand for printable ASCII, and those behind them."""

_PAIR = re.compile(f"(?:0[xX])?({_DIGIT}{{2}})")
_GAP = re.compile("[^0-9A-Fa-f]")
# Pairs that stand before others, read backwards.
_BEFORE = re.compile(f"(?:[xX]0)?(?:[ :,]{{0,2}}{_DIGIT}{{2}}(?:[xX]0)?)*")
_MOST_BEFORE = 512  # what is cut off is not text: the run would have been found there


def hex_runs(text: str, spans: Spans) -> Iterator[Decoded]:
    """Decode runs of pairs. Digits without gaps may be paired in two ways."""
    for inside, end in spans:
        before = _BEFORE.match(text[max(0, inside - _MOST_BEFORE) : inside][::-1])
        start = inside - (before.end() if before else 0)
        if _GAP.search(text, start, end):
            pairs = list(_PAIR.finditer(text, start, end))
            raw = bytes.fromhex("".join([pair[1] for pair in pairs]))
            yield of_digits(raw, [pair.span(1) for pair in pairs])
            continue
        for first in (start, start + 1 if not start or _GAP.match(text, start - 1) else start - 1):
            last = end - (end - first) % 2
            raw = bytes.fromhex(text[first:last])
            if is_readable(raw):
                yield Run(raw.decode("latin-1"), spans=[(first, last)], form=HEX)
