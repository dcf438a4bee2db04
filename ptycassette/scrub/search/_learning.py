"""Decides which matches are scrubbed, and which of them are searched for everywhere.

A match counts unless it is preserved or is a mask already. A match that counts is learnt: it is
removed also where no rule would find it. Words are not learnt, because other texts may use them
with another meaning.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import chain

from ptycassette.model.lazy_regex import lazy_pattern
from ptycassette.scrub._mask import TEXT, VOLATILE, mask
from ptycassette.scrub.match import Pieces, canonical, plain, squeeze
from ptycassette.scrub.rules._rule_set import Rule
from ptycassette.scrub.rules._spelling import spelt_by_chance
from ptycassette.scrub.rules._values import is_random
from ptycassette.scrub.search._known import KnownValue, KnownValues, Lesson

_MOST_LEARNT = 20_000
_MOST_JUDGED = 8192
_MOST_KEPT = 8 << 20
"""Characters, a byte each."""
_LINE_OF_KEY = 16
_SHAPED = 16
# What masks leave behind, as it is or in an encoding, and what stands for a secret in JSON.
# Base64 reads what is left of its own digits as C7 1C 71.
_MASKED = lazy_pattern(
    "[xX]{6,}|x{4,}(?:78)+|(?:78){4,}|(?:eHh4){3,}|(?:\xc7\x1cq){3,}|(?:=78?x{0,8}){2,}"
    "|[PBHQDY46]{12,}|[pbhqdy46]{12,}"
)
_BEGINS_MASKED = lazy_pattern(f"[xX]{{3,}}|{_MASKED.pattern}")
_FILLED = lazy_pattern(r"[xX0\s-]*|[xX]{1,5}0{2,}[0-9a-f]{1,6}")
_PLACEHOLDER = lazy_pattern("<[a-z][a-z-]*>|\\$(?:HOME|PWD)")
# Escapes of JSON, control sequences among them, and what stands between its strings.
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
        """Let a value stand from now on, whatever rules say of it."""
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
        """What was learnt since the last call."""
        new, self._new = self._new, []
        return new

    def _counts(self, rule: Rule, value: str) -> bool:
        """Whether a match is to be scrubbed: it is neither preserved nor a mask."""
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
            rule.accept is None or any(map(_generated, _LEFT_WORD.findall(rest)))
        )

    def _learn(self, rule: Rule, value: str) -> None:
        """Search for a match from now on. A key is searched for line by line."""
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
                # Some bytes stand in many places.
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
    """Whether a value begins with ``x`` and is no mask: few of them, then random text."""
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
