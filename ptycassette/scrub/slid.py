"""Text in a field that scrolls sideways: each picture of it is the one before, moved to the left.

A field that is narrower than what is typed in it never shows a token whole; one picture
after the other does. They stand in the print stream and in what was read of the screen as
lines that follow each other, as long as each other, with the same edges on both sides. A
character is shown by many of them, and goes wherever it is shown.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate, pairwise

from ptycassette.scrub.decoded import Decoded
from ptycassette.scrub.mask import TEXT

__all__ = ["slid"]

_SHORTEST = 14
_LONGEST = 400
_INSIDE = slice(4, 10)
_OVERLAP = 8
_WIDEST_EDGE = 6
_SPINNER = 2


class _Slid(Decoded):
    """Text that moved by; each character stands in all the places where it was shown."""

    def __init__(self, text: str, *, places: list[list[int]]) -> None:
        super().__init__("".join([text[shown[0]] for shown in places]), form=TEXT)
        self._places = places

    def source(self, start: int, end: int) -> tuple[int, int]:
        """See ``Decoded``."""
        return self._places[start][0], self._places[end - 1][0] + 1

    def sources(self, start: int, end: int) -> tuple[tuple[int, int], ...]:
        """See ``Decoded``."""
        stretches: list[tuple[int, int]] = []
        for at in sorted({at for shown in self._places[start:end] for at in shown}):
            if stretches and stretches[-1][1] == at:
                stretches[-1] = (stretches[-1][0], at + 1)
            else:
                stretches.append((at, at + 1))
        return tuple(stretches)


class _Track:
    """What moves through one field: its characters, and which of them stand where now."""

    def __init__(self, start: int, first: int, end: int) -> None:
        self.places = [[start + column] for column in range(first, end)]
        self._columns = dict(zip(range(first, end), self.places, strict=True))

    def show(self, start: int, span: tuple[int, int], *, by: int, old: int) -> None:
        """The line at ``start``: in the columns of ``span`` what stood ``by`` further right.

        Up to the column ``old``; behind it, what comes into sight.
        """
        now: dict[int, list[int]] = {}
        for column in range(*span):
            shown = self._columns.get(column + by) if column < old else None
            if shown is not None:
                shown.append(start + column)
            elif column >= old:
                shown = [start + column]
                self.places.append(shown)
            else:
                continue
            now[column] = shown
        self._columns = now


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
        yield _Slid(text, places=_jumping(lines, starts, run))
    track: _Track | None = None
    last = -1
    for one, other, left, right, by in pairs:
        if track is None or one != last:
            if track is not None:
                yield _Slid(text, places=track.places)
            track = _Track(starts[one], left, lengths[one] - right)
        end = lengths[other] - right
        track.show(starts[other], (left, end), by=by, old=end - by)
        last = other
    if track is not None:
        yield _Slid(text, places=track.places)


def _jumping(lines: list[str], starts: list[int], run: list[tuple[int, int]]) -> list[list[int]]:
    """Where the characters stand that these lines show, each from a column on something new."""
    track: _Track | None = None
    width = 0
    for number, first in run:
        end = len(lines[number].removesuffix(">"))
        if track is None:
            track = _Track(starts[number], first, end)
        else:
            track.show(starts[number], (1, end), by=width - first, old=first)
        width = end
    return [] if track is None else track.places


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
