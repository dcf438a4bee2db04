"""Masked values: which live value is which recorded one, by the digests that a tape keeps.

A recorder masks more than one question gives away: it has also seen the rest of the session. So a
live question is masked once more where a recorded one is, if the two are otherwise equal.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from ptycassette.model.journal import HeadSecret
from ptycassette.model.tape import TapeEntry, VolatileToken
from ptycassette.tape.matching._canonical import Token
from ptycassette.tape.matching._recorded import Recorded, TapeExchange
from ptycassette.tape.matching.question import MOST_DIGESTS, Question, masked_digest
from ptycassette.tape.matching.rules import SECRET

_NEUTRAL = re.compile(rb"\\{1,2}u0078")
_ESCAPE = re.compile(rb"\\{1,2}u[0-9A-Fa-f]{4}")
"""``\u0078`` stands in a masked text for any escape of a character."""


class MaskedValues:
    """Recognises the masked values of a tape.

    Computes at most ``4 * MOST_DIGESTS`` digests, so that no cassette makes its reader compute for
    ever. After that no value is recognised.

    Args:
        recorded: the tape.
        key: of the cassette.
        compared: if not, it is as if the tape had no digests.
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
        """Whether a name stands for one secret alone, which is recognised."""
        return type_ == SECRET and name in self._fixed

    def name(self, type_: str, value: bytes) -> int | None:
        """The name of a value; None if it is not known to be one of the recorded ones."""
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
    """A question, masked where a recorded one is.

    Args:
        asked: as it was asked.
        tokens: of it, without secrets.
        exchange: with the recorded question.

    Returns:
        None where the recorded one has no secrets, or where the two differ in more than tokens.
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
    """The body as it would be stored, and its secrets. All else is compared here already.

    Tokens that are no secrets may have other lengths; they are the same ones in the same order.
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
    """A stretch between tokens as it would be stored; None where the two differ."""
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
    """A target or a header with the placeholders of the recorded one, if all else is equal."""
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
