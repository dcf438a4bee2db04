"""Whether a row of the screen goes on with the next one: what programs break themselves.

A terminal marks the rows that it wrapped itself; programs that wrap on their
own (boxes, panes, indented lists) leave no mark. Their rows are joined when the
text runs up to the margin and goes on like a token on the next row. Joining too
often costs a word beside a secret, joining too seldom a secret.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Protocol

from ptycassette.scrub.known import is_random
from ptycassette.scrub.words import looks_torn_off, names_a_value

__all__ = [
    "Line",
    "Traced",
    "chained",
    "columns",
    "continues",
    "follows",
    "glued",
    "goes_on",
    "names",
    "opens_pane",
]

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
_LAST_WORD = re.compile(r"[!-~]+\Z")
_INDENT = 4
_VALUE_BELOW = re.compile(r" ?[!-~]{6,}")
_BORDER_MARGIN = 3
_FULL = 32
_SHORTEST_VALUE = 16
# Text in a pane or a column: behind two blanks or a border.
_PANE = re.compile(r"(?:  |[\u2502\u2503\u2551|] ?)(?P<text>[!-~]+(?: [!-~]+)*)")
# Text in the first pane: before a border with something behind it.
_FIRST_PANE = re.compile(
    r"[ \u2502\u2503\u2551|]*(?P<text>[!-{}~]+(?: [!-{}~]+)*) *[\u2502\u2503\u2551|] *[!-{}~]"
)
_BETWEEN = re.compile(r"[!-{}~] *[\u2502\u2503\u2551|] *[!-{}~]")  # is in every such row
_PANES = frozenset("\u2502\u2503\u2551|")


class Traced(Protocol):
    """A row that knows where its characters came from."""

    @property
    def wrapped(self) -> bool:
        """Whether the terminal itself broke the line before it."""
        ...

    def sources(self) -> list[int]:
        """For each canonical character its offset in the output, or -1."""
        ...


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


def glued(before: Line, line: Line) -> bool:
    """Whether joining makes one word of two, and hides a token that begins with the row.

    Not inside of what fills row after row.
    """
    last, first = before.text[before.end - 1], line.text[line.left]
    if not (last.isalnum() or last == "_") or not (first.isalnum() or first == "_"):
        return False
    shown = before.text[before.left : before.end]
    return " " in shown or len(shown) < _FULL


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
        for start, end in columns(text):
            if goes_on(text, below, start, end):
                yield number
                break


def opens_pane(rest: str) -> bool:
    """Whether a border comes next in what is left of a row."""
    return rest.lstrip()[:1] in _PANES


@lru_cache(maxsize=2048)
def columns(text: str) -> Collection[tuple[int, int]]:
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


def goes_on(above: str, below: str, start: int, end: int) -> re.Match[str] | None:
    """The word that stands in the row below a stretch of the row above, and goes on with it.

    It may begin a little to the left, where the row above is indented.
    """
    touched = start > 0 and _INNER.match(below, start - 1)
    if touched:
        indented = below.rfind(" ", 0, start) + 1
        if start - indented > _INDENT or above[indented:start].strip(" "):
            return None
        start = indented
    part = _FIRST_WORD.match(below, start, end)
    if part is not None and looks_torn_off(part.group()):
        return part
    if names_a_value(above, end):
        return _VALUE_BELOW.match(below, start, end)
    if part is None or not _alone(below, part.end()):
        return None
    return part if _may_be_broken(above, start, end) else None


def _may_be_broken(text: str, start: int, end: int) -> bool:
    """Whether the last word before ``end`` is a part of a token, of a named value or of a URL."""
    word = _LAST_WORD.search(text, start, end)
    if word is None:
        return False
    if is_random(word.group()) or "://" in word.group():
        return True
    name = text[start : word.start()].rstrip(" ")
    return name != "" and names_a_value(name, len(name))


def _alone(text: str, end: int) -> bool:
    """Whether no sentence goes on behind a word that ends here."""
    return not "!" <= text[end + 1 : end + 2] <= "~" or text[end + 1] in _BORDERS


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
        return names(before, line)
    first = _FIRST_WORD.match(line.text, left, line.end)
    return first is not None and looks_torn_off(first.group())


def _full(line: Line) -> bool:
    """Whether a row runs up to its margin."""
    return line.end >= line.margin - 1 or line.end >= len(line.text) - _NEAR_MARGIN


def names(before: Line, line: Line) -> bool:
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
