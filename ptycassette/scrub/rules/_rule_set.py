"""Finds the matches of many rules in one text.

All anchors of all rules are searched for in one native pass (``Literals``), and a rule's
pattern is tried only around its anchors. So a rule costs next to nothing where it finds nothing:
its pattern is not even compiled before one of its anchors occurs. A rule without anchors, or by
somebody else, is searched everywhere, by RE2.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property, lru_cache

from ptycassette.scrub.match import Literals, Pattern
from ptycassette.scrub.rules._rule import Found, Rule
from ptycassette.scrub.rules._values import is_random

_LONG_PREFIX = 4
_MOST_JUDGED = 8192
_LONGEST_JUDGED = 520
_GAP_BEGINS = frozenset(("\xe2\x80", "..", "**"))
_TAIL = re.compile(r"(?:\xe2\x80\xa6|\.{2,}|\*{2,})([A-Za-z0-9+/_=-]{8,256})")


class _Judge:
    """Decides how much of a match is scrubbed. A value that comes often is judged once."""

    def __init__(self, rule: Rule) -> None:
        self._rule = rule
        self._until = re.compile("[\x00\x1b]" + (rule.until and f"|{rule.until}")).search
        self._judged = lru_cache(maxsize=_MOST_JUDGED)(self._judge)

    def found(self, text: str, start: int, end: int) -> Found | None:
        """The part of ``text[start:end]`` to be scrubbed; None if there is none."""
        short = end - start <= _LONGEST_JUDGED
        length = (self._judged if short else self._judge)(text[start:end])
        return Found(start, start + length, self._rule) if length else None

    def _judge(self, value: str) -> int:
        """How many characters of ``value`` are scrubbed.

        A value ends before ESC, where a key or a control sequence begins, and before NUL.
        """
        over = self._until(value)
        if over is not None:
            value = value[: over.start()]
        accept = self._rule.accept
        return len(value) if not accept or (value and accept(value)) else 0


class _Anchored:
    """A rule that is tried around its anchors."""

    def __init__(self, rule: Rule) -> None:
        self.rule = rule

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        return re.compile(self.rule.pattern, re.ASCII)

    @cached_property
    def _group(self) -> str | int:
        return "s" if "s" in self._pattern.groupindex else 0

    @cached_property
    def _judge(self) -> _Judge:
        return _Judge(self.rule)

    def at(self, text: str, at: int, *, loose: bool = False) -> Found | None:
        """The match that begins with the anchor at ``at``."""
        match = self._pattern.match(text, at, min(len(text), at + self.rule.reach))
        return None if match is None else self._found(match, text, loose=loose)

    def around(self, text: str, anchors: Sequence[int], *, loose: bool = False) -> Iterator[Found]:
        """The matches that contain one of the anchors at these (ascending) places.

        The text around anchors that are close together is searched once.
        """
        rule = self.rule
        number = 0
        while number < len(anchors):
            last = number
            while last + 1 < len(anchors) and anchors[last + 1] - anchors[last] < rule.reach:
                last += 1
            start, end = max(0, anchors[number] - rule.lead), anchors[last] + rule.reach
            for match in self._pattern.finditer(text, start, min(len(text), end)):
                held = bisect_left(anchors, match.start(), number, last + 1)
                if held <= last and anchors[held] < match.end():
                    found = self._found(match, text, loose=loose)
                    if found is not None:
                        yield found
            number = last + 1

    def _found(self, match: re.Match[str], text: str, *, loose: bool) -> Found | None:
        rule = self.rule
        edge = rule.edge and not (loose and rule.public >= _LONG_PREFIX)
        if edge and _touches(text, match.start()):
            return None
        return self._judge.found(text, *match.span(self._group))


class _Everywhere:
    """A rule without anchors, or one that RE2 searches in the whole text."""

    def __init__(self, rule: Rule) -> None:
        self.rule = rule
        self._pattern = Pattern(rule.pattern)
        self._judge = _Judge(rule)

    def find(self, text: str, lower: str) -> Iterator[Found]:
        """All matches."""
        anchors = self.rule.anchors
        if anchors and not any(anchor in lower for anchor in anchors):
            return
        for first, start, end in self._pattern.matches(text, group="s"):
            if not (self.rule.edge and _touches(text, first)):
                found = self._judge.found(text, start, end)
                if found is not None:
                    yield found


def _touches(text: str, start: int) -> bool:
    """Whether a letter, a digit or an underscore is right before ``start``."""
    before = text[start - 1 : start]
    return bool(before) and before.isascii() and (before.isalnum() or before == "_")


def _behind_gap(text: str, hit: Found) -> Found | None:
    """The end of an abbreviated secret, which follows its start and the dots."""
    if text[hit.end : hit.end + 2] not in _GAP_BEGINS or hit.rule.kind != "secret":
        return None
    tail = _TAIL.match(text, hit.end)
    return Found(tail.start(1), tail.end(), hit.rule) if tail and is_random(tail[1]) else None


class RuleSet:
    """Many rules, applied to one text after the other.

    Args:
        rules: any number. A wrong pattern raises when its anchor is first found, so check
            rules that somebody else wrote with ``Rule.check``.
    """

    def __init__(self, rules: Iterable[Rule]) -> None:
        self.rules = tuple(rules)
        by_anchor: dict[str, list[_Anchored]] = {}
        self._everywhere = []
        for rule in self.rules:
            if rule.linear or not rule.anchors:
                self._everywhere.append(_Everywhere(rule))
                continue
            anchored = _Anchored(rule)
            for anchor in rule.anchors:
                by_anchor.setdefault(anchor, []).append(anchored)
        self._by_anchor = by_anchor
        self._finder = Literals(by_anchor)

    def find(self, text: str, *, loose: bool = False) -> list[Found]:
        """All matches in canonical ``text``, in order. Matches of several rules may overlap.

        With ``loose``, any character may precede a token of a known prefix. That is for decoded
        text, where the character before a token is accidental.
        """
        found: list[Found] = []
        ends: dict[str, int] = {}
        leading: dict[_Anchored, list[int]] = {}
        lower = text.lower()
        for at, minus_length in self._finder.find(lower):
            for anchored in self._by_anchor[lower[at : at - minus_length]]:
                if anchored.rule.lead:
                    leading.setdefault(anchored, []).append(at)
                    continue
                if at < ends.get(anchored.rule.name, 0):
                    continue  # inside the last match of a rule of this name
                hit = anchored.at(text, at, loose=loose)
                if hit is not None:
                    ends[hit.rule.name] = hit.end
                    found.append(hit)
        for anchored, anchors in leading.items():
            found.extend(anchored.around(text, anchors, loose=loose))
        for everywhere in self._everywhere:
            found.extend(everywhere.find(text, lower))
        found += [tail for hit in found if (tail := _behind_gap(text, hit)) is not None]
        return sorted(found, key=lambda hit: (hit.start, -hit.end, hit.rule.name, -hit.rule.public))
