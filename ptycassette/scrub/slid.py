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
    for run in jumps:
        shown_once: list[int] = []
        for number, first in run:
            end = starts[number + 1] - 1 - lines[number].endswith(">")
            shown_once += range(starts[number] + first, end)
        yield _as_one(text, shown_once)
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


def _jumps(lines: list[str], shown: list[int]) -> Iterator[list[tuple[int, int]]]:
    """Lines that show what readline does when it scrolls: ``<`` and the end of the line before.

    Yields:
        Lines that follow each other so, and from which character on each says something new.
    """
    run: list[tuple[int, int]] = []
    for one, other in pairwise(shown):
        same = _jumped(lines[one], lines[other]) if run or lines[one][0] != "<" else 0
        if same:
            run += [(other, same)] if run else [(one, 0), (other, same)]
        elif run:
            yield run
            run = []
    if run:
        yield run


def _jumped(before: str, line: str) -> int:
    """How much of a line was shown at the end of the line before it, with the mark; 0 for none."""
    if not line.startswith("<") or len(line) > _LONGEST:
        return 0
    before = before.removesuffix(">")
    at = before.find(line[1 : 1 + _OVERLAP])
    return 1 + len(before) - at if at >= 0 and line.startswith(before[at:], 1) else 0


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
