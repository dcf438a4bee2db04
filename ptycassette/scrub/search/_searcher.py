"""Finds everything to be removed from one text: by rules and known values, decoded text too."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import chain
from typing import NamedTuple

import msgspec

from ptycassette.scrub._mask import BASE64, ESCAPED, QUOTED, TEXT, VOLATILE
from ptycassette.scrub.decode import Decoded, decoded_views
from ptycassette.scrub.match import canonical, spread, squeeze
from ptycassette.scrub.rules import RuleSet
from ptycassette.scrub.search._key_lines import KeyLines
from ptycassette.scrub.search._known import KnownValue, KnownValues, Lesson
from ptycassette.scrub.search._learning import Learner, SearchedTexts
from ptycassette.scrub.views import JoinedLines

_DEPTH = 2
_PREFIX = 3
"""A token that begins with so many fixed characters is told from words by them."""

_LONGEST_REMEMBERED = 1 << 12
_MOST_REMEMBERED = 2 << 20
"""Characters of texts whose matches are remembered."""
_OF_AN_ENTRY = 64
_AMID_BASE64 = frozenset({ESCAPED, QUOTED})

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


class _Text(NamedTuple):
    """A text to search: how often it was decoded, and how to map it back to its source."""

    text: str
    form_at: _FormAt = lambda _: TEXT
    to_source: _ToSource = lambda start, end: ((start, end),)
    depth: int = 0

    def decoded(self, inner: Decoded) -> _Text:
        """A text that was decoded from this one."""
        form_at = partial(_form_at, self.form_at, inner) if self.depth else inner.form_at

        def to_source(start: int, end: int) -> tuple[tuple[int, int], ...]:
            parts = inner.sources(start, end)
            return tuple(stretch for part in parts for stretch in self.to_source(*part))

        return _Text(inner.text, form_at, to_source, self.depth + 1)


class Searcher:
    """Searches texts; learns the values that rules find.

    Args:
        rules: what to look for by shape.
        known: what to look for by value; grows with what rules find.
        learner: judges what rules find.

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
        self._remembered_for: object = None
        self._room = 0

    def another(self) -> Searcher:
        """A searcher with the same knowledge, for other texts."""
        return Searcher(rules=self.rules, known=self.known, learner=self._learner)

    def spare(self, value: str) -> None:
        """Let a value stand from now on, unless it is known to be secret."""
        self._learner.spare(value)

    def adopt(self) -> Lesson | None:
        """Add the learnt values to the known ones; returns what is new, None for nothing."""
        new = self._learner.take_new()
        lesson = self.known.learn(new) if new else None
        return lesson if lesson is not None and lesson.values else None

    @contextmanager
    def knowing_only(self, values: Iterable[KnownValue]) -> Iterator[None]:
        """A searcher for these values alone, for texts that were searched for all others."""
        known, self.known = self.known, KnownValues(values)
        past, self.past = self.past, None
        try:
            yield
        finally:
            self.known, self.past = known, past

    def search(
        self, text: str, *, by_rules: bool = True, source: Hashable = None
    ) -> Iterator[Match]:
        """Everything in canonical ``text`` that must be removed.

        First come the matches of rules, also in decoded text, then known values. Texts with
        the same ``source`` continue each other. Short texts without one come again and again (the
        keys of events, their types), and are searched once for all that is known.
        """
        if by_rules and source is None and len(text) <= _LONGEST_REMEMBERED:
            return iter(self._once(text))
        return self._search(text, by_rules=by_rules, source=source)

    def _once(self, text: str) -> tuple[Match, ...]:
        """The matches in a text that continues no other, found once for all that is known."""
        knows = (self.known, self.known.version, self._key_lines.version)
        if self._remembered_for != knows or self._room < len(text):
            self._remembered.clear()
            self._remembered_for, self._room = knows, _MOST_REMEMBERED
        matches = self._remembered.get(text)
        if matches is None:
            matches = tuple(self._search(text))
            self._remembered[text] = matches
            self._room -= len(text) + _OF_AN_ENTRY
        return matches

    def _search(
        self, text: str, *, by_rules: bool = True, source: Hashable = None
    ) -> Iterator[Match]:
        texts = []
        for one in self._texts(_Text(text)):
            texts.append(one)
            if by_rules:
                yield from self._by_rules(one, source)
        for one in texts:
            yield from self._known(one, by_rules=by_rules)

    def search_joined(self, view: JoinedLines) -> Iterator[Match]:
        """What rules find across the ends of lines."""
        for found in self.rules.find(view.text):
            rule, start = found.rule, found.start
            shaped = rule.public >= _PREFIX
            end = view.clipped(start, found.end, shaped=shaped, whole=rule.whole)
            value = view.text[start:end]
            if end and self._learner.takes(rule, value):
                yield Match(((start, end),), TEXT, rule.name, rule.placeholder, value)

    def _texts(self, one: _Text) -> Iterator[_Text]:
        """A text, the texts decoded from it, and those decoded from them."""
        yield one
        for decoded in decoded_views(one.text) if one.depth < _DEPTH else ():
            yield from self._texts(one.decoded(decoded))

    def _by_rules(self, one: _Text, source: Hashable = None) -> Iterator[Match]:
        """The matches of rules in a text that are to be scrubbed."""
        text, form_at, to_source, depth = one
        # Of decoded texts those go on in each other that were base64, not what holds such, too.
        plainly = depth == 0 or (text != "" and form_at(0).startswith(BASE64))
        shown = (source, depth > 0) if source is not None and plainly else None
        lines = self._key_lines.find(text, shown)
        for found in chain(self.rules.find(text, loose=depth > 0), lines):
            value = text[found.start : found.end]
            if not self._learner.takes(found.rule, value):
                continue
            self._key_lines.took(found.rule, value)
            form = form_at(found.start)
            shape = VOLATILE if found.rule.kind == "volatile" and form == TEXT else form
            stretches = to_source(found.start, found.end)
            yield Match(stretches, shape, found.rule.name, found.rule.placeholder, value)

    def _known(self, one: _Text, *, by_rules: bool) -> Iterator[Match]:
        """Known values in a text, and everything in the encoded stretches that they lead to."""
        squeezed = squeeze(one.text)
        if self.past is not None:
            self.past.add(squeezed)
        yield from self._known_in(one, squeezed)
        for decoded in self.known.sought.views(one.text) if one.depth < _DEPTH else ():
            for inner in self._texts(one.decoded(decoded)):
                if by_rules:
                    yield from self._by_rules(inner)
                yield from self._known(inner, by_rules=by_rules)

    def _known_in(self, one: _Text, squeezed: str) -> Iterator[Match]:
        """Known values in a text."""
        text, form_at, to_source, depth = one
        words = [(hit, [(hit.start, hit.end)]) for hit in self.known.in_plain(text)]
        hits = self.known.in_squeezed(squeezed)
        torn = zip(hits, spread(text, [(hit.start, hit.end) for hit in hits]), strict=True)
        for hit, parts in chain(words, torn):
            if len(parts) > 1 and text[parts[0][0] : parts[-1][1]] in canonical(hit.value.text):
                parts = [(parts[0][0], parts[-1][1])]  # noqa: PLW2901 - it has quotes of its own
            # Of a decoded text each part may stand in a form of its own.
            for group in [[part] for part in parts] if depth else [parts] if parts else []:
                sources = tuple(chain.from_iterable(to_source(*part) for part in group))
                form = form_at(group[0][0])
                yield Match(sources, form, hit.value.rule, hit.value.placeholder)


def _form_at(outer: _FormAt, inner: Decoded, start: int) -> str:
    """The form of a text decoded from a decoded text: the one nearest to the bytes.

    In base64 with a few escapes, the other characters stay base64. Joining parts is not a form.
    """
    form, own = outer(inner.source(start, start + 1)[0]), inner.form_at(start)
    if form == TEXT:
        return own
    return own + form if form in _AMID_BASE64 and own.startswith(BASE64) else form
