"""Lines that are painted again with more at their end, or with less of it.

What is typed, or streams in, is painted so, again and again. Only the longest of such lines
shows a value whole; what the others show of it goes with it, however short it is.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import deque
from collections.abc import Iterator

from ptycassette.scrub.decoded import Decoded
from ptycassette.scrub.mask import TEXT

__all__ = ["grown"]

_BEGINS = 4
_MOST_ALIKE = 4
_LONGEST = 4096
_NEXT = "\x1b"  # at which every value ends
# Blanks and borders; at the end, too, blocks as a cursor, and dots where something was left out.
_EDGE = r"[ \t|]|\xe2\x94[\x82\x83]|\xe2\x95\x91"
_LEFT = re.compile(f"(?:{_EDGE})+")
_RIGHT = re.compile(rf"(?:{_EDGE}|\xe2\x96[\x80-\x9f]|\xe2\x80\xa6|\.\.\.)+\Z")
_ENDS = "\r\x03\x15\x17"  # of lines that are typed, given up or taken back, in part too
_BLANKS = " \t|"
_EDGES = _BLANKS + ".\xa6\xe2" + "".join(map(chr, range(0x80, 0xA0)))  # these, and some more
_RIGHT_ENDS = frozenset([*" \t|.\xa6", *map(chr, range(0x80, 0xA0))])


# A bar between brackets, so many of a hundred or of others, a spinner, a tick.
_METER = re.compile(
    r"(?:(?:\[[^\]]{1,120}\]|\(?\d{1,4}(?: ?%|/\d{1,4})\)?|[\x80-\xff]+|[-/\\|])[ \t]+)+"
)
_METER_BEGINS = frozenset(
    ["[", "(", "-", "/", "\\", "|", *"0123456789", *map(chr, range(0x80, 0x100))]
)


class _Line:
    """One line that is there several times.

    Attributes:
        text: the longest of it.
        places: where each stands that shows some of it, and how much.
        changed: whether they differ.
    """

    __slots__ = ("changed", "places", "text")

    def __init__(self, text: str, at: int) -> None:
        self.text = text
        self.places = [(at, len(text))]
        self.changed = False

    def takes(self, text: str, at: int) -> bool:
        """Whether ``text``, which stands there, is this line or more or less of it."""
        if text.startswith(self.text):
            self.changed = self.changed or text != self.text
            self.text = text
        elif self.text.startswith(text):
            self.changed = True
        else:
            return False
        self.places.append((at, len(text)))
        return True


class _Grown(Decoded):
    """Such lines, each in its longest form."""

    def __init__(self, lines: list[_Line]) -> None:
        super().__init__(_NEXT.join([line.text for line in lines]), form=TEXT)
        self._lines = lines
        self._starts: list[int] = []
        start = 0
        for line in lines:
            self._starts.append(start)
            start += len(line.text) + len(_NEXT)

    def source(self, start: int, end: int) -> tuple[int, int]:
        """See ``Decoded``."""
        number = bisect_right(self._starts, start) - 1
        line, first = self._lines[number], self._starts[number]
        at = next(at for at, length in line.places if length == len(line.text))
        return at + start - first, at + end - first

    def sources(self, start: int, end: int) -> tuple[tuple[int, int], ...]:
        """What each of the lines shows of it."""
        stretches: list[tuple[int, int]] = []
        number = bisect_right(self._starts, start) - 1
        while number < len(self._lines) and self._starts[number] < end:
            first, last = max(0, start - self._starts[number]), end - self._starts[number]
            for at, length in self._lines[number].places:
                if first < min(last, length):
                    stretches.append((at + first, at + min(last, length)))
            number += 1
        return tuple(stretches)


def grown(text: str) -> Iterator[Decoded]:
    """The lines of canonical ``text`` that are there again with more or less at their end."""
    for end in _ENDS:
        text = text.replace(end, "\n")
    rows = text.split("\n")
    roughly = [_behind_meter(row.strip(_EDGES)) for row in rows]
    candidates = _alike({row for row in roughly if len(row) >= _BEGINS})
    if not candidates:
        return
    begun: dict[str, deque[_Line]] = {}
    lines: list[_Line] = []
    at = 0
    for row, rough in zip(rows, roughly, strict=True):
        if rough in candidates:
            start, inside = _inside(row)
            if _BEGINS <= len(inside) <= _LONGEST:
                same = begun.setdefault(inside[:_BEGINS], deque(maxlen=_MOST_ALIKE))
                if not any(line.takes(inside, at + start) for line in same):
                    lines.append(_Line(inside, at + start))
                    same.appendleft(lines[-1])
        at += len(row) + 1
    changed = [line for line in lines if line.changed]
    if changed:
        yield _Grown(changed)


def _alike(lines: set[str]) -> set[str]:
    """Those lines with which another one begins, and these; nearly no line does."""
    alike: set[str] = set()
    begins = _NEXT
    for line in sorted(lines):  # what a line begins with stands before it
        if line.startswith(begins):
            alike |= {begins, line}
        else:
            begins = line
    return alike


def _behind_meter(row: str) -> str:
    """What stands behind a bar, a number or a spinner that tells how far something is."""
    if row[:1] not in _METER_BEGINS:
        return row
    meter = _METER.match(row)
    return row if meter is None else row[meter.end() :]


def _inside(row: str) -> tuple[int, str]:
    """Where in a row what stands between its edges begins, and what it is."""
    shown = row.lstrip(_BLANKS)
    if shown[:1] == "\xe2":
        left = _LEFT.match(row)
        shown = row if left is None else row[left.end() :]
    shown = _behind_meter(shown)
    start = len(row) - len(shown)
    right = _RIGHT.search(shown) if shown[-1:] in _RIGHT_ENDS else None
    return start, shown if right is None else shown[: right.start()]
