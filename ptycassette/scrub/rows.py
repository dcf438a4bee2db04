"""Rows of the screen as text to search: wrapped lines joined, borders and indentation taken off.

A terminal marks the rows that it wrapped itself; programs that wrap on their
own (boxes, panes, indented lists) leave no mark. Their rows are joined when the
text runs up to the margin and goes on like a token on the next row. Joining too
often costs a word beside a secret, joining too seldom a secret.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple, Protocol

import msgspec

from ptycassette.scrub.canonical import canonical
from ptycassette.scrub.views import View
from ptycassette.scrub.words import looks_torn_off, names_a_value

__all__ = [
    "Line",
    "RowCopy",
    "ScreenView",
    "Segment",
    "Traced",
    "chained",
    "continues",
    "follows",
    "joined_rows",
    "line_of",
]

BLANK = "\0"
_BORDER = "\u2500-\u259f\u25a0-\u25ff\u23bf\u23fa\u276f\u2022|>"
_BORDERS = frozenset(
    [*map(chr, range(0x2500, 0x2600)), "\u23bf", "\u23fa", "\u276f", "\u2022", "|", ">"]
)
_EDGE = "".join(sorted(_BORDERS)) + " \t\xa0"
_INNER = re.compile(rf"[^\s{_BORDER}]")
_NEAR_MARGIN = 8
_LONG = _NEAR_MARGIN + 1
_LONG_WORD = re.compile(rf"[!-~]{{{_LONG}}}")
_FIRST_WORD = re.compile(r"[!-~]+")
_TOKEN = re.compile(r"[!-~]{16,}")
_BORDER_MARGIN = 3
_MOST_CHAINED = 24
_MOST_ALONE = 3
_MOST_BEGUN = 3
_FULL = 32
_SHORTEST_VALUE = 16
_MIXING = re.compile("[0-9A-Z]")  # one of these is in what is mixed
# Text in a pane or a column: behind two blanks or a border.
_PANE = re.compile(r"(?:  |[\u2502\u2503\u2551|] ?)(?P<text>[!-~]+(?: [!-~]+)*)")
# Text in the first pane: before a border with something behind it.
_FIRST_PANE = re.compile(
    r"[ \u2502\u2503\u2551|]*(?P<text>[!-{}~]+(?: [!-{}~]+)*) *[\u2502\u2503\u2551|] *[!-{}~]"
)
_BETWEEN = re.compile(r"[!-{}~] *[\u2502\u2503\u2551|] *[!-{}~]")  # is in every such row
_PANES = frozenset("\u2502\u2503\u2551|")


class RowCopy(msgspec.Struct, frozen=True):
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


class Traced(Protocol):
    """A row that knows where its characters came from."""

    @property
    def wrapped(self) -> bool:
        """Whether the terminal itself broke the line before it."""
        ...

    def sources(self) -> list[int]:
        """For each canonical character its offset in the output, or -1."""
        ...


class Segment(NamedTuple):
    """Canonical characters ``start`` to ``end`` of a row."""

    row: Traced
    start: int
    end: int


class ScreenView(View):
    """Rows joined into one text; a character leads back to the bytes that painted its cell."""

    def __init__(
        self, text: str, *, starts: Sequence[int], segments: Sequence[Segment | None]
    ) -> None:
        super().__init__(text)
        self._starts = starts
        self._segments = segments
        self._sources: dict[int, list[int]] = {}

    def pieces(self, start: int, end: int) -> Iterator[tuple[int, int, int]]:
        """See ``View.pieces``."""
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
                run = sources[first : min(first + stop - at, segment.end)]
                if run and run[0] >= 0 and run == list(range(run[0], run[0] + len(run))):
                    yield at, len(run), run[0]
                else:
                    yield from _runs(run, at)
            at = max(at, stop)
            number += 1


def _runs(sources: list[int], at: int) -> Iterator[tuple[int, int, int]]:
    """(position, length, offset) of runs of consecutive offsets."""
    start = 0
    for index in range(1, len(sources) + 1):
        if index == len(sources) or sources[index] != sources[index - 1] + 1 or sources[index] < 1:
            if sources[start] >= 0:
                yield at + start, index - start, sources[start]
            start = index


class Line:
    """A row taken apart: what is text in it, and where its margin is.

    Args:
        row: the row.
        text: all of its text, as wide as the screen.
    """

    __slots__ = ("end", "left", "margin", "row", "shown", "text")

    def __init__(self, row: Traced, text: str) -> None:
        self.row = row
        self.text = text
        self.margin = len(text)
        self.left = 0
        if not "!" <= text[:1] <= "~" or text[0] in _BORDERS:
            self.left = len(text) - len(text.lstrip(_EDGE))
        self.shown = shown = text.rstrip()
        if shown and shown[-1] in _BORDERS:
            self.margin = len(shown) - 2
            shown = shown[:-1].rstrip()
        self.end = max(len(shown), self.left)


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
                if _glued(before, line):
                    yield _alone(lines, number)
                builder.add(line, line.left, _end(lines, number))
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
    if not below or below[0].row.wrapped or line.left >= line.end or not _names(line, below[0]):
        return line.end
    return min(line.end + 1, len(line.text))


def _glued(before: Line, line: Line) -> bool:
    """Whether joining makes one word of two, and hides a token that begins with the row.

    Not inside of what fills row after row.
    """
    last, first = before.text[before.end - 1], line.text[line.left]
    if not (last.isalnum() or last == "_") or not (first.isalnum() or first == "_"):
        return False
    shown = before.text[before.left : before.end]
    return " " in shown or len(shown) < _FULL


def _alone(lines: Sequence[Line], number: int) -> tuple[str, list[tuple[int, Segment]]]:
    """A row that may begin a line of its own, and what it may be continued by."""
    builder = _Builder()
    builder.add(lines[number], lines[number].left, lines[number].end)
    for at in range(number + 1, min(number + _MOST_ALONE, len(lines))):
        before, line = lines[at - 1], lines[at]
        if line.row.wrapped:
            builder.add(line, 0, len(line.text))
        elif continues(before, line):
            builder.add(line, line.left, line.end)
        else:
            break
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


def follows(before: str, text: str, cols: int) -> bool:
    """Whether ``continues`` may join two rows that show these texts (right-trimmed).

    ``cols`` is how many characters fit in the first row. Never False where ``continues``
    would be True; quick, for it is asked for every row.
    """
    before = before.rstrip()
    if not before or not text:
        return False
    left, end = _extent(before) if before[-1] in _BORDERS else (-1, len(before))
    if end <= left:
        return False
    near = end >= cols - _NEAR_MARGIN or (left >= 0 and end >= len(before) - _BORDER_MARGIN)
    short = " " in before[max(0, end - _NEAR_MARGIN - 1) : end] or end <= _NEAR_MARGIN
    labelled = not near and names_a_value(before, end)
    if not near and short and not labelled:
        return False
    start, stop = 0, len(text)
    if not "!" <= text[0] <= "~" or text[0] in _BORDERS or text[-1] in _BORDERS:
        start, stop = _extent(text)
    word = _FIRST_WORD.match(text, start, stop)
    if word is None:
        return False
    return near or ((end >= stop or labelled) and looks_torn_off(word.group()))


@lru_cache(maxsize=512)
def _extent(text: str) -> tuple[int, int]:
    """Where the text between the borders of a row begins and ends."""
    left = len(text) - len(text.lstrip(_EDGE))
    shown = text[:-1].rstrip() if text[-1] in _BORDERS else text
    return left, max(len(shown), left)


def chained(texts: Sequence[str]) -> Iterator[int]:
    """Numbers of the rows with a token that may go on in the same columns of the row below."""
    for number, (text, below) in enumerate(pairwise(texts)):
        if not _MIXING.search(below):
            continue
        for start, end in _columns(text):
            if _goes_on(below, start, end):
                yield number
                break


@lru_cache(maxsize=2048)
def _columns(text: str) -> Collection[tuple[int, int]]:
    """Where in a (right-trimmed) row something stands that the row below may go on with.

    Of what begins with the row only what has something beside it.
    """
    spans = [match.span() for match in _TOKEN.finditer(text, 1)]
    if "  " in text or not text.isascii() or "|" in text:
        spans += [match.span("text") for match in _PANE.finditer(text)]
        if _BETWEEN.search(text):
            first = _FIRST_PANE.match(text)
            spans += [] if first is None else [first.span("text")]
    return dict.fromkeys(spans) if len(spans) > 1 else spans


def _goes_on(below: str, start: int, end: int) -> re.Match[str] | None:
    """The word that stands below a stretch and goes on with it."""
    part = _FIRST_WORD.match(below, start, end)
    touched = start > 0 and _INNER.match(below, start - 1)
    if part is None or touched or not looks_torn_off(part.group()):
        return None
    return part


def continues(before: Line, line: Line) -> bool:
    """Whether a program seems to have broken a token between these rows."""
    end, left = before.end, line.left
    if end <= before.left or line.end <= left:
        return False
    if not ("!" <= before.text[end - 1] <= "~" and "!" <= line.text[left] <= "~"):
        return False
    if _full(before):
        return True
    if end < line.end or not _LONG_WORD.match(before.text, max(before.left, end - _LONG), end):
        return _names(before, line)
    first = _FIRST_WORD.match(line.text, left, line.end)
    return first is not None and looks_torn_off(first.group())


def _full(line: Line) -> bool:
    """Whether a row runs up to its margin."""
    return line.end >= line.margin - 1 or line.end >= len(line.text) - _NEAR_MARGIN


def _names(before: Line, line: Line) -> bool:
    """Whether a row ends with the name of what the next one begins with.

    Not one that runs up to its margin and may have been broken anywhere.
    """
    end = before.end
    if not names_a_value(before.text, end) or (before.text[end - 1] in ":=" and _full(before)):
        return False
    first = _FIRST_WORD.match(line.text, line.left, line.end)
    return (
        first is not None
        and len(first.group()) >= _SHORTEST_VALUE
        and looks_torn_off(first.group())
    )


def _chains(lines: Sequence[Line]) -> Iterator[tuple[str, list[tuple[int, Segment]]]]:
    """Tokens that go on in the same columns of the rows below, as in a pane or a table cell."""
    reached: dict[int, list[int]] = {}  # by column, the last rows of what began there
    for number, line in enumerate(lines[:-1]):
        if not _MIXING.search(lines[number + 1].shown):
            continue
        for start, end in _columns(line.shown):
            if start <= line.left and line.text[end : line.end].lstrip()[:1] not in _PANES:
                continue  # joined as a line already
            ends = reached.setdefault(start, [])
            if sum(last > number for last in ends[-_MOST_BEGUN:]) >= _MOST_BEGUN:
                continue  # in the middle of a column of such words
            builder = _Builder()
            builder.add(line, start, end)
            count = 0
            for below in lines[number + 1 : number + 1 + _MOST_CHAINED]:
                part = _goes_on(below.text, start, end)
                if part is None:
                    break
                builder.add(below, part.start(), part.end())
                count += 1
                if part.end() < end:
                    break
            if count:
                ends.append(number + count)
                yield builder.take()
