"""Which matches of rules are to be scrubbed, and which of these are looked for everywhere.

What a rule takes counts unless it is preserved or was scrubbed before. What counts is learnt,
so that it goes where no rule would tell, too, unless other texts may use it without meaning
this value: words, and what the rows beside it on the screen glued to it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import msgspec

from ptycassette.scrub.canonical import canonical, plain, squeeze
from ptycassette.scrub.context_rules import NAMES
from ptycassette.scrub.known import WINDOW, KnownValue, KnownValues, is_random
from ptycassette.scrub.mask import TEXT, VOLATILE, mask
from ptycassette.scrub.rules import Rule
from ptycassette.scrub.spelling import spelt_by_chance

__all__ = ["Learner"]

_MOST_LEARNT = 20_000
_MOST_JUDGED = 8192
_LINE_OF_KEY = 16
_SHAPED = 16
# What masks leave behind, as it is or in an encoding, and what stands for a secret in JSON.
# Base64 reads what is left of its own digits as C7 1C 71.
_MASKED = re.compile(
    "[xX]{6,}|x{4,}(?:78)+|(?:78){4,}|(?:eHh4){3,}|(?:\xc7\x1cq){3,}|(?:=78?x{0,8}){2,}"
)
_BEGINS_MASKED = re.compile(f"[xX]{{3,}}|{_MASKED.pattern}")
# Or words that something joins; shorter ones are no piece of any value.
_LAST_WORD = re.compile(r"(?:[A-Za-z][a-z]{4,}|[A-Za-z]?[a-z]*(?:[._/-][A-Za-z]?[a-z]*)+)\Z")
_LONGEST_WORDS = 64
_NAME = re.compile(NAMES, re.ASCII)
_PLACEHOLDER = re.compile("<[a-z][a-z-]*>|\\$(?:HOME|PWD)")
_REST = re.compile("[A-Za-z0-9+/][A-Za-z0-9+/_-]{7,255}={0,2}")
_MOST_OF_RESTS = 1 << 15
_NO_LETTER = re.compile("[^A-Za-z]")
_OF_BASE64 = frozenset("+/")
_MOST_PAGES = 256
_LONG_TOKEN = 48
_LEFT_OVER = 16
_LEFT_WORD = re.compile("[A-Za-z0-9+_-]{8,}")
# Nothing but that and what parts rows; or with the offset of the next row of a dump behind it.
_BORDERS = "|\xe2\x94\x82\x83"
_PART_OF_KEY = 64
_NO_DIGIT = re.compile("[^A-Za-z0-9+/=]")
_OVERLAP = 16
_FILLED = re.compile(r"[xX0\s-]*|[xX]{1,5}0{2,}[0-9a-f]{1,6}")
_SHORTEST_MASK = 6
_GENERATED = 10
_FEWEST_BYTES = 6
_SHORTEST_HALF = 10


class Learner:
    """Judges what rules take, and learns from it.

    Args:
        preserved: values that stay, on purpose.
        fast: as for ``literal_finder``.
    """

    def __init__(self, *, preserved: Iterable[str] = (), fast: bool | None = None) -> None:
        self._preserved = frozenset(canonical(value) for value in preserved)
        self._learnt = KnownValues(fast=fast)
        self._new: list[KnownValue] = []
        self._rests = 0
        self._judged: dict[tuple[str, str], bool] = {}

    def takes(self, rule: Rule, value: str, *, decoded: bool) -> bool:
        """Whether a match (canonical) is to be scrubbed; it is learnt, then.

        Most come many times, and are judged once. ``decoded`` says that it was found in
        decoded text.
        """
        judged = self._judged.get((rule.pattern, value))
        if judged is None:
            judged = self._counts(rule, value)
            if judged:
                self._learn(rule, value, decoded=decoded)
            if len(self._judged) >= _MOST_JUDGED:
                self._judged.clear()
            self._judged[rule.pattern, value] = judged
        return judged

    def goes_on(self, value: KnownValue, text: str, end: int) -> None:
        """Learn the rest of a value that is found up to ``end`` of a (canonical) text.

        A page shows a long value up to its last row, the next page one row more, and so on.
        A short one that has a shape was whole, and what looks like a digest is no rest.
        """
        last = value.text[-WINDOW:]
        whole = not value.learnt or (value.public and len(value.text) < _LONG_TOKEN)
        if whole or not text.endswith(last, 0, end):
            return
        base64 = not _OF_BASE64.isdisjoint(value.text)
        for rest in _rests(text, end, base64=base64):
            more = msgspec.structs.replace(value, text=last + rest)
            last = rest[-WINDOW:]
            self._rests += len(rest)
            if self._rests > _MOST_OF_RESTS or not self._learnt.add(more):
                return
            self._new.append(more)

    def news(self) -> list[KnownValue]:
        """What was learnt since this was asked last."""
        if not self._new:
            return []
        new, self._new = self._new, []
        return new

    def _counts(self, rule: Rule, value: str) -> bool:
        """Whether a match is to be scrubbed: neither preserved nor scrubbed before."""
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
        if _of_lines(rule):  # what stands beside them in other columns is none of them
            return any(len(word) >= _LEFT_OVER for word in rest.split())
        # The dashes are those of an END line that is not whole yet. Of a URL, say, in which the
        # password is masked, there are words left.
        return len(squeeze(rest).strip("-")) >= _LEFT_OVER and (
            rule.accept is None or any(map(_may_be_left, _LEFT_WORD.findall(rest)))
        )

    def _learn(self, rule: Rule, value: str, *, decoded: bool) -> None:
        if not rule.learn or rule.kind == "volatile" or len(self._learnt) >= _MOST_LEARNT:
            return
        lines = list(_parts_of_key(value)) if _of_lines(rule) else [value]
        for line in lines:
            if self._begins_learnt(line, decoded=decoded):
                continue
            word = line.isalpha() and line.islower() and len(line) < _LINE_OF_KEY
            if word and not spelt_by_chance(line):
                continue  # texts use it without meaning this one
            if not line.isascii() and len(squeeze(line)) < _FEWEST_BYTES:
                continue  # some bytes, which stand in many places
            if len(line) >= _LINE_OF_KEY or not _of_lines(rule):
                value_of_line = KnownValue(
                    plain(line),
                    rule.name,
                    rule.placeholder,
                    public=rule.public,
                    pieces=_shaped(rule, line),
                    learnt=True,
                )
                for one in (value_of_line, *_halves(rule, line)):
                    if self._learnt.add(one):
                        self._new.append(one)

    def _begins_learnt(self, value: str, *, decoded: bool) -> bool:
        """Whether ``value`` is one that is learnt already, and a word that only stood behind it.

        On the screen the end of a line and the next one may look like one token. Where a sign
        of assignment was taken for an escape, the name of another value may follow, and that.
        """
        word = _LAST_WORD.search(value, max(0, len(value) - _LONGEST_WORDS))
        ends = [*range(word.start(), len(value))] if word is not None else []
        if decoded:
            ends += [name.start() for name in _NAME.finditer(value)]
        return any(plain(value[:at]) in self._learnt for at in ends)


def _rests(text: str, end: int, *, base64: bool) -> Iterator[str]:
    """What goes on at ``end``, and what goes on with that wherever it stands once more.

    A slash or a plus begins it only where the value has such, too.
    """
    rest = _REST.match(text, end)
    for _ in range(_MOST_PAGES):
        if rest is None or (text[rest.start()] in _OF_BASE64 and not base64):
            return
        shown = rest.group()
        if not _may_be_rest(shown):
            return
        yield shown
        at = text.find(shown, rest.end())
        rest = _REST.match(text, rest.end())
        while at >= 0 and rest is None:
            rest = _REST.match(text, at + len(shown))
            at = text.find(shown, at + 1)


def _may_be_rest(word: str) -> bool:
    """Whether a word right behind a value was generated with it. Names and digests were not."""
    if word.islower() or not is_random(word):
        return False
    letters = _NO_LETTER.sub("", word)
    return any(char.isdigit() for char in word) or spelt_by_chance(letters)


def _may_be_left(word: str) -> bool:
    """Whether a word beside what was masked may be the rest of it."""
    return is_random(word) or (word.isalpha() and spelt_by_chance(word))


def _begins_with_x(masked: re.Match[str], value: str) -> bool:
    """Whether a value only happens to begin as masks do: with few such letters, generated ones."""
    rest = value[masked.end() :]
    few = len(masked.group()) < _SHORTEST_MASK and len(rest) >= _GENERATED
    return few and is_random(rest) and "xxx" not in rest.lower()


def _parts_of_key(value: str) -> Iterator[str]:
    """The lines of a key without borders; of a word that rows were joined to, in parts.

    Such words grow with each repaint, and most of their parts stay. Each goes on some way into
    the next, so that no row is between two of them.
    """
    for line in value.split():
        word = line.strip(_BORDERS) or line
        if len(word) >= _LINE_OF_KEY > len(_NO_DIGIT.sub("", word)):
            continue  # a spinner, or what else was painted meanwhile
        for at in range(0, max(1, len(word) - _OVERLAP), _PART_OF_KEY):
            yield word[at : at + _PART_OF_KEY + _OVERLAP]


def _of_lines(rule: Rule) -> bool:
    """Whether what a rule finds are the lines of a key file."""
    return "PRIVATE" in rule.name.upper()


def _halves(rule: Rule, value: str) -> Iterator[KnownValue]:
    """The halves of an address that are made by nobody, of which less may be shown."""
    if rule.kind != "identity" or "@" not in value:
        return
    local, _, host = value.rpartition("@")
    for half, pieces in ((local, True), (host, False)):
        if len(half) >= _SHORTEST_HALF and (is_random(half) or spelt_by_chance(half)):
            yield KnownValue(plain(half), rule.name, rule.placeholder, pieces=pieces)


def _shaped(rule: Rule, value: str) -> bool | None:
    """Whether pieces of a match identify it: yes for a token of a known shape, else it depends.

    Never those of an address: they are words.
    """
    if "@" in value and rule.kind == "identity":
        return False
    return True if rule.kind == "secret" and rule.public and len(value) >= _SHAPED else None
