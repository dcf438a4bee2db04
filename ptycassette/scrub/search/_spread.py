"""Maps values found in squeezed text back to the original text.

There a value is in stretches, with blanks, borders and line ends in between.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ptycassette.scrub.match import SQUEEZED_AWAY, squeeze

__all__ = ["spread"]

_Span = tuple[int, int]
_ESCAPE = "\x1b"
_BY_CHANCE = 2
"""So many letters of a word on another line, or in another column, may continue a value."""


def spread(text: str, spans: Sequence[_Span]) -> Iterator[list[_Span]]:
    """The stretches of ``text`` for each of ``spans`` (ascending) of its squeezed form.

    A phrase of several words is one stretch. Left out are the character right after ESC, which
    belongs to a sequence, and one or two letters of a word on the line before or after.
    """
    for parts in _stretches(text, spans):
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


def _stretches(text: str, spans: Sequence[_Span]) -> list[list[_Span]]:
    """As ``spread``, but each run of characters that are kept by ``squeeze`` is a stretch."""
    result: list[list[_Span]] = [[] for _ in spans]
    first = squeezed_at = text_at = 0
    for line in text.split("\n") if spans else ():
        squeezed_end = squeezed_at + len(squeeze(line))
        if spans[first][0] < squeezed_end:
            first = _in_line(line, spans, result, first=first, at=(squeezed_at, text_at))
            if first == len(spans):
                break
        squeezed_at = squeezed_end
        text_at += len(line) + 1
    return result


def _in_line(
    line: str, spans: Sequence[_Span], result: list[list[_Span]], *, first: int, at: _Span
) -> int:
    """Add the stretches of one line; returns the first span that does not end in it.

    ``at`` is the start of the line in the squeezed form and in the text.
    """
    squeezed_at, text_at = at
    base = text_at
    for match in (*SQUEEZED_AWAY.finditer(line), None):
        gap_start, gap_end = match.span() if match else (len(line), len(line))
        shift = text_at - squeezed_at
        stop = base + gap_start - shift
        while first < len(spans) and spans[first][0] < stop:
            start, end = max(spans[first][0], squeezed_at), min(spans[first][1], stop)
            if end > start:
                result[first].append((start + shift, end + shift))
            if spans[first][1] > stop:
                break
            first += 1
        squeezed_at, text_at = stop, base + gap_end
    return first
