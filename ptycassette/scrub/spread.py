"""How values that were found in squeezed text are spread over the text itself.

There they stand in stretches, with blanks, borders and ends of lines in between.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from ptycassette.scrub.canonical import canonical, squeeze
from ptycassette.scrub.known import Hit, KnownValue
from ptycassette.scrub.views import squeezed_stretches

__all__ = ["Spread", "spread"]

_ESCAPE = "\x1b"
_BY_CHANCE = 2
_TELLING = 5
_SEVERAL = 2


class Spread(NamedTuple):
    """A hit, and its stretches of the text; ``whole`` says that nothing of it was left out."""

    hit: Hit
    parts: list[tuple[int, int]]
    whole: bool


def spread(text: str, hits: Sequence[Hit]) -> Iterator[Spread]:
    """Each of ``hits`` (ascending) in the squeezed form of ``text``, and its stretches of it.

    A phrase of several words is one stretch. What a hit holds by chance is left out.
    """
    wholes = squeezed_stretches(text, [(hit.start, hit.end) for hit in hits])
    for hit, whole in zip(hits, wholes, strict=True):
        parts = whole
        if any(text[start - 1 : start] == _ESCAPE for start, _ in parts):
            parts = [part for part in map(_behind_escape(text), parts) if part[0] < part[1]]
        if len(parts) >= _SEVERAL:
            parts = _without_chance(parts, text, hit.value)
        if not parts:
            continue
        yield Spread(hit, _over_blanks(parts, text), parts is whole)


def _without_chance(
    parts: list[tuple[int, int]], text: str, value: KnownValue
) -> list[tuple[int, int]]:
    """Stretches of a hit without a letter or two of a word on the line before or behind.

    Such a word ends as the value goes on, by chance: it holds no end of the value, and stands
    on another line, or in another column, than what is beside it in the value.
    """
    (start, end), (after, stop) = parts[0], parts[1]
    begins = text[start:end] + text[after : after + _BY_CHANCE]
    if (
        end - start <= _BY_CHANCE
        and stop - after >= _TELLING
        and text[start - 1 : start].isalnum()
        and _apart(text[end:after])
        and not squeeze(canonical(value.text)).startswith(begins)
    ):
        parts = parts[1:]
    if len(parts) < _SEVERAL:
        return parts
    (first, before), (start, end) = parts[-2], parts[-1]
    ends = text[before - _BY_CHANCE : before] + text[start:end]
    if (
        end - start <= _BY_CHANCE
        and before - first >= _TELLING
        and text[end : end + 1].isalnum()
        and _apart(text[before:start])
        and not squeeze(canonical(value.text)).endswith(ends)
    ):
        parts = parts[:-1]
    return parts


def _apart(between: str) -> bool:
    """Whether what stands between two words puts them on two lines or in two columns."""
    return "\n" in between or "  " in between


def _behind_escape(text: str) -> Callable[[tuple[int, int]], tuple[int, int]]:
    """What of a stretch of ``text`` is no part of a sequence: all but what is right behind ESC."""
    return lambda part: (part[0] + (text[part[0] - 1 : part[0]] == _ESCAPE), part[1])


def _over_blanks(parts: list[tuple[int, int]], text: str) -> list[tuple[int, int]]:
    """Stretches with nothing but spaces between them are one: a phrase of several words."""
    joined = parts[:1]
    for start, end in parts[1:]:
        if text[joined[-1][1] : start].strip(" "):
            joined.append((start, end))
        else:
            joined[-1] = (joined[-1][0], end)
    return joined
