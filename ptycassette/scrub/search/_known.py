"""Values that are known to be secret, found whole or in pieces.

A value of high entropy (a key, a token) is found by every window of a few
characters, so that a truncated form, a growing repaint or a value torn over
rows goes too. Other values (a pass phrase) are found by three fifths of them, or
whole: shorter pieces are ordinary words, which must stay.

Windows that hold only what is public about a value (``sk-ant-api03-``, the
header of a JWT) are no hits by themselves.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import msgspec

from ptycassette.model.lazy_regex import lazy_pattern
from ptycassette.scrub.decode._encoded_search import EncodedSearch
from ptycassette.scrub.match import Literals, Pieces, canonical, squeeze
from ptycassette.scrub.rules._values import is_random

WINDOW = 8
"""Characters by which a long value is found, wherever it was cut."""
_LONG = 16
_SHORTEST_PIECE = 5
_SHORTEST_SQUEEZED = 6
_SHORTEST_ADDRESS = 10  # that is cut off right behind its @
_SHORTEST_PART = 7
_MONOTONOUS = 3
_SECRET_IN_WINDOW = 4
SHORTEST_KNOWN = 3
_WORDS = lazy_pattern(r"(?:[A-Z]?[a-z]*|[A-Z]+)(?:[._/-](?:[A-Z]?[a-z]*|[A-Z]+))+")
_WORD = lazy_pattern(r"[A-Z]?[a-z]+")
_SCHEME = lazy_pattern(r"[A-Za-z][A-Za-z0-9+.-]{0,20}://")


class KnownValue(msgspec.Struct, frozen=True):
    """A value to remove.

    ``rule`` is the name that reports give it, ``placeholder`` what stands for
    it in structured records. The first ``public`` characters are no secret.
    ``pieces`` is None to let the value's entropy decide. ``word`` values are
    removed only where no letter or digit touches them, ``named`` ones moreover only
    where their surroundings say that a user or a host is meant. ``learnt`` ones were found by
    a rule, which may have taken a file name beside them too: pieces that read as one are none.
    """

    text: str
    rule: str = "known"
    placeholder: str = "<secret>"
    public: int = 0
    pieces: bool | None = None
    word: bool = False
    named: bool = False
    learnt: bool = False


class Hit(msgspec.Struct, frozen=True):
    """Characters ``start`` to ``end`` of a text are (a piece of) a known value."""

    start: int
    end: int
    value: KnownValue


class Lesson(NamedTuple):
    """What was learnt: values, strings to find in squeezed text, and words (canonical)."""

    values: list[KnownValue]
    pieces: list[str]
    words: list[str]


class KnownValues:
    """Finds known values; values can be added at any time.

    Args:
        values: to begin with.

    Attributes:
        sought: reads encoded text that holds what is known here and does not look like text.
        version: another number whenever a value was added.
    """

    def __init__(self, values: Iterable[KnownValue] = ()) -> None:
        self.sought = EncodedSearch()
        self.version = 0
        self._values: dict[str, KnownValue] = {}
        self._waiting: list[tuple[KnownValue, str, str]] = []
        self._windows: dict[str, tuple[KnownValue, str, int]] = {}
        self._words: dict[str, KnownValue] = {}
        self._window_finder = Pieces()
        self._word_finder = Literals()
        for value in values:
            self.add(value)

    def __len__(self) -> int:
        return len(self._values)

    def __iter__(self) -> Iterator[KnownValue]:
        return iter(self._values.values())

    def add(self, value: KnownValue) -> bool:
        """Remember a value; False when it is known already or too short to be told apart.

        A known value counts as new when its ``pieces`` are switched on only now.
        """
        text = canonical(value.text)
        before = self._values.get(text)
        if before is not None and (before.pieces or not value.pieces):
            return False
        squeezed = squeeze(text)
        if len(squeezed) < SHORTEST_KNOWN or not set(squeezed) - set("x*.0-_:/@"):
            return False  # too short, or a mask, which must not be learnt
        self._values[text] = value
        self.version += 1
        self._waiting.append((value, text, squeezed))
        return True

    def learn(self, values: Iterable[KnownValue]) -> Lesson:
        """Add values; returns what is new."""
        self._index()
        added = [value for value in values if self.add(value)]
        words = len(self._words)
        pieces = self._index()
        return Lesson(added, pieces, list(self._words)[words:])

    def only(self, lesson: Lesson) -> KnownValues:
        """What is new of a lesson, for texts that were searched for all that was known before."""
        new = KnownValues()
        new._values = {canonical(value.text): value for value in lesson.values}
        for text in new._values:
            new.sought.add(text)
        new._windows = {piece: self._windows[piece] for piece in lesson.pieces}
        new._words = {word: self._words[word] for word in lesson.words}
        new._window_finder.add(lesson.pieces)
        new._word_finder.add(lesson.words)
        return new

    def _index(self) -> list[str]:
        """Index the values that were added since the last call; returns the new pieces.

        A caller that only lists the values does not need the index.
        """
        pieces: list[str] = []
        for value, text, squeezed in self._waiting:
            self.sought.add(text)
            pieced = is_random(squeezed) if value.pieces is None else value.pieces
            if pieced and len(squeezed) >= WINDOW:
                new = _windows(value, squeezed)
            elif value.word or len(squeezed) < _SHORTEST_SQUEEZED:
                if text not in self._words:
                    self._words[text] = value
                    self._word_finder.add((text,))
                continue
            else:
                new = _long_parts(value, squeezed)
            for window, at in new:
                owner = self._windows.get(window)
                if owner is None:
                    pieces.append(window)
                elif owner[2] != at or not squeezed.startswith(owner[1]):
                    continue
                # It was new, or of what this value goes on with: then the longer one is found.
                self._windows[window] = value, squeezed, at
        self._waiting.clear()
        self._window_finder.add(pieces)
        return pieces

    def in_squeezed(self, text: str) -> list[Hit]:
        """Values and pieces in squeezed text, as long as they match, none overlapping.

        A stretch that several values cover without a gap is one hit.
        """
        if self._waiting:
            self._index()
        hits: list[Hit] = []
        start = end = 0
        last: KnownValue | None = None
        for first, minus_length in self._window_finder.find(text):
            stop = first - minus_length
            if stop <= end:
                continue
            value, whole, at = self._windows[text[first:stop]]
            stop = _agreed(text, stop, whole, at - minus_length)
            if last is not None and first < end:  # it continues what was found before
                end = stop
                continue
            if last is not None:
                hits.append(_of_characters(text, start, end, last))
            while first > end and at > 0 and text[first - 1] == whole[at - 1]:
                first -= 1  # noqa: PLW2901 - back to where the value begins
                at -= 1
            start, end, last = first, stop, value
        if last is not None:
            hits.append(_of_characters(text, start, end, last))
        return hits

    def in_plain(self, text: str) -> list[Hit]:
        """Short values and words in unsqueezed text, where no letter or digit touches them."""
        if self._waiting:
            self._index()
        hits = []
        for start, minus_length in self._word_finder.find(text):
            end = start - minus_length
            beside = text[max(0, start - 1) : start] + text[end : end + 1]
            if any(map(str.isalnum, beside)):
                continue
            value = self._words[text[start:end]]
            if not value.named or _is_named(text, start, end):
                hits.append(Hit(start, end, value))
        return hits


def _of_characters(text: str, start: int, end: int, value: KnownValue) -> Hit:
    """A hit without half a character at its ends, which has some bytes in common with another."""
    while start < end and "\x80" <= text[start] <= "\xbf":
        start += 1
    while end > start and "\x80" <= text[end : end + 1] <= "\xbf":
        end -= 1
    return Hit(start, end, value)


def _windows(value: KnownValue, squeezed: str) -> list[tuple[str, int]]:
    """The pieces by which a value is found, with their offsets in it."""
    size = WINDOW if len(squeezed) >= _LONG else max(_SHORTEST_PIECE, (len(squeezed) + 1) // 2)
    scheme = _SCHEME.match(squeezed)
    public = max(value.public, 0 if scheme is None else scheme.end())
    first = max(0, public + _SECRET_IN_WINDOW - size)
    found = [(squeezed[at : at + size], at) for at in range(first, len(squeezed) - size + 1)]
    if value.learnt:
        mixed = any(map(str.isdigit, squeezed))
        found = [one for one in found if not _is_ordinary(*one, value.public, mixed=mixed)]
    return found


def _is_ordinary(piece: str, at: int, public: int, *, mixed: bool) -> bool:
    """Whether a piece of what a rule found reads as words.

    The rule may have taken a word of the next row for the end of a token. Right behind a public
    prefix stands the token itself, whatever it reads as.
    """
    return (
        len(set(piece)) <= _MONOTONOUS
        or "://" in piece
        or (at >= public and _WORDS.fullmatch(piece) is not None)
        or (mixed and _WORD.fullmatch(piece) is not None)
    )


def _long_parts(value: KnownValue, squeezed: str) -> list[tuple[str, int]]:
    """The long parts of a value that is made of words; the whole value when it was learnt."""
    size = -(-len(squeezed) * 3 // 5)
    if value.learnt or value.pieces is not None or size < _SHORTEST_PART:
        # Of an address so much that the rest may have been cut off behind it, of any host.
        begun = squeezed.find("@") + 2
        return [(squeezed, 0), *([(squeezed[:begun], 0)] if begun >= _SHORTEST_ADDRESS else [])]
    return [(squeezed[at : at + size], at) for at in range(len(squeezed) - size + 1)]


def _agreed(text: str, at: int, whole: str, at_whole: int) -> int:
    """How far ``text`` from ``at`` on agrees with ``whole`` from ``at_whole`` on."""
    for number, char in enumerate(whole[at_whole:], at):
        if text[number : number + 1] != char:
            return number
    return at + len(whole) - at_whole


# A path, ~name, USER=name, "user": "name", name@host and user@name; an owner and its group.
_BEFORE_NAME = lazy_pattern(
    r"(?:/home/|/users/|\\users\\{1,2}|~|@|\b(?:uid|gid|groups)=\d{1,10}\(|"
    r"\b(?:user|username|user_name|logname|login|owner|author|host|hostname)"
    r"[\"']?\s?[=:]\s?[\"']?)\Z",
    re.IGNORECASE,
)
_NAME_CONTEXT = 32


def _is_named(text: str, start: int, end: int) -> bool:
    """Whether the word at ``start`` is used as the name of a user or a host."""
    if text[end : end + 1] == "@" or _BEFORE_NAME.search(
        text, max(0, start - _NAME_CONTEXT), start
    ):
        return True
    word = text[start:end]
    after = text[end : end + _NAME_CONTEXT + len(word)].split(" ")
    before = text[max(0, start - _NAME_CONTEXT - len(word)) : start].split(" ")
    return word in (next(filter(None, after), ""), next(filter(None, reversed(before)), ""))
