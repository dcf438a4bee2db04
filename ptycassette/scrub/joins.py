"""Whether a row of the screen goes on with the next one: what programs break themselves.

A terminal marks the rows that it wrapped itself; programs that wrap on their
own (boxes, indented lists) leave no mark. Their rows are joined when the
text runs up to the margin and goes on like a token on the next row. Joining too
often costs a word beside a secret, joining too seldom a secret. What goes on inside of a
row says ``ptycassette.scrub.columns``.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Protocol

from ptycassette.scrub.known import is_random
from ptycassette.scrub.prefixes import begins_a_token
from ptycassette.scrub.spelling import seems_by_chance
from ptycassette.scrub.words import (
    GRAPHIC,
    begins_a_name,
    halves_of_an_address,
    is_a_digest_beside,
    looks_torn_off,
    named_when_joined,
    names_a_secret,
    names_a_value,
    stands_alone,
)

__all__ = [
    "BORDER",
    "DIGESTS",
    "EDGE",
    "ROWS_REMEMBERED",
    "Line",
    "Traced",
    "begin_alike",
    "begins_at",
    "continues",
    "follows",
    "glued",
    "names",
]

# Of boxes, bullets, and the arrows by which programs show that they broke a line.
_ARROWS = "\u23bf\u23fa\u276f\u2022\u21a9\u21aa\u21b3\u21b5\u23ce\u2937\xac|>"
BORDER = f"\u2500-\u259f\u25a0-\u25ff{_ARROWS}"
_BORDERS = frozenset([*map(chr, range(0x2500, 0x2600)), *_ARROWS])
_TEXT = frozenset(map(chr, range(0x21, 0x7F))) - _BORDERS
EDGE = "".join(sorted(_BORDERS)) + " \t\xa0"
ROWS_REMEMBERED = 1 << 14
"""For so many rows, with the one below each, what was asked of them is not asked again.

Programs paint the same text over and over.
"""
_NEAR_MARGIN = 8
_LONG = _NEAR_MARGIN + 1
_FIRST_WORD = re.compile(rf"[{GRAPHIC}]+")
# Words, numbers and what joins them: a path, a name of a file.
_PLAIN = r"(?:[A-Za-z][a-z]*|[A-Z]+|\d+)"
_PLAIN_WORD = re.compile(rf"[(\[\"'`./~]*{_PLAIN}(?:[/._:-]{_PLAIN}?)*[.,:;!?)\]\"'`]*")
_OF_URL = re.compile(r"[@\d]")
_CREDENTIALS = re.compile("[A-Za-z][A-Za-z0-9+.-]{0,20}://[^/:@]{0,128}:[^/@]{3,256}@")
_BORDER_MARGIN = 3
_FULL = 32
DIGESTS = frozenset({32, 40, 64, 96, 128})
"""How many digits these have."""
_SHORTEST_VALUE = 16
_SHORTEST_GENERATED = 12
_SHORTEST_PREFIX = 2
_SHORTEST_TORN = 5
_ALIKE = 6
_OFFSET = re.compile("[0-9a-fA-F]{7,16}(?::|  )")  # of a line of a dump
_FEW = 2
# A token begins with such, and cookies go on with names of their own.
_PREFIXED = re.compile(r"[\"'(]?[A-Za-z][A-Za-z0-9]{1,10}[-_.][A-Za-z0-9_-]{0,8}")
_WITH_NAME = re.compile(r"[\w.-]{0,40}(?:key|token|secret|pass\w{0,8})[\"']?[:=].", re.IGNORECASE)
_BEGUN_VALUE = re.compile(r"(?:KEY|TOKEN|SECRET|PASS\w{0,8})=[\"']?[!-~]{1,3}\Z")
_COOKIES = re.compile(r"\b[Cc]ookie: ")
_NUMBERS = re.compile("[\"']?[0-9-]{12,}[\"',;]*")
_DIGITS = re.compile(r"\d{8,}")
_REST_OF_OPTION = re.compile("[a-z-]{1,20}=")
_BEHIND_NAME = re.compile("[\"']?[:=]")
_HYPHENS = frozenset("-_")
_SIGNS = _HYPHENS | frozenset(":=\"'")
# What comments begin with, and lists.
_GUTTER = re.compile(r"(?:#+|//+|--|;+|%|\*|\xbb) +")
_GUTTERS = frozenset("#/-;%*:\xbb0123456789\u2026\\")
_UUID = re.compile(r"[\"'(]?[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}[\"'),;.]*")
_COLON = re.compile(r"(?:\d{1,6})?[ \t]*: ")
_BROKEN_OFF = re.compile(r"[\u2026\\\xbb] +")
_NO_ITEM = re.compile(r"(?=[!-~]{0,40}\d|[!-~]{12})[!-~]{4}")  # of a list with numbers
_NUMBER = re.compile(r"(\d{1,6})(?:[ \t]*[\u2502|:)][ \t]?|[ \t]{1,4})")


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
            self.left = len(text) - len(text.lstrip(EDGE))
        self.shown = shown = text.rstrip()
        if shown and shown[-1] in _BORDERS:
            self.margin = len(shown) - 2
            shown = shown[:-1].rstrip()
        self.end = max(len(shown), self.left)


def begins_at(before: Line, line: Line) -> int:
    """Where a row goes on with the one before: behind what both begin with, as comments do.

    Or behind its number, which is the next one.
    """
    return _behind_gutter(before.text, line.text, line.left)


def _behind_gutter(above: str, text: str, start: int) -> int:
    if text[start : start + 1] not in _GUTTERS:
        return start
    sign = _BROKEN_OFF.match(text, start)
    if sign is not None:
        return sign.end()
    left = len(above) - len(above.lstrip(EDGE))
    if text[start] == ":":  # the line above has a number before it
        return start + 2 * (text.startswith(": ", start) and _COLON.match(above, left) is not None)
    number = _NUMBER.match(text, start)
    if number is not None:
        before = _NUMBER.match(above, left)
        follows_it = before is not None and int(number[1]) == int(before[1]) + 1
        no_item = "\u2502" in number.group() or _NO_ITEM.match(text, number.end())
        return number.end() if follows_it and no_item else start
    gutter = _GUTTER.match(text, start)
    return gutter.end() if gutter and above.startswith(gutter.group(), left) else start


def begin_alike(above: str, below: str) -> bool:
    """Whether two rows begin as the lines of a list do, which have nothing to do with each other.

    Lines of Base64 may begin with zeros, and those of dumps do.
    """
    begins = above[:_ALIKE]
    if len(begins) == _ALIKE and " " not in begins and below.startswith(begins):
        return len(set(begins)) > _FEW or _OFFSET.match(above) is not None
    return _OFFSET.match(above) is not None and _OFFSET.match(below) is not None


def glued(before: Line, line: Line) -> bool:
    """Whether joining makes one word of two, and hides a token that begins with the row.

    Not inside of what fills row after row.
    """
    last, first = before.text[before.end - 1], line.text[begins_at(before, line)]
    if not (last.isalnum() or last == "_") or not (first.isalnum() or first == "_"):
        return False
    shown = before.text[before.left : before.end]
    return " " in shown or len(shown) < _FULL


@lru_cache(maxsize=ROWS_REMEMBERED)
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
    shown = text if text[0] in _TEXT else text.lstrip(EDGE)
    start, stop = len(text) - len(shown), len(text)
    if shown[:1] in _GUTTERS:
        start = _behind_gutter(before, text, start)
        shown = text[start:]
    if not near:  # as most rows, of which the last word is short
        begins = before.rfind(" ", 0, end) + 1
        if (
            end - begins < _LONG
            and " " in shown[:_SHORTEST_GENERATED]
            and before[end - 1] not in _HYPHENS
            and shown[:1] not in _SIGNS
            and "=" not in shown[:_SHORTEST_GENERATED]
            and "@" not in shown[:_SHORTEST_GENERATED]
            and '"' not in shown[:_SHORTEST_GENERATED]
            and not begins_a_name(before[begins:end])
        ):
            return False
    if not bordered and before.lstrip(" ")[0] not in _TEXT:
        left, end = _extent(before)
    if end <= left:
        return False
    if text[-1] in _BORDERS or shown[:1] not in _TEXT:
        start, stop = _extent(text)
        start = _behind_gutter(before, text, start)
    word = _FIRST_WORD.match(text, start, stop)
    if near:
        return word is not None
    if word is None:
        return False
    alone = word.end() == stop
    return _broken(before, left, end, word.group(), wider=stop > end, alone=alone)


@lru_cache(maxsize=512)
def _extent(text: str) -> tuple[int, int]:
    """Where the text between the borders of a row begins and ends."""
    left = len(text) - len(text.lstrip(EDGE))
    shown = text[:-1].rstrip() if text[-1] in _BORDERS else text
    return left, max(len(shown), left)


def continues(before: Line, line: Line) -> bool:
    """Whether a program seems to have broken a token between these rows."""
    end, left = before.end, begins_at(before, line)
    if end <= before.left or line.end <= left:
        return False
    if not (_FIRST_WORD.match(before.text, end - 1) and _FIRST_WORD.match(line.text, left)):
        return False
    above, below = before.text[before.left : end], line.text[line.left : line.end]
    if begin_alike(above, below):
        return False
    if _full(before):
        return True
    first = _FIRST_WORD.match(line.text, left, line.end)
    if first is None:
        return False
    wider, alone = line.end > end, first.end() == line.end
    return _broken(before.text, before.left, end, first.group(), wider=wider, alone=alone)


def _broken(above: str, left: int, end: int, word: str, *, wider: bool, alone: bool) -> bool:
    """Whether ``word``, which begins a row, is the rest of what ends the row above.

    That one has room left. ``wider`` says whether the row of the word reaches further, ``alone``
    whether nothing else is in it.
    """
    begins = above.rfind(" ", left, end) + 1 or left
    last = above[begins:end]
    if _of_one_word(last, word) or (alone and _rest_of_token(last, word, wider=wider)):
        return True
    if not alone and is_a_digest_beside(last, word):
        return False
    torn = looks_torn_off(word)
    long = _long(word)
    told = (long or _NUMBERS.fullmatch(word)) and (
        names_a_secret(above, end) or _PREFIXED.fullmatch(last)
    )
    cut_short = _BEGUN_VALUE.search(last) and not _PLAIN_WORD.fullmatch(word)
    cookie = "=" in word and _COOKIES.search(above, left, end)
    if told or (cut_short and not stands_alone(last, word)) or cookie:
        return True
    begun = looks_torn_off(last) or not _PLAIN_WORD.fullmatch(last)
    rest = alone and not wider and begun and torn
    quoted = last.count('"') % 2 == 1 and '"' in word
    if long or rest or quoted or (len(last) >= _SHORTEST_VALUE and word.isdigit() and not wider):
        named = begins > left + 1 and above[begins - 2] != " "
        if (named and names_a_secret(above, begins - 1)) or (
            word.isdigit() and _WITH_NAME.match(last)
        ):
            return True
    if wider or end - begins < _LONG or stands_alone(last, word) or above.startswith(word, left):
        return False  # lines of a log begin with the same word
    return torn or _fits(above[left:end], last, word)


def _of_one_word(last: str, word: str) -> bool:
    """Whether two words read as the halves of one, whatever stands around them."""
    sign = _BEHIND_NAME.match(word)
    if sign is not None and names_a_value(last + sign.group(), len(last) + sign.end()):
        return True
    if "@" in word:
        if word[0] == "@":
            return "://" in last
        url = _CREDENTIALS.search(last + word)
        if url is not None and url.start() < len(last) < url.end():
            return True
    if _UUID.fullmatch(last + word):
        return True
    return named_when_joined(last, word) or _at_a_hyphen(last, word) or _in_prefix(last, word)


def _rest_of_token(last: str, word: str, *, wider: bool) -> bool:
    """Whether a word that has its row for itself is the rest of a token or a string."""
    if stands_alone(last, word):
        return False
    if '"' in word and last.count('"') % 2 == 1:
        return _long(word) or (last.strip('"') + word.strip('",')).isdigit()
    if len(last) >= _SHORTEST_TORN and _long(word) and looks_torn_off(last):
        return True
    return not wider and _short_rest(last, word)


def _short_rest(last: str, word: str) -> bool:
    """Whether a word that is shorter than most values ends a token or a value that has begun."""
    plain = _PLAIN_WORD.fullmatch(word)
    if _BEGUN_VALUE.search(last):
        return not plain
    if word.islower() or not word.replace("_", "").isalnum() or len(last) <= _SHORTEST_GENERATED:
        return False
    digits = _DIGITS.fullmatch(word)
    if digits and len(last) >= _SHORTEST_VALUE and len(last) not in DIGESTS and is_random(last):
        return True
    alike = (word.isupper() and last[-len(word) :].isupper()) or digits
    return bool(not plain or alike or seems_by_chance(word)) and begins_a_token(last)


def _at_a_hyphen(last: str, word: str) -> bool:
    """Whether a token was broken at one of its hyphens: some programs wrap there."""
    if last[-1] in _HYPHENS and len(last) > _SHORTEST_PREFIX:
        torn = looks_torn_off(word) or _generated(word) or _DIGITS.match(word)
        return bool(torn) and not stands_alone(last, word)
    return word[0] in _HYPHENS and last.isalnum() and _generated(word[1:])


def _in_prefix(last: str, word: str) -> bool:
    """Whether a token was broken in or right behind what its provider's tokens begin with."""
    begun = last.rpartition("=")[2]
    if len(word) < _SHORTEST_GENERATED or len(begun) >= _SHORTEST_VALUE:
        return False  # of a token that may be whole the next row is no rest
    if not begins_a_token(begun):
        return False
    return looks_torn_off(word) and not stands_alone(last, word)


def _long(word: str) -> bool:
    """Whether a word looks like the rest of a value, and is as long as most are."""
    return (len(word) >= _SHORTEST_VALUE or _generated(word)) and looks_torn_off(word)


def _generated(word: str) -> bool:
    """Whether a word that is shorter than most values was made by nobody."""
    return len(word) >= _SHORTEST_GENERATED and is_random(word)


def _fits(shown: str, last: str, word: str) -> bool:
    """Whether a row that ends with ``last`` may be broken there, and ``word`` is no word."""
    if halves_of_an_address(last, word):
        return True
    if '"' in word[1:] and shown.count('"') % 2 == 1:
        return True
    if "://" in word or not (word[0].isalnum() or (word[0] in "+/" and _generated(word))):
        return False
    by_chance = word.isalpha() and seems_by_chance(word)
    of_token = by_chance or (_DIGITS.fullmatch(word) and begins_a_token(last))
    if not of_token and _PLAIN_WORD.fullmatch(word):
        return False
    if "://" in last:
        return _OF_URL.search(word) is not None
    return len(last) >= _SHORTEST_VALUE and is_random(last)


def _full(line: Line) -> bool:
    """Whether a row runs up to its margin."""
    return line.end >= line.margin - 1 or line.end >= len(line.text) - _NEAR_MARGIN


def names(before: Line, line: Line) -> bool:
    """Whether a row ends with the name of what the next one begins with.

    Not one that runs up to its margin and may have been broken anywhere.
    """
    end = before.end
    if not names_a_secret(before.text, end) or (before.text[end - 1] in ":=" and _full(before)):
        return False
    first = _FIRST_WORD.match(line.text, begins_at(before, line), line.end)
    if first is None or (_full(before) and _REST_OF_OPTION.match(first.group())):
        return False
    return _long(first.group()) or _NUMBERS.fullmatch(first.group()) is not None
