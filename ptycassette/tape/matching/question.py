"""Read the rules of matching, and turn questions into keys and tokens.

The *skeleton* of a question is its canonical form: method, provider, target, the compared headers
and the body, with each volatile token replaced by its type. Nothing else is left out. Members of
objects are sorted, numbers keep their spelling, and each piece is written with its length. So two
questions have the same skeleton only if they differ in nothing but the values of their tokens. The
*key* is the HMAC of the skeleton.

Tokens come in the order of the skeleton, so the tokens of two questions with one key correspond.

A client draws the boundary of a multipart body (RFC 2046) anew for each upload. So it is a token
wherever it separates parts, and in the header that names it.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
from bisect import bisect_left, bisect_right
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from itertools import islice, pairwise
from typing import Final, Literal

import msgspec

from ptycassette.cassette.timeline.match import LEAST_BITS, digest_of, guessing_bits
from ptycassette.errors import UsageError
from ptycassette.model.re2_engine import FilePattern, file_pattern
from ptycassette.model.records import HeadSecret
from ptycassette.model.tape import MaskedDigest, TapeEntry, VolatileToken
from ptycassette.profiles.session_log import StrictTable, check_regex, read_checked
from ptycassette.tape.matching._answers import (
    Finder,
    Node,
    NoJsonError,
    Span,
    Text,
    parse_json,
    values_of,
)

# A small language of paths for places in a JSON body.


ANY: Final = "*"
"""Any element of an array, or any member of an object."""

Step = str | int | tuple[str]
"""``(name,)`` is a member, a number is an element, ``*`` is any."""

_STEP = re.compile(
    r"(?P<dot>\.)?(?:(?P<name>[\w-]+)|(?P<quoted>\"(?:[^\"\\]|\\.)*\")|(?P<any>\*))"
    r"|\[(?:(?P<index>\d{1,6})|(?P<each>\*))\]"
)
_PLAIN = re.compile(r"[\w-]+")


def parse_path(path: str) -> tuple[Step, ...]:
    """The steps of a path.

    Raises:
        ValueError: it is not a path.
    """
    steps: list[Step] = []
    at = 0
    while at < len(path):
        step = _STEP.match(path, at)
        member = step is not None and step["index"] is None and step["each"] is None
        if step is None or (member and bool(step["dot"]) != bool(steps)):
            raise ValueError(f"not a path at character {at + 1}: '{path}' (such as input[*].id)")
        steps.append(_step(step))
        at = step.end()
    return tuple(steps)


def _step(step: re.Match[str]) -> Step:
    if step["index"] is not None:
        return int(step["index"])
    if step["name"] is not None:
        return (step["name"],)
    if step["quoted"] is not None:
        try:
            return (json.loads(step["quoted"]),)
        except ValueError as wrong:
            raise ValueError(f"not a name: {step['quoted']}") from wrong
    return ANY


def shown_path(steps: tuple[str | int, ...]) -> str:
    """A place in a document (names and numbers), written as a path."""
    shown = ""
    for step in steps:
        if isinstance(step, int):
            shown += f"[{step}]"
        else:
            name = step if _PLAIN.fullmatch(step) else json.dumps(step)
            shown += f".{name}" if shown else name
    return shown


class PathTree:
    """Many paths as a tree that is walked along with a document; ``rules`` apply at this node."""

    def __init__(self) -> None:
        self._next: dict[Step, PathTree] = {}
        self.rules: list[int] = []

    def add(self, path: tuple[Step, ...], rule: int) -> None:
        """Add a path at which a rule applies."""
        here = self
        for step in path:
            here = here._next.setdefault(step, PathTree())
        here.rules.append(rule)

    def step(self, step: str | int) -> Iterator[PathTree]:
        """The nodes that a member or an element leads to."""
        named: Step = (step,) if isinstance(step, str) else step
        for way in (named, ANY):
            if way in self._next:
                yield self._next[way]


# The rules of matching as data: which tokens of a question may differ in another run.


SECRET = "secret"  # noqa: S105 - the name of a type
DECLARED_TYPES = ("cwd", "home", "tmp")
"""Types of values that the caller declares; they are found in any text."""
BOUNDARY = "boundary"
"""The type of the text between the parts of a multipart body."""
_NEVER_COMPARED = frozenset(
    {"authorization", "proxy-authorization", "cookie", "x-api-key", "x-goog-api-key", "api-key"}
)
_TYPE_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-")


class TokenType(StrictTable, frozen=True):
    """How values of a type behave; docs/tape.md describes each field."""

    answers: bool = False
    measured: bool = False


_BUILT_IN_TYPES = {
    **dict.fromkeys((*DECLARED_TYPES, SECRET), TokenType(answers=True)),
    BOUNDARY: TokenType(measured=True),
}


class _Token(StrictTable, frozen=True):
    """One ``[[tokens]]`` table of a file of rules."""

    type: str
    path: str | None = None
    regex: str | None = None
    header: str | None = None
    target: bool = False

    def __post_init__(self) -> None:
        places = sum((self.path is not None, self.header is not None, self.target))
        if places > 1:
            raise ValueError("a token has one place: a path, a header, or the target")
        if not places and self.regex is None:
            raise ValueError("a token needs a regex, a path, a header, or target = true")
        if not self.type or not _TYPE_LETTERS.issuperset(self.type):
            raise ValueError(f"a type is of small letters, digits and hyphens: '{self.type}'")
        check_regex(self.regex)
        if self.path is not None:
            parse_path(self.path)


class _RuleFile(StrictTable, frozen=True):
    version: int
    name: str
    headers: tuple[str, ...] = ()
    turns: tuple[str, ...] = ()
    types: dict[str, TokenType] = msgspec.field(default_factory=dict)
    tokens: tuple[_Token, ...] = ()


class Rules:
    """The rules of one or more files together; made by ``parse``.

    Attributes:
        names: the names of the files.
        digest: SHA-256 (hex) of the rules.
        headers: the compared headers, sorted.
        types: how the values of each type behave that a file names.
        turns: the paths of the turns.
        paths: where each rule applies, by its number for ``at_path``.
    """

    def __init__(self, files: tuple[_RuleFile, ...]) -> None:
        self.names = tuple(file.name for file in files)
        self.digest = hashlib.sha256(msgspec.json.encode(files)).hexdigest()
        self.headers = tuple(sorted({name.lower() for file in files for name in file.headers}))
        self.turns = tuple(parse_path(path) for file in files for path in file.turns)
        self.types = dict(_BUILT_IN_TYPES)
        self.paths = PathTree()
        self._at_path: list[tuple[str, Finder | None]] = []
        self._in_header: dict[str, list[_Token]] = {}
        self._in_target: list[_Token] = []
        self._anywhere: list[tuple[str, FilePattern]] = []
        for file in files:
            self.types.update(file.types)
            for token in file.tokens:
                self._add(token)

    def _add(self, token: _Token) -> None:
        if token.path is not None:
            self.paths.add(parse_path(token.path), len(self._at_path))
            pattern = _patterns((token,))
            self._at_path.append((token.type, Finder(pattern) if pattern else None))
        elif token.header is not None:
            self._in_header.setdefault(token.header.lower(), []).append(token)
        elif token.target:
            self._in_target.append(token)
        else:
            self._anywhere += _patterns((token,))

    @classmethod
    def parse(cls, *files: tuple[str, str]) -> Rules:
        """Parse files of rules, each given as its text and its place for messages.

        Raises:
            UsageError: a file is wrong, or contradicts an earlier one about a type.
        """
        checked = tuple(_checked(text, where) for text, where in files)
        known = dict(_BUILT_IN_TYPES)
        for file, (_, where) in zip(checked, files, strict=True):
            for name, behaviour in file.types.items():
                if known.setdefault(name, behaviour) != behaviour:
                    raise UsageError(
                        f"the type {name!r} is known, and behaves otherwise", where=where
                    )
        return cls(checked)

    def comparing(self, headers: Iterable[str]) -> Rules:
        """The same rules, but comparing at most these headers."""
        wanted = tuple(name for name in self.headers if name in frozenset(headers))
        if wanted == self.headers:
            return self
        made = copy(self)
        made.headers = wanted
        made.digest = hashlib.sha256(f"{self.digest} {' '.join(wanted)}".encode()).hexdigest()
        return made

    def type_of(self, name: str) -> TokenType:
        """How the values of a type behave."""
        return self.types.get(name) or TokenType()

    def at_path(self, number: int) -> tuple[str, Finder | None]:
        """A rule of ``paths``: its type and its finder; None if the whole value is the token."""
        return self._at_path[number]

    def anywhere(self, declared: Mapping[str, str]) -> Finder:
        """The finder for any text of a question."""
        return Finder(self._anywhere, values_of(declared))

    def in_answers(self, values: Iterable[tuple[str, bytes]]) -> Finder:
        """The finder for texts of an answer; ``values`` are found by their text alone."""
        return Finder(
            [(type_, one) for type_, one in self._anywhere if self.type_of(type_).answers], values
        )

    @property
    def born_types(self) -> frozenset[str]:
        """The types of names that the provider makes: they first appear in an answer."""
        return frozenset(type_ for type_, _ in self._anywhere if self.type_of(type_).answers)

    @staticmethod
    def known_names(values: Iterable[tuple[str, bytes]]) -> Finder:
        """A finder for these values alone."""
        return Finder((), values)

    def in_header(self, name: str, declared: Mapping[str, str]) -> Finder | str:
        """The finder for a header; a type if the whole value is a token."""
        return self._in_place(self._in_header.get(name, ()), declared)

    def in_target(self, declared: Mapping[str, str]) -> Finder | str:
        """The finder for the target of a request; a type if all of it is a token."""
        return self._in_place(self._in_target, declared)

    def _in_place(self, tokens: Iterable[_Token], declared: Mapping[str, str]) -> Finder | str:
        tokens = tuple(tokens)
        for token in tokens:
            if token.regex is None:
                return token.type
        return Finder([*_patterns(tokens), *self._anywhere], values_of(declared))


def _patterns(tokens: Iterable[_Token]) -> list[tuple[str, FilePattern]]:
    return [
        (token.type, file_pattern(token.regex, multiline=True))
        for token in tokens
        if token.regex is not None
    ]


def _checked(text: str, where: str) -> _RuleFile:
    """Parse one file of rules.

    Raises:
        UsageError: it is wrong.
    """
    file = read_checked(text, _RuleFile, where=where, known=(_Token, TokenType))
    compared = sorted({name.lower() for name in file.headers} & _NEVER_COMPARED)
    if compared:
        raise UsageError(
            f"{compared[0]} is never compared: it holds a key",
            where=where,
            hint="questions are compared by their content, not by their sender",
        )
    return file


# The canonical form of a body and of other texts: literal parts unchanged, tokens as types.


class Token(msgspec.Struct, frozen=True, gc=False):
    """A volatile token: its place (see ``VolatileToken``) and its value."""

    where: str
    offset: int
    length: int
    type: str
    value: bytes


_Form = tuple[bytes, list[Token]]


class CanonicalBody(msgspec.Struct, frozen=True):
    """The canonical form of a body and its tokens; see ``Skeleton``."""

    form: bytes
    tokens: tuple[Token, ...]


def canonical_text(
    where: str,
    text: bytes,
    finder: Finder | str,
    secrets: Sequence[HeadSecret] = (),
    boundary: Span | None = None,
) -> tuple[bytes, list[Token]]:
    """The canonical form of a header or target; a type as ``finder`` makes all of it one token.

    ``secrets`` are the values behind placeholders in ``text``, and become tokens. ``boundary`` is a
    token even if it is masked.
    """
    if isinstance(finder, str):
        value = bytearray(text)
        for one in reversed(secrets):
            value[one.offset : one.offset + one.length] = one.value
        whole = Token(where, 0, len(text), finder, bytes(value))
        return _written(text, [Span(0, len(text), finder)]), [whole]
    values = {one.offset: one.value for one in secrets}
    given = [Span(one.offset, one.offset + one.length, SECRET) for one in secrets]
    spans = _joined(_joined([boundary] if boundary else [], given), finder.find(text))
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
    *,
    boundary: bytes = b"",
) -> CanonicalBody:
    """The canonical form of a body: as JSON if it is JSON, otherwise by its bytes.

    In a multipart body, the boundary and what ``anywhere`` finds in headers and texts are tokens.

    Args:
        body: the bytes.
        rules: what is volatile at which path.
        anywhere: the finder for every text.
        given: places that are tokens in any case.
        simple: a cache of the forms of short texts without tokens under these rules, mostly names
            of members. It is read and filled.
        boundary: the boundary that the header names; empty if the body is no multipart.
    """
    places = _in_order(given)
    try:
        tree = parse_json(body)
    except NoJsonError:
        spans = [Span(one.offset, one.offset + one.length, one.type) for one in places]
        if boundary and all(one.type != BOUNDARY for one in spans):
            spans = _in_multipart(body, boundary, anywhere, spans)
        tokens = tuple(_token(body, span.start, span.end, span.type) for span in spans)
        return CanonicalBody(b"bytes;" + _written(body, spans), tokens)
    writer = _Writer(body, rules, anywhere, places, simple)
    form, found = writer.value(tree, (rules.paths,))
    return CanonicalBody(b"json;" + form, tuple(found))


# Multipart bodies: RFC 2046, section 5.1.


_MULTIPART = re.compile(r"\s*multipart/", re.IGNORECASE)
_NAMES_BOUNDARY = re.compile(rb"[;\s]boundary\*?=", re.IGNORECASE)
_LONGEST_TYPE = 4096
"""The longest header that is searched for a boundary; a boundary has at most 70 characters."""
_LONGEST_HEAD = 16 << 10
_MOST_PARTS = 4096
"""The most delimiters that become tokens; a body with more is compared by its bytes."""
_MOST_NESTED = 3
_LONGEST_TEXT_PART = 256 << 10
"""The longest part that is searched for tokens; longer ones are files, compared byte by byte."""


def boundary_place(content_type: str) -> Span | None:
    """Where a ``Content-Type`` names the boundary of a multipart body, in bytes.

    None if it is no multipart, or names no boundary in plain text.
    """
    from email.message import Message  # noqa: PLC0415 - most questions have no parts

    if len(content_type) > _LONGEST_TYPE or not _MULTIPART.match(content_type):
        return None
    text = content_type.encode("utf-8", "surrogateescape")
    header = Message()
    header["content-type"] = text.decode("latin-1")
    boundary = (header.get_boundary() or "").encode("latin-1", "replace")
    named = _NAMES_BOUNDARY.search(text)
    start = text.find(boundary, named.end()) if boundary and named else -1
    return Span(start, start + len(boundary), BOUNDARY) if start >= 0 else None


class Part(msgspec.Struct, frozen=True):
    """A part of a multipart body: where its headers and its content begin and end."""

    head: tuple[int, int]
    content: tuple[int, int]


def parts_between(body: bytes, delimiters: Sequence[tuple[int, int]]) -> list[Part]:
    """The parts of a multipart body, given where its boundary begins and ends each time."""
    parts: list[Part] = []
    for (_, before), (after, _) in pairwise(delimiters):
        end = after - len(b"\n--")
        if body[end - 1 : end] == b"\r":
            end -= 1
        start = body.find(b"\n", before, after) + 1
        if end < start:  # the part is empty, without the blank line
            continue
        blank = _BLANK.search(body, start, min(end, start + _LONGEST_HEAD))
        head_end, content = blank.span() if blank else (start, start)
        parts.append(Part((start, head_end), (content, end)))
    return parts


_BLANK = re.compile(rb"(?:(?<=\n)|\n)\r?\n")


def is_delimiter(body: bytes, offset: int) -> bool:
    """Whether a boundary at this place begins a line, after two hyphens."""
    return body[max(0, offset - 3) : offset] in {b"\n--", b"--"}


def _in_multipart(body: bytes, boundary: bytes, anywhere: Finder, given: list[Span]) -> list[Span]:
    """The tokens of a multipart body; where two overlap, a boundary wins, then one of ``given``."""
    boundaries: list[Span] = []
    texts: list[tuple[int, int]] = []
    todo = [((0, len(body)), boundary, 0)]
    while todo:
        (start, end), wanted, depth = todo.pop()
        line = re.compile(rb"--(%b)(?=--|[ \t]*(?:\r?\n|\Z))" % re.escape(wanted))
        found = (one.span(1) for one in line.finditer(body, start, end))
        lines = (place for place in found if is_delimiter(body, place[0]))
        delimiters = list(islice(lines, _MOST_PARTS + 1))
        if len(delimiters) + len(boundaries) > _MOST_PARTS:
            return given
        boundaries += (Span(*one, BOUNDARY) for one in delimiters)
        for part in parts_between(body, delimiters):
            texts.append(part.head)
            inner = _boundary_in_head(body, part.head) if depth < _MOST_NESTED else None
            if inner is not None:
                boundaries.append(inner)
                todo.append((part.content, body[inner.start : inner.end], depth + 1))
            elif _is_text(body, part.content):
                texts.append(part.content)
    spans = _joined(sorted(boundaries), given)
    more: list[Span] = []
    for start, end in texts:
        found_here = anywhere.find(body[start:end])
        more += (Span(start + one.start, start + one.end, one.type) for one in found_here)
    return _joined(spans, sorted(more))


def _boundary_in_head(body: bytes, head: tuple[int, int]) -> Span | None:
    """The boundary of a multipart within a multipart, if the headers of a part name one."""
    start, end = head
    for line in _TYPE_LINE.finditer(body, start, end):
        place = boundary_place(line[1].decode("utf-8", "surrogateescape"))
        if place is not None:
            return Span(line.start(1) + place.start, line.start(1) + place.end, BOUNDARY)
    return None


_TYPE_LINE = re.compile(rb"^content-type:([^\n]*(?:\n[ \t][^\n]*)*)", re.IGNORECASE | re.MULTILINE)


def _is_text(body: bytes, place: tuple[int, int]) -> bool:
    start, end = place
    if end - start > _LONGEST_TEXT_PART:
        return False
    try:
        body[start:end].decode()
    except UnicodeDecodeError:
        return False
    return True


def _in_order(given: tuple[VolatileToken, ...]) -> list[VolatileToken]:
    """The places of the body, without those that overlap an earlier one."""
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
    """Literal pieces with their lengths, and tokens by their types."""
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
        """The form of a value, and its tokens in the order of the form."""
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
            form, found = self.value(item, _canonical_step(trees, index))
            parts.append(form)
            tokens += found
        return b"".join(parts), tokens

    def _object(self, node: Node, trees: _Trees) -> _Form:
        members: list[tuple[bytes, bytes, list[Token]]] = []
        for key, item in zip(node.keys, node.items, strict=True):
            name, in_name = self._string(key, ())
            below = _canonical_step(trees, self._key(key)) if trees else ()
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
        """The given places within a value; they are in order and do not overlap."""
        first = bisect_right(self._places, node.start, key=lambda one: one.offset + one.length)
        last = bisect_left(self._places, node.end, key=lambda one: one.offset)
        return self._places[first:last]


def _canonical_step(trees: _Trees, step: str | int) -> _Trees:
    return tuple(below for tree in trees for below in tree.step(step)) if trees else ()


def _joined(found: list[Span], more: Iterable[Span]) -> list[Span]:
    """Both, in order; of two that overlap, the one from ``found`` stays."""
    if not found:
        return list(more)
    return sorted([*found, *(span for span in more if not _overlapping(found, span))])


def _overlapping(spans: list[Span], span: Span) -> Span | None:
    """The one of ``spans`` (in order, not overlapping) that overlaps ``span``."""
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
    """Add places that are tokens in any case, unless a found span covers all of a secret."""
    kept = [one for one in given if not (one.type == SECRET and _covered(found, one))]
    return _joined(kept, found)


def _covered(found: list[Span], span: Span) -> bool:
    other = _overlapping(found, span)
    return other is not None and other.start <= span.start and span.end <= other.end


_WITHIN = "connection"
"""The type of the name of the WebSocket within which a message was sent."""
_MOST_KNOWN, _LONGEST_KNOWN = 1024, 1024


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """A question of a CLI.

    Attributes:
        kind: ``http``, ``websocket`` for a handshake, ``message`` for a message over a WebSocket.
        upstream: the base URL of the provider, as entries have it.
        headers: all headers, names in lower case.
        body: the unpacked body.
        stored: the body as a tape has it, masked and of the same length; empty if nothing is
            masked. Its literal parts make the key, so that the key can be computed from the tape
            again. Tokens are first found in ``body``, and have their values from there.
        form: ``text`` or ``binary`` for a message.
        within: identifies the WebSocket of a handshake or message; anything hashable.
        secrets: masked places of the body (offset, length).
        tokens: places of the body that are known to be tokens, if the question is from a tape.
        head_secrets: the values behind placeholders in ``target`` and ``headers``.
    """

    kind: Literal["http", "websocket", "message"]
    method: str = ""
    upstream: str = ""
    target: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    stored: bytes = b""
    form: Literal["", "text", "binary"] = ""
    within: Hashable = None
    secrets: tuple[tuple[int, int], ...] = ()
    tokens: tuple[VolatileToken, ...] = ()
    head_secrets: tuple[HeadSecret, ...] = ()


_PAGE = 4096
_SAME_SECRET = 4
"""A mask may leave a byte as it was, so stretches with so few bytes between them are one."""


def masked_places(raw: bytes, masked: bytes) -> tuple[tuple[int, int], ...]:
    """The stretches (offset, length) in which ``masked`` differs from ``raw``, as long as it."""
    found: list[tuple[int, int]] = []
    for at in range(0, len(raw), _PAGE):
        if raw[at : at + _PAGE] == masked[at : at + _PAGE]:
            continue
        for place in range(at, min(at + _PAGE, len(raw))):
            if raw[place] == masked[place]:
                continue
            if found and place - sum(found[-1]) <= _SAME_SECRET:
                start = found.pop()[0]
                found.append((start, place + 1 - start))
            else:
                found.append((place, 1))
    return tuple(found)


class Skeleton(msgspec.Struct, frozen=True):
    """The canonical form of a question without the values of its tokens."""

    form: bytes
    tokens: tuple[Token, ...]


def has_boundaries(entries: Iterable[TapeEntry]) -> bool:
    """Whether the boundaries of multiparts are tokens on this tape, or it has no multiparts."""
    return all(
        any(token.type == BOUNDARY for token in entry.tokens)
        for entry in entries
        for name, value in entry.headers
        if name == _TYPE_HEADER and entry.key and boundary_place(value) is not None
    )


_TYPE_HEADER = "content-type"


class Skeletons:
    """Makes skeletons.

    Args:
        rules: what is volatile.
        declared: values of this run that are tokens wherever they appear: ``cwd``, ``home``, ...
        boundaries: whether the boundary of a multipart is a token. It was none in recordings of
            earlier versions (``has_boundaries``).
    """

    def __init__(
        self, rules: Rules, declared: Mapping[str, str], *, boundaries: bool = True
    ) -> None:
        self._rules = rules
        self._boundaries = boundaries and _TYPE_HEADER in rules.headers
        self._anywhere = rules.anywhere(declared)
        self._in_target = rules.in_target(declared)
        self._in_header = {name: rules.in_header(name, declared) for name in rules.headers}
        self._simple: dict[bytes, tuple[bytes, list[Token]]] = {}
        self._texts: dict[tuple[str, str], tuple[bytes, list[Token]]] = {}

    def of(self, question: Question) -> Skeleton:
        """The skeleton of a question."""
        tokens: list[Token] = []
        parts = [f"{question.kind} {question.method} {question.form};".encode()]
        secrets = question.head_secrets
        boundary = b""
        parts.append(self._text("upstream", question.upstream, self._anywhere, tokens))
        parts.append(self._text("target", question.target, self._in_target, tokens, secrets))
        for name in self._rules.headers:
            values = (value for one, value in question.headers if one == name)
            for number, value in enumerate(values):
                parts.append(f"{name}:".encode())
                first = () if number else secrets
                place = self._boundary(name, value)
                if place is not None:
                    text = value.encode("utf-8", "surrogateescape")
                    boundary = boundary or text[place.start : place.end]
                finder = self._in_header[name]
                parts.append(self._text(name, value, finder, tokens, first, boundary=place))
        if question.kind != "http":
            tokens.append(Token("within", 0, 0, _WITHIN, repr(question.within).encode()))
        body = self._body(question.body, _given(question), boundary)
        found: Iterable[Token] = body.tokens
        if question.stored not in {b"", question.body}:
            places = tuple(VolatileToken(one.offset, one.length, one.type) for one in found)
            body = self._body(question.stored, places, boundary)
            found = _as_asked(question, body.tokens)
        parts.append(body.form)
        return Skeleton(b"".join(parts), (*tokens, *found))

    def _boundary(self, name: str, value: str) -> Span | None:
        if name != _TYPE_HEADER or not self._boundaries or isinstance(self._in_header[name], str):
            return None
        return boundary_place(value)

    def _body(
        self, body: bytes, given: tuple[VolatileToken, ...], boundary: bytes
    ) -> CanonicalBody:
        return canonical_body(
            body, self._rules, self._anywhere, given, self._simple, boundary=boundary
        )

    def _text(
        self,
        where: str,
        text: str,
        finder: Finder | str,
        tokens: list[Token],
        secrets: tuple[HeadSecret, ...] = (),
        *,
        boundary: Span | None = None,
    ) -> bytes:
        within = [one for one in secrets if one.where == where]
        single = bool(within or boundary)
        known = None if single else self._texts.get((where, text))
        if known is None:
            data = text.encode("utf-8", "surrogateescape")
            known = canonical_text(where, data, finder, within, boundary)
            if not single and len(text) <= _LONGEST_KNOWN:  # the same for most questions
                if len(self._texts) >= _MOST_KNOWN:
                    self._texts.clear()
                self._texts[where, text] = known
        form, found = known
        tokens += found
        return form


def _given(question: Question) -> tuple[VolatileToken, ...]:
    secrets = (VolatileToken(offset, length, SECRET) for offset, length in question.secrets)
    return (*question.tokens, *secrets)


def _as_asked(question: Question, tokens: tuple[Token, ...]) -> Iterator[Token]:
    """The tokens of a masked body, with the values from the unmasked body."""
    for token in tokens:
        start, end = token.offset, token.offset + token.length
        asked = question.body[start:end]
        if asked == question.stored[start:end]:
            yield token
            continue
        try:
            value = Text(question.body, start, end).data
        except ValueError:  # the mask begins or ends within an escape
            value = asked
        yield msgspec.structs.replace(token, value=value)


def question_key(key: bytes, skeleton: Skeleton) -> str:
    """HMAC-SHA-256 (hex) of a skeleton under the key of the cassette."""
    return hmac.new(key, skeleton.form, hashlib.sha256).hexdigest()


MOST_DIGESTS = 32
"""The most different masked values that get digests, which takes a second and a half."""


def masked_digest(key: bytes, value: bytes) -> str:
    """The digest of a value that a tape masks; empty for a value that could be guessed."""
    text = value.decode("utf-8", "surrogateescape")
    return digest_of(key.hex(), text) if guessing_bits(text) >= LEAST_BITS else ""


class KeyedQuestion(msgspec.Struct, frozen=True):
    """What an entry keeps of a question: key, tokens, and digests of masked values."""

    key: str
    tokens: tuple[VolatileToken, ...]
    digests: tuple[MaskedDigest, ...] = ()


class QuestionKeys:
    """Computes keys and tokens for the questions of one tape, in order.

    Values of each type are numbered from 1 in the order in which they appear. So equal tokens can
    still be recognised when their values are masked.

    Args:
        rules: what is volatile.
        declared: values of this run.
        key: the key of the cassette, 32 random bytes.
    """

    def __init__(self, rules: Rules, declared: Mapping[str, str], *, key: bytes) -> None:
        self._skeletons = Skeletons(rules, declared)
        self._key = key
        self._names: dict[str, dict[bytes, int]] = {}
        self._digests: dict[bytes, str] = {}

    def of(self, question: Question) -> KeyedQuestion:
        """The parts of the next question that its entry keeps."""
        skeleton = self._skeletons.of(question)
        tokens = tuple(
            VolatileToken(
                token.offset, token.length, token.type, self._name(token), where=token.where
            )
            for token in skeleton.tokens
        )
        digests = {
            MaskedDigest(token.type, token.name, digest): None
            for token, one in zip(tokens, skeleton.tokens, strict=True)
            if _masked(one, question) and (digest := self._digest(one.value))
        }
        return KeyedQuestion(question_key(self._key, skeleton), tokens, tuple(digests))

    def _digest(self, value: bytes) -> str:
        if value not in self._digests and len(self._digests) < MOST_DIGESTS:
            digest = masked_digest(self._key, value)
            if digest:  # a value that could be guessed costs no time, and does not count
                self._digests[value] = digest
        return self._digests.get(value, "")

    def _name(self, token: Token) -> int:
        names = self._names.setdefault(token.type, {})
        return names.setdefault(token.value, len(names) + 1)


def _masked(token: Token, question: Question) -> bool:
    """Whether any part of a token is masked in the stored body; places are in order."""
    if token.where:
        return any(
            one.where == token.where
            and token.offset <= one.offset
            and one.offset + one.length <= token.offset + token.length
            for one in question.head_secrets
        )
    secrets = question.secrets
    if not secrets:
        return False
    at = bisect_left(secrets, (token.offset + token.length, 0)) - 1
    return at >= 0 and sum(secrets[at]) > token.offset
