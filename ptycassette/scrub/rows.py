"""Rows of the screen as text to search: lines joined, borders and indentation taken off.

Which rows go on with the next ``ptycassette.scrub.joins`` says, and ``columns`` which columns.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from math import inf
from typing import NamedTuple

import msgspec

from ptycassette.scrub.canonical import canonical
from ptycassette.scrub.columns import (
    KEY_BEGINS,
    columns,
    goes_on,
    has_neighbour,
    key_below,
    parted,
    tight,
)
from ptycassette.scrub.joins import (
    Line,
    Traced,
    begins_at,
    continues,
    glued,
    names,
)
from ptycassette.scrub.views import Patch, View
from ptycassette.scrub.words import names_a_secret

__all__ = ["RowCopy", "ScreenView", "Segment", "joined_rows", "line_of", "put_together"]

BLANK = "\0"
_MOST_CHAINED = 24
_MOST_ALONE = 3
_MOST_BEGUN = 3
_FEW = 4
_MOST_SEEN = 10_000


class RowCopy(msgspec.Struct, frozen=True, gc=False):
    """A row as it was at one moment.

    ``chars`` has a string per cell ("" behind a wide character; the text of a row of
    ASCII has them), ``origins`` the stretch of output that painted each or the offset
    of its first byte, or None.
    """

    chars: Sequence[str]
    origins: Sequence[tuple[int, int] | int | None]
    wrapped: bool

    def sources(self) -> list[int]:
        """For each canonical character of the row its offset in the output, or -1."""
        if isinstance(self.chars, str):
            if tuple not in set(map(type, self.origins)):
                return [-1 if origin is None else origin for origin in self.origins]  # type: ignore[misc]
            return [
                origin if isinstance(origin, int) else origin[0] if origin else -1
                for origin in self.origins
            ]
        sources: list[int] = []
        for char, origin in zip(self.chars, self.origins, strict=False):
            if char.isascii():
                width = first = len(char)
            else:
                width, first = len(char.encode()), len(char[:1].encode())
            if origin is None:
                sources += [-1] * width
                continue
            start, end = origin if isinstance(origin, tuple) else (origin, origin + first)
            if end - start == width:
                sources += range(start, end)
            elif end - start >= first:
                sources += [*range(start, start + first), *[-1] * (width - first)]
            else:
                sources += [-1] * width
        return sources


class Segment(NamedTuple):
    """Canonical characters ``start`` to ``end`` of a row."""

    row: Traced
    start: int
    end: int


class ScreenView(View):
    """Rows joined into one text; a character leads back to the bytes that painted its cell.

    Args:
        text: the rows.
        starts: where in it each segment starts.
        segments: what stands there.
        seen: the bytes of cells that were written over, and what with, by all views that
            share it: a row is looked at again and again while it is painted.
    """

    def __init__(
        self,
        text: str,
        *,
        starts: Sequence[int],
        segments: Sequence[Segment | None],
        seen: set[tuple[str, tuple[int, ...]]] | None = None,
    ) -> None:
        super().__init__(text)
        self._starts = starts
        self._segments = segments
        self._sources: dict[int, list[int]] = {}
        self._seen = set() if seen is None else seen

    def pieces(self, start: int, end: int) -> Iterator[tuple[int, int, int]]:
        """See ``View.pieces``."""
        for at, run in self._stretches(start, end):
            yield from _runs(run, at)

    def _written(self, start: int, end: int, masked: str) -> Iterator[Patch]:
        for at, run in self._stretches(start, end):
            data = masked[at - start : at - start + len(run)]
            if len(run) > _FEW:
                what = data, tuple(run)
                if what in self._seen:
                    continue
                if len(self._seen) >= _MOST_SEEN:
                    self._seen.clear()
                self._seen.add(what)
            for position, length, offset in _runs(run, at):
                yield offset, data[position - at : position - at + length].encode("latin-1")

    def _stretches(self, start: int, end: int) -> Iterator[tuple[int, list[int]]]:
        """(position in the text, offsets in the channel or -1) of what is in one segment."""
        number = max(0, bisect_right(self._starts, start) - 1)
        at = start
        while at < end and number < len(self._starts):
            stop = self._starts[number + 1] if number + 1 < len(self._starts) else len(self.text)
            stop = min(stop, end)
            segment = self._segments[number]
            if segment is not None and stop > at:
                sources = self._sources.get(id(segment.row))
                if sources is None:
                    sources = self._sources[id(segment.row)] = segment.row.sources()
                first = segment.start + at - self._starts[number]
                yield at, sources[first : min(first + stop - at, segment.end)]
            at = max(at, stop)
            number += 1


def _runs(sources: list[int], at: int) -> Iterator[tuple[int, int, int]]:
    """(position, length, offset) of runs of consecutive offsets."""
    if (
        sources
        and sources[0] >= 0
        and sources == list(range(sources[0], sources[0] + len(sources)))
    ):
        yield at, len(sources), sources[0]
        return
    start = 0
    for index in range(1, len(sources) + 1):
        if index == len(sources) or sources[index] != sources[index - 1] + 1 or sources[index] < 1:
            if sources[start] >= 0:
                yield at + start, index - start, sources[start]
            start = index


def line_of(row: RowCopy) -> Line:
    """A copied row taken apart."""
    return Line(row, "".join(row.chars).replace(BLANK, " "))


def joined_rows(lines: Sequence[Line]) -> Iterator[tuple[str, list[tuple[int, Segment]]]]:
    """Logical lines of consecutive rows: (canonical text, positions and segments)."""
    builder = _Builder()
    for number, line in enumerate(lines):
        before = lines[number - 1] if number else None
        if before is not None:
            if line.row.wrapped:
                builder.add(line, 0, len(line.text))
                continue
            if continues(before, line):
                if glued(before, line):
                    yield _alone(lines, number)
                builder.add(line, begins_at(before, line), _end(lines, number))
                continue
            yield builder.take()
        following = lines[number + 1] if number + 1 < len(lines) else None
        if following is not None and following.row.wrapped:
            builder.add(line, 0, len(line.text))
        else:
            builder.add(line, 0 if line.left == line.end else line.left, _end(lines, number))
    yield builder.take()
    yield from _chains(lines)


def _end(lines: Sequence[Line], number: int) -> int:
    """Where what is taken of a row ends: with the blank behind a name, when the value is below."""
    line, below = lines[number], lines[number + 1 : number + 2]
    if not below or below[0].row.wrapped or line.left >= line.end or not names(line, below[0]):
        return line.end
    return line.end + line.text.startswith(" ", line.end)


def _alone(lines: Sequence[Line], number: int) -> tuple[str, list[tuple[int, Segment]]]:
    """A row that may begin a line of its own, and what it may be continued by."""
    builder = _Builder()
    builder.add(lines[number], lines[number].left, lines[number].end)
    for at in range(number + 1, min(number + _MOST_ALONE, len(lines))):
        before, line = lines[at - 1], lines[at]
        if line.row.wrapped:
            builder.add(line, 0, len(line.text))
        elif continues(before, line):
            builder.add(line, begins_at(before, line), line.end)
        else:
            break
    return builder.take()


def put_together(pieces: Iterable[tuple[Line, int, int]]) -> tuple[str, list[tuple[int, Segment]]]:
    """One text of the pieces of lines: characters from the first number up to the second."""
    builder = _Builder()
    for line, start, end in pieces:
        builder.add(line, start, end)
    return builder.take()


class _Builder:
    """Puts segments together."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._segments: list[tuple[int, Segment]] = []
        self._length = 0

    def add(self, line: Line, start: int, end: int) -> None:
        """Append characters ``start`` to ``end`` of a line's text."""
        text = line.text[start:end]
        first = start
        if not line.text.isascii():
            first = len(canonical(line.text[:start]))
            text = canonical(text)
        self._segments.append((self._length, Segment(line.row, first, first + len(text))))
        self._parts.append(text)
        self._length += len(text)

    def take(self) -> tuple[str, list[tuple[int, Segment]]]:
        """What was put together, and begin anew."""
        result = "".join(self._parts), self._segments
        self._parts, self._segments, self._length = [], [], 0
        return result


def _chains(lines: Sequence[Line]) -> Iterator[tuple[str, list[tuple[int, Segment]]]]:
    """Tokens that go on in the same columns of the rows below, as in a pane or a table cell."""
    reached: dict[int, list[int]] = {}  # by column, the last rows of what began there
    keys: list[_Builder] = []  # what is read next may go on with them
    beside: list[int] | None = None  # rows that have columns
    for number, line in enumerate(lines[:-1]):
        for start, end in _spans(line, lines[number + 1]):
            ends = reached.setdefault(start, [])
            if sum(last > number for last in ends[-_MOST_BEGUN:]) >= _MOST_BEGUN:
                continue  # in the middle of a column of such words
            whole = start <= line.left and not has_neighbour(line.text[end : line.end])
            if whole and end < line.end:
                continue
            builder = _Builder()
            builder.add(line, start, end)
            if line.shown.startswith(KEY_BEGINS, start) and _add_key(
                builder, lines[number:], start, end
            ):
                keys.append(builder)
                continue
            if whole and beside is None:
                beside = [at for at, row in enumerate(lines) if not _nothing_beside([row])]
            if whole and beside is not None and _next(beside, number) > number + _MOST_CHAINED:
                continue  # whatever goes on there is joined as lines
            count = _add_below(builder, lines[number : number + 1 + _MOST_CHAINED], start, end)
            # Rows with nothing beside them are joined as lines already.
            if count and not (whole and _nothing_beside(lines[number + 1 : number + 1 + count])):
                ends.append(number + count)
                yield builder.take()
    for builder in keys:
        yield builder.take()


def _spans(line: Line, below: Line) -> Iterator[tuple[int, int]]:
    """Where columns may begin and end that go on in the row below."""
    yield from columns(line.shown)
    key = line.shown.find(KEY_BEGINS)
    if key > line.left:
        yield key, len(line.shown)
    yield from tight(line.shown, below.text, len(line.text))


def _add_key(builder: _Builder, lines: Sequence[Line], start: int, end: int) -> bool:
    """Add the lines of a private key that begins with a stretch of the first row; whether it does.

    A blank parts them where the first of them is whole, and words of that one.
    """
    spans = list(key_below([line.text for line in lines], start))
    first = lines[0].text[start:end]
    for above, below, span in zip(lines, lines[1:], spans, strict=False):
        part = below.text[slice(*span)]
        whole = first.endswith("-----")
        if whole or part.startswith(("PRIVATE", "KEY", "BLOCK")):
            blank = above.text.find(" ")
            builder.add(above, blank, blank + 1)
        builder.add(below, *span)
        first += "" if whole else part
    return bool(spans)


def _next(numbers: Sequence[int], number: int) -> float:
    """The first of ascending numbers that is greater."""
    at = bisect_right(numbers, number)
    return numbers[at] if at < len(numbers) else inf


def _nothing_beside(lines: Sequence[Line]) -> bool:
    return not any(parted(line.text[line.left : line.end]) for line in lines)


def _add_below(builder: _Builder, lines: Sequence[Line], start: int, end: int) -> int:
    """Add what goes on with a stretch of the first line; in how many lines it does."""
    for count, (above, below) in enumerate(pairwise(lines)):
        part = goes_on(above.text, below.text, start, end)
        if part is None:
            return count
        if names_a_secret(above.text, end) and below.text[part.start()] != " ":
            builder.add(above, end, end + 1)
        builder.add(below, part.start(), part.end())
        start = part.start()
        if part.end() < end:
            return count + 1
    return len(lines) - 1
