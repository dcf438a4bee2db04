"""Text in a field that scrolls sideways: each picture of it is the one before, moved to the left.

A field that is narrower than what is typed in it never shows a token whole; one picture
after the other does. They stand in the print stream and in what was read of the screen as
lines that follow each other, as long as each other, with the same edges on both sides.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate, pairwise

from ptycassette.scrub.decoded import Decoded, Parts

__all__ = ["slid"]

_SHORTEST = 14
_LONGEST = 400
_INSIDE = slice(4, 10)
_OVERLAP = 8
_WIDEST_EDGE = 6
_SPINNER = 2


def slid(text: str) -> Iterator[Decoded]:
    """What moves through fields in canonical ``text``, each as one."""
    lines = text.split("\n")
    lengths = list(map(len, lines))
    shown = [number for number, length in enumerate(lengths) if length >= _SHORTEST]
    pairs = [
        (one, other, *moved)
        for one, other in pairwise(shown)
        if lengths[one] == lengths[other]
        and (moved := _moved(lines[one], lines[other])) is not None
    ]
    jumps = list(_jumps(lines, shown)) if "\n<" in text else []
    if not pairs and not jumps:
        return
    starts = [0, *accumulate(length + 1 for length in lengths)]
    for one, other, same in jumps:
        end = starts[one + 1] - 1 - lines[one].endswith(">")
        rest = range(starts[other] + 1 + same, starts[other + 1] - 1)
        yield _as_one(text, [*range(starts[one], end), *rest])
    places: list[int] = []
    last = -1
    for one, other, left, right, by in pairs:
        if one != last:
            if places:
                yield _as_one(text, places)
            places = [*range(starts[one] + left, starts[one + 1] - 1 - right)]
        end = starts[other + 1] - 1 - right
        places += range(end - by, end)
        last = other
    if places:
        yield _as_one(text, places)


def _jumps(lines: list[str], shown: list[int]) -> Iterator[tuple[int, int, int]]:
    """Lines that show what readline does when it scrolls: ``<`` and the end of the line before.

    Yields:
        The numbers of both, and how much of the line before is there again.
    """
    for one, other in pairwise(shown):
        line = lines[other]
        if not line.startswith("<") or len(line) > _LONGEST or lines[one].startswith("<"):
            continue
        before = lines[one].removesuffix(">")
        at = before.find(line[1 : 1 + _OVERLAP])
        if at >= 0 and line.startswith(before[at:], 1):
            yield one, other, len(before) - at


def _as_one(text: str, places: list[int]) -> Decoded:
    return Parts("".join([text[at] for at in places]), places=places)


def _moved(before: str, line: str) -> tuple[int, int, int] | None:
    """How wide the edges on the left and on the right are, and by how much the rest moved."""
    inside = line[_INSIDE]
    if before.find(inside) <= _INSIDE.start or inside.isspace() or len(line) > _LONGEST:
        return None
    for right in range(_WIDEST_EDGE + 1):
        end = len(line) - right
        for left in range(_WIDEST_EDGE + 1):
            same = before[:left] == line[:left] or (left == _SPINNER and line[left - 1] == " ")
            if not same or before[end:] != line[end:]:
                continue
            at = before.find(line[left : left + _OVERLAP], left + 1, end)
            if at >= 0 and before[at:end] == line[left : end - (at - left)]:
                return left, right, at - left
    return None
