"""Explain a miss: find the nearest recorded question, and show where it differs.

The explanation is for people and never decides which answer is served. All texts are scrubbed:
volatile tokens and secrets are shown by their types.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import re
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Sequence
from hashlib import sha256
from heapq import nsmallest
from itertools import islice
from typing import Any, Protocol

import msgspec

from ptycassette.model.records import NOT_JSON, HeadSecret
from ptycassette.model.tape import Chunk, TapeEntry, VolatileToken
from ptycassette.model.visible_text import visible
from ptycassette.tape.matching._answers import Found, Node, Text, found_in, parse_json, renamed
from ptycassette.tape.matching.question import (
    BOUNDARY,
    DECLARED_TYPES,
    MOST_DIGESTS,
    SECRET,
    Question,
    Rules,
    Skeleton,
    Token,
    is_delimiter,
    masked_digest,
    parts_between,
    shown_path,
)

# The renaming of recorded values to live ones, one to one, over the whole run.


class Pair(msgspec.Struct, frozen=True):
    """A name of the recording (see ``VolatileToken``), and its value in this run."""

    type: str
    name: int
    value: bytes


class Binding:
    """Pairs in which each name has one value, and each value one name, within a type."""

    def __init__(self) -> None:
        self._values: dict[tuple[str, int], bytes] = {}
        self._names: dict[tuple[str, bytes], int] = {}

    def conflict(self, pairs: Iterable[Pair]) -> Pair | None:
        """The first pair that contradicts a bound pair or an earlier one of ``pairs``."""
        values: dict[tuple[str, int], bytes] = {}
        names: dict[tuple[str, bytes], int] = {}
        for pair in pairs:
            by_name, by_value = (pair.type, pair.name), (pair.type, pair.value)
            value = self._values.get(by_name, values.get(by_name))
            name = self._names.get(by_value, names.get(by_value))
            if (value is not None or name is not None) and (value, name) != (pair.value, pair.name):
                return pair
            values[by_name] = pair.value
            names[by_value] = pair.name
        return None

    def add(self, pairs: Iterable[Pair]) -> None:
        """Bind pairs that have no conflict."""
        for pair in pairs:
            self._values[pair.type, pair.name] = pair.value
            self._names[pair.type, pair.value] = pair.name

    def value(self, type_: str, name: int) -> bytes | None:
        """The value that is bound to a name."""
        return self._values.get((type_, name))

    def name(self, type_: str, value: bytes) -> int | None:
        """The name that a value is bound to."""
        return self._names.get((type_, value))

    def pairs(self) -> list[Pair]:
        """All pairs, in the order in which they were bound."""
        return [Pair(type_, name, value) for (type_, name), value in self._values.items()]


# A tape for a matcher: its stored questions, and the names in it.


_SHORTEST_NAME = 6
"""The shortest name that is looked for in answers; shorter ones occur there by chance."""
MOST_SEARCHED = 16 << 20
"""The longest answer that is searched for names; a search takes half a second for each MB. The
longest answers of models are a hundred times smaller: a longer one is a file, served unchanged."""


class TapeExchange(Protocol):
    """A recorded question with its answer, as a cassette reader returns it."""

    @property
    def entry(self) -> TapeEntry:
        """Its line in the index of the tape."""
        ...

    def question(self) -> bytes:
        """The body of the question, unpacked and scrubbed."""
        ...

    def pieces(self) -> Iterator[tuple[Chunk, bytes]]:
        """The body of the answer, unpacked and scrubbed."""
        ...


def question_of(exchange: TapeExchange) -> Question:
    """A question as stored; its tokens are those of the entry."""
    entry = exchange.entry
    return Question(
        kind=entry.kind,
        method=entry.method,
        upstream=entry.upstream,
        target=entry.target,
        headers=entry.headers,
        body=exchange.question(),
        form=entry.form,
        within=entry.within if entry.kind == "message" else entry.entry,
        tokens=tuple(token for token in entry.tokens if not token.where),
        head_secrets=tuple(
            HeadSecret(token.where, token.offset, token.length, b"\0%d" % token.name)
            for token in entry.tokens
            if token.where and token.type == SECRET
        ),
    )


class Recorded:
    """A tape with its names.

    Attributes:
        compared: the headers that are compared.

    Args:
        exchanges: the whole tape, in order.
        rules: the rules that it was recorded with, possibly with more.
    """

    def __init__(self, exchanges: Sequence[TapeExchange], rules: Rules) -> None:
        self.exchanges = tuple(exchanges)
        self._rules = rules
        self.compared = frozenset(rules.headers)
        self._texts: dict[tuple[str, int], bytes] = {}
        self._names: dict[tuple[str, bytes], int | None] = {}
        self._counts: dict[str, int] = {}
        self._found: dict[int, list[Found]] = {}
        self._forms: dict[int, bytes] = {}
        self._answers_named = False
        for exchange in self.exchanges:
            body = exchange.question() if _in_body(exchange.entry) else b""
            for token in exchange.entry.tokens:
                self._note(token, _text_of(token, exchange.entry, body))
        known = [one for one, name in self._names.items() if name is not None]
        self._values = [
            (type_, text)
            for type_, text in known
            if self._rules.type_of(type_).answers
            and (type_ in DECLARED_TYPES or len(text) >= _SHORTEST_NAME)
        ]
        self._in_answers = rules.in_answers(self._values)
        self._in_pieces = rules.known_names(self._values)

    def _note(self, token: VolatileToken, text: bytes | None) -> None:
        self._counts[token.type] = max(self._counts.get(token.type, 0), token.name)
        if text is None or self._rules.type_of(token.type).measured:
            return
        self._texts.setdefault((token.type, token.name), text)
        if self._names.setdefault((token.type, text), token.name) != token.name:
            self._names[token.type, text] = None  # two values with the same mask

    def tokens(self, index: int) -> tuple[Token, ...]:
        """The tokens of a question; masked values, too, can be told apart."""
        return tuple(
            Token(one.where, one.offset, one.length, one.type, self._value(one.type, one.name))
            for one in self.exchanges[index].entry.tokens
        )

    def _value(self, type_: str, name: int) -> bytes:
        text = self._texts.get((type_, name))
        known = text is not None and self._names.get((type_, text)) == name
        return text if known and text is not None else b"\0%d" % name

    def known_name(self, type_: str, text: bytes) -> int | None:
        """The name of a value that a question holds unmasked; None if it is masked or new."""
        return self._names.get((type_, text))

    def text(self, type_: str, name: int) -> bytes | None:
        """The stored value of a name; None if it is masked."""
        return self._texts.get((type_, name))

    def name(self, type_: str, text: bytes) -> int | None:
        """The name of a value in an answer; a new name if no question has the value.

        New names follow the order of the tape, in whatever order answers are served.

        Returns:
            None if the value is masked, and other values are masked the same way.
        """
        if (type_, text) not in self._names and not self._answers_named:
            self._answers_named = True
            for index in range(len(self.exchanges)):
                for one in self.found(index):
                    self._name_anew(one.type, one.value)
        self._name_anew(type_, text)
        return self._names[type_, text]

    def _name_anew(self, type_: str, text: bytes) -> None:
        if (type_, text) not in self._names:
            self._counts[type_] = self._counts.get(type_, 0) + 1
            self._names[type_, text] = self._counts[type_]
            self._texts[type_, self._counts[type_]] = text

    def live_values(self, binding: Binding) -> list[tuple[str, bytes]]:
        """The values of this run for the names that are looked for in answers."""
        pairs = (
            (type_, binding.value(type_, self._names[type_, text] or 0))
            for type_, text in self._values
        )
        return [(type_, value) for type_, value in pairs if value is not None]

    def only_name(self, type_: str) -> int | None:
        """The name of a type, if the tape has exactly one name of it."""
        names = [name for one, name in self._texts if one == type_]
        return names[0] if len(names) == 1 else None

    def answer(self, index: int) -> tuple[bytes, tuple[Chunk, ...], list[Found]]:
        """The answer of an entry: its bytes, its chunks, and the names in it."""
        exchange = self.exchanges[index]
        pieces = list(exchange.pieces())
        chunks = tuple(chunk for chunk, _ in pieces)
        body = b"".join(data for _, data in pieces)
        if index not in self._found:
            searched = answer_length(exchange) <= MOST_SEARCHED
            self._found[index] = self._search(body, cuts_of(pieces)) if searched else []
        return body, chunks, self._found[index]

    def found(self, index: int) -> list[Found]:
        """The names in an answer. Its bytes are read at the first call."""
        if index not in self._found and answer_length(self.exchanges[index]) > MOST_SEARCHED:
            self._found[index] = []
        return self._found[index] if index in self._found else self.answer(index)[2]

    def _search(self, body: bytes, cuts: tuple[int, ...]) -> list[Found]:
        return found_in(body, cuts, self._in_answers, self._in_pieces)

    def answer_form(self, index: int) -> bytes:
        """A digest of an answer in which each name is replaced by its type."""
        if index not in self._forms:
            self._forms[index] = self._answer_form(index)
        return self._forms[index]

    def _answer_form(self, index: int) -> bytes:
        exchange = self.exchanges[index]
        digest = hashlib.sha256()
        status = None if exchange.entry.answer is None else exchange.entry.answer.status
        digest.update(f"{status} ".encode())
        if answer_length(exchange) > MOST_SEARCHED:
            for _, data in exchange.pieces():
                digest.update(data)
        else:
            body, _, found = self.answer(index)
            digest.update(renamed(body, (), found, lambda one: f"<{one.type}>".encode())[0])
        return digest.digest()

    def in_text(self, text: bytes) -> list[Found]:
        """The names in a header of an answer."""
        return [
            Found(span.type, text[span.start : span.end], ((span.start, span.end),), 0)
            for span in self._in_answers.find(text)
        ]


def answer_length(exchange: TapeExchange) -> int:
    """The length of an answer in bytes."""
    answer = exchange.entry.answer
    return 0 if answer is None or answer.body is None else answer.body.bytes


def _in_body(entry: TapeEntry) -> bool:
    return any(not token.where for token in entry.tokens)


def cuts_of(pieces: Sequence[tuple[Chunk, bytes]]) -> tuple[int, ...]:
    """The offsets at which messages of a WebSocket end."""
    if not any(chunk.form for chunk, _ in pieces):
        return ()
    ends: list[int] = []
    at = 0
    for _, data in pieces:
        at += len(data)
        ends.append(at)
    return tuple(ends[:-1])


def _text_of(token: VolatileToken, entry: TapeEntry, body: bytes) -> bytes | None:
    """The text of a token; None if its place was not kept."""
    end = token.offset + token.length
    match token.where:
        case "":
            return Text(body, token.offset, end).data if end <= len(body) else None
        case "within":
            return None
        case "target":
            text: str | None = entry.target
        case "upstream":
            text = entry.upstream
        case name:
            text = next((value for one, value in entry.headers if one == name), None)
    if text is None:
        return None
    data = text.encode("utf-8", "surrogateescape")
    return data[token.offset : end] if end <= len(data) else None


_MOST_COMPARED = 50
"""Recorded questions that are compared with one that is a miss."""
_MOST_DIFFERENCES = 20
_SHOWN_CHARS = 100
_BEFORE_CHARS = 20


class Difference(msgspec.Struct, frozen=True):
    """A place at which two questions differ; None marks the side without a value."""

    path: str
    recorded: str | None
    live: str | None

    def __str__(self) -> str:
        recorded = "nothing" if self.recorded is None else f"'{self.recorded}'"
        live = "nothing" if self.live is None else f"'{self.live}'"
        return f"{self.path}: recorded {recorded}, asked {live}"


class Miss(msgspec.Struct, frozen=True, kw_only=True):
    """No recorded question matches.

    Attributes:
        asked: the question, on one line.
        reason: why nothing is served.
        nearest: the number of the entry that is most like the question, for people.
        differences: the places where the two differ, at most twenty.
        more: how many differences are left out.
    """

    asked: str
    reason: str
    nearest: int | None = None
    differences: tuple[Difference, ...] = ()
    more: int = 0

    def text(self) -> str:
        """The whole explanation, line by line."""
        lines = [f"{self.asked}: {self.reason}"]
        if self.nearest is not None:
            lines.append(f"  nearest is entry {self.nearest}")
        lines += [f"  {difference}" for difference in self.differences]
        if self.more:
            lines.append(f"  and {self.more} more")
        return "\n".join(lines)


_Leaves = dict[str, str]


class Misses:
    """Explains misses."""

    def __init__(self, recorded: Recorded) -> None:
        self._recorded = recorded
        self._leaves: dict[int, _Leaves] = {}

    def conflict(self, pair: Pair, binding: Binding) -> str:
        """Why a pair contradicts the binding."""
        text = self._recorded.text(pair.type, pair.name)
        recorded = "one of them" if text is None or pair.type == SECRET else _quoted(text)
        value = "another" if pair.type == SECRET else _quoted(pair.value)
        stands = binding.value(pair.type, pair.name)
        if stands is not None and pair.type != SECRET:
            return f"the {pair.type} {recorded} is {_quoted(stands)} in this run, not {value}"
        return f"the {pair.type} {value} stands for two that are different in the recording"

    def of(
        self,
        question: Question,
        skeleton: Skeleton,
        unused: Sequence[int],
        obstacle: tuple[int, str] | None,
        *,
        used_up: int,
    ) -> Miss:
        """Explain why a question has no answer.

        Args:
            question: the question.
            skeleton: its skeleton.
            unused: the entries that were not asked for yet.
            obstacle: an entry with an equal key, and why it does not fit.
            used_up: how many entries have an equal key, if all of them were already served.
        """
        asked = _asked(question)
        if obstacle is not None:
            index, reason = obstacle
            return Miss(asked=asked, reason=reason, nearest=self._number(index))
        if used_up:
            times = "once" if used_up == 1 else f"{used_up} times"
            return Miss(asked=asked, reason=f"it was asked {times} in the recording, and now again")
        live = leaves(question, skeleton.tokens, self._recorded.compared)
        ranked = [
            (_likeness(self._of(index), live), index) for index in self._like(question, unused)
        ]
        if not ranked:
            return Miss(asked=asked, reason="every recorded question of its kind was asked before")
        nearest = max(ranked, key=lambda one: (one[0], -one[1]))[1]
        differences = list(_differences(self._of(nearest), live))
        return Miss(
            asked=asked,
            reason="no recorded question is equal",
            nearest=self._number(nearest),
            differences=tuple(differences[:_MOST_DIFFERENCES]),
            more=max(0, len(differences) - _MOST_DIFFERENCES),
        )

    def _number(self, index: int) -> int:
        return self._recorded.exchanges[index].entry.entry

    def _like(self, question: Question, unused: Sequence[int]) -> list[int]:
        """The entries that are worth comparing."""

        def distance(index: int) -> tuple[bool, int]:
            entry = self._recorded.exchanges[index].entry
            length = 0 if entry.body is None else entry.body.bytes
            return entry.target != question.target, abs(length - len(question.body))

        exchanges = self._recorded.exchanges
        alike = [one for one in unused if exchanges[one].entry.kind == question.kind]
        return nsmallest(_MOST_COMPARED, alike, key=distance)

    def _of(self, index: int) -> _Leaves:
        if index not in self._leaves:
            exchange = self._recorded.exchanges[index]
            self._leaves[index] = leaves(
                question_of(exchange), exchange.entry.tokens, self._recorded.compared
            )
        return self._leaves[index]


def _asked(question: Question) -> str:
    if question.kind == "message":
        return f"a message of {len(question.body)} bytes"
    path = question.target.partition("?")[0]
    return visible(f"{question.method} {path}", limit=200)


def _quoted(value: bytes) -> str:
    return f"'{visible(value.decode('utf-8', 'replace'), limit=_SHOWN_CHARS)}'"


def leaves(
    question: Question, tokens: Iterable[Token | VolatileToken], compared: Collection[str]
) -> _Leaves:
    """Map each place of a question to its value, with tokens shown by their types.

    ``compared`` are the names of the compared headers.
    """
    places: dict[str, list[tuple[int, int, str]]] = {}
    for token in tokens:
        places.setdefault(token.where, []).append((token.offset, token.length, token.type))
    found = {"kind": question.kind, "method": question.method}
    headers = [(name, value) for name, value in question.headers if name in compared]
    for name, text in (("upstream", question.upstream), ("target", question.target), *headers):
        data = text.encode("utf-8", "surrogateescape")
        found[name] = _shown(data, places.get(name, [])).decode("utf-8", "replace")
    in_body = places.get("", [])
    try:
        numbers = frozenset(_numbers(parse_json(question.body)))
        document = msgspec.json.decode(_shown(question.body, in_body, numbers))
    except NOT_JSON:
        found |= upload_parts(question.body, in_body) or {
            "body": _text_or_size(question.body, 0, len(question.body), sorted(in_body))
        }
    else:
        found |= {shown_path(path): value for path, value in _walk(document, ())}
    return found


def upload_parts(body: bytes, tokens: Iterable[tuple[int, int, str]]) -> _Leaves:
    """The headers and contents of a multipart body by part and field; empty for any other body.

    Tokens are shown by their types, so a boundary makes no difference. Binary contents are shown by
    size and digest.

    Args:
        body: the bytes of a question.
        tokens: offset, length and type of its tokens.
    """
    tokens = sorted(tokens)
    delimiters = [
        (offset, offset + length)
        for offset, length, type_ in tokens
        if type_ == BOUNDARY and is_delimiter(body, offset)
    ]
    found: _Leaves = {}
    for number, part in enumerate(parts_between(body, delimiters), 1):
        head = _text_or_size(body, *part.head, tokens)
        name = _FIELD.search(head)
        field = f"part {number}" + (f" ({visible(name[1], limit=_SHOWN_CHARS)})" if name else "")
        found[f"{field} headers"] = head
        found[field] = _text_or_size(body, *part.content, tokens)
    return found


_FIELD = re.compile(r"""[;\s]name="([^"\r\n]*)\"""")


_SIZE = re.compile(r"[\d,]+ bytes, SHA-256 [0-9a-f]{16}")


def _text_or_size(body: bytes, start: int, end: int, tokens: list[tuple[int, int, str]]) -> str:
    """A stretch of a body as text; size and digest if it is no text. ``tokens`` are sorted."""
    first = bisect_left(tokens, (start,))
    last = bisect_left(tokens, (end,))
    within = [
        (offset - start, length, type_)
        for offset, length, type_ in tokens[first:last]
        if offset + length <= end
    ]
    data = body[start:end]
    try:
        return _shown(data, within).decode()
    except UnicodeDecodeError:
        return f"{len(data):,} bytes, SHA-256 {hashlib.sha256(data).hexdigest()[:16]}"


def _shown(
    text: bytes, places: list[tuple[int, int, str]], numbers: frozenset[int] = frozenset()
) -> bytes:
    """Show tokens by their types; a token at one of ``numbers`` becomes a string."""
    parts: list[bytes] = []
    at = 0
    for offset, length, type_ in sorted(places):
        if offset < at:
            continue
        shown = f"<{type_}>".encode()
        parts += (text[at:offset], b'"%b"' % shown if offset in numbers else shown)
        at = offset + length
    parts.append(text[at:])
    return b"".join(parts)


def _numbers(node: Node) -> Iterator[int]:
    if node.kind == "number":
        yield node.start
    for item in node.items:
        yield from _numbers(item)


def _walk(value: Any, path: tuple[str | int, ...]) -> Iterator[tuple[tuple[str | int, ...], str]]:
    if isinstance(value, dict) and value:
        for key, item in value.items():
            yield from _walk(item, (*path, key))
    elif isinstance(value, list) and value:
        for index, item in enumerate(value):
            yield from _walk(item, (*path, index))
    else:
        yield path, value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _likeness(recorded: _Leaves, live: _Leaves) -> float:
    equal = sum(1 for path, value in live.items() if recorded.get(path) == value)
    return 2 * equal / (len(recorded) + len(live))


def _differences(recorded: _Leaves, live: _Leaves) -> Iterator[Difference]:
    for path in dict.fromkeys((*recorded, *live)):
        old, new = recorded.get(path), live.get(path)
        if old != new:
            start = 0
            if not any(_SIZE.fullmatch(text or "") for text in (old, new)):
                start = _first_difference(old or "", new or "")
            yield Difference(path, _window(old, start), _window(new, start))


def _first_difference(old: str, new: str) -> int:
    for at, (one, other) in enumerate(zip(old, new, strict=False)):
        if one != other:
            return at
    return min(len(old), len(new))


def _window(text: str | None, start: int) -> str | None:
    if text is None:
        return None
    first = max(0, start - _BEFORE_CHARS)
    shown = visible(text[first : first + _SHOWN_CHARS])
    return f"{'…' if first else ''}{shown}{'…' if first + _SHOWN_CHARS < len(text) else ''}"


# Masked values: match live values with recorded ones, by the digests that a tape keeps.


_NEUTRAL = re.compile(rb"\\{1,2}u0078")
_ESCAPE = re.compile(rb"\\{1,2}u[0-9A-Fa-f]{4}")
"""``\u0078`` in a masked text replaces any escape of a character."""


class MaskedValues:
    """Recognises the masked values of a tape.

    It computes at most ``4 * MOST_DIGESTS`` digests, so that no cassette can keep its reader busy
    without end. After that it recognises no value.

    Args:
        recorded: the tape.
        key: the key of the cassette.
        compared: if False, behave as if the tape had no digests.
    """

    def __init__(self, recorded: Recorded, *, key: bytes, compared: bool) -> None:
        self._key = key
        self._names: dict[tuple[str, str], int] = {}
        self._fixed: set[int] = set()
        self._types: set[str] = set()
        self._computed: dict[bytes, str] = {}
        for exchange in recorded.exchanges if compared else ():
            for one in exchange.entry.digests:
                self._names.setdefault((one.type, one.digest), one.name)
                self._types.add(one.type)
                if one.type == SECRET:
                    self._fixed.add(one.name)

    def is_fixed(self, type_: str, name: int) -> bool:
        """Whether a name belongs to exactly one secret, which a digest recognises."""
        return type_ == SECRET and name in self._fixed

    def name(self, type_: str, value: bytes) -> int | None:
        """The name of a value; None if it cannot be recognised as a recorded one."""
        if type_ not in self._types:
            return None
        if value not in self._computed:
            if len(self._computed) >= 4 * MOST_DIGESTS:
                return None
            self._computed[value] = masked_digest(self._key, value)
        return self._names.get((type_, self._computed[value]))


def masked_like(
    asked: Question, tokens: Sequence[Token], exchange: TapeExchange
) -> Question | None:
    """Mask a question at the places where a recorded one is masked.

    Args:
        asked: the question as asked.
        tokens: its tokens, without secrets.
        exchange: the recorded question.

    Returns:
        None if the recorded one has no secrets, or if the two differ in more than tokens.
    """
    entry = exchange.entry
    if not any(one.type == SECRET for one in entry.tokens):
        return None
    places: list[VolatileToken] = []
    stored = b""
    if any(one.type == SECRET and not one.where for one in entry.tokens):
        recorded = exchange.question()
        found = _places(asked.body, tokens, recorded, entry)
        if found is None:
            return None
        stored, places = found
    target, secrets = _text_like("target", asked.target, entry.target, entry)
    headers: list[tuple[str, str]] = []
    for name, text in asked.headers:
        value = next((value for one, value in entry.headers if one == name), "")
        first = all(one != name for one, _ in headers)
        like, more = _text_like(name, text, value, entry) if first else (text, [])
        headers.append((name, like))
        secrets += more
    return msgspec.structs.replace(
        asked,
        target=target,
        headers=tuple(headers),
        stored=stored,
        secrets=(),
        tokens=tuple(places),
        head_secrets=tuple(secrets),
    )


def _places(
    body: bytes, tokens: Sequence[Token], recorded: bytes, entry: TapeEntry
) -> tuple[bytes, list[VolatileToken]] | None:
    """The body as it would be stored, and its secrets. Everything else is compared here.

    Tokens that are not secrets may have other lengths, but must come in the same order.
    """
    live = sorted((one for one in tokens if not one.where), key=lambda one: one.offset)
    parts: list[bytes] = []
    places: list[VolatileToken] = []
    at = shift = number = 0
    in_order = sorted((one for one in entry.tokens if not one.where), key=lambda one: one.offset)
    for old in in_order:
        start, end = old.offset + shift, old.offset + old.length + shift
        literal = _literal(body[at + shift : start], recorded[at : old.offset])
        if literal is None:
            return None
        parts.append(literal)
        if old.type == SECRET:
            parts.append(recorded[old.offset : old.offset + old.length])
            places.append(VolatileToken(start, old.length, SECRET))
        else:
            while number < len(live) and live[number].offset < start:  # a secret covers it
                number += 1
            if number == len(live) or (live[number].offset, live[number].type) != (start, old.type):
                return None
            end = start + live[number].length
            parts.append(body[start:end])
            shift += live[number].length - old.length
            number += 1
        at = old.offset + old.length
    rest = _literal(body[at + shift :], recorded[at:])
    return None if rest is None else (b"".join((*parts, rest)), places)


def _literal(live: bytes, recorded: bytes) -> bytes | None:
    """A stretch between tokens as it would be stored; None if the two differ."""
    if live == recorded:
        return live
    if len(live) != len(recorded):
        return None
    masked = bytearray(live)
    for neutral in _NEUTRAL.finditer(recorded):
        if _ESCAPE.fullmatch(live, *neutral.span()):
            masked[neutral.start() : neutral.end()] = neutral[0]
    return recorded if masked == recorded else None


def _text_like(
    where: str, live: str, recorded: str, entry: TapeEntry
) -> tuple[str, list[HeadSecret]]:
    """A target or header with the placeholders of the recorded one, if all else is equal."""
    places = sorted((one for one in entry.tokens if one.where == where), key=lambda one: one.offset)
    if not any(one.type == SECRET for one in places):
        return live, []
    raw, old = (one.encode("utf-8", "surrogateescape") for one in (live, recorded))
    parts: list[bytes] = []
    secrets: list[HeadSecret] = []
    at = done = 0
    for number, one in enumerate(places):
        literal = old[done : one.offset]
        if raw[at : at + len(literal)] != literal:
            return live, []
        parts.append(literal)
        at += len(literal)
        done = one.offset + one.length
        following = places[number + 1].offset if number + 1 < len(places) else len(old)
        next_literal = old[done:following]
        if next_literal:
            end = raw.find(next_literal, at)
        else:
            end = len(raw) if following == len(old) else -1
        if end < at:
            return live, []
        if one.type == SECRET:
            offset = sum(map(len, parts))
            secrets.append(HeadSecret(where, offset, one.length, raw[at:end]))
            parts.append(old[one.offset : done])
        else:
            parts.append(raw[at:end])
        at = end
    if raw[at:] != old[done:]:
        return live, []
    return b"".join((*parts, raw[at:])).decode("utf-8", "surrogateescape"), secrets


# Values in the questions of a tape that look volatile and are not declared.


_INDEX = re.compile(r"\[\d+\]")
_HEX = re.compile(r"\b[0-9a-f]{24,}\b")
_RANDOM = re.compile(r"\b(?:[a-z]{2,12}[_-])?[A-Za-z0-9]{20,64}\b")
_TEMPORARY = re.compile(r"/(?:tmp|var/folders|run/user)/[\w./-]*\w")
_EPOCH = re.compile(r"\b(1\d{9})(?:\d{3}|\.\d+)?\b")
_MOST_FINDINGS = 20
_MOST_CANDIDATES = 1000
_LONGEST = 4096
"""The longest text that is looked for in answers; it may begin in one block and end in another."""
_DAY_S = 86_400


def undeclared(recorded: Recorded, day: str | None) -> Iterator[tuple[int, str]]:
    """Entries and what to declare: each place once, at most twenty.

    Values that an answer brought are not reported.
    """
    candidates = list(islice(_candidates(recorded, day), _MOST_CANDIDATES))
    served = _served(recorded, {text for _, _, _, text in candidates})
    seen: set[str] = set()
    for entry, place, what, text in candidates:
        if text in served or place in seen:
            continue
        seen.add(place)
        yield entry, f"{place}: {what} '{visible(text, limit=80)}'"
        if len(seen) == _MOST_FINDINGS:
            return


def _candidates(recorded: Recorded, day: str | None) -> Iterator[tuple[int, str, str, str]]:
    """Entry, place, likely type and text; each text once."""
    read: set[bytes] = set()
    found: set[str] = set()
    for exchange in recorded.exchanges:
        for path, value in _leaves_of(recorded, exchange).items():
            digest = sha256(value.encode("utf-8", "surrogatepass")).digest()
            if digest in read:  # a conversation is sent again with each of its questions
                continue
            read.add(digest)
            for text, what in _volatile(value, day):
                if text not in found:
                    found.add(text)
                    yield exchange.entry.entry, _INDEX.sub("[*]", path), what, text


def _served(recorded: Recorded, texts: set[str]) -> set[str]:
    """Those of the texts that appear in an answer."""
    left = {text: text.encode("utf-8", "surrogatepass") for text in texts}
    served: set[str] = set()
    for exchange in recorded.exchanges if left else ():
        tail = b""
        for _, data in exchange.pieces():
            block = tail + data
            found = [text for text, wanted in left.items() if wanted in block]
            served.update(found)
            for text in found:
                del left[text]
            tail = block[-_LONGEST:]
    return served


def _leaves_of(recorded: Recorded, exchange: TapeExchange) -> dict[str, str]:
    return leaves(question_of(exchange), exchange.entry.tokens, recorded.compared)


def _volatile(value: str, day: str | None) -> Iterator[tuple[str, str]]:
    for match in _TEMPORARY.finditer(value):
        yield match[0], "a temporary path"
    for match in _HEX.finditer(value):
        yield match[0], "an id"
    for match in _RANDOM.finditer(value):
        if _looks_random(match[0]):
            yield match[0], "an id"
    if day is not None:
        yield from _of_the_day(value, dt.date.fromisoformat(day))


def _looks_random(text: str) -> bool:
    """Mixed digits, small and capital letters: neither a word nor a number."""
    tail = re.split(r"[_-]", text)[-1]
    kinds = (str.isdigit, str.islower, str.isupper)
    return all(any(kind(char) for char in tail) for kind in kinds)


def _of_the_day(value: str, day: dt.date) -> Iterator[tuple[str, str]]:
    for written in (
        f"{day:%Y-%m-%d}",
        f"{day:%d %b %Y}",
        f"{day:%b %d %Y}",
        f"{day:%B} {day.day}, {day:%Y}",
    ):
        if written in value:
            yield written, "the date"
    midnight = dt.datetime.combine(day, dt.time(), dt.UTC).timestamp()
    for match in _EPOCH.finditer(value):
        if midnight - _DAY_S <= int(match[1]) < midnight + 2 * _DAY_S:
            yield match[0], "a time"
