"""Stretches of a text that are read otherwise than they stand, with what stands around them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ptycassette.scrub.decoded import Decoded, Escaped, Parts
from ptycassette.scrub.mask import ESCAPED

__all__ = ["AROUND", "neighbours", "unescaped", "without"]

AROUND = 400


def neighbours(matches: list[re.Match[str]]) -> Iterator[list[re.Match[str]]]:
    """Matches that stand near each other."""
    first = 0
    while first < len(matches):
        last = first
        while last + 1 < len(matches) and matches[last + 1].start() - matches[last].end() < AROUND:
            last += 1
        yield matches[first : last + 1]
        first = last + 1


def without(text: str, matches: list[re.Match[str]], kept: list[tuple[int, int]]) -> Decoded:
    """What stands around matches, without them but for what is ``kept`` of each."""
    at = max(0, matches[0].start() - AROUND)
    places: list[int] = []
    for match, span in zip(matches, kept, strict=True):
        places += (*range(at, match.start()), *range(*span))
        at = match.end()
    places += range(at, min(len(text), at + AROUND))
    return Parts("".join([text[place] for place in places]), places=places)


def unescaped(
    text: str,
    escapes: list[tuple[int, int, str]],
    *,
    form: str = ESCAPED,
    within: tuple[int, int] | None = None,
) -> Decoded:
    """One stretch: the escapes (start, end, meaning) replaced by what they stand for.

    It is as long as ``within`` says, or holds some of what stands around the escapes.
    """
    at, stop = within or (max(0, escapes[0][0] - AROUND), escapes[-1][1] + AROUND)
    stop = min(len(text), stop)
    parts: list[str] = []
    starts: list[int] = []
    runs: list[tuple[int, int, int]] = []
    length = 0
    for start, end, meaning in escapes:
        if start > at:
            starts.append(length)
            runs.append((length, at, 0))
            parts.append(text[at:start])
            length += start - at
        starts.append(length)
        runs.append((length, start, end - start))
        parts.append(meaning)
        length += len(meaning)
        at = end
    starts.append(length)
    runs.append((length, at, 0))
    parts.append(text[at:stop])
    return Escaped("".join(parts), starts=starts, runs=runs, form=form)
