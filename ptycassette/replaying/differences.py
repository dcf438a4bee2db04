"""Compares two texts character by character, for messages and traces. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

import msgspec

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


def _common(one: str, other: str) -> int:
    """The length of the common beginning."""
    for at, (left, right) in enumerate(zip(one, other, strict=False)):
        if left != right:
            return at
    return min(len(one), len(other))
