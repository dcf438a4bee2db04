"""One text, everything in it that must go: rules, known values, both also in decoded text."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from typing import NamedTuple

import msgspec

from ptycassette.scrub.canonical import squeeze
from ptycassette.scrub.decode import Decoder
from ptycassette.scrub.decoded import Decoded
from ptycassette.scrub.dumps import dump_columns
from ptycassette.scrub.key_lines import KeyLines
from ptycassette.scrub.known import KnownValue, KnownValues, Lesson
from ptycassette.scrub.learning import Learner
from ptycassette.scrub.mask import BASE64, ESCAPED, QUOTED, TEXT, VOLATILE
from ptycassette.scrub.rules import Found, RuleSet
from ptycassette.scrub.spread import spread
from ptycassette.scrub.trail import Searched
from ptycassette.scrub.views import View

__all__ = ["Match", "Searcher"]

_DEPTH = 2
_MOST_LOOKED = 8192
_SHORT = 128

_AMID_BASE64 = frozenset({ESCAPED, QUOTED})

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


class _Text(NamedTuple):
    """One text to search: how often it was decoded, and the ways back to what it came from."""

    text: str
    form_at: _FormAt
    to_source: _ToSource
    depth: int
    looked: _Looked


class Searcher:
    """Searches texts; learns the values that rules find.

    Args:
        rules: what to look for by shape.
        known: what to look for by value; grows with what rules find.
        preserved: values that stay, on purpose.
        fast: as for ``literal_finder``.

    Attributes:
        searched: when it is a list, every text that is searched is put there, and what
            rules find in a text is known before the text is searched for what is known.
        follows_pages: whether a text shows pages, on each of which a value may go on.
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
        self._learner = Learner(preserved=preserved, fast=fast)
        self._lesson: Lesson | None = None
        self.searched: list[Searched] | None = None
        self.follows_pages = False
        self._looked: dict[str, _Looked] = {}
        self._decoder = Decoder(fast=fast)
        self._key_lines = KeyLines(rules.rules)

    def forget(self) -> None:
        """Begin to remember anew what rules let stand."""
        self.rules.declined.clear()
        self._looked.clear()
        self._key_lines.forget()

    def adopt(self) -> tuple[Lesson | None, list[KnownValue]]:
        """Make what was learnt known.

        Returns:
            What of it is new, None for nothing; and what of that was not known yet when the
            last text was searched for known values, so that this has to be searched again.
        """
        late = self._know()
        lesson, self._lesson = self._lesson, None
        return lesson, late

    @contextmanager
    def knowing_only(self, values: Iterable[KnownValue]) -> Iterator[None]:
        """Search for these values, where all others were searched for already."""
        known, self.known = self.known, KnownValues(values, fast=self.fast)
        try:
            yield
        finally:
            self.known = known

    def _know(self) -> list[KnownValue]:
        """Make known what was learnt so far; what of it is new."""
        values = self._learner.news()
        if not values:
            return []
        new = self.known.learn(values)
        if new.values:
            self._lesson = new if self._lesson is None else self._lesson.and_then(new)
        return new.values

    def search(
        self, text: str, *, by_rules: bool = True, source: Hashable = None
    ) -> Iterator[Match]:
        """Everything in canonical ``text`` that must go.

        What rules find in it, decoded too, is told first, and what is known then. ``source``
        says which texts show what goes on from one to the next.
        """
        texts = []
        for one in chain(self._texts(text, _plainly, _same, 0), self._columns(text)):
            texts.append(one)
            if by_rules:
                yield from self._by_rules(one, source)
        if self.searched is not None:
            self._know()
        for one in texts:
            yield from self._known(one, by_rules=by_rules)

    def _texts(
        self, text: str, form_at: _FormAt, to_source: _ToSource, depth: int
    ) -> Iterator[_Text]:
        """A text, and what it says when it is decoded."""
        looked = self._look(text) if depth and len(text) <= _SHORT else _Looked()
        yield _Text(text, form_at, to_source, depth, looked)
        if depth >= _DEPTH:
            return
        if looked.views is None:
            looked.views = tuple(self._decoder.views(text)) if depth else self._decoder.views(text)
        for decoded in looked.views:
            yield from self._decoded(decoded, form_at, to_source, depth)

    def _decoded(
        self, decoded: Decoded, form_at: _FormAt, to_source: _ToSource, depth: int
    ) -> Iterator[_Text]:
        """What a part of a text at ``depth`` says when it is decoded, and what that says."""
        return self._texts(
            decoded.text,
            _form_chained(form_at, decoded) if depth else decoded.form_at,
            _chained(to_source, decoded.sources),
            depth + 1,
        )

    def _columns(self, text: str) -> Iterator[_Text]:
        """The characters beside the bytes of hex dumps."""
        columns = dump_columns(text) if self._decoder.dumps(text) else None
        if columns is not None:
            yield from self._texts(columns.text, _plainly, _through(columns), _DEPTH)

    def _by_rules(self, one: _Text, source: Hashable = None) -> Iterator[Match]:
        """What rules find in a text, of what counts."""
        text, form_at, to_source, depth, looked = one
        if looked.found is None:
            looked.found = self.rules.find(text, loose=depth > 0)
        # Of decoded texts those go on in each other that were base64, not what holds such, too.
        plainly = depth == 0 or (text != "" and form_at(0).startswith(BASE64))
        shown = (source, depth > 0) if source is not None and plainly else None
        lines = self._key_lines.find(text, shown)
        for found in chain(looked.found, lines):
            value = text[found.start : found.end]
            if not self._learner.takes(found.rule, value, decoded=depth > 0):
                self.rules.declined.add(found.rule, value)
                continue
            self._key_lines.took(found.rule, value)
            form = form_at(found.start)
            shape = VOLATILE if found.rule.kind == "volatile" and form == TEXT else form
            stretches = to_source(found.start, found.end)
            yield Match(stretches, shape, found.rule.name, found.rule.placeholder, value)

    def _known(self, one: _Text, *, by_rules: bool) -> Iterator[Match]:
        """What is known of a text, and everything in what known values make readable in it."""
        text, form_at, to_source, depth, looked = one
        squeezed = looked.squeezed = squeeze(text) if looked.squeezed is None else looked.squeezed
        found: list[tuple[int, int]] = []
        if self.searched is not None:
            self.searched.append(Searched(squeezed, found))
        known = self.known, self.known.changes
        if looked.silent != known:
            silent = True
            for match in self._known_in(one, squeezed, found):
                silent = False
                yield match
            if silent:
                looked.silent = known
        if depth >= _DEPTH:
            return
        for decoded in self.known.sought.views(text):
            for inner in self._decoded(decoded, form_at, to_source, depth):
                if by_rules:
                    yield from self._by_rules(inner)
                yield from self._known(inner, by_rules=by_rules)

    def _look(self, text: str) -> _Looked:
        """What is known already of a short decoded text."""
        looked = self._looked.get(text)
        if looked is None:
            if len(self._looked) >= _MOST_LOOKED:
                self._looked.clear()
            looked = self._looked[text] = _Looked()
        return looked

    def _known_in(self, one: _Text, squeezed: str, found: list[tuple[int, int]]) -> Iterator[Match]:
        """What is known of a text; what is taken of ``squeezed`` goes into ``found``."""
        text, form_at, to_source, *_ = one
        for hit in self.known.in_plain(text):
            stretches = to_source(hit.start, hit.end)
            yield Match(stretches, form_at(hit.start), hit.value.rule, hit.value.placeholder)
        hits = self.known.in_squeezed(squeezed)
        if not hits:
            return
        for hit, parts, whole in spread(text, hits):
            if whole:
                found.append((hit.start, hit.end))
            if self.follows_pages and to_source is _same:
                self._learner.goes_on(hit.value, text, parts[-1][1])
            if to_source is _same:
                yield Match(tuple(parts), TEXT, hit.value.rule, hit.value.placeholder)
                continue
            for group in _alike(parts, form_at):
                sources = tuple(chain.from_iterable(to_source(*part) for part in group))
                form = form_at(group[0][0])
                yield Match(sources, form, hit.value.rule, hit.value.placeholder)


def _same(start: int, end: int) -> tuple[tuple[int, int], ...]:
    return ((start, end),)


def _chained(outer: _ToSource, inner: _ToSource) -> _ToSource:
    """From characters of a decoded text to those of the text it was decoded from."""
    return lambda start, end: tuple(
        stretch for part in inner(start, end) for stretch in outer(*part)
    )


def _through(view: View) -> _ToSource:
    """From characters of a view to those of the text of which it shows pieces."""
    return lambda start, end: tuple((at, at + length) for _, length, at in view.pieces(start, end))


def _plainly(start: int) -> str:
    del start
    return TEXT


def _form_chained(outer: _FormAt, inner: Decoded) -> _FormAt:
    """The form of a text decoded from a decoded text: the one nearest to the bytes.

    Escapes are few where they are in base64, and what else is there stays base64. What was only
    put together from parts is no form.
    """

    def form_at(start: int) -> str:
        form, own = outer(inner.source(start, start + 1)[0]), inner.form_at(start)
        if form == TEXT:
            return own
        return own + form if form in _AMID_BASE64 and own.startswith(BASE64) else form

    return form_at


def _alike(parts: list[tuple[int, int]], form_at: _FormAt) -> Iterator[list[tuple[int, int]]]:
    """Stretches that are masked in one form go together, the others on their own."""
    if form_at(parts[0][0]) == TEXT:
        yield parts
        return
    for part in parts:
        yield [part]
