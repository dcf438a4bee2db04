"""What a matcher knows of a tape: its questions as they are stored, and the names in it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import Protocol

from ptycassette.model.journal import HeadSecret
from ptycassette.model.tape import Chunk, TapeEntry, VolatileToken
from ptycassette.tape.matching._answers import Found, found_in, renamed
from ptycassette.tape.matching._binding import Binding
from ptycassette.tape.matching._canonical import Token
from ptycassette.tape.matching._text import Text
from ptycassette.tape.matching.question import Question
from ptycassette.tape.matching.rules import DECLARED_TYPES, SECRET, Rules

_SHORTEST_NAME = 6
"""Of a name that is looked for in answers: shorter ones stand there by chance."""
MOST_SEARCHED = 16 << 20
"""Bytes of an answer in which names are looked for; it takes half a second each MB. The longest
answers of models are a hundred times smaller: what is larger is a file, served as it is."""


class TapeExchange(Protocol):
    """A recorded question with its answer, as a reader of cassettes hands them out."""

    @property
    def entry(self) -> TapeEntry:
        """Its line."""
        ...

    def question(self) -> bytes:
        """The body of the question, unpacked and scrubbed."""
        ...

    def pieces(self) -> Iterator[tuple[Chunk, bytes]]:
        """The body of the answer, unpacked and scrubbed."""
        ...


def question_of(exchange: TapeExchange) -> Question:
    """A question as it is stored; its tokens are those of the entry."""
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
    """A tape.

    Attributes:
        compared: the headers that count.

    Args:
        exchanges: all of it, in order.
        rules: which were used when it was recorded, and maybe more.
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
            self._names[token.type, text] = None  # two values that are masked alike

    def tokens(self, index: int) -> tuple[Token, ...]:
        """The tokens of a question, with values that are told apart also where they are masked."""
        return tuple(
            Token(one.where, one.offset, one.length, one.type, self._value(one.type, one.name))
            for one in self.exchanges[index].entry.tokens
        )

    def _value(self, type_: str, name: int) -> bytes:
        text = self._texts.get((type_, name))
        known = text is not None and self._names.get((type_, text)) == name
        return text if known and text is not None else b"\0%d" % name

    def known_name(self, type_: str, text: bytes) -> int | None:
        """The name of a value that a question has as it is; None where it is masked, or new."""
        return self._names.get((type_, text))

    def text(self, type_: str, name: int) -> bytes | None:
        """What is stored of the value with a name; None where it is not to be seen."""
        return self._texts.get((type_, name))

    def name(self, type_: str, text: bytes) -> int | None:
        """The name of a value in an answer; a new one if no question has it.

        New ones are given in the order of the tape, in whatever order answers are served.

        Returns:
            None if the value is masked, and others are masked alike.
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
        """What stands in answers for the names that are looked for there."""
        pairs = (
            (type_, binding.value(type_, self._names[type_, text] or 0))
            for type_, text in self._values
        )
        return [(type_, value) for type_, value in pairs if value is not None]

    def only_name(self, type_: str) -> int | None:
        """The one name of a type of which the tape has one alone."""
        names = [name for one, name in self._texts if one == type_]
        return names[0] if len(names) == 1 else None

    def answer(self, index: int) -> tuple[bytes, tuple[Chunk, ...], list[Found]]:
        """The answer of an entry: its bytes, how they were cut, and the names in it."""
        exchange = self.exchanges[index]
        pieces = list(exchange.pieces())
        chunks = tuple(chunk for chunk, _ in pieces)
        body = b"".join(data for _, data in pieces)
        if index not in self._found:
            searched = answer_length(exchange) <= MOST_SEARCHED
            self._found[index] = self._search(body, cuts_of(pieces)) if searched else []
        return body, chunks, self._found[index]

    def found(self, index: int) -> list[Found]:
        """The names in an answer. Its bytes are read the first time."""
        if index not in self._found and answer_length(self.exchanges[index]) > MOST_SEARCHED:
            self._found[index] = []
        return self._found[index] if index in self._found else self.answer(index)[2]

    def _search(self, body: bytes, cuts: tuple[int, ...]) -> list[Found]:
        return found_in(body, cuts, self._in_answers, self._in_pieces)

    def answer_form(self, index: int) -> bytes:
        """A digest of an answer with the types of names instead of the names."""
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
    """How long an answer is, in bytes."""
    answer = exchange.entry.answer
    return 0 if answer is None or answer.body is None else answer.body.bytes


def _in_body(entry: TapeEntry) -> bool:
    return any(not token.where for token in entry.tokens)


def cuts_of(pieces: Sequence[tuple[Chunk, bytes]]) -> tuple[int, ...]:
    """Where messages of a WebSocket end."""
    if not any(chunk.form for chunk, _ in pieces):
        return ()
    ends: list[int] = []
    at = 0
    for _, data in pieces:
        at += len(data)
        ends.append(at)
    return tuple(ends[:-1])


def _text_of(token: VolatileToken, entry: TapeEntry, body: bytes) -> bytes | None:
    """The text of a token; None where its place is not kept."""
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
