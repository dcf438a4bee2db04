"""What was searched, kept small, so that a value learnt later need not be looked for everywhere.

Looking a second time over a session costs as much as the first time, and mostly
finds nothing. So the squeezed text of every view is kept compressed; a value
is looked for in what was searched before it was learnt, and only up to the last
place where it is, and nothing was found then, has anybody to look again, with positions.

Kept within bounds: a session that does not compress is looked over again whole. What is
cheap to search has a trail of its own, so that it does not use up the room of the rest.
"""

from __future__ import annotations

import zlib
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from ptycassette.scrub.canonical import squeeze
from ptycassette.scrub.growing import Floor, GrowingLiterals
from ptycassette.scrub.known import Lesson

__all__ = ["Searched", "Trail"]

_PART = 1 << 16
_MOST_BYTES = 32 << 20


class Searched(NamedTuple):
    """A squeezed text, and what was found in it: stretches that are masked, ascending."""

    text: str
    found: Sequence[tuple[int, int]] = ()


class _Part(NamedTuple):
    """Texts up to those of event ``number``, and what was found in them, all compressed."""

    number: int
    text: bytes
    found: bytes

    def overlooked(self, literals: GrowingLiterals) -> Iterator[str]:
        """Which of ``literals`` stand where nothing was found."""
        text = zlib.decompress(self.text).decode("latin-1")
        ends = array("I", zlib.decompress(self.found))
        floor = Floor()
        for start, minus_length in literals.behind(text, floor):
            end = start - minus_length
            at = bisect_right(ends, start)
            if at % 2 == 0:  # outside of what was found
                yield text[start:end]
                continue
            floor.at = ends[at]
            if end > floor.at:
                yield text[start:end]


class Trail:
    """Texts of one pass, in order, and what was learnt on the way.

    Args:
        fast: as for ``literal_finder``.
        most_bytes: memory for compressed text.

    Attributes:
        repeats: whether texts were left out that had been added before.
    """

    def __init__(self, *, fast: bool | None = None, most_bytes: int = _MOST_BYTES) -> None:
        self._fast = fast
        self._left = most_bytes
        self._parts: list[_Part] = []
        self._new()
        self._number = 0
        self._whole = False
        self._lessons: list[tuple[int, list[str]]] = []
        self._learnt_at: int | None = None
        self.repeats = False

    def _new(self) -> None:
        self._pending: list[str] = []
        self._found = array("I")  # where what was found begins and ends, in turns
        self._length = 0

    def add(self, number: int, searched: Iterable[Searched]) -> None:
        """Texts that were searched at event ``number``."""
        self._number = number
        if self._whole:
            return
        ends = self._found
        for text, found in searched:
            self._pending.append(text)
            for start, end in found:
                if ends and ends[-1] == self._length + start:
                    ends[-1] = self._length + end
                else:
                    ends.extend((self._length + start, self._length + end))
            self._length += len(text) + 1
        if self._length >= _PART:
            self._flush()

    def learn(self, number: int, lesson: Lesson) -> bool:
        """Things that nothing added so far was searched for; False when there is nothing so far."""
        if not (lesson.pieces or lesson.words):
            return False
        self._flush()
        self._learnt_at = number
        self._lessons.append((len(self._parts), lesson.pieces + list(map(squeeze, lesson.words))))
        if not all(map(str.isascii, lesson.words)):
            self._whole = True  # squeezed, a text may show their bytes otherwise
        return self._whole or bool(self._parts)

    def _flush(self) -> None:
        if not self._pending:
            return
        text = zlib.compress("\n".join(self._pending).encode("latin-1"), 1)
        found = zlib.compress(self._found.tobytes(), 1)
        self._new()
        self._left -= len(text) + len(found)
        if self._left < 0:
            self._whole = True
            self._parts.clear()
        else:
            self._parts.append(_Part(self._number, text, found))

    def again(self) -> int | None:
        """The number of the last event up to which somebody has to look again; None for no."""
        if self._learnt_at is None:
            return None
        if self._whole:
            return self._learnt_at
        # A piece that was known by then was looked for; from the end, so that nobody goes on
        # once anything was found.
        learnt = {piece: at for at, pieces in self._lessons if at for piece in pieces}
        finder = GrowingLiterals(fast=self._fast)
        finder.add(learnt)
        for index in reversed(range(max(learnt.values(), default=0))):
            part = self._parts[index]
            if any(learnt[piece] > index for piece in part.overlooked(finder)):
                # What was left out may have stood anywhere up to there.
                return self._learnt_at if self.repeats else part.number
        return None
