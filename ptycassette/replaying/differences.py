"""Compares two texts character by character, or two lists item by item. Pure."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from difflib import Match, SequenceMatcher
from itertools import accumulate

import msgspec

MOST_STEPS = 2_000_000
"""Half a second, for ``aligned``: as many as 1400 equal items on each side take."""

_COMPARED = 400
"""The time that a diff takes grows with the square; of longer texts the ends are compared."""
_MARKED = 200
FOLD_AT = 3
"""So many blank rows, one below the other, are shown as one."""


class TextChange(msgspec.Struct, frozen=True):
    """A part of both texts: equal, or ``expected`` was replaced by ``got``."""

    expected: str
    got: str

    @property
    def equal(self) -> bool:
        """Whether both texts have it."""
        return self.expected == self.got


class _Bounded(SequenceMatcher[Hashable]):
    """A matcher that takes no more than so many steps, and finds nothing more after them."""

    def __init__(self, old: Sequence[Hashable], new: Sequence[Hashable], steps: int) -> None:
        super().__init__(None, old, new, autojunk=False)
        places: dict[Hashable, int] = {}
        for item in new:
            places[item] = places.get(item, 0) + 1
        self._left = steps
        self._costs = [*accumulate((1 + places.get(item, 0) for item in old), initial=0)]

    @property
    def fits(self) -> bool:
        """Whether one look at all items takes no more than there is."""
        return self._costs[-1] <= self._left

    def find_longest_match(
        self, alo: int = 0, ahi: int | None = None, blo: int = 0, bhi: int | None = None
    ) -> Match:
        """See ``difflib``: a look takes a step for each pair of equal items."""
        end = len(self._costs) - 1 if ahi is None else ahi
        self._left -= self._costs[end] - self._costs[alo]
        if self._left < 0:
            return Match(alo, blo, 0)
        return super().find_longest_match(alo, ahi, blo, bhi)


def aligned(
    old: Sequence[Hashable], new: Sequence[Hashable], *, steps: int = MOST_STEPS
) -> Sequence[tuple[str, int, int, int, int]]:
    """How ``old`` becomes ``new``: as ``difflib.SequenceMatcher.get_opcodes``, but bounded.

    Where the comparison would take more than so many ``steps``, the common beginning and end are
    set aside, and what is not found to be equal by then counts as replaced.
    """
    matcher = _Bounded(old, new, steps)
    if matcher.fits:
        return matcher.get_opcodes()
    start = _common(old, new)
    end = _common(old[start:][::-1], new[start:][::-1])
    a, b = len(old) - end, len(new) - end
    middle = _Bounded(old[start:a], new[start:b], steps).get_opcodes()
    found: list[tuple[str, int, int, int, int]] = [("equal", 0, start, 0, start)]
    found += [(tag, start + i, start + j, start + k, start + m) for tag, i, j, k, m in middle]
    found.append(("equal", a, len(old), b, len(new)))
    return [one for one in found if one[1] < one[2] or one[3] < one[4]]


def changes_of(expected: str, got: str) -> tuple[TextChange, ...]:
    """Both texts in parts, which joined give the texts."""
    start = _common(expected, got)
    end = _common(expected[start:][::-1], got[start:][::-1])
    middle = expected[start : len(expected) - end], got[start : len(got) - end]
    found = [TextChange(expected[:start], got[:start])]
    if max(map(len, middle)) <= _COMPARED:
        diff = SequenceMatcher(None, *middle, autojunk=False)
        found += [
            TextChange(middle[0][a:b], middle[1][c:d]) for _, a, b, c, d in diff.get_opcodes()
        ]
    else:
        found.append(TextChange(*middle))
    found.append(TextChange(expected[len(expected) - end :], got[len(got) - end :]))
    return tuple(change for change in found if change.expected or change.got)


def marks_of(expected: str, got: str) -> str:
    """A line to print below ``got``: ``^`` where it differs. Empty where that does not help.

    It does not help if all is different, nothing is, or characters are not one column wide.
    """
    if not (got.isascii() and got.isprintable()) or len(got) > _MARKED:
        return ""
    changes = changes_of(expected, got)
    if not any(change.equal for change in changes) or all(change.equal for change in changes):
        return ""
    marks = [" "] * (len(got) + 1)
    at = 0
    for change in changes:
        if not change.equal:
            for place in range(at, at + max(1, len(change.got))):
                marks[place] = "^"
        at += len(change.got)
    return "".join(marks).rstrip()


def folded_rows(rows: Sequence[str]) -> Iterator[str | int]:
    """The rows; three or more consecutive blank ones become a count. None at the end."""
    blank = 0
    for row in rows:
        if not row.strip():
            blank += 1
            continue
        yield from ([blank] if blank >= FOLD_AT else [""] * blank)
        blank = 0
        yield row


def _common(one: Sequence[Hashable], other: Sequence[Hashable]) -> int:
    """The length of the common beginning."""
    for at, (left, right) in enumerate(zip(one, other, strict=False)):
        if left != right:
            return at
    return min(len(one), len(other))
