"""Questions, and what is left of them when their volatile tokens are names of types.

The *skeleton* of a question is its canonical form: method, provider, target, the compared headers,
the body. Nothing is left out. Members of objects are sorted, numbers stay as they are written, and
each piece is written with its length, so that two questions have one skeleton only if they are
equal but for the values of their tokens. The *key* is the HMAC of the skeleton.

The tokens are in the order of the skeleton, so those of two questions with one key correspond.
"""

from __future__ import annotations

import hashlib
import hmac
from bisect import bisect_left
from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import Literal

import msgspec

from ptycassette.cassette.secret_digests import LEAST_BITS, digest_of, guessing_bits
from ptycassette.model.journal import HeadSecret
from ptycassette.model.tape import MaskedDigest, VolatileToken
from ptycassette.tape.matching._canonical import (
    CanonicalBody,
    Token,
    canonical_body,
    canonical_text,
)
from ptycassette.tape.matching._finder import Finder
from ptycassette.tape.matching._text import Text
from ptycassette.tape.matching.rules import SECRET, Rules

_WITHIN = "connection"
"""The type of the name of the WebSocket within which a message was sent."""
_MOST_KNOWN, _LONGEST_KNOWN = 1024, 1024


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """What a CLI asked.

    Attributes:
        kind: ``http``, ``websocket`` for a handshake, ``message`` for one over a WebSocket.
        upstream: the base URL of the provider that is meant, as entries have it.
        headers: all of them, names in lower case.
        body: unpacked.
        stored: the body as a tape has it, masked and as long; empty where nothing is masked. What
            is literal in it makes the key, so that the key can be made of the tape again. Tokens
            are found in ``body`` first, and have the values that they have there.
        form: of a message: ``text`` or ``binary``.
        within: names the WebSocket, for a handshake and its messages; anything hashable.
        secrets: places of the body (offset, length) that are masked.
        tokens: places of the body that are known to be tokens, of a question read from a tape.
        head_secrets: what placeholders in ``target`` and ``headers`` stand for.
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


class Skeleton(msgspec.Struct, frozen=True):
    """``form`` without the values of ``tokens``."""

    form: bytes
    tokens: tuple[Token, ...]


class Skeletons:
    """Makes skeletons.

    Args:
        rules: what is volatile.
        declared: values of this run that are tokens wherever they stand: ``cwd``, ``home``, ...
    """

    def __init__(self, rules: Rules, declared: Mapping[str, str]) -> None:
        self._rules = rules
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
        parts.append(self._text("upstream", question.upstream, self._anywhere, tokens))
        parts.append(self._text("target", question.target, self._in_target, tokens, secrets))
        for name in self._rules.headers:
            values = (value for one, value in question.headers if one == name)
            for number, value in enumerate(values):
                parts.append(f"{name}:".encode())
                first = () if number else secrets
                parts.append(self._text(name, value, self._in_header[name], tokens, first))
        if question.kind != "http":
            tokens.append(Token("within", 0, 0, _WITHIN, repr(question.within).encode()))
        body = self._body(question.body, _given(question))
        found: Iterable[Token] = body.tokens
        if question.stored not in {b"", question.body}:
            places = tuple(VolatileToken(one.offset, one.length, one.type) for one in found)
            body = self._body(question.stored, places)
            found = _as_asked(question, body.tokens)
        parts.append(body.form)
        return Skeleton(b"".join(parts), (*tokens, *found))

    def _body(self, body: bytes, given: tuple[VolatileToken, ...]) -> CanonicalBody:
        return canonical_body(body, self._rules, self._anywhere, given, self._simple)

    def _text(
        self,
        where: str,
        text: str,
        finder: Finder | str,
        tokens: list[Token],
        secrets: tuple[HeadSecret, ...] = (),
    ) -> bytes:
        within = [one for one in secrets if one.where == where]
        known = None if within else self._texts.get((where, text))
        if known is None:
            data = text.encode("utf-8", "surrogateescape")
            known = canonical_text(where, data, finder, within)
            if not within and len(text) <= _LONGEST_KNOWN:  # the same for most questions
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
    """The tokens of a masked body with the values that they have in the body as it was asked."""
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
    """HMAC-SHA-256 (hex) of a skeleton, under the key of the cassette."""
    return hmac.new(key, skeleton.form, hashlib.sha256).hexdigest()


MOST_DIGESTS = 32
"""Different masked values of a tape that get digests: a second and a half."""


def masked_digest(key: bytes, value: bytes) -> str:
    """The digest of a value that a tape holds masked; empty for one that could be guessed."""
    text = value.decode("utf-8", "surrogateescape")
    return digest_of(key.hex(), text) if guessing_bits(text) >= LEAST_BITS else ""


class KeyedQuestion(msgspec.Struct, frozen=True):
    """What an entry keeps of a question: its key, its tokens, and digests of what is masked."""

    key: str
    tokens: tuple[VolatileToken, ...]
    digests: tuple[MaskedDigest, ...] = ()


class QuestionKeys:
    """Keys and tokens of the questions of one tape, in order.

    Values are numbered type by type, from 1 in the order in which they are met. So whether two
    tokens are equal can still be seen where their values are masked.

    Args:
        rules: what is volatile.
        declared: values of this run.
        key: of the cassette, 32 random bytes.
    """

    def __init__(self, rules: Rules, declared: Mapping[str, str], *, key: bytes) -> None:
        self._skeletons = Skeletons(rules, declared)
        self._key = key
        self._names: dict[str, dict[bytes, int]] = {}
        self._digests: dict[bytes, str] = {}

    def of(self, question: Question) -> KeyedQuestion:
        """What the entry of the next question keeps."""
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
            if digest:  # what could be guessed costs nothing, and does not count
                self._digests[value] = digest
        return self._digests.get(value, "")

    def _name(self, token: Token) -> int:
        names = self._names.setdefault(token.type, {})
        return names.setdefault(token.value, len(names) + 1)


def _masked(token: Token, question: Question) -> bool:
    """Whether any of a token is masked where it is stored; places are in order."""
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
