"""Finds everything to be removed from one text: by rules and known values, decoded text too."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache, partial
from itertools import chain
from typing import NamedTuple

import msgspec

from ptycassette.model.lazy_regex import lazy_pattern
from ptycassette.scrub._mask import BASE32, BASE64, ESCAPED, QUOTED, TEXT, VOLATILE
from ptycassette.scrub.decode._decoded import Decoded
from ptycassette.scrub.decode._decoder import decoded_views
from ptycassette.scrub.match import canonical, spread, squeeze
from ptycassette.scrub.rules._names import declares_a_secret, is_public_name, secret_name
from ptycassette.scrub.rules._rule_set import RuleSet
from ptycassette.scrub.rules._values import looks_generated
from ptycassette.scrub.search._key_lines import KeyLines
from ptycassette.scrub.search._known import KnownValues, Lesson
from ptycassette.scrub.search._learning import Learner, SearchedTexts
from ptycassette.scrub.views._joined_lines import JoinedLines, joined_lines
from ptycassette.scrub.views._shown import WIDEST, lines_of, pane_views, shown_views
from ptycassette.scrub.views._structured import Names
from ptycassette.scrub.views._view import View

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
_GENERATED = lazy_pattern(r"[A-Za-z0-9+/=_.~-]+")
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
    """Whether a name may declare its value; counts of tokens are numbers that are no secrets."""
    return declares_a_secret(name) if is_number else secret_name(name)


def _one_of(name: str) -> str:
    """A name as rules read it: of one thing (``passwords``), with its parts apart."""
    one = name.removesuffix("s") if name.lower().endswith(_SEVERAL) else name
    return _PARTS_MEET.sub("_", one)


def _is_generated(value: str) -> bool:
    return _GENERATED.fullmatch(value) is not None and looks_generated(value)


@lru_cache(4096)
def _telling(names: Names, is_number: bool) -> tuple[tuple[str, bool], ...]:  # noqa: FBT001
    """The names that may declare a value; True for those that declare what looks generated."""
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
        """A text that was decoded from this one."""
        form_at = partial(_form_at, self.form_at, inner) if self.depth else inner.form_at

        def to_source(start: int, end: int) -> tuple[tuple[int, int], ...]:
            parts = inner.sources(start, end)
            return tuple(stretch for part in parts for stretch in self.to_source(*part))

        return _Text(inner.text, form_at, to_source, self.depth + 1)

    def shown(self, view: View) -> _Text:
        """What a view shows of this text."""

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
        self._read: dict[str, list[tuple[_Text, str]]] = {}
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
        the same ``source`` continue each other. Decoded text is read as a terminal would show it,
        too: without colours, row by row. ``shown`` says that ``text`` has been read so already.
        Only tokens of a known shape cross ``borders`` (see ``View``).

        Short texts without a source come again and again (keys and types of events): they are
        searched once for all that is known.
        """
        remembered = source is None and not (shown or borders)
        if remembered and len(text) <= _LONGEST_REMEMBERED:
            return iter(self._once(text))
        return self._search(text, for_known=for_known, source=source, shown=shown, borders=borders)

    def search_again(
        self, text: str, *, shown: bool = False, by_rules: bool = False
    ) -> Iterator[Match]:
        """Known values in a text with a source that was searched before, perhaps by rules alone.

        ``by_rules`` says whether rules apply to what known values are found encoded in.
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
        """The matches of texts by what is known now."""
        knows = (self.known, self.known.version, self._key_lines.version)
        if self._remembered_for != knows:
            self._remembered.clear()
            self._remembered_for, self._room = knows, _MOST_REMEMBERED
        return self._remembered

    def search_member(self, names: Names, value: str | int) -> Iterator[Match]:
        """What the names around a value in JSON give away of it.

        Places count in the canonical text of the value, or in the digits of a number. A name
        above a whole object declares what looks generated in it, and each of several: the object
        may also hold types, dates and descriptions.
        """
        for name, only_generated in _telling(names, isinstance(value, int)):
            if not only_generated or _is_generated(str(value)):
                yield from self._search_named(name, value)

    def _search_named(self, name: str, value: str | int) -> Iterator[Match]:
        """What one name gives away of a value."""
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
        """The matches in a text that continues no other, found once for all that is known."""
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
        """What rules find across the ends of lines."""
        for found in self.rules.find(view.text):
            rule, start = found.rule, found.start
            shaped = rule.public >= _PREFIX
            end = view.clipped(start, found.end, shaped=shaped, whole=rule.whole)
            value = view.text[start:end]
            if end and self._learner.takes(rule, value):
                yield Match(((start, end),), TEXT, rule.name, rule.placeholder, value)

    def _across_lines(self, one: _Text) -> Iterator[Match]:
        """What rules find across the ends of lines of a text."""
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
        """A text, what a terminal shows of it, and the texts decoded from these, in turn."""
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
        # Of decoded texts those go on in each other that were base64, not what holds such, too.
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
        """Known values in a text."""
        text, form_at, to_source, depth, _ = one
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


def _put_together(view: View, start: int, end: int) -> list[tuple[int, int]]:
    """The stretches of its channel that a stretch of a view shows."""
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
