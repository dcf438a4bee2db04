"""Find names in an answer, and write the answer with other names in their places.

If the model wrote a name in several pieces (see ``_leaves``), the new name replaces the first piece
and the other pieces are removed.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Literal

import msgspec

from ptycassette.model.re2_engine import FilePattern, compile_re2
from ptycassette.model.records import NOT_JSON

# Tokens in a text: matches of declared values and patterns, from left to right.


_MEMORY_BYTES = 64 << 20
_WORD = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") | frozenset(
    range(0x80, 0x100)
)
_SHORTEST = 2
"""The shortest declared value; a root directory (``/``) would match in every path."""


_RUN = re.compile(rb"[A-Za-z0-9_\x80-\xff-]+")
"""The longest runs of the letters of ``_WORD``; a declared word counts only as a whole run."""


class Span(msgspec.Struct, frozen=True, order=True, gc=False):
    """A token in a text, from ``start`` to ``end``."""

    start: int
    end: int
    type: str


class Finder:
    """Finds declared values (the longest first) and matches of patterns.

    A declared value counts only as a whole: ``/home/me`` is found in ``/home/me/x`` but not in
    ``/home/me2``. If a pattern has groups, the token is the first group that took part in the
    match.

    Values of one word are looked up word by word, so a tape may have any number of them. All other
    values and the patterns form one regular expression.

    Args:
        patterns: type and pattern, in order of preference.
        values: type and value.
    """

    def __init__(
        self,
        patterns: Iterable[tuple[str, FilePattern]],
        values: Iterable[tuple[str, bytes]] = (),
    ) -> None:
        parts: list[str] = []
        self._ways: dict[int, tuple[int, str, bool]] = {}
        """By group: the number of inner groups, the type, whether it is a value."""
        group = 1
        wanted = {(type_, value) for type_, value in values if len(value) >= _SHORTEST}
        self._words: dict[bytes, str] = {}
        for type_, value in sorted(wanted, key=lambda one: (-len(one[1]), one)):
            if _RUN.fullmatch(value):
                self._words.setdefault(value, type_)
                continue
            parts.append(f"({_literal(value)})")
            self._ways[group] = (0, type_, True)
            group += 1
        for type_, pattern in patterns:
            parts.append(f"({pattern.translated})")
            self._ways[group] = (pattern.group_count, type_, False)
            group += 1 + pattern.group_count
        self._engine = (
            compile_re2("|".join(parts), latin1=False, max_bytes=_MEMORY_BYTES) if parts else None
        )

    def find(self, text: bytes) -> Iterator[Span]:
        """Yield the tokens of a text from left to right; they do not overlap."""
        at = 0
        matched = self._matched(text, 0)
        other = next(matched, None)
        for run in _RUN.finditer(text) if self._words else ():
            type_ = self._words.get(run[0])
            if type_ is None or not _stands_alone(text, Span(*run.span(), type_)):
                continue
            while other is not None and other.start < run.start():
                yield other
                at = other.end
                other = next(matched, None)
            if run.start() < at:
                continue
            at = run.end()
            yield Span(run.start(), at, type_)
            if other is not None and other.start < at:
                matched = self._matched(text, at)
                other = next(matched, None)
        if other is not None:
            yield other
            yield from matched

    def _matched(self, text: bytes, at: int) -> Iterator[Span]:
        while self._engine is not None and at <= len(text):
            match = self._engine.search(text, at)
            if match is None:
                return
            span, whole = self._span(match)
            if whole and not _stands_alone(text, span):
                at = match.start() + 1
            else:
                if span.end > span.start:
                    yield span
                at = max(span.end, match.start() + 1)

    def _span(self, match: re.Match[bytes]) -> tuple[Span, bool]:
        way = match.lastindex  # the group that ends last is the one around all others
        assert way is not None  # noqa: S101 - each way is a group
        within, type_, whole = self._ways[way]
        for group in range(way + 1, way + within + 1):
            if match.start(group) >= 0:
                return Span(*match.span(group), type_), whole
        return Span(*match.span(), type_), whole


def _literal(value: bytes) -> str:
    return re.escape(value.decode("utf-8", "replace"))


def _stands_alone(text: bytes, span: Span) -> bool:
    before, after = text[max(0, span.start - 1) : span.start], text[span.end : span.end + 2]
    if before and before[0] in _WORD and text[span.start] in _WORD:
        return False
    if after[:1] == b".":  # the end of a sentence, or of a name
        after = after[1:]
    return not (after and after[0] in _WORD)


def values_of(declared: Mapping[str, str]) -> list[tuple[str, bytes]]:
    """Declared values in the form that ``Finder`` takes; a path loses its final slash."""
    return [
        (type_, (value.rstrip("/") or value).encode("utf-8", "surrogateescape"))
        for type_, value in declared.items()
    ]


# JSON as a tree of places: the offsets of each value; nothing is decoded.


MAX_DEPTH = 100
MAX_VALUES = 250_000
"""A megabyte of conversation has about ten thousand values; so many are read in half a second."""

_TOKEN = re.compile(
    rb"[ \t\n\r]*+(?:"
    rb'(?P<string>"[^"\\\x00-\x1f]*+(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*+)*")'
    rb"|(?P<mark>[][{}:,])"
    rb"|(?P<number>-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?)"
    rb"|(?P<word>true|false|null)"
    rb")"
)
_BLANK = re.compile(rb"[ \t\n\r]*+")

Kind = Literal["object", "array", "string", "number", "word"]


class NoJsonError(ValueError):
    """The bytes are not JSON, or nested or long beyond what is parsed."""


class Node(msgspec.Struct, frozen=True, gc=False):
    """A value from ``start`` to ``end``; for a string without its quotes.

    ``items`` are the values of an array; ``keys`` and ``items`` are the members of an object.
    """

    kind: Kind
    start: int
    end: int
    items: tuple[Node, ...] = ()
    keys: tuple[Node, ...] = ()


def parse_json(body: bytes, start: int = 0, end: int | None = None) -> Node:
    """Parse the one JSON text in ``body``, with or without blanks around it.

    Raises:
        NoJsonError: it is not JSON, or too large to parse.
    """
    parser = _Parser(body, start, len(body) if end is None else end)
    node = parser.value(0)
    parser.finish()
    return node


class _Parser:
    """Recursive descent; the depth is bounded."""

    def __init__(self, body: bytes, start: int, end: int) -> None:
        try:
            str(memoryview(body)[start:end], "utf-8")
        except UnicodeDecodeError as wrong:
            raise NoJsonError("not UTF-8") from wrong
        self._body = body
        self._at = start
        self._end = end
        self._count = 0

    def finish(self) -> None:
        """Check that nothing follows.

        Raises:
            NoJsonError: something follows.
        """
        blank = _BLANK.match(self._body, self._at, self._end)
        if blank is None or blank.end() != self._end:
            raise NoJsonError(f"something follows at byte {self._at}")

    def value(self, depth: int) -> Node:
        return self._value(self._next(), depth)

    def _next(self) -> re.Match[bytes]:
        token = _TOKEN.match(self._body, self._at, self._end)
        if token is None:
            raise NoJsonError(f"not JSON at byte {self._at}")
        self._at = token.end()
        return token

    def _value(self, token: re.Match[bytes], depth: int) -> Node:
        self._count += 1
        if self._count > MAX_VALUES:
            raise NoJsonError(f"more than {MAX_VALUES} values")
        match token.lastgroup:
            case "string":
                return _string(token)
            case "number":
                return Node("number", token.start("number"), token.end())
            case "word":
                return Node("word", token.start("word"), token.end())
        if depth >= MAX_DEPTH:
            raise NoJsonError(f"deeper than {MAX_DEPTH} levels")
        match token["mark"]:
            case b"{":
                return self._object(token.end() - 1, depth + 1)
            case b"[":
                return self._array(token.end() - 1, depth + 1)
        raise NoJsonError(f"no value at byte {token.start()}")

    def _array(self, start: int, depth: int) -> Node:
        items: list[Node] = []
        token = self._next()
        if token["mark"] == b"]":
            return Node("array", start, self._at)
        while True:
            items.append(self._value(token, depth))
            mark = self._next()["mark"]
            if mark == b"]":
                return Node("array", start, self._at, tuple(items))
            if mark != b",":
                raise NoJsonError(f"neither a comma nor an end before byte {self._at}")
            token = self._next()

    def _object(self, start: int, depth: int) -> Node:
        keys: list[Node] = []
        items: list[Node] = []
        token = self._next()
        if token["mark"] == b"}":
            return Node("object", start, self._at)
        while True:
            if token.lastgroup != "string":
                raise NoJsonError(f"no key before byte {self._at}")
            keys.append(_string(token))
            if self._next()["mark"] != b":":
                raise NoJsonError(f"no colon before byte {self._at}")
            items.append(self.value(depth))
            mark = self._next()["mark"]
            if mark == b"}":
                break
            if mark != b",":
                raise NoJsonError(f"neither a comma nor an end before byte {self._at}")
            token = self._next()
        if self._names(keys) != len(keys):
            raise NoJsonError(f"a key occurs twice in the object at byte {start}")
        return Node("object", start, self._at, tuple(items), tuple(keys))

    def _names(self, keys: list[Node]) -> int:
        """How many different names there are; one name may be escaped in several ways."""
        names = {self._body[key.start : key.end] for key in keys}
        if any(b"\\" in name for name in names):
            return len({json.loads(b'"%b"' % name) for name in names})
        return len(names)


def _string(token: re.Match[bytes]) -> Node:
    return Node("string", token.start("string") + 1, token.end() - 1)


# The text of a JSON string, and the place of each of its bytes in the body.


_ESCAPE = re.compile(
    rb"(?:\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})|\\u[0-9a-fA-F]{4}|\\."
)


class Text:
    """The text of a string in UTF-8 (lone surrogates are encoded with ``surrogatepass``).

    Attributes:
        data: the bytes of the text.
    """

    def __init__(self, body: bytes, start: int, end: int, *, escaped: bool = True) -> None:
        raw = body[start:end]
        self._start = start
        self._end = end
        self._escaped = raw if escaped and b"\\" in raw else b""
        self._stretches: tuple[list[int], list[int]] | None = None
        self.data = _unescaped(raw) if self._escaped else raw

    @property
    def _map(self) -> tuple[list[int], list[int]]:
        """Offsets of the beginnings and ends of escapes, in the text and in the body."""
        if self._stretches is None:
            texts, raws = [0], [self._start]
            shift = 0  # how much longer the body is, up to here
            for escape in _ESCAPE.finditer(self._escaped):
                at, length = escape.start() - shift, len(escape[0])
                meant = 1 if length == 2 else len(_unescaped(escape[0]))
                shift += length - meant
                texts += (at, at + meant)
                raws += (self._start + escape.start(), self._start + escape.end())
            self._stretches = (texts, raws)
        return self._stretches

    @classmethod
    def of(cls, body: bytes, node: Node) -> Text:
        """The text of a string node."""
        return cls(body, node.start, node.end)

    def place(self, start: int, end: int) -> tuple[int, int]:
        """Where a stretch of the text is in the body, as offset and length."""
        first, last = self._raw(start), self._raw(end)
        return first, last - first

    def _raw(self, at: int) -> int:
        if at == len(self.data):
            return self._end
        texts, raws = self._map
        index = bisect_right(texts, at) - 1
        return raws[index] + at - texts[index]

    def stretch(self, start: int, end: int) -> tuple[int, int]:
        """The stretch of the text that covers these places of the body, with whole escapes."""
        return self._text(start, ends=False), self._text(end, ends=True)

    def _text(self, raw: int, *, ends: bool) -> int:
        if raw >= self._end:
            return len(self.data)
        texts, raws = self._map
        index = max(0, bisect_right(raws, raw) - 1)
        within = max(0, raw - raws[index])
        if index % 2 and within:  # behind the first byte of an escape
            return texts[index + ends]
        return texts[index] + within


def _unescaped(raw: bytes) -> bytes:
    text: str = json.loads(b'"%b"' % raw)
    return text.encode("utf-8", "surrogatepass")


def unspelt(text: bytes) -> bytes:
    """Decode the inside of a JSON string; return other bytes unchanged."""
    if b"\\" not in text:
        return text
    try:
        return _unescaped(text)
    except ValueError:
        return text


def spelt(text: bytes) -> bytes:
    """Encode a text as the inside of a JSON string."""
    return json.dumps(text.decode("utf-8", "surrogatepass"), ensure_ascii=False).encode(
        "utf-8", "surrogatepass"
    )[1:-1]


# The texts of an answer, their places, and which of them continue each other.


_SSE_DATA = re.compile(rb"(?m)^data:[ ]?([^\r\n]*)")
_LINE = re.compile(rb"[^\r\n]+")
_STRING = re.compile(
    rb'"(?P<text>[^"\\]*+(?:\\.[^"\\]*+)*)"'
    rb"(?P<colon>[ \t\r\n]*+:[ \t\r\n]*+(?P<number>-?[0-9]++)?)?"
)
_TELLING = frozenset(
    {b"type", b"index", b"output_index", b"content_index", b"summary_index", b"item_id", b"id"}
)
"""Members that name the piece of an answer that an event belongs to."""
_MAX_DECODED_BYTES = 4 << 20
"""The longest document that is decoded; a list of numbers takes ten times as much memory."""


class Leaf(msgspec.Struct, frozen=True):
    """A text of an answer.

    ``stream`` is equal for texts that continue each other; None for bytes that are not JSON.
    """

    text: Text
    stream: tuple[object, ...] | None


def leaves_of(body: bytes, cuts: tuple[int, ...] = ()) -> Iterator[Leaf]:
    """The texts of an answer, from left to right.

    Args:
        body: the answer.
        cuts: where one message of a WebSocket ends and the next begins; empty for HTTP.
    """
    start = 0
    for end in (*cuts, len(body)):
        yield from _of_message(body, start, end)
        start = end


def _of_message(body: bytes, start: int, end: int) -> Iterator[Leaf]:
    if _is_json(body, start, end):
        yield from _of_document(body, start, end)
        return
    events = [one.span(1) for one in _SSE_DATA.finditer(body, start, end)]
    lines = events or [one.span() for one in _LINE.finditer(body, start, end)]
    documents = [place for place in lines if _is_json(body, *place)]
    if documents and (events or len(documents) == len(lines)):  # not text with a number in it
        for place in documents:
            yield from _of_document(body, *place)
    elif end > start:
        yield Leaf(Text(body, start, end, escaped=False), None)


def _is_json(body: bytes, start: int, end: int) -> bool:
    try:
        if end - start > _MAX_DECODED_BYTES:
            parse_json(body, start, end)
        else:
            msgspec.json.decode(memoryview(body)[start:end])
    except NOT_JSON:
        return False
    return True


def _of_document(body: bytes, start: int, end: int) -> Iterator[Leaf]:
    members: list[bytes] = []
    telling: list[bytes] = []
    places: list[tuple[int, int]] = []
    name = b""
    for string in _STRING.finditer(body, start, end):
        if string["colon"] is not None:
            name = string["text"]
            members.append(name)
            if name in _TELLING:
                telling.append(string["number"] or b"")
        else:
            if name in _TELLING:
                telling.append(string["text"])
            members.append(b'"')  # a value; names are never written like this
            places.append(string.span("text"))
            name = b""
    kind = (b"\0".join(members), *telling)
    for number, (first, last) in enumerate(places):
        yield Leaf(Text(body, first, last), (kind, number))


class Found(msgspec.Struct, frozen=True):
    """A name in an answer, and the places (from, to) of its pieces.

    ``depth`` counts how often it is escaped as a JSON string: 0 in plain bytes, 2 in JSON within
    JSON.
    """

    type: str
    value: bytes
    places: tuple[tuple[int, int], ...]
    depth: int


def found_in(body: bytes, cuts: tuple[int, ...], names: Finder, values: Finder) -> list[Found]:
    """The names in an answer, in order.

    Args:
        body: the answer.
        cuts: where one WebSocket message ends and the next begins; empty for HTTP.
        names: finds names in one text.
        values: finds known names, also if they are split over several texts.
    """
    streams: dict[object, list[tuple[Leaf, list[Span]]]] = {}
    for number, leaf in enumerate(leaves_of(body, cuts)):
        spans = list(names.find(leaf.text.data))
        key = number if leaf.stream is None else leaf.stream
        streams.setdefault(key, []).append((leaf, spans))
    found = [one for stream in streams.values() for one in _in_stream(stream, values)]
    return sorted(found, key=lambda one: one.places)


_Stream = list[tuple[Leaf, list[Span]]]


def _in_stream(stream: _Stream, values: Finder) -> Iterator[Found]:
    """Names in texts that continue each other. No name is looked for inside another one."""
    depth = _depth(stream[0][0])
    taken: list[tuple[int, int]] = []
    for one in _in_pieces(stream, values, depth) if len(stream) > 1 else ():
        taken += one.places
        yield one
    for leaf, spans in stream:
        for span in spans:
            offset, length = leaf.text.place(span.start, span.end)
            place = (offset, offset + length)
            if not _overlaps(taken, place):
                value = leaf.text.data[span.start : span.end]
                yield Found(span.type, value, (place,), depth)


def _overlaps(taken: list[tuple[int, int]], place: tuple[int, int]) -> bool:
    """Whether a place overlaps one of the others, which are in order."""
    at = bisect_left(taken, (place[1], 0)) - 1
    return at >= 0 and taken[at][1] > place[0]


def _depth(first: Leaf) -> int:
    if first.stream is None:
        return 0
    return 2 if first.text.data.lstrip()[:1] in {b"{", b"["} else 1


def _in_pieces(stream: _Stream, values: Finder, depth: int) -> Iterator[Found]:
    """Names that begin in one text and end in a later one."""
    starts = list(accumulate((len(leaf.text.data) for leaf, _ in stream), initial=0))
    whole = b"".join(leaf.text.data for leaf, _ in stream)
    for span in values.find(whole):
        first = bisect_right(starts, span.start) - 1
        last = bisect_right(starts, span.end - 1) - 1
        if first == last:
            continue
        places: list[tuple[int, int]] = []
        for index in range(first, last + 1):
            text = stream[index][0].text
            start = max(span.start - starts[index], 0)
            end = min(span.end - starts[index], len(text.data))
            if end > start:
                offset, length = text.place(start, end)
                places.append((offset, offset + length))
        yield Found(span.type, whole[span.start : span.end], tuple(places), depth)


def renamed(
    body: bytes,
    lengths: Iterable[int],
    found: Iterable[Found],
    name_of: Callable[[Found], bytes | None],
) -> tuple[bytes, tuple[int, ...]]:
    """Rename names in an answer; return the new body and the new lengths of its pieces.

    Args:
        body: the answer.
        lengths: the lengths of its pieces.
        found: the names in it.
        name_of: gives the replacement for a name; None keeps the name.
    """
    edits: list[tuple[int, int, bytes]] = []
    for one in found:
        value = name_of(one)
        if value is None or value == one.value:
            continue
        for _ in range(one.depth):
            value = spelt(value)
        for start, end in one.places:
            edits.append((start, end, value))
            value = b""
    edits.sort()
    if not edits:
        return body, tuple(lengths)
    parts: list[bytes] = []
    at = 0
    for start, end, value in edits:
        parts += (body[at:start], value)
        at = end
    parts.append(body[at:])
    return b"".join(parts), tuple(_new_lengths(lengths, edits))


def moved(
    body: bytes, found: Sequence[Found], name_of: Callable[[Found], bytes | None]
) -> list[Found]:
    """The names of an answer at their new places in ``body``, the result of ``renamed``.

    Their values are read from ``body``.
    """
    lengths: list[tuple[int, int, int, int]] = []
    for number, one in enumerate(found):
        value = name_of(one)
        left = None if value is None or value == one.value else value
        for _ in range(one.depth if left is not None else 0):
            left = spelt(left or b"")
        for start, end in one.places:
            length = end - start if left is None else len(left)
            lengths.append((start, end, number, length))
            left = left if left is None else b""
    places: list[list[tuple[int, int]]] = [[] for _ in found]
    shift = 0
    for start, end, number, length in sorted(lengths):
        places[number].append((start + shift, start + shift + length))
        shift += length - (end - start)
    return [
        Found(one.type, _read(body, where, one.depth), tuple(where), one.depth)
        for one, where in zip(found, places, strict=True)
    ]


def _read(body: bytes, places: Iterable[tuple[int, int]], depth: int) -> bytes:
    value = b"".join(body[start:end] for start, end in places)
    for _ in range(depth):
        value = unspelt(value)
    return value


def _new_lengths(lengths: Iterable[int], edits: list[tuple[int, int, bytes]]) -> Iterator[int]:
    """A cut inside a name moves to the same offset in its replacement, at most to its end."""
    shift = index = last = 0
    for cut in accumulate(lengths):
        while index < len(edits) and edits[index][1] <= cut:
            start, end, value = edits[index]
            shift += len(value) - (end - start)
            index += 1
        new = cut + shift
        if index < len(edits) and edits[index][0] < cut:
            start, _, value = edits[index]
            new = start + shift + min(cut - start, len(value))
        yield new - last
        last = new
