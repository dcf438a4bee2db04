"""Values that are known to be secret, found whole or in pieces.

A value of high entropy (a key, a token) is found by every window of a few
characters, so that a truncated form, a growing repaint or a value torn over
rows goes too. Other values (a pass phrase, a user name) are found whole: their
pieces are ordinary words, which must stay.

Windows that hold only what is public about a value (``sk-ant-api03-``, the
header of a JWT) are no hits by themselves.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise

import msgspec

from ptycassette.scrub.canonical import canonical, squeeze
from ptycassette.scrub.literals import Literals, literal_finder

__all__ = ["Hit", "KnownValue", "KnownValues", "found_as_word", "is_random"]

WINDOW = 8
_LONG = 16
_FEW_VOWELS = 0.3
_SHORTEST_PIECE = 5
_SHORTEST_SQUEEZED = 6
_SECRET_IN_WINDOW = 4
SHORTEST = 3
_WORDS = re.compile(r"(?:[A-Z]?[a-z]*|[A-Z]+)(?:[._-](?:[A-Z]?[a-z]*|[A-Z]+))+")
_WORD = re.compile(r"[A-Z]?[a-z]+")


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


def is_random(text: str) -> bool:
    """Whether ``text`` looks generated: long enough, of several kinds of characters, no words.

    Pieces of such a value identify it; pieces of anything else would hit ordinary text.
    """
    if len(text) < WINDOW or len(set(text)) < WINDOW - 2:
        return False
    digits = sum(char.isdigit() for char in text)
    letters = sum(char.isalpha() for char in text)
    if digits + letters < 0.6 * len(text):
        return False
    if digits and text.isalnum() and len(text) >= _LONG and _vowels(text) < _FEW_VOWELS * letters:
        return True
    changes = sum(_kind(a) != _kind(b) for a, b in pairwise(text))
    return changes >= max(3, len(text) // 6) and (digits >= 1 or changes >= len(text) // 3)


def _vowels(text: str) -> int:
    return sum(char in "aeiouAEIOU" for char in text)


def _kind(char: str) -> int:
    if char.isdigit():
        return 0
    if char.isupper():
        return 1
    return 2 if char.isalpha() else 3


class KnownValues:
    """Finds known values; values can be added at any time.

    Args:
        values: to begin with.
        fast: as for ``literal_finder``.
    """

    def __init__(self, values: Iterable[KnownValue] = (), *, fast: bool | None = None) -> None:
        self._fast = fast
        self._values: dict[str, KnownValue] = {}
        self._windows: dict[str, tuple[KnownValue, str, int]] = {}
        self._words: dict[str, KnownValue] = {}
        self._squeezed_finder: Literals | None = None
        self._word_finder: Literals | None = None
        for value in values:
            self.add(value)

    def __len__(self) -> int:
        return len(self._values)

    def __contains__(self, text: str) -> bool:
        return canonical(text) in self._values

    def __iter__(self) -> Iterator[KnownValue]:
        return iter(self._values.values())

    def add(self, value: KnownValue) -> bool:
        """Remember a value; False when it is known already or too short to be told apart."""
        text = canonical(value.text)
        squeezed = squeeze(text)
        if len(squeezed) < SHORTEST or text in self._values or _is_mask(squeezed):
            return False
        self._values[text] = value
        if _has_pieces(value, squeezed):
            self._add_windows(value, squeezed)
        elif found_as_word(value):
            self._words.setdefault(text, value)
            self._word_finder = None
        else:
            self._windows.setdefault(squeezed, (value, squeezed, 0))
            self._squeezed_finder = None
        return True

    def _add_windows(self, value: KnownValue, squeezed: str) -> None:
        size = WINDOW if len(squeezed) >= _LONG else max(_SHORTEST_PIECE, (len(squeezed) + 1) // 2)
        # A word of the next row may have been taken for the end of a token.
        mixed = value.learnt and any(char.isdigit() for char in squeezed)
        for at in range(len(squeezed) - size + 1):
            window = squeezed[at : at + size]
            if value.learnt and _WORDS.fullmatch(window):
                continue
            if mixed and _WORD.fullmatch(window):
                continue
            if at + size - value.public >= _SECRET_IN_WINDOW:
                self._windows.setdefault(window, (value, squeezed, at))
        self._squeezed_finder = None

    def in_squeezed(self, text: str) -> list[Hit]:
        """Values and pieces in squeezed text, as long as they match, none overlapping."""
        if not self._windows:
            return []
        if self._squeezed_finder is None:
            # The longest first, so that positions and numbers order hits as they are wanted.
            self._squeezed_keys = tuple(sorted(self._windows, key=len, reverse=True))
            self._squeezed_lengths = tuple(map(len, self._squeezed_keys))
            self._squeezed_finder = literal_finder(self._squeezed_keys, fast=self._fast)
        hits: list[Hit] = []
        lengths = self._squeezed_lengths
        floor = 0
        for at_window, index in self._squeezed_finder.find(text):
            end = at_window + lengths[index]
            if end <= floor:
                continue
            start = at_window
            value, whole, at = self._windows[self._squeezed_keys[index]]
            while (
                end < len(text)
                and at + (end - start) < len(whole)
                and (text[end] == whole[at + end - start])
            ):
                end += 1
            while start > floor and at > 0 and text[start - 1] == whole[at - 1]:
                start -= 1
                at -= 1
            hits.append(Hit(max(start, floor), end, value))
            floor = end
        return hits

    def in_plain(self, text: str) -> list[Hit]:
        """Short values and words, in text with its blanks, where nothing alphanumeric touches."""
        if not self._words:
            return []
        if self._word_finder is None:
            self._word_keys = tuple(self._words)
            self._word_finder = literal_finder(self._word_keys, fast=self._fast)
        hits = []
        for start, index in self._word_finder.find(text):
            word = self._word_keys[index]
            end = start + len(word)
            if text[max(0, start - 1) : start].isalnum() or _follows(text, end):
                continue
            if not self._words[word].named or _is_named(text, start, end):
                hits.append(Hit(start, end, self._words[word]))
        return hits


def _has_pieces(value: KnownValue, squeezed: str) -> bool:
    pieces = is_random(squeezed) if value.pieces is None else value.pieces
    return pieces and len(squeezed) >= WINDOW


def found_as_word(value: KnownValue) -> bool:
    """Whether a value is looked for in text with its blanks, as a word."""
    squeezed = squeeze(canonical(value.text))
    return not _has_pieces(value, squeezed) and (value.word or len(squeezed) < _SHORTEST_SQUEEZED)


# A path, ~name, USER=name, "user": "name", name@host and user@name; an owner and its group.
_BEFORE_NAME = re.compile(
    r"(?:/home/|/users/|\\users\\{1,2}|~|@|\b(?:uid|gid|groups)=\d{1,10}\(|"
    r"\b(?:user|username|user_name|logname|login|owner|author|host|hostname)"
    r"[\"']?\s?[=:]\s?[\"']?)\Z",
    re.IGNORECASE,
)
_NAME_CONTEXT = 32


def _is_named(text: str, start: int, end: int) -> bool:
    """Whether the word at ``start`` is meant as the name of a user or a host."""
    if text[end : end + 1] == "@" or _BEFORE_NAME.search(
        text, max(0, start - _NAME_CONTEXT), start
    ):
        return True
    word = text[start:end]
    after = text[end : end + _NAME_CONTEXT + len(word)].split(" ")
    before = text[max(0, start - _NAME_CONTEXT - len(word)) : start].split(" ")
    return word in (next(filter(None, after), ""), next(filter(None, reversed(before)), ""))


def _is_mask(text: str) -> bool:
    """Whether ``text`` is what a scrub leaves behind, which is nothing to learn."""
    return not set(text) - set("x*.0-_:/@")


def _follows(text: str, at: int) -> bool:
    """Whether a letter or digit stands at ``at``."""
    return text[at : at + 1].isalnum()
