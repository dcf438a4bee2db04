"""Paragraphs that a program wrapped at a width of its own, narrower than the screen.

Nothing marks such a row. But the rows of one paragraph tell the width: nothing goes beyond
it, and no row has room for what begins the next. So the rows are read once more as
the line that they were, where a token may have been broken; as they stand they are
read anyway. See ``ptycassette.scrub.joins`` for what two rows tell without others.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from ptycassette.scrub.joins import EDGE, ROWS_REMEMBERED, begin_alike
from ptycassette.scrub.known import is_random
from ptycassette.scrub.paragraph_rows import ParagraphRow, ParagraphRows, row_of
from ptycassette.scrub.prefixes import begins_a_token, completes
from ptycassette.scrub.spelling import seems_by_chance
from ptycassette.scrub.words import looks_torn_off, may_tell, names_a_value, stands_alone

__all__ = ["Piece", "may_be_torn", "unwrapped", "unwrapped_again"]

_AROUND = 3
_BLOCK = 48
_WIDEST = 1 << 20
_NARROWEST = 8
_SHORTEST = 10
_SHORTEST_REST = 8
_SHORTEST_SAID = 3
_LOOKED_AT = 24
_GOES_ON = frozenset("-_=:\"'/+@")
_SHORTEST_ALONE = 5
_MARKS = "\"',;)]}"
_FEWEST_FULL = 2
_FEWEST_ROWS = 3
_MOST_REMEMBERED = 4096
_INSIDE = frozenset("./=:@%&?~")  # of tokens and URLs
_DIGITS = re.compile(r"\d{8,}")
_MIXING = re.compile("[0-9A-Z]")
_MIXED = re.compile(r"\d|[A-Za-z][A-Z]")
_MIXED_FIRST = re.compile(rf"[{EDGE}]*\S*?(?:\d|[A-Za-z][A-Z])")
_LONG_FIRST = re.compile(rf"[{EDGE}]*[!-~]{{16}}")


# Where what ends a row begins and ends, and where what begins the next one does.
_Token = tuple[tuple[int, int], tuple[int, int]]


class Piece(NamedTuple):
    """Characters ``start`` to ``end`` of the row with this number."""

    row: int
    start: int
    end: int


class _Line(NamedTuple):
    """Rows that were one line: the number of the first, and where the text of each ends."""

    first: int
    ends: tuple[int, ...]


def unwrapped(
    texts: Sequence[str], cols: int = _WIDEST, *, near: Sequence[int] | None = None
) -> Iterator[tuple[Piece, ...]]:
    """Lines of which a program made several of these rows (right-trimmed), piece by piece.

    Rows that fill a screen of ``cols`` go on anyway (``ptycassette.scrub.joins``). ``near``
    is where to look: the rows with these numbers, each with the next one; None for all. There
    a paragraph has to have several rows of its width.
    """
    lengths = [0, 0, *map(len, texts), 0, 0]
    done: set[tuple[Piece, ...]] = set()
    rows = ParagraphRows(texts)
    cut = 0
    for number in range(len(texts) - 1) if near is None else near:
        text = texts[number]
        far, before, length, below, next_one = lengths[number : number + 5]
        if not 0 < length < cols or not below or number < cut:
            continue
        below_text = texts[number + 1]
        token, full = _between(text, below_text)
        if token is not None:
            (start, end), (first, last) = token
            yield Piece(number, start, end), Piece(number + 1, first, last)
        near_it = far, before, below, next_one
        alike = length >= _NARROWEST and (length in near_it or length + 1 in near_it)
        if (full or alike) and _torn(text, below_text):
            whole = _cut_line(rows, number)
            if whole is not None:
                cut = whole.first + len(whole.ends) - 1
            for line in (whole, *_wrapped_lines(rows, number, strictly=near is not None)):
                for pieces in () if line is None else _readings(rows, line):
                    if pieces not in done:
                        done.add(pieces)
                        yield pieces


def unwrapped_again(texts: Sequence[str], cols: int) -> Iterable[tuple[Piece, ...]]:
    """The same for rows that may be looked at again and again, as of a picture that turns."""
    if sum(map(len, texts)) > _MOST_REMEMBERED:
        return unwrapped(texts, cols)
    return _unwrapped(tuple(texts), cols)


@lru_cache(maxsize=512)
def _unwrapped(texts: tuple[str, ...], cols: int) -> tuple[tuple[Piece, ...], ...]:
    return tuple(unwrapped(texts, cols))


@lru_cache(maxsize=ROWS_REMEMBERED)
def may_be_torn(text: str, below: str) -> bool:
    """Whether a token may be broken between rows that show these, or the name of a value.

    Quick: other words are none.
    """
    last = text[max(text.rfind(" ") + 1, len(text) - _LOOKED_AT) :]
    if _MIXED.search(last) is not None or last[-1:] in _GOES_ON:
        return True
    if last[:1] == "-" or (last.isalpha() and may_tell(last)):
        return True
    return _MIXED_FIRST.match(below) is not None


@lru_cache(maxsize=ROWS_REMEMBERED)
def _between(text: str, below: str) -> tuple[_Token | None, bool]:
    """The token that ends a row and begins the next one, and whether the row may be full."""
    token = None
    if len(text) - text.rfind(" ") > _SHORTEST or _LONG_FIRST.match(below):
        token = _completed(text, below)
    return token, _may_be_full(text, below)


def _completed(text: str, below: str) -> _Token | None:
    """What ends a row and what begins the next one, where only both are a token."""
    last = text[text.rfind(" ") + 1 :]
    begun = len(last) >= _SHORTEST and (begins_a_token(last) or is_random(last))
    if not begun and not _LONG_FIRST.match(below):
        return None
    above, rest = row_of(text), row_of(below)
    word = rest.first.strip(_MARKS)
    if not begun and not is_random(word):
        return None
    if not completes(above.last, word) or stands_alone(above.last, word):
        return None
    shortest = _SHORTEST_ALONE if rest.alone and word.islower() else _SHORTEST_SAID
    said = word.isalpha() and len(word) > shortest and not word.isupper()
    if said and not seems_by_chance(word):
        return None
    return (above.end - len(above.last), above.end), (rest.start, rest.start + len(rest.first))


def _may_be_full(text: str, below: str) -> bool:
    """Whether a program may have broken a row behind its last word.

    As it ends with a hyphen, or has a word or a value alone, or a number, or looks torn off as
    the row below does. So it may where one nearby is as long.
    """
    if text[-1] == "-":
        return True
    if len(text) < _NARROWEST:
        return False
    shown = text.lstrip()
    begins = shown.rfind(" ")
    if begins <= shown.rfind("=") or shown[0].isdigit():
        return True
    if len(text) < len(below) or not _MIXED_FIRST.match(below):
        return False
    return _MIXED.search(shown, begins + 1) is not None or " " not in below.lstrip()


@lru_cache(maxsize=ROWS_REMEMBERED)
def _torn(text: str, below_text: str) -> bool:
    """Whether the last word of a row and the first one of the next may be halves of a token."""
    above, below = row_of(text), row_of(below_text)
    if not _may_be_halves(above, below):
        return False
    blanks = above.blanks
    return not blanks or blanks != below.blanks  # or it is a table


def _may_be_halves(above: ParagraphRow, below: ParagraphRow) -> bool:
    """As ``_torn``, whatever else stands in the rows."""
    if not above.last or not below.first or above.last.endswith("--"):
        return False
    whole = above.last + below.first
    if names_a_value(whole, len(whole)):
        return above.last[-1] == "-" or not names_a_value(below.first, len(below.first))
    if len(whole) < _SHORTEST:
        return False
    return (
        looks_torn_off(whole)
        or (_MIXING.search(whole) is not None and is_random(whole))
        or (_DIGITS.search(whole) is not None and not above.alone)
        or above.named
    )


def _cut_line(rows: ParagraphRows, at: int) -> _Line | None:
    """The rows around one, where these were cut at a width, whatever stood there."""
    for width in (rows[at].end, rows[at].end + 1):  # which may have been a blank
        start, stop = _span(rows, at, width, _cut, within=(0, len(rows)))
        ends = [row.end for row in rows.between(start, stop)]
        full, trimmed = ends.count(width), ends.count(width - 1)
        if full >= max(trimmed, 1) and full + trimmed >= _FEWEST_FULL:
            return _Line(start, (*(width for _ in ends[:-1]), ends[-1]))
    return None


def _wrapped_lines(rows: ParagraphRows, at: int, *, strictly: bool) -> Iterator[_Line]:
    """The rows around one, where these were wrapped between words and at hyphens."""
    near = rows.between(at - _AROUND, at + _AROUND + 1)
    block = max(0, at // _BLOCK - 1) * _BLOCK  # so that those nearby give the same lines
    within = block, min(len(rows), block + 3 * _BLOCK)
    for width in sorted({row.end for row in near if row.end >= rows[at].end}):
        start, stop = _span(rows, at, width, _wrapped, within=within)
        span = rows.between(start, stop)
        sure = rows[at].last.endswith("-") or [row.end for row in span].count(width) > 1
        several = len(span) >= _FEWEST_ROWS and not strictly
        if len(span) > 1 and (sure or several or _numbered(*rows.between(at, at + 2))):
            ends = [
                above.end + (not _broken(above, below, width) or (not sure and _plain(below)))
                for above, below in pairwise(span)
            ]
            yield _Line(start, (*ends, span[-1].end))


def _span(
    rows: ParagraphRows,
    at: int,
    width: int,
    goes_on: Callable[[ParagraphRow, ParagraphRow, int], bool],
    *,
    within: tuple[int, int],
) -> tuple[int, int]:
    """The first of the rows around one that go on with each other, and behind the last.

    All but the first begin in one column, or with a blank there.
    """
    start, stop = at, at + 1
    if not goes_on(rows[at], rows[at + 1], width):
        return start, stop
    left = rows[at + 1].start
    while stop < within[1] and goes_on(rows[stop - 1], rows[stop], width):
        if rows[stop].start < left - 1:
            break
        left = min(left, rows[stop].start)
        stop += 1
    while start > within[0] and goes_on(rows[start - 1], rows[start], width):
        if rows[start].start < left - 1:
            break
        left = min(left, rows[start].start)
        start -= 1
    return start, stop


def _cut(above: ParagraphRow, below: ParagraphRow, width: int) -> bool:
    """Whether a line may have been cut at ``width``, whatever stands there."""
    return width - 1 <= above.end <= width and _same_line(above, below, width)


def _wrapped(above: ParagraphRow, below: ParagraphRow, width: int) -> bool:
    """Whether the row above had no room for what begins the row below."""
    return _same_line(above, below, width) and (
        above.end + len(below.first) >= width or _broken(above, below, width)
    )


def _broken(above: ParagraphRow, below: ParagraphRow, width: int) -> bool:
    """Whether a word was broken: where it fills a row, or at a hyphen, as programs do."""
    if above.last.endswith("-"):
        return above.end + len(below.first) > width
    if above.end != width:
        return False
    if above.alone or (below.alone and below.end == width) or below.first[0] in _INSIDE:
        return True
    if above.last.count('"') % 2 == 1 and '"' in below.first:
        return True
    if below.alone and below.last.endswith("-"):
        return True
    return _torn(above.text, below.text) or begins_a_token(above.last)


def _plain(row: ParagraphRow) -> bool:
    """Whether a row begins with a word, as lines do that have nothing to do with those above."""
    return _plain_word(row.first.strip(_MARKS))


def _plain_word(word: str) -> bool:
    return word.isalpha() and word.islower() and not seems_by_chance(word)


def _same_line(above: ParagraphRow, below: ParagraphRow, width: int) -> bool:
    if not below.first or not above.last or below.end > width or above.end > width:
        return False
    if below.number and below.number != above.number + 1:
        return False
    if below.first.find("://") > 0 or begin_alike(_begins(above), _begins(below)):
        return False
    if above.first == below.first and len(below.first) >= _SHORTEST_SAID:
        return False
    if above.assigns and below.assigns:
        return False
    return not stands_alone(above.last, below.first)


def _begins(row: ParagraphRow) -> str:
    """The first word of a row, with the blanks that follow it in the lines of a dump."""
    return row.first if row.alone else f"{row.first}  "


def _numbered(above: ParagraphRow, below: ParagraphRow) -> bool:
    """Whether these rows have numbers in a row, and the second begins with what is no word."""
    if not below.number or below.number != above.number + 1 or "=" in below.first:
        return False
    word = below.first.strip(_MARKS)
    return len(word) >= _SHORTEST_REST and (
        seems_by_chance(word) if word.isalpha() else is_random(word)
    )


def _readings(rows: ParagraphRows, line: _Line) -> Iterator[tuple[Piece, ...]]:
    """The pieces of a line, and those without its first row, which may stand for itself."""
    span = rows.between(line.first, line.first + len(line.ends))
    left = min(row.start for row in span[1:])
    pieces = tuple(
        Piece(line.first + number, left if number else span[0].left, end)
        for number, end in enumerate(line.ends)
    )
    yield pieces
    for at, (above, below) in enumerate(pairwise(span), 1):
        if below.alone and _plain_word(above.last):  # a word may have ended at the margin
            yield pieces[at:]
            break
    if span[0].start < left and len(pieces) > _FEWEST_FULL:
        yield pieces[1:]
