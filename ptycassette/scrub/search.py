"""One text, everything in it that must go: rules, known values, both also in decoded text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import chain

import msgspec

from ptycassette.scrub.canonical import canonical, plain, squeeze
from ptycassette.scrub.context_rules import NAMES
from ptycassette.scrub.decode import Decoder
from ptycassette.scrub.decoded import Decoded
from ptycassette.scrub.dumps import dump_columns
from ptycassette.scrub.known import KnownValue, KnownValues, Lesson
from ptycassette.scrub.mask import BASE64, ESCAPED, TEXT, VOLATILE, mask
from ptycassette.scrub.rules import Found, Rule, RuleSet
from ptycassette.scrub.spelling import spelt_by_chance
from ptycassette.scrub.views import squeezed_stretches

__all__ = ["Match", "Searcher", "shaped"]

_DEPTH = 2
_MOST_LEARNT = 20_000
_MOST_JUDGED = 8192
_MOST_LOOKED = 8192
_SHORT = 128
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
_LEFT_OVER = 16
_BY_CHANCE = 2
_TELLING = 5
_FEWEST_BYTES = 6
_SEVERAL = 2

_ToSource = Callable[[int, int], tuple[tuple[int, int], ...]]
_FormAt = Callable[[int], str]


class Match(msgspec.Struct, frozen=True):
    """Stretches of a text to be masked in ``form``, because of ``rule``.

    ``value`` is what a rule took, decoded; "" of what was known.
    """

    stretches: tuple[tuple[int, int], ...]
    form: str
    rule: str
    placeholder: str
    value: str = ""


class _Looked:
    """What a look at a text gave, as far as it was asked for: most that is decoded comes often.

    ``silent`` is what was known when nothing known was found in it.
    """

    __slots__ = ("found", "silent", "squeezed", "views")

    def __init__(self) -> None:
        self.found: list[Found] | None = None
        self.squeezed: str | None = None
        self.views: Iterable[Decoded] | None = None
        self.silent: tuple[KnownValues, int] | None = None


class Searcher:
    """Searches texts; learns the values that rules find.

    Args:
        rules: what to look for by shape.
        known: what to look for by value; grows with what rules find.
        preserved: values that stay, on purpose.
        fast: as for ``literal_finder``.

    Attributes:
        searched: when it is a list, every squeezed text that is searched is put there, and what
            rules find in a text is known before the text is searched for what is known.
    """

    def __init__(
        self,
        *,
        rules: RuleSet,
        known: KnownValues,
        preserved: Iterable[str] = (),
        fast: bool | None = None,
    ) -> None:
        self.rules = rules
        self.fast = fast
        self.known = known
        self.learnt = KnownValues(fast=fast)
        self._new: list[KnownValue] = []
        self._lesson: Lesson | None = None
        self.searched: list[str] | None = None
        self._judged: dict[tuple[str, str], bool] = {}
        self._looked: dict[str, _Looked] = {}
        self._preserved = frozenset(canonical(value) for value in preserved)
        self._decoder = Decoder(fast=fast)

    def forget(self) -> None:
        """Begin to remember anew what rules let stand."""
        self.rules.declined.clear()
        self._looked.clear()

    def adopt(self) -> tuple[Lesson | None, bool]:
        """Make what was learnt known.

        Returns:
            What of it is new, None for nothing; and whether any of it was not known yet when the
            last text was searched for known values, so that it has to be searched again.
        """
        late = self._know()
        lesson, self._lesson = self._lesson, None
        return lesson, late

    def _know(self) -> bool:
        """Make known what was learnt so far; True when anything of it is new."""
        if not self._new:
            return False
        new = self.known.learn(self._new)
        self._new = []
        if new.values:
            self._lesson = new if self._lesson is None else self._lesson.and_then(new)
        return bool(new.values)

    def search(self, text: str, *, by_rules: bool = True) -> Iterator[Match]:
        """Everything in canonical ``text`` that must go."""
        yield from self._search(text, _plainly, _same, depth=0, by_rules=by_rules)
        columns = dump_columns(text) if self._decoder.dumps(text) else None
        if columns is not None:
            for match in self._search(
                columns.text, _plainly, _same, depth=_DEPTH, by_rules=by_rules
            ):
                pieces = chain.from_iterable(columns.pieces(*part) for part in match.stretches)
                stretches = tuple((at, at + length) for _, length, at in pieces)
                yield msgspec.structs.replace(match, stretches=stretches)

    def _search(
        self, text: str, form_at: _FormAt, to_source: _ToSource, *, depth: int, by_rules: bool
    ) -> Iterator[Match]:
        looked = self._look(text) if depth and len(text) <= _SHORT else _Looked()
        if by_rules:
            if looked.found is None:
                looked.found = self.rules.find(text, loose=depth > 0)
            for found in looked.found:
                value = text[found.start : found.end]
                if self._takes(found.rule, value, decoded=depth > 0):
                    form = form_at(found.start)
                    shape = VOLATILE if found.rule.kind == "volatile" and form == TEXT else form
                    stretches = to_source(found.start, found.end)
                    yield Match(stretches, shape, found.rule.name, found.rule.placeholder, value)
        if depth == 0 and self.searched is not None:
            self._know()
        squeezed = looked.squeezed = squeeze(text) if looked.squeezed is None else looked.squeezed
        if self.searched is not None:
            self.searched.append(squeezed)
        known = self.known, len(self.known)
        if looked.silent != known:
            silent = True
            for match in self._known_in(text, squeezed, form_at, to_source):
                silent = False
                yield match
            if silent:
                looked.silent = known
        if depth < _DEPTH:
            if looked.views is None:
                looked.views = (
                    tuple(self._decoder.views(text)) if depth else self._decoder.views(text)
                )
            for decoded in chain(looked.views, self.known.sought.views(text)):
                yield from self._search(
                    decoded.text,
                    _form_chained(form_at, decoded) if depth else decoded.form_at,
                    _chained(to_source, decoded.sources),
                    depth=depth + 1,
                    by_rules=by_rules,
                )

    def _look(self, text: str) -> _Looked:
        """What is known already of a short decoded text."""
        looked = self._looked.get(text)
        if looked is None:
            if len(self._looked) >= _MOST_LOOKED:
                self._looked.clear()
            looked = self._looked[text] = _Looked()
        return looked

    def _known_in(
        self, text: str, squeezed: str, form_at: _FormAt, to_source: _ToSource
    ) -> Iterator[Match]:
        """What is known of ``text``."""
        for hit in self.known.in_plain(text):
            stretches = to_source(hit.start, hit.end)
            yield Match(stretches, form_at(hit.start), hit.value.rule, hit.value.placeholder)
        hits = self.known.in_squeezed(squeezed)
        if not hits:
            return
        spans = squeezed_stretches(text, [(hit.start, hit.end) for hit in hits])
        for hit, whole in zip(hits, spans, strict=True):
            parts = _without_chance(whole, text, hit.value) if len(whole) > 1 else whole
            if to_source is _same:
                stretches = tuple(_over_blanks(parts, text))
                yield Match(stretches, TEXT, hit.value.rule, hit.value.placeholder)
                continue
            for group in _alike(_over_blanks(parts, text), form_at):
                sources = tuple(chain.from_iterable(to_source(*part) for part in group))
                form = form_at(group[0][0])
                yield Match(sources, form, hit.value.rule, hit.value.placeholder)

    def _takes(self, rule: Rule, value: str, *, decoded: bool) -> bool:
        """Whether a match is to be scrubbed; it is learnt, then. Most come many times."""
        judged = self._judged.get((rule.pattern, value))
        if judged is None:
            judged = self._counts(rule, value)
            if judged:
                self._learn(rule, value, decoded=decoded)
            if len(self._judged) >= _MOST_JUDGED:
                self._judged.clear()
            self._judged[rule.pattern, value] = judged
        if not judged:
            self.rules.declined.add(rule, value)
        return judged

    def _counts(self, rule: Rule, value: str) -> bool:
        """Whether a match is to be scrubbed: neither preserved nor scrubbed before."""
        if value in self._preserved:
            return False
        if mask(value, VOLATILE if rule.kind == "volatile" else TEXT) == value:
            return False
        if _BEGINS_MASKED.match(value, rule.public) or _PLACEHOLDER.match(value):
            return False
        rest = _MASKED.sub(" ", value)
        if rest == value:
            return True
        if _of_lines(rule):  # what stands beside them in other columns is none of them
            return any(len(word) >= _LEFT_OVER for word in rest.split())
        # The dashes are those of an END line that is not whole yet.
        return len(squeeze(rest).strip("-")) >= _LEFT_OVER

    def _begins_learnt(self, value: str, *, decoded: bool) -> bool:
        """Whether ``value`` is one that is learnt already, and a word that only stood behind it.

        On the screen the end of a line and the next one may look like one token. Where a sign
        of assignment was taken for an escape, the name of another value may follow, and that.
        """
        word = _LAST_WORD.search(value, max(0, len(value) - _LONGEST_WORDS))
        ends = [*range(word.start(), len(value))] if word is not None else []
        if decoded:
            ends += [name.start() for name in _NAME.finditer(value)]
        return any(plain(value[:at]) in self.learnt for at in ends)

    def _learn(self, rule: Rule, value: str, *, decoded: bool) -> None:
        if not rule.learn or rule.kind == "volatile" or len(self.learnt) >= _MOST_LEARNT:
            return
        lines = value.split() if _of_lines(rule) else [value]
        for line in lines:
            if self._begins_learnt(line, decoded=decoded):
                continue
            word = line.isalpha() and line.islower() and len(line) < _LINE_OF_KEY
            if word and not spelt_by_chance(line):
                continue  # texts use it without meaning this one
            if not line.isascii() and len(squeeze(line)) < _FEWEST_BYTES:
                continue  # some bytes, which stand in many places
            if len(line) >= _LINE_OF_KEY or len(lines) == 1:
                value_of_line = KnownValue(
                    plain(line),
                    rule.name,
                    rule.placeholder,
                    public=rule.public,
                    pieces=shaped(rule, line),
                    learnt=True,
                )
                if self.learnt.add(value_of_line):
                    self._new.append(value_of_line)


def _of_lines(rule: Rule) -> bool:
    """Whether what a rule finds are the lines of a key file."""
    return "PRIVATE" in rule.name.upper()


def shaped(rule: Rule, value: str) -> bool | None:
    """Whether pieces of a match identify it: yes for a token of a known shape, else it depends.

    Never those of an address: they are words.
    """
    if "@" in value and rule.kind == "identity":
        return False
    return True if rule.kind == "secret" and rule.public and len(value) >= _SHAPED else None


def _same(start: int, end: int) -> tuple[tuple[int, int], ...]:
    return ((start, end),)


def _chained(outer: _ToSource, inner: _ToSource) -> _ToSource:
    """From characters of a decoded text to those of the text it was decoded from."""
    return lambda start, end: tuple(
        stretch for part in inner(start, end) for stretch in outer(*part)
    )


def _plainly(start: int) -> str:
    del start
    return TEXT


def _form_chained(outer: _FormAt, inner: Decoded) -> _FormAt:
    """The form of a text decoded from a decoded text: the one nearest to the bytes.

    Escapes are few where they are in base64, and what else is there stays base64.
    """

    def form_at(start: int) -> str:
        form, own = outer(inner.source(start, start + 1)[0]), inner.form_at(start)
        return own + form if form == ESCAPED and own.startswith(BASE64) else form

    return form_at


def _without_chance(
    parts: list[tuple[int, int]], text: str, value: KnownValue
) -> list[tuple[int, int]]:
    """Stretches of a hit without a letter or two of a word on the line before or behind.

    Such a word ends as the value goes on, by chance: it holds no end of the value, and stands
    on another line than what is beside it in the value.
    """
    (start, end), (after, stop) = parts[0], parts[1]
    begins = text[start:end] + text[after : after + _BY_CHANCE]
    if (
        end - start <= _BY_CHANCE
        and stop - after >= _TELLING
        and text[start - 1 : start].isalnum()
        and "\n" in text[end:after]
        and not squeeze(canonical(value.text)).startswith(begins)
    ):
        parts = parts[1:]
    if len(parts) < _SEVERAL:
        return parts
    (first, before), (start, end) = parts[-2], parts[-1]
    ends = text[before - _BY_CHANCE : before] + text[start:end]
    if (
        end - start <= _BY_CHANCE
        and before - first >= _TELLING
        and text[end : end + 1].isalnum()
        and "\n" in text[before:start]
        and not squeeze(canonical(value.text)).endswith(ends)
    ):
        parts = parts[:-1]
    return parts


def _over_blanks(parts: list[tuple[int, int]], text: str) -> list[tuple[int, int]]:
    """Stretches with nothing but spaces between them are one: a phrase of several words."""
    joined = parts[:1]
    for start, end in parts[1:]:
        if text[joined[-1][1] : start].strip(" "):
            joined.append((start, end))
        else:
            joined[-1] = (joined[-1][0], end)
    return joined


def _alike(parts: list[tuple[int, int]], form_at: _FormAt) -> Iterator[list[tuple[int, int]]]:
    """Stretches that are masked in one form go together, the others on their own."""
    if form_at(parts[0][0]) == TEXT:
        yield parts
        return
    for part in parts:
        yield [part]
