"""Values that are known to be secret, found whole or in pieces.

A value of high entropy (a key, a token) is found by every window of a few
characters, so that a truncated form, a growing repaint or a value torn over
rows goes too. Other values (a pass phrase) are found by three fifths of them, or
whole: shorter pieces are ordinary words, which must stay.

Windows that hold only what is public about a value (``sk-ant-api03-``, the
header of a JWT) are no hits by themselves.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache, partial
from itertools import chain
from typing import NamedTuple

import msgspec

from ptycassette.model.re2_engine import lazy_pattern
from ptycassette.scrub.decode.decoder import Decoded, EncodedSearch, decoded_views
from ptycassette.scrub.mask import BASE32, BASE64, ESCAPED, QUOTED, TEXT, VOLATILE, mask
from ptycassette.scrub.match import Literals, Pieces, canonical, plain, spread, squeeze
from ptycassette.scrub.rules.rule_set import Found, Rule, RuleSet
from ptycassette.scrub.rules.values import (
    declares_a_secret,
    is_public_name,
    is_random,
    looks_generated,
    secret_name,
    spelt_by_chance,
)
from ptycassette.scrub.views.structured import Names
from ptycassette.scrub.views.view import (
    WIDEST,
    JoinedLines,
    View,
    joined_lines,
    lines_of,
    pane_views,
    shown_views,
)

# Lines of a private key that are shown without its BEGIN or END line.
#
# A rule finds the text between BEGIN and END, or before END. A key that is typed between other
# repaints, or that scrolls by, gives texts with neither. Its lines are found by their neighbours:
# they are lines of 64 base64 digits (RFC 7468) below each other, and one of these holds: one of
# them is known, an END line follows, or a key that began in the text before has not ended yet.


_NAME = "private-key"
_KEY = "PRIVATE KEY"
_LINE = 64
_SHORTEST_KNOWN = 12
_MOST_KNOWN = 512
_FARTHEST = 1 << 17
"""Characters of text behind a line of a key that has not ended yet."""
_PIECE = lazy_pattern(
    r"-----(?P<mark>BEGIN|END) (?P<what>[A-Z0-9 ]{1,40})-*"
    r"|(?<![A-Za-z0-9+/=])(?:[A-Za-z0-9+/]{2,}={1,2}|[A-Za-z0-9+/]{4,})(?![A-Za-z0-9+/=])"
)
_BLANK = " \t\r\n|\xe2\x94\x82\x83"  # and borders, by their bytes

_Piece = re.Match[str]


class KeyLines:
    """Finds such lines in one text after the other.

    Args:
        rules: the rules in use. If none is about private keys, nothing is found.
    """

    def __init__(self, rules: Iterable[Rule]) -> None:
        self._rule = next((rule for rule in rules if rule.name == _NAME), None)
        self._known: set[str] = set()
        self._left: dict[Hashable, int] = {}

    @property
    def version(self) -> int:
        """Another number whenever a line was remembered."""
        return len(self._known)

    def took(self, rule: Rule, value: str) -> None:
        """Remember what a rule found: one or several lines of a key."""
        for line in value.split() if rule.name == _NAME and rule.learn else ():
            if len(line) >= _SHORTEST_KNOWN and len(self._known) < _MOST_KNOWN:
                self._known.add(line)

    def find(self, text: str, source: Hashable) -> Iterator[Found]:
        """Lines of a key in canonical ``text``: full ones, and the rest of longer words.

        Texts with the same ``source`` follow each other: a key that begins in one of them
        may continue in the next. A text whose source is None follows no other.
        """
        left = self._left.pop(source, 0)
        if self._rule is None or not (left or self._known or _KEY in text):
            return
        run: list[_Piece] = []  # words below each other
        last = 0
        for piece in (*_PIECE.finditer(text), None):
            follows = piece is not None and not text[last : piece.start()].strip(_BLANK)
            mark = piece if piece is not None and piece["mark"] else None
            if mark is not None or not follows:
                below = mark if follows else None
                ends = below is not None and below["mark"] == "END"
                known = left or ends or any(word.group() in self._known for word in run)
                if known and (below is None or _of_a_key(below)):
                    for line in _lines(run, ends=ends):
                        left = left and _FARTHEST
                        yield from self._found(*line.span())
                run = []
            if mark is not None:
                left = _FARTHEST if mark["mark"] == "BEGIN" and _KEY in mark["what"] else 0
            elif piece is not None:
                run.append(piece)
            last = piece.end() if piece is not None else last
        if source is not None and left > len(text):
            self._left[source] = left - len(text)

    def _found(self, first: int, last: int) -> Iterator[Found]:
        """A word of one or several lines. A line that is not full is not learnt."""
        assert self._rule is not None  # noqa: S101 - asked before
        for start in range(first, last, _LINE):
            end = min(start + _LINE, last)
            learn = self._rule.learn and end - start == _LINE
            yield Found(start, end, msgspec.structs.replace(self._rule, learn=learn))


def _lines(run: list[_Piece], *, ends: bool) -> list[_Piece]:
    """The lines of a key among words below each other; the last one may be short."""
    lines = [piece for piece in run if _is_line(piece.group())]
    if lines and lines[-1] is not run[-1] and (ends or run[-1].group().endswith("=")):
        lines += run[-1:] if run[-2] is lines[-1] else []
    return lines


def _of_a_key(mark: _Piece) -> bool:
    """Whether a BEGIN or END line belongs to a private key, or is cut off before that shows."""
    return _KEY in mark["what"] or (
        mark.end() == len(mark.string) and not mark.group().endswith("-")
    )


def _is_line(text: str) -> bool:
    """Whether a word looks like one or several full lines of a key, not like a digest or a path."""
    return len(text) >= _LINE and text.lower() != text != text.upper() and is_random(text)


WINDOW = 8
"""Characters by which a long value is found, wherever it was cut."""
_LONG = 16
_SHORTEST_PIECE = 5
_SHORTEST_SQUEEZED = 6
_SHORTEST_ADDRESS = 10  # that is cut off right after its @
_SHORTEST_PART = 7
_MONOTONOUS = 3
_SECRET_IN_WINDOW = 4
SHORTEST_KNOWN = 3
_WORDS = lazy_pattern(r"(?:[A-Z]?[a-z]*|[A-Z]+)(?:[._/-](?:[A-Z]?[a-z]*|[A-Z]+))+")
_WORD = lazy_pattern(r"[A-Z]?[a-z]+")
_SCHEME = lazy_pattern(r"[A-Za-z][A-Za-z0-9+.-]{0,20}://")


class KnownValue(msgspec.Struct, frozen=True):
    """A value to remove.

    ``rule`` is its name in reports, ``placeholder`` its replacement in structured records. The
    first ``public`` characters are not secret.
    ``pieces`` is None to let the value's entropy decide. ``word`` values are removed only where no
    letter or digit touches them; ``named`` ones, in addition, only where the text around them
    refers to a user or a host. ``learnt`` ones were found
    by a rule, which may have included a file name beside them: pieces that look like a file name
    are not used.
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
    """The newly learnt values, strings to find in squeezed text, and words (canonical)."""

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
        """Remember a value; False when it is already known, or too short to distinguish.

        A known value counts as new when its ``pieces`` are only now switched on.
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
        """Add values; return the new ones."""
        self._index()
        added = [value for value in values if self.add(value)]
        words = len(self._words)
        pieces = self._index()
        return Lesson(added, pieces, list(self._words)[words:])

    def only(self, lesson: Lesson) -> KnownValues:
        """The new part of a lesson, for texts that were searched for all earlier values."""
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
                # It was new, or part of this value's continuation: then the longer one is found.
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
            if last is not None and first < end:  # it continues the previous find
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
    """A hit without half a character at its ends: another character may share some bytes."""
    while start < end and "\x80" <= text[start] <= "\xbf":
        start += 1
    while end > start and "\x80" <= text[end : end + 1] <= "\xbf":
        end -= 1
    return Hit(start, end, value)


def _windows(value: KnownValue, squeezed: str) -> list[tuple[str, int]]:
    """The pieces to search for a value, with their offsets in it."""
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
    """Whether a piece of a rule's match reads as words.

    The rule may have mistaken a word of the next row for the end of a token. Directly after a
    public prefix comes the token itself, however it reads.
    """
    return (
        len(set(piece)) <= _MONOTONOUS
        or "://" in piece
        or (at >= public and _WORDS.fullmatch(piece) is not None)
        or (mixed and _WORD.fullmatch(piece) is not None)
    )


def _long_parts(value: KnownValue, squeezed: str) -> list[tuple[str, int]]:
    """The long parts of a value of words; the whole value if it was learnt."""
    size = -(-len(squeezed) * 3 // 5)
    if value.learnt or value.pieces is not None or size < _SHORTEST_PART:
        # So much of an address that the rest may have been cut off after it, for any host.
        begun = squeezed.find("@") + 2
        return [(squeezed, 0), *([(squeezed[:begun], 0)] if begun >= _SHORTEST_ADDRESS else [])]
    return [(squeezed[at : at + size], at) for at in range(len(squeezed) - size + 1)]


def _agreed(text: str, at: int, whole: str, at_whole: int) -> int:
    """The length on which ``text`` from ``at`` on agrees with ``whole`` from ``at_whole`` on."""
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


# Decides which matches are scrubbed, and which of them are searched for everywhere.


_MOST_LEARNT = 20_000
_MOST_JUDGED = 8192
_MOST_KEPT = 8 << 20
"""Characters, a byte each."""
_LINE_OF_KEY = 16
_SHAPED = 16
# The remains of masks, plain or encoded, and the placeholders of secrets in JSON. Base64 decodes
# the remains of its own digits to C7 1C 71.
_MASKED = lazy_pattern(
    "[xX]{6,}|x{4,}(?:78)+|(?:78){4,}|(?:eHh4){3,}|(?:\xc7\x1cq){3,}|(?:=78?x{0,8}){2,}"
    "|[PBHQDY46]{12,}|[pbhqdy46]{12,}"
)
_BEGINS_MASKED = lazy_pattern(f"[xX]{{3,}}|{_MASKED.pattern}")
_FILLED = lazy_pattern(r"[xX0\s-]*|[xX]{1,5}0{2,}[0-9a-f]{1,6}")
_PLACEHOLDER = lazy_pattern("<[a-z][a-z-]*>|\\$(?:HOME|PWD)")
# Escapes of JSON, including control sequences, and the text between its strings.
_SYNTAX = lazy_pattern(
    r"\\u00[0-9A-Fa-f]{2}(?:\[[0-9;?]*[A-Za-z])?|\\+[bfnrt](?![A-Za-z])|\\*\"[\s:,]*|^[{\[]+"
)
_LEFT_OVER = 16
_LEFT_WORD = lazy_pattern("[A-Za-z0-9+_-]{8,}")
_BORDERS = "|\xe2\x94\x82\x83"
_SHORTEST_MASK = 6
_GENERATED = 10
_FEWEST_BYTES = 6
_NO_DIGIT = lazy_pattern("[^A-Za-z0-9+/=]")


class SearchedTexts:
    """The texts searched so far, each for the values known at that time.

    A rule may match only at the end of a session what was shown in pieces at its start. So the
    squeezed texts are kept, to see whether a value occurred before it was known. Only then is the
    session read once more. A long session has too many texts to keep: then the answer is yes.

    All values that were learnt since the last time are looked for at once: a look at all texts
    takes as long for a thousand values as for one.
    """

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._length = 0
        self._asked: dict[str, int] = {}
        self._held = False

    def add(self, text: str) -> None:
        """Keep a squeezed text, while there is room."""
        if self._length > _MOST_KEPT:
            return
        if self._length + len(text) > _MOST_KEPT:
            self.held()  # while they can still be searched
            self._texts.clear()
        else:
            self._texts.append(text)
        self._length += len(text)

    def ask(self, lesson: Lesson, *, but_last: int = 0) -> None:
        """Look for the parts of ``lesson`` in what was searched so far.

        The last ``but_last`` texts are left out: they were searched again.
        """
        before = len(self._texts) - but_last if self._length <= _MOST_KEPT else 1
        for part in chain(lesson.pieces, lesson.words):
            if before > 0:
                self._asked[part] = max(before, self._asked.get(part, 0))

    def held(self) -> bool:
        """Whether a part of a lesson occurs in a text that was searched before it was learnt."""
        asked, self._asked = self._asked, {}
        if not self._held and asked:
            self._held = self._length > _MOST_KEPT or self._one_held(asked)
        return self._held

    def _one_held(self, asked: dict[str, int]) -> bool:
        pieces = Pieces(asked)
        for number, text in enumerate(self._texts[: max(asked.values())]):
            for start, minus_length in pieces.find(text):
                if asked[text[start : start - minus_length]] > number:
                    return True
        return False

    @property
    def count(self) -> int:
        """How many texts there are."""
        return len(self._texts)


class Learner:
    """Judges the matches of rules, and learns from them.

    Args:
        preserved: values that are not scrubbed, on purpose.
    """

    def __init__(self, *, preserved: Iterable[str] = ()) -> None:
        self._preserved = {canonical(value) for value in preserved}
        self._learnt = KnownValues()
        self._new: list[KnownValue] = []
        self._judged: dict[tuple[str, str], bool] = {}

    def spare(self, value: str) -> None:
        """Leave a value alone from now on, even if rules match it."""
        self._preserved.add(canonical(value))

    def takes(self, rule: Rule, value: str) -> bool:
        """Whether a match (canonical) is to be scrubbed. If so, it is learnt.

        A value that matches many times is judged once.
        """
        judged = self._judged.get((rule.pattern, value))
        if judged is None:
            judged = self._counts(rule, value)
            if judged and rule.learn and rule.kind != "volatile":
                self._learn(rule, value)
            if len(self._judged) >= _MOST_JUDGED:
                self._judged.clear()
            self._judged[rule.pattern, value] = judged
        return judged

    def take_new(self) -> list[KnownValue]:
        """The values learnt since the last call."""
        new, self._new = self._new, []
        return new

    def _counts(self, rule: Rule, value: str) -> bool:
        """Whether to scrub a match: it is neither preserved nor a mask."""
        if value in self._preserved or _PLACEHOLDER.match(value):
            return False
        filled = _FILLED.fullmatch(value, rule.public)
        if filled or mask(value, VOLATILE if rule.kind == "volatile" else TEXT) == value:
            return False
        masked = _BEGINS_MASKED.match(value, rule.public)
        if masked is not None:
            return _begins_with_x(masked, value)
        rest = _MASKED.sub(" ", value)
        if rest == value:
            return True
        if _of_lines(rule):  # text beside them in other columns is not part of them
            return any(len(word) >= _LEFT_OVER for word in rest.split())
        # The dashes belong to an END line that is not complete yet. A URL with a masked password
        # still has words.
        return len(squeeze(rest).strip("-")) >= _LEFT_OVER and (
            rule.accept is None or any(map(_generated, _LEFT_WORD.findall(rest)))
        )

    def _learn(self, rule: Rule, value: str) -> None:
        """Search for a match from now on. A key is searched line by line."""
        of_key = _of_lines(rule)
        if of_key:
            lines = [word.strip(_BORDERS) for word in value.split()]
        elif _SYNTAX.search(value):  # which is everywhere, and no secret
            lines = [part for part in _SYNTAX.split(value) if is_random(part)]
        else:
            lines = [value]
        for line in lines:
            word = line.isalpha() and line.islower() and len(line) < _LINE_OF_KEY
            if (
                (of_key and len(_NO_DIGIT.sub("", line)) < _LINE_OF_KEY)
                # Texts use a word without meaning this one.
                or (word and not spelt_by_chance(line))
                # Some bytes occur in many places.
                or (not line.isascii() and len(squeeze(line)) < _FEWEST_BYTES)
            ):
                continue
            name, placeholder, pieces = rule.name, rule.placeholder, _shaped(rule, line)
            known = KnownValue(
                plain(line), name, placeholder, public=rule.public, pieces=pieces, learnt=True
            )
            if len(self._learnt) < _MOST_LEARNT and self._learnt.add(known):
                self._new.append(known)


def _generated(word: str) -> bool:
    """Whether a word next to a mask may be the rest of the secret."""
    return is_random(word) or (word.isalpha() and spelt_by_chance(word))


def _begins_with_x(masked: re.Match[str], value: str) -> bool:
    """Whether a value begins with ``x`` but is no mask: few of them, then random text."""
    rest = value[masked.end() :]
    few = len(masked.group()) < _SHORTEST_MASK and len(rest) >= _GENERATED
    return few and is_random(rest) and "xxx" not in rest.lower()


def _of_lines(rule: Rule) -> bool:
    """Whether a rule finds the lines of a key file."""
    return "PRIVATE" in rule.name.upper()


def _shaped(rule: Rule, value: str) -> bool | None:
    """Whether pieces of a match identify it: yes for a token of a known shape, else it depends.

    Pieces of an address never do: they are words.
    """
    if "@" in value and rule.kind == "identity":
        return False
    return True if rule.kind == "secret" and rule.public and len(value) >= _SHAPED else None


# Finds everything to be removed from one text: by rules and known values, decoded text too.


_DEPTH = 4
"""JSON in JSON in a body, of which a string is encoded. What a terminal shows does not count."""
_PREFIX = 3
"""A token that begins with so many fixed characters is told from words by them."""

_LONGEST_REMEMBERED = 1 << 12
_MOST_REMEMBERED = 2 << 20
"""Characters of texts whose matches are remembered."""
_OF_AN_ENTRY = 64
_SEVERAL = ("passwords", "secrets", "tokens", "keys", "passphrases", "credentials")
_PARTS_MEET = lazy_pattern(r"(?<=[a-z0-9])(?=[A-Z])|[./:\s-]+")
_GENERATED_SEARCHER = lazy_pattern(r"[A-Za-z0-9+/=_.~-]+")
_BASES = (BASE64, BASE32)
_AMID_BASES = frozenset({ESCAPED, QUOTED})

_ToSource = Callable[[int, int], tuple[tuple[int, int], ...]]
_FormAt = Callable[[int], str]


class Match(msgspec.Struct, frozen=True):
    """Stretches of a text to be masked in ``form``, because of ``rule``.

    ``value`` is the decoded match of a rule; "" for a known value.
    """

    stretches: tuple[tuple[int, int], ...]
    form: str
    rule: str
    placeholder: str
    value: str = ""


@lru_cache(4096)
def _tells(name: str, is_number: bool) -> bool:  # noqa: FBT001
    """Whether a name may declare its value secret; counts of tokens are numbers, not secrets."""
    return declares_a_secret(name) if is_number else secret_name(name)


def _one_of(name: str) -> str:
    """A name as rules read it: in the singular (``passwords``), split into its parts."""
    one = name.removesuffix("s") if name.lower().endswith(_SEVERAL) else name
    return _PARTS_MEET.sub("_", one)


def _is_generated(value: str) -> bool:
    return _GENERATED_SEARCHER.fullmatch(value) is not None and looks_generated(value)


@lru_cache(4096)
def _telling(names: Names, is_number: bool) -> tuple[tuple[str, bool], ...]:  # noqa: FBT001
    """The names that may declare a value; True for those that declare only generated text."""
    own, *others = names.own
    found = [(own, False)] if _tells(own, is_number) else []
    found += [(_one_of(name), False) for name in others if _declares(_one_of(name))]
    for name in () if is_number else (own, *names.above):
        one = _one_of(name)
        if _declares(one) and (name is not own or one != own):
            found.append((one, not name.lower().endswith("passwords")))
    return tuple(found)


def _declares(name: str) -> bool:
    return declares_a_secret(name) and not is_public_name(name)


class _Text(NamedTuple):
    """A text to search: how often it was decoded, and how to map it back to its source.

    ``itself`` is False for what a terminal would show of another text.
    """

    text: str
    form_at: _FormAt = lambda _: TEXT
    to_source: _ToSource = lambda start, end: ((start, end),)
    depth: int = 0
    itself: bool = True

    def decoded(self, inner: Decoded) -> _Text:
        form_at = partial(_form_at, self.form_at, inner) if self.depth else inner.form_at

        def to_source(start: int, end: int) -> tuple[tuple[int, int], ...]:
            parts = inner.sources(start, end)
            return tuple(stretch for part in parts for stretch in self.to_source(*part))

        return _Text(inner.text, form_at, to_source, self.depth + 1)

    def shown(self, view: View) -> _Text:
        def to_source(start: int, end: int) -> tuple[tuple[int, int], ...]:
            parts = _put_together(view, start, end)
            return tuple(stretch for part in parts for stretch in self.to_source(*part))

        def form_at(start: int) -> str:
            return self.form_at(view.offset(start, start + 1) or 0)

        return _Text(view.text, form_at, to_source, self.depth, itself=False)


class Searcher:
    """Searches texts; learns the values that rules find.

    Args:
        rules: what to look for by shape.
        known: the values to look for; grows with what rules find.
        learner: judges the matches of rules.

    Attributes:
        past: the texts that were searched, to see whether one of them holds a value that
            was learnt late.
    """

    def __init__(
        self,
        *,
        rules: RuleSet,
        known: KnownValues,
        learner: Learner | None = None,
    ) -> None:
        self.rules = rules
        self.known = known
        self.past: SearchedTexts | None = None
        self._learner = learner or Learner()
        self._key_lines = KeyLines(rules.rules)
        self._remembered: dict[str, tuple[Match, ...]] = {}
        self._read: dict[str, list[tuple[_Text, str]]] = {}
        self._remembered_for: object = None
        self._room = 0

    def another(self) -> Searcher:
        """A searcher with the same knowledge, for other texts."""
        return Searcher(rules=self.rules, known=self.known, learner=self._learner)

    def spare(self, value: str) -> None:
        """Leave a value alone from now on, unless it is known to be secret."""
        self._learner.spare(value)

    def adopt(self) -> Lesson | None:
        """Add the learnt values to the known ones; return the new ones, or None."""
        new = self._learner.take_new()
        lesson = self.known.learn(new) if new else None
        return lesson if lesson is not None and lesson.values else None

    @contextmanager
    def knowing_only(self, lesson: Lesson) -> Iterator[None]:
        """A searcher for this lesson alone, for texts that were searched for all else."""
        known, self.known = self.known, self.known.only(lesson)
        past, self.past = self.past, None
        try:
            yield
        finally:
            self.known, self.past = known, past

    def search(
        self,
        text: str,
        *,
        for_known: bool = True,
        source: Hashable = None,
        shown: bool = False,
        borders: Sequence[int] = (),
    ) -> Iterator[Match]:
        """Everything in canonical ``text`` that must be removed.

        First come the matches of rules, also in decoded text, then known values. Texts with
        the same ``source`` continue each other. Decoded text is also read as a terminal would show
        it: without colours, row by row. Set ``shown`` if ``text`` has already been read in this
        way. Only tokens of a known shape cross ``borders`` (see ``View``).

        Short texts without a source repeat often (keys and types of events): they are searched once
        for all known values.
        """
        remembered = source is None and not (shown or borders)
        if remembered and len(text) <= _LONGEST_REMEMBERED:
            return iter(self._once(text))
        return self._search(text, for_known=for_known, source=source, shown=shown, borders=borders)

    def search_again(
        self, text: str, *, shown: bool = False, by_rules: bool = False
    ) -> Iterator[Match]:
        """Find known values in a text with a source that was searched before, or only by rules.

        ``by_rules`` applies rules to the encoded texts in which known values are found.
        """
        read = self._read.get(text)
        for one, squeezed in self._squeezed(text, shown=shown) if read is None else read:
            yield from self._known(one, squeezed, by_rules=by_rules)

    def forget_texts(self) -> None:
        """Forget how the texts with a source read: they are not searched again."""
        self._read.clear()

    def each(self, texts: Iterable[str]) -> Iterator[Match]:
        """Everything in several texts that must be removed; they need not be canonical.

        As ``search`` without a source, for texts of which most come again and again.
        """
        remembered = self._for_what_is_known()
        for text in texts:
            matches = remembered.get(text) if text.isascii() else None
            if matches is None:
                yield from self.search(canonical(text))
                remembered = self._for_what_is_known()
            else:
                yield from matches

    def _for_what_is_known(self) -> dict[str, tuple[Match, ...]]:
        """The matches of texts with the values known now."""
        knows = (self.known, self.known.version, self._key_lines.version)
        if self._remembered_for != knows:
            self._remembered.clear()
            self._remembered_for, self._room = knows, _MOST_REMEMBERED
        return self._remembered

    def search_member(self, names: Names, value: str | int) -> Iterator[Match]:
        """The parts of a JSON value that are secret because of the names around it.

        Places are offsets in the canonical text of the value, or in the digits of a number. A name
        above a whole object declares only its generated-looking values as secret: the object may
        also hold types, dates and descriptions.
        """
        for name, only_generated in _telling(names, isinstance(value, int)):
            if not only_generated or _is_generated(str(value)):
                yield from self._search_named(name, value)

    def _search_named(self, name: str, value: str | int) -> Iterator[Match]:
        """The parts of a value that one name declares secret."""
        text = canonical(str(value))
        written = canonical(json.dumps(value, ensure_ascii=False))
        quote = int(isinstance(value, str))
        before = canonical(json.dumps(name, ensure_ascii=False)) + ": "
        first, last = len(before) + quote, len(before) + len(written) - quote
        for match in self.search(before + written):
            within = tuple(
                (max(start, first) - first, min(end, last) - first)
                for start, end in match.stretches
                if start < last and end > first
            )
            if within and written[quote : len(written) - quote] != text:  # escapes
                within = ((0, len(text)),)
            if within and text:
                yield msgspec.structs.replace(match, stretches=within)

    def _once(self, text: str) -> tuple[Match, ...]:
        """The matches in an independent text, found once for all known values."""
        matches = self._for_what_is_known().get(text)
        if matches is None:
            if self._room < len(text):
                self._remembered.clear()
                self._room = _MOST_REMEMBERED
            matches = tuple(self._search(text))
            self._remembered[text] = matches
            self._room -= len(text) + _OF_AN_ENTRY
        return matches

    def _search(
        self,
        text: str,
        *,
        for_known: bool = True,
        source: Hashable = None,
        shown: bool = False,
        borders: Sequence[int] = (),
    ) -> Iterator[Match]:
        read: list[tuple[_Text, str]] = []
        for one, squeezed in self._squeezed(text, shown=shown):
            read.append((one, squeezed))
            yield from self._by_rules(one, source, borders)
            if one.depth or not shown:
                yield from self._across_lines(one)
        if source is not None:
            self._read[text] = read
        for one, squeezed in read if for_known else ():
            yield from self._known(one, squeezed, by_rules=True)

    def _squeezed(self, text: str, *, shown: bool) -> Iterator[tuple[_Text, str]]:
        """A text, and those decoded from it, each with its squeezed form."""
        for one in self._texts(_Text(text), shown=shown):
            yield one, squeeze(one.text)

    def search_joined(self, view: JoinedLines) -> Iterator[Match]:
        """Matches of rules across the ends of lines."""
        for found in self.rules.find(view.text):
            rule, start = found.rule, found.start
            shaped = rule.public >= _PREFIX
            end = view.clipped(start, found.end, shaped=shaped, whole=rule.whole)
            value = view.text[start:end]
            if end and self._learner.takes(rule, value):
                yield Match(((start, end),), TEXT, rule.name, rule.placeholder, value)

    def _across_lines(self, one: _Text) -> Iterator[Match]:
        """Matches of rules across the ends of lines of a text."""
        if "\n" not in one.text:
            return
        cols = max(map(len, one.text.split("\n")))
        joined = joined_lines(lines_of(one.text), min(cols, WIDEST))
        if joined is None:
            return
        for match in self.search_joined(joined):
            [(start, end)] = match.stretches
            parts = _put_together(joined, start, end)
            sources = tuple(chain.from_iterable(one.to_source(*part) for part in parts))
            yield msgspec.structs.replace(match, stretches=sources, form=one.form_at(parts[0][0]))

    def _texts(self, one: _Text, *, shown: bool = False) -> Iterator[_Text]:
        """A text, its form on a terminal, and the texts decoded from these, in turn."""
        texts = [one]
        if not shown:
            texts += map(one.shown, shown_views(one.text))
            texts += [text.shown(view) for text in texts for view in pane_views(text.text)]
        for text in texts:
            yield text
            for decoded in decoded_views(text.text) if text.depth < _DEPTH else ():
                yield from self._texts(text.decoded(decoded))

    def _by_rules(
        self, one: _Text, source: Hashable = None, borders: Sequence[int] = ()
    ) -> Iterator[Match]:
        """The matches of rules in a text that are to be scrubbed."""
        text, form_at, to_source, depth, itself = one
        # Only texts decoded from base64 continue each other, not texts that contain base64.
        plainly = (depth == 0 and itself) or (text != "" and form_at(0).startswith(BASE64))
        shown = (source, depth > 0) if source is not None and plainly else None
        lines = self._key_lines.find(text, shown)
        for found in chain(self.rules.find(text, loose=depth > 0), lines):
            value = text[found.start : found.end]
            if borders and found.rule.public < _PREFIX:
                stretches = to_source(found.start, found.end)
                at = bisect_right(borders, stretches[0][0])
                if at < len(borders) and borders[at] < stretches[-1][1]:
                    continue
            if not self._learner.takes(found.rule, value):
                continue
            self._key_lines.took(found.rule, value)
            form = form_at(found.start)
            shape = VOLATILE if found.rule.kind == "volatile" and form == TEXT else form
            stretches = to_source(found.start, found.end)
            yield Match(stretches, shape, found.rule.name, found.rule.placeholder, value)

    def _known(self, one: _Text, squeezed: str, *, by_rules: bool) -> Iterator[Match]:
        """Known values in a text, and everything in the encoded stretches that they lead to."""
        if self.past is not None:
            self.past.add(squeezed)
        yield from self._known_in(one, squeezed)
        for decoded in self.known.sought.views(one.text) if one.depth < _DEPTH else ():
            for inner in self._texts(one.decoded(decoded)):
                if by_rules:
                    yield from self._by_rules(inner)
                yield from self._known(inner, squeeze(inner.text), by_rules=by_rules)

    def _known_in(self, one: _Text, squeezed: str) -> Iterator[Match]:
        text, form_at, to_source, depth, _ = one
        words = [(hit, [(hit.start, hit.end)]) for hit in self.known.in_plain(text)]
        hits = self.known.in_squeezed(squeezed)
        torn = zip(hits, spread(text, [(hit.start, hit.end) for hit in hits]), strict=True)
        for hit, parts in chain(words, torn):
            if len(parts) > 1 and text[parts[0][0] : parts[-1][1]] in canonical(hit.value.text):
                parts = [(parts[0][0], parts[-1][1])]  # noqa: PLW2901 - it has quotes of its own
            # Each part of a decoded text may have its own form.
            for group in [[part] for part in parts] if depth else [parts] if parts else []:
                sources = tuple(chain.from_iterable(to_source(*part) for part in group))
                form = form_at(group[0][0])
                yield Match(sources, form, hit.value.rule, hit.value.placeholder)


def _put_together(view: View, start: int, end: int) -> list[tuple[int, int]]:
    """The stretches of the channel behind a stretch of a view."""
    stretches: list[tuple[int, int]] = []
    for _, length, offset in view.pieces(start, end):
        if stretches and stretches[-1][1] == offset:
            stretches[-1] = (stretches[-1][0], offset + length)
        else:
            stretches.append((offset, offset + length))
    return stretches


def _form_at(outer: _FormAt, inner: Decoded, start: int) -> str:
    """The form of a text decoded from a decoded text: the one nearest to the bytes.

    In base64 with a few escapes, the other characters stay base64. Joining parts is not a form.
    """
    form, own = outer(inner.source(start, start + 1)[0]), inner.form_at(start)
    if form == TEXT:
        return own
    return own + form if form in _AMID_BASES and own.startswith(_BASES) else form
