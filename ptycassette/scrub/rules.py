"""What a rule is, and how many rules search one text at once.

A rule has *anchors*, fixed strings of which one stands in every match, and a
pattern that is tried around each anchor found. All anchors of all rules are
found in one pass, so that rules cost next to nothing where there is nothing to
find. A rule without anchors is searched everywhere (RE2 when installed).
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Literal

import msgspec

from ptycassette.scrub.known import is_random
from ptycassette.scrub.literals import literal_finder
from ptycassette.scrub.patterns import Pattern

__all__ = ["Declined", "Found", "Rule", "RuleSet"]

Kind = Literal["secret", "identity", "volatile"]


_LONG_PREFIX = 4
_MOST_JUDGED = 8192
_LONGEST_JUDGED = 520
_MOST_DECLINED = 1 << 14
_GAP_BEGINS = frozenset(("\xe2\x80", "..", "**"))
_TAIL = re.compile(r"(?:\xe2\x80\xa6|\.{2,}|\*{2,})([A-Za-z0-9+/_=-]{8,256})")


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """One rule.

    Attributes:
        name: as reports show it.
        pattern: over canonical text; the group ``s``, if there is one, is what is scrubbed.
        anchors: lower-case strings of which one is in every match; case is ignored.
        kind: ``secret`` and ``identity`` are scrubbed, ``volatile`` on demand.
        placeholder: what stands for a match in structured records.
        lead: how many characters before the anchor a match may begin.
        reach: how many characters after the beginning of the anchor it may end.
        edge: letters, digits and ``_`` may not touch the match on the left.
        learn: a match is a value to remove wherever it, or a piece of it, occurs.
        public: how much of the match's beginning is no secret.
        until: a pattern that ends what would be scrubbed, where rows were joined.
        accept: a last look at what would be scrubbed; False lets it stand. Asked once for a text.
    """

    name: str
    pattern: str
    anchors: tuple[str, ...] = ()
    kind: Kind = "secret"
    placeholder: str = "<secret>"
    lead: int = 0
    reach: int = 400
    edge: bool = True
    learn: bool = True
    public: int = 0
    until: str = ""
    accept: Callable[[str], bool] | None = None


class Found(msgspec.Struct, frozen=True):
    """Characters ``start`` to ``end`` match ``rule``."""

    start: int
    end: int
    rule: Rule


class Declined:
    """What rules matched and was judged to be no value, whole.

    A row that cuts it, and a look at the screen before it is written to its end, show its
    beginning alone, which may look otherwise.
    """

    def __init__(self) -> None:
        self._texts: set[tuple[str, str]] = set()
        self._order: list[tuple[str, str]] = []

    def add(self, rule: Rule, text: str) -> None:
        """Remember a text; some thousands of them."""
        if len(self._texts) < _MOST_DECLINED:
            self._texts.add((rule.name, text))

    def clear(self) -> None:
        """Forget all."""
        self._texts.clear()
        self._order = []

    def begins(self, rule: str, text: str) -> bool:
        """Whether ``text`` is the beginning of more that was declined for the rule of this name."""
        if len(self._order) != len(self._texts):
            self._order = sorted(self._texts)
        at = bisect_right(self._order, (rule, text))
        return at < len(self._order) and (
            self._order[at][0] == rule and self._order[at][1].startswith(text)
        )


class _Anchored:
    """A rule that is tried around its anchors."""

    def __init__(self, rule: Rule, declined: Declined) -> None:
        self.rule = rule
        self._pattern = re.compile(rule.pattern, re.ASCII)
        self._group = "s" if "s" in self._pattern.groupindex else 0
        self._taken = _Taken(rule, declined)

    def at(self, text: str, at: int, *, loose: bool = False) -> Found | None:
        """The match that begins with the anchor at ``at``."""
        match = self._pattern.match(text, at, min(len(text), at + self.rule.reach))
        return None if match is None else self._found(match, text, loose=loose)

    def around(self, text: str, anchors: Sequence[int], *, loose: bool = False) -> Iterator[Found]:
        """The matches that hold anchors, which stand at these (ascending) places.

        What is around anchors that stand close together is looked at once.
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
        return self._taken.of(text, *match.span(self._group))


class _Everywhere:
    """A rule without anchors."""

    def __init__(self, rule: Rule, declined: Declined, *, fast: bool | None) -> None:
        self.rule = rule
        self._pattern = Pattern(rule.pattern, fast=fast)
        self._group = "s" if "s" in self._pattern.groups else None
        self._taken = _Taken(rule, declined)

    def find(self, text: str) -> list[Found]:
        """All matches."""
        rule = self.rule
        found = [
            self._taken.of(text, start, end)
            for first, start, end in self._pattern.matches(text, group=self._group)
            if not (rule.edge and _touches(text, first))
        ]
        return [hit for hit in found if hit is not None]


class _Taken:
    """What a match of a rule takes. Most values come many times and are judged once."""

    def __init__(self, rule: Rule, declined: Declined) -> None:
        self._rule = rule
        self._declined = declined
        self._accept = rule.accept
        self._until = re.compile("[\x00\x1b]" + (rule.until and f"|{rule.until}")).search
        self._judged = lru_cache(maxsize=_MOST_JUDGED)(self._judge)

    def of(self, text: str, start: int, end: int) -> Found | None:
        """No value goes on behind ESC, where a key or a sequence begins, nor behind NUL."""
        short = end - start <= _LONGEST_JUDGED
        length = (self._judged if short else self._judge)(text[start:end])
        if length:
            return Found(start, start + length, self._rule)
        if short:
            self._declined.add(self._rule, text[start:end])
        return None

    def _judge(self, value: str) -> int:
        """How many characters of ``value`` are taken."""
        over = self._until(value)
        if over is not None:
            value = value[: over.start()]
        return len(value) if not self._accept or (value and self._accept(value)) else 0


def _touches(text: str, start: int) -> bool:
    """Whether a letter, digit or underscore stands right before ``start``."""
    before = text[start - 1 : start]
    return bool(before) and before.isascii() and (before.isalnum() or before == "_")


def _behind_gap(text: str, hit: Found) -> Found | None:
    """The end of a secret of which the middle was left out, right behind its beginning."""
    if text[hit.end : hit.end + 2] not in _GAP_BEGINS or hit.rule.kind != "secret":
        return None
    tail = _TAIL.match(text, hit.end)
    return Found(tail.start(1), tail.end(), hit.rule) if tail and is_random(tail[1]) else None


class RuleSet:
    """Many rules over one text.

    Args:
        rules: names are distinct.
        fast: as for ``literal_finder``.

    Attributes:
        declined: what matched and was let stand.
    """

    def __init__(self, rules: Iterable[Rule], *, fast: bool | None = None) -> None:
        self.rules = tuple(rules)
        self.declined = Declined()
        by_anchor: dict[str, list[_Anchored]] = {}
        self._everywhere = []
        for rule in self.rules:
            if not rule.anchors:
                self._everywhere.append(_Everywhere(rule, self.declined, fast=fast))
                continue
            anchored = _Anchored(rule, self.declined)
            for anchor in rule.anchors:
                by_anchor.setdefault(anchor, []).append(anchored)
        self._by_anchor = tuple(by_anchor.values())
        self._finder = literal_finder(by_anchor, fast=fast)

    def find(self, text: str, *, loose: bool = False) -> list[Found]:
        """All matches in canonical ``text``, in order; matches of several rules may overlap.

        ``loose`` lets anything stand before a token of a known prefix, as in decoded text,
        whose beginning is nobody's choice.
        """
        found: list[Found] = []
        ends: dict[str, int] = {}
        leading: dict[_Anchored, list[int]] = {}
        for at, index in self._finder.find(text.lower()):
            for anchored in self._by_anchor[index]:
                if anchored.rule.lead:
                    leading.setdefault(anchored, []).append(at)
                    continue
                if at < ends.get(anchored.rule.name, 0):
                    continue  # inside the last match of this rule
                hit = anchored.at(text, at, loose=loose)
                if hit is not None:
                    ends[hit.rule.name] = hit.end
                    found.append(hit)
        for anchored, anchors in leading.items():
            found.extend(anchored.around(text, anchors, loose=loose))
        for everywhere in self._everywhere:
            found.extend(everywhere.find(text))
        found += [tail for hit in found if (tail := _behind_gap(text, hit)) is not None]
        return sorted(found, key=lambda hit: (hit.start, -hit.end, hit.rule.name, -hit.rule.public))
