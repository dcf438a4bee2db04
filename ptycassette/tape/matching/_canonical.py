"""The canonical form of a body and of other texts: what is literal as it is, tokens as types."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from ptycassette.model.journal import HeadSecret
from ptycassette.model.tape import VolatileToken
from ptycassette.tape.matching._finder import Finder, Span
from ptycassette.tape.matching._json_places import Node, NoJsonError, parse_json
from ptycassette.tape.matching._paths import PathTree
from ptycassette.tape.matching._text import Text
from ptycassette.tape.matching.rules import SECRET, Rules


class Token(msgspec.Struct, frozen=True, gc=False):
    """A volatile token: where it is (see ``VolatileToken``), and its value."""

    where: str
    offset: int
    length: int
    type: str
    value: bytes


_Form = tuple[bytes, list[Token]]


class CanonicalBody(msgspec.Struct, frozen=True):
    """See ``Skeleton``."""

    form: bytes
    tokens: tuple[Token, ...]


def canonical_text(
    where: str, text: bytes, finder: Finder | str, secrets: Sequence[HeadSecret] = ()
) -> tuple[bytes, list[Token]]:
    """A header or a target; a type in the finder's place means that all of it is one token.

    ``secrets`` are behind placeholders in ``text``, and are tokens with the value of the secret.
    """
    if isinstance(finder, str):
        value = bytearray(text)
        for one in reversed(secrets):
            value[one.offset : one.offset + one.length] = one.value
        whole = Token(where, 0, len(text), finder, bytes(value))
        return _written(text, [Span(0, len(text), finder)]), [whole]
    values = {one.offset: one.value for one in secrets}
    given = [Span(one.offset, one.offset + one.length, SECRET) for one in secrets]
    spans = _joined(given, finder.find(text))
    tokens = [
        Token(
            where,
            one.start,
            one.end - one.start,
            one.type,
            values.get(one.start, text[one.start : one.end]),
        )
        for one in spans
    ]
    return _written(text, spans), tokens


_MOST_SIMPLE = 4096
"""Short texts that are remembered, before all are forgotten."""


def canonical_body(
    body: bytes,
    rules: Rules,
    anywhere: Finder,
    given: tuple[VolatileToken, ...],
    simple: dict[bytes, _Form],
) -> CanonicalBody:
    """A body: as JSON if it is JSON, by its bytes if not.

    Args:
        body: the bytes.
        rules: what is volatile at which path.
        anywhere: what is looked for in every text.
        given: places that are tokens in any case.
        simple: the forms of short texts without tokens, by these rules: names of members, mostly.
            It is read and filled.
    """
    places = _in_order(given)
    try:
        tree = parse_json(body)
    except NoJsonError:
        spans = [Span(one.offset, one.offset + one.length, one.type) for one in places]
        tokens = tuple(_token(body, span.start, span.end, span.type) for span in spans)
        return CanonicalBody(b"bytes;" + _written(body, spans), tokens)
    writer = _Writer(body, rules, anywhere, places, simple)
    form, found = writer.value(tree, (rules.paths,))
    return CanonicalBody(b"json;" + form, tuple(found))


def _in_order(given: tuple[VolatileToken, ...]) -> list[VolatileToken]:
    """The places of the body, without those that overlap one before them."""
    kept: list[VolatileToken] = []
    for place in sorted(
        (one for one in given if not one.where), key=lambda one: (one.offset, -one.length)
    ):
        if not kept or place.offset >= kept[-1].offset + kept[-1].length:
            kept.append(place)
    return kept


def _token(body: bytes, start: int, end: int, type_: str) -> Token:
    return Token("", start, end - start, type_, body[start:end])


def _written(text: bytes, spans: Iterable[Span]) -> bytes:
    """Literal pieces with their lengths, tokens by their types."""
    pieces: list[bytes] = []
    at = 0
    for span in spans:
        if span.start > at:
            pieces += (b"%d:" % (span.start - at), text[at : span.start])
        pieces.append(b"<%b>" % span.type.encode())
        at = span.end
    if at < len(text):
        pieces += (b"%d:" % (len(text) - at), text[at:])
    pieces.append(b";")
    return b"".join(pieces)


_Trees = tuple[PathTree, ...]


class _Writer:
    """Writes the canonical form of a tree."""

    def __init__(
        self,
        body: bytes,
        rules: Rules,
        anywhere: Finder,
        places: list[VolatileToken],
        simple: dict[bytes, _Form],
    ) -> None:
        self._body = body
        self._rules = rules
        self._anywhere = anywhere
        self._places = places
        self._simple = simple

    def value(self, node: Node, trees: _Trees) -> _Form:
        """The form of a value and its tokens, in the order of the form."""
        match node.kind:
            case "object":
                return self._object(node, trees)
            case "array":
                return self._array(node, trees)
            case "string":
                return self._string(node, trees)
            case "number":
                return self._number(node, trees)
        return self._body[node.start : node.end] + b";", []

    def _array(self, node: Node, trees: _Trees) -> _Form:
        parts = [b"[%d;" % len(node.items)]
        tokens: list[Token] = []
        for index, item in enumerate(node.items):
            form, found = self.value(item, _step(trees, index))
            parts.append(form)
            tokens += found
        return b"".join(parts), tokens

    def _object(self, node: Node, trees: _Trees) -> _Form:
        members: list[tuple[bytes, bytes, list[Token]]] = []
        for key, item in zip(node.keys, node.items, strict=True):
            name, in_name = self._string(key, ())
            below = _step(trees, self._key(key)) if trees else ()
            form, found = self.value(item, below)
            members.append((name, form, in_name + found))
        members.sort(key=lambda member: member[:2])
        parts = [b"{%d;" % len(members)]
        tokens: list[Token] = []
        for name, form, found in members:
            parts += (name, form)
            tokens += found
        return b"".join(parts), tokens

    def _key(self, node: Node) -> str:
        return Text.of(self._body, node).data.decode("utf-8", "surrogatepass")

    def _number(self, node: Node, trees: _Trees) -> _Form:
        written = self._body[node.start : node.end]
        whole = next(self._whole(trees), None)
        if whole is None and self._given(node):
            whole = SECRET
        if whole is None:
            return b"n" + written + b";", []
        return b"n<%b>;" % whole.encode(), [_token(self._body, node.start, node.end, whole)]

    def _string(self, node: Node, trees: _Trees) -> _Form:
        given = self._given(node) if self._places else []
        raw = self._body[node.start : node.end]
        simple = not (trees or given) and len(raw) <= 64
        if simple and raw in self._simple:
            return self._simple[raw]
        text = Text.of(self._body, node)
        spans = self._spans(node, text, trees, given)
        form = b'"' + _written(text.data, spans)
        tokens: list[Token] = []
        for span in spans:
            offset, length = text.place(span.start, span.end)
            tokens.append(Token("", offset, length, span.type, text.data[span.start : span.end]))
        if simple and not tokens:
            if len(self._simple) >= _MOST_SIMPLE:
                self._simple.clear()
            self._simple[raw] = (form, [])
        return form, tokens

    def _spans(
        self, node: Node, text: Text, trees: _Trees, given: list[VolatileToken]
    ) -> list[Span]:
        for whole in self._whole(trees):
            return [Span(0, len(text.data), whole)] if text.data else []
        found: list[Span] = []
        for finder in self._finders(trees):
            found = _joined(found, finder.find(text.data))
        found = _joined(found, self._anywhere.find(text.data))
        if given:
            found = _with_given(found, _stretches(node, text, given))
        return found

    def _whole(self, trees: _Trees) -> Iterator[str]:
        for tree in trees:
            for rule in tree.rules:
                type_, finder = self._rules.at_path(rule)
                if finder is None:
                    yield type_

    def _finders(self, trees: _Trees) -> Iterator[Finder]:
        for tree in trees:
            for rule in tree.rules:
                finder = self._rules.at_path(rule)[1]
                if finder is not None:
                    yield finder

    def _given(self, node: Node) -> list[VolatileToken]:
        """The places within a value; places are in order and do not overlap."""
        first = bisect_right(self._places, node.start, key=lambda one: one.offset + one.length)
        last = bisect_left(self._places, node.end, key=lambda one: one.offset)
        return self._places[first:last]


def _step(trees: _Trees, step: str | int) -> _Trees:
    return tuple(below for tree in trees for below in tree.step(step)) if trees else ()


def _joined(found: list[Span], more: Iterable[Span]) -> list[Span]:
    """Both, in order; of two that overlap the one that was found first."""
    if not found:
        return list(more)
    return sorted([*found, *(span for span in more if not _overlapping(found, span))])


def _overlapping(spans: list[Span], span: Span) -> Span | None:
    """One of ``spans``, which are in order and do not overlap, that overlaps another."""
    at = bisect_left(spans, span.end, key=lambda one: one.start) - 1
    return spans[at] if at >= 0 and spans[at].end > span.start else None


def _stretches(node: Node, text: Text, given: Iterable[VolatileToken]) -> Iterator[Span]:
    for place in given:
        start, end = text.stretch(
            max(place.offset, node.start), min(place.offset + place.length, node.end)
        )
        if end > start:
            yield Span(start, end, place.type)


def _with_given(found: list[Span], given: Iterable[Span]) -> list[Span]:
    """With places that are tokens in any case, unless what was found covers all of a secret."""
    kept = [one for one in given if not (one.type == SECRET and _covered(found, one))]
    return _joined(kept, found)


def _covered(found: list[Span], span: Span) -> bool:
    other = _overlapping(found, span)
    return other is not None and other.start <= span.start and span.end <= other.end
