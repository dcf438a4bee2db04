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
from ptycassette.scrub.words import (
    begins_a_name,
    looks_torn_off,
    may_tell,
    named_when_joined,
    names_a_value,
    stands_alone,
)

__all__ = [
    "Line",
    "Traced",
    "chained",
    "columns",
    "continues",
    "follows",
    "glued",
    "goes_on",
    "has_neighbour",
    "names",
    "parted",
]

_BORDER = "\u2500-\u259f\u25a0-\u25ff\u23bf\u23fa\u276f\u2022|>"
_BORDERS = frozenset(
    [*map(chr, range(0x2500, 0x2600)), "\u23bf", "\u23fa", "\u276f", "\u2022", "|", ">"]
)
_TEXT = frozenset(map(chr, range(0x21, 0x7F))) - _BORDERS
_EDGE = "".join(sorted(_BORDERS)) + " \t\xa0"
_INNER = re.compile(rf"[^\s{_BORDER}]")
_NEAR_MARGIN = 8
_LONG = _NEAR_MARGIN + 1
_FIRST_WORD = re.compile(r"[!-~]+")
_TOKEN = re.compile(r"[!-~]{16,}")
_INDENT = 4
_VALUE_BELOW = re.compile(r" ?[!-~]{6,}")
_DIGEST = re.compile("[0-9a-f]+")
_DIGESTS = frozenset({32, 40, 64, 96, 128})
_WITH_VALUE = re.compile(r"[!-~]+ [!-~]{6,}")
# Words, numbers and what joins them: a path, a name of a file.
_PLAIN = r"(?:[A-Za-z][a-z]*|[A-Z]+|\d+)"
_PLAIN_WORD = re.compile(rf"[(\[\"'`./~]*{_PLAIN}(?:[/._:-]{_PLAIN}?)*[.,:;!?)\]\"'`]*")
_OF_URL = re.compile(r"[@\d]")
_ADDRESS_BEGUN = re.compile(r"[\"'<(]?[\w.+-]+@[\w-]*")
_REST_OF_ADDRESS = re.compile(r"[\w-]*\.[a-z]{2,}")
_BORDER_MARGIN = 3
_FULL = 32
_SHORTEST_VALUE = 16
_SHORTEST_PART = 12
_PART_WITH_DIGIT = re.compile(r"(?<![!-~])(?=[!-~]{12})[!-~]*\d")
_MIXING = re.compile("[0-9A-Z]")  # one of these is in what is mixed
# Text in a pane or a column: behind two blanks or a border.
_PANE = re.compile(r"(?:  |[\u2502\u2503\u2551|] ?)(?P<text>[!-~]+(?: [!-~]+)*)")
# Text in the first pane: before a border with something behind it.
_FIRST_PANE = re.compile(
    r"[ \u2502\u2503\u2551|]*(?P<text>[!-{}~]+(?: [!-{}~]+)*) *[\u2502\u2503\u2551|] *[!-{}~]"
)
_PANES = frozenset("\u2502\u2503\u2551|")
_BETWEEN = re.compile(r"[!-{}~] *[\u2502\u2503\u2551|] *[!-{}~]")  # is in every such row


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
    before, text = before.rstrip(), text.rstrip()
    if not before or not text:
        return False
    bordered = before[-1] in _BORDERS
    left, end = _extent(before) if bordered else (0, len(before))
    near = end >= cols - _NEAR_MARGIN or (bordered and end >= len(before) - _BORDER_MARGIN)
    shown = text if text[0] != " " else text.lstrip(" ")
    if not near:  # as most rows, of which the last word is short
        begins = before.rfind(" ", 0, end) + 1
        if (
            end - begins < _LONG
            and " " in shown[:_SHORTEST_VALUE]
            and not begins_a_name(before[begins:end])
        ):
            return False
    if not bordered and before.lstrip(" ")[0] not in _TEXT:
        left, end = _extent(before)
    if end <= left:
        return False
    start, stop = len(text) - len(shown), len(text)
    if text[-1] in _BORDERS or shown[:1] not in _TEXT:
        start, stop = _extent(text)
    if near:
        return _FIRST_WORD.match(text, start, stop) is not None
    word = _FIRST_WORD.match(text, start, stop)
    return word is not None and _broken(before, left, end, word.group(), wider=stop > end)


@lru_cache(maxsize=512)
def _extent(text: str) -> tuple[int, int]:
    """Where the text between the borders of a row begins and ends."""
    left = len(text) - len(text.lstrip(_EDGE))
    shown = text[:-1].rstrip() if text[-1] in _BORDERS else text
    return left, max(len(shown), left)


def chained(texts: Sequence[str]) -> Iterator[int]:
    """Numbers of the rows with a token that may go on in the same columns of the row below."""
    for number, (text, below) in enumerate(pairwise(texts)):
        if not (_MIXING.search(below) or "@" in text or _PART_WITH_DIGIT.search(text)):
            continue
        for start, end in columns(text):
            if goes_on(text, below, start, end):
                yield number
                break


def has_neighbour(rest: str) -> bool:
    """Whether what is left of a row is another column: behind a border or two blanks."""
    behind = rest.lstrip()
    return behind[:1] in _PANES if rest[:2] != "  " else behind != ""


def parted(text: str) -> bool:
    """Whether a row has columns: two blanks or a border inside."""
    return "  " in text.strip() or _BETWEEN.search(text) is not None


@lru_cache(maxsize=2048)
def columns(text: str) -> Collection[tuple[int, int]]:
    """Where in a (right-trimmed) row something stands that the row below may go on with.

    Of what begins with the row only what has something beside it.
    """
    spans = [match.span() for match in _TOKEN.finditer(text, 1)]
    if "  " in text or not text.isascii() or "|" in text:
        spans += [match.span("text") for match in _PANE.finditer(text)]
        begins = len(text) - len(text.lstrip(" "))
        ends = text.find("  ", begins)
        if ends > 0 and text.isascii() and not text[ends:].lstrip(" ").startswith("|"):
            spans.append((begins, ends))
        if _BETWEEN.search(text):
            first = _FIRST_PANE.match(text)
            spans += [] if first is None else [first.span("text")]
    if len(text) - text.rfind(" ") > _SHORTEST_VALUE and text.isascii() and not parted(text):
        spans.append((len(text) - len(text.lstrip(" ")), len(text)))  # a column in the row below
    for span in spans:
        if span[1] - span[0] in _DIGESTS:
            spans = [span for span in spans if not _digest(text, *span)]
            break
    return dict.fromkeys(spans) if len(spans) > 1 else spans


def _digest(text: str, start: int, end: int) -> bool:
    """Whether a stretch is a digest, which is whole."""
    return end - start in _DIGESTS and _DIGEST.fullmatch(text, start, end) is not None


def goes_on(above: str, below: str, start: int, end: int) -> re.Match[str] | None:
    """The word that stands in the row below a stretch of the row above, and goes on with it."""
    begins = _beginning(above, below, start)
    part = None if begins < 0 else _FIRST_WORD.match(below, begins, end)
    if part is not None and looks_torn_off(part.group()):
        return part
    return None if begins < 0 else _told_above(above, below, (begins, end), part)


def _told_above(
    above: str, below: str, span: tuple[int, int], part: re.Match[str] | None
) -> re.Match[str] | None:
    """What goes on with a stretch: ``part``, a word that does not look so by itself, or more."""
    start, end = span
    begins = above.rfind(" ", start, end) + 1 or start
    last = above[begins:end]
    if may_tell(last):
        if names_a_value(above, end):
            return _VALUE_BELOW.match(below, start, end)
        if part is not None and named_when_joined(last, part.group()):
            return _WITH_VALUE.match(below, start, end) or part
        if part is not None and _address(last, part.group()):
            return part
    if part is None or not _alone(below, part.end()):
        return None
    return part if _begun(above, start, begins, last) else None


def _beginning(above: str, below: str, start: int) -> int:
    """Where the row below goes on with a column that begins at ``start``; -1 for nowhere.

    Further left where the row above is indented.
    """
    if start == 0 or not _INNER.match(below, start - 1):
        return start
    begins = below.rfind(" ", 0, start) + 1
    return begins if start - begins <= _INDENT and not above[begins:start].strip(" ") else -1


def _begun(text: str, start: int, begins: int, last: str) -> bool:
    """Whether the last word of a stretch is a part of a token, of a named value or of a URL."""
    if "://" in last or (len(last) >= _SHORTEST_PART and is_random(last)):
        return True
    return begins > start + 1 and text[begins - 2] != " " and names_a_value(text, begins - 1)


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
    first = _FIRST_WORD.match(line.text, left, line.end)
    return first is not None and _broken(
        before.text, before.left, end, first.group(), wider=line.end > end
    )


def _broken(above: str, left: int, end: int, word: str, *, wider: bool) -> bool:
    """Whether ``word``, which begins a row, is the rest of what ends the row above.

    That one has room left. ``wider`` says whether the row of the word reaches further.
    """
    begins = above.rfind(" ", left, end) + 1 or left
    last = above[begins:end]
    if named_when_joined(last, word):
        return True
    if len(word) >= _SHORTEST_VALUE and looks_torn_off(word):
        if names_a_value(above, end):
            return True
        if begins > left + 1 and above[begins - 2] != " " and names_a_value(above, begins - 1):
            return True
    if wider or end - begins < _LONG or stands_alone(last, word):
        return False
    return looks_torn_off(word) or _fits(above[left:end], last, word)


def _fits(shown: str, last: str, word: str) -> bool:
    """Whether a row that ends with ``last`` may be broken there, and ``word`` is no word."""
    if _address(last, word):
        return True
    if '"' in word[1:] and shown.count('"') % 2 == 1:
        return True
    if "://" in word or not word[0].isalnum() or _PLAIN_WORD.fullmatch(word):
        return False
    if "://" in last:
        return _OF_URL.search(word) is not None
    return len(last) >= _SHORTEST_VALUE and is_random(last)


def _address(last: str, word: str) -> bool:
    """Whether two words are the halves of a mail address."""
    return (
        "@" in last
        and _ADDRESS_BEGUN.fullmatch(last) is not None
        and _REST_OF_ADDRESS.match(word) is not None
    )


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
