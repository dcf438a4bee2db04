"""Maps values found in squeezed text back to the original text.

There a value is in stretches, with blanks, borders and line ends in between.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import chain

from ptycassette.scrub.match import SQUEEZED_AWAY

_Span = tuple[int, int]
_ESCAPE = "\x1b"
_BY_CHANCE = 2
"""So many letters of a word on another line, or in another column, may continue a value."""


def spread(text: str, spans: Sequence[_Span]) -> Iterator[list[_Span]]:
    """The stretches of ``text`` for each of ``spans`` (ascending) of its squeezed form.

    A phrase of several words is one stretch. Left out are the character right after ESC, which
    belongs to a sequence, and one or two letters of a word on the line before or after.
    """
    for parts in _stretches(text, spans) if spans else ():
        if len(parts) > 1 and _by_chance(text, parts[-1], parts[-2][1], parts[-1][0], parts[-1][1]):
            del parts[-1]
        if len(parts) > 1 and _by_chance(text, parts[0], parts[0][1], parts[1][0], parts[0][0] - 1):
            del parts[0]
        joined: list[_Span] = []
        for start, end in parts:
            first = start + (text[start - 1 : start] == _ESCAPE)
            if joined and not text[joined[-1][1] : first].strip(" "):
                joined[-1] = joined[-1][0], end
            elif first < end:
                joined.append((first, end))
        yield joined


def _by_chance(text: str, part: _Span, end: int, start: int, beyond: int) -> bool:
    """Whether ``part`` belongs to an unrelated word.

    ``text[end:start]`` is between it and the rest of the value, ``beyond`` its other side.
    """
    between = text[end:start]
    return (
        part[1] - part[0] <= _BY_CHANCE
        and text[max(0, beyond) : beyond + 1].isalnum()
        and ("\n" in between or "  " in between)
    )


def _stretches(text: str, spans: Sequence[_Span]) -> Iterator[list[_Span]]:
    """As ``spread``, but each run of characters that are kept by ``squeeze`` is a stretch."""
    starts: list[int] = []  # of each run, in the squeezed form and in the text
    places: list[int] = []
    at = length = 0
    for start, end in chain(
        (gap.span() for gap in SQUEEZED_AWAY.finditer(text)), [(len(text),) * 2]
    ):
        if start > at:
            starts.append(length)
            places.append(at)
            length += start - at
        at = end
    ends = [*starts[1:], length]
    for first, last in spans:
        number = bisect_right(starts, first) - 1
        parts = []
        while first < last:
            shift, stop = places[number] - starts[number], min(last, ends[number])
            parts.append((first + shift, stop + shift))
            first, number = stop, number + 1  # noqa: PLW2901 - on to the next run
        yield parts
