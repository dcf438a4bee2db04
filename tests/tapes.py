"""Tapes for tests: exchanges in memory, as a reader of cassettes hands them out."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from ptycassette.model.tape import Chunk, TapeAnswer, TapeEntry
from ptycassette.tape.io.recorded_answers import load_matching_rules
from ptycassette.tape.matching.matcher import Hit, Matcher
from ptycassette.tape.matching.misses import Miss
from ptycassette.tape.matching.question import Question, QuestionKeys, Rules

__all__ = [
    "KEY",
    "MemoryExchange",
    "answered",
    "asked",
    "at_once",
    "matcher",
    "rules",
    "tape",
    "with_secrets",
]

KEY = bytes(range(32))
RULES = """
version = 1
name = "test"
headers = ["x-session"]
turns = ["messages"]
[types.id]
answers = true
[types.clock]
measured = true
[[tokens]]
type = "id"
regex = '\\b(id-[a-z0-9]{4,})'
[[tokens]]
type = "date"
path = "date"
[[tokens]]
type = "clock"
path = "clock"
[[tokens]]
type = "id"
header = "x-session"
"""


class MemoryExchange:
    """An exchange; ``answer`` is cut into the pieces that it is given in."""

    def __init__(self, entry: TapeEntry, question: bytes, answer: Sequence[bytes]) -> None:
        self.entry = entry
        self._question = question
        self._answer = answer

    def question(self) -> bytes:
        """The body of the question."""
        return self._question

    def pieces(self) -> Iterator[tuple[Chunk, bytes]]:
        """The body of the answer."""
        for data in self._answer:
            yield Chunk(0, len(data)), data


def rules(*more: str) -> Rules:
    """The rules of these tests, and others."""
    return Rules.parse((RULES, "test.toml"), *((text, "more.toml") for text in more))


def cli_rules(*names: str) -> Rules:
    """The built-in rules of providers and of these CLIs."""
    return load_matching_rules(names, env={"HOME": "/dev/null"})


def asked(body: Any, **head: Any) -> Question:
    """A question with a JSON body, or with bytes."""
    data = body if isinstance(body, bytes) else json.dumps(body, ensure_ascii=False).encode()
    defaults = {"kind": "http", "method": "POST", "target": "/v1/messages"}
    return Question(body=data, **{**defaults, **head})


def tape(
    *exchanges: tuple[Any, Any],
    by: Rules | None = None,
    declared: Mapping[str, str] | None = None,
) -> list[MemoryExchange]:
    """A tape of questions and answers. An answer is JSON, bytes, or a list of pieces."""
    keys = QuestionKeys(by or rules(), declared or {}, key=KEY)
    made: list[MemoryExchange] = []
    for number, (body, answer) in enumerate(exchanges, 1):
        question = body if isinstance(body, Question) else asked(body)
        kept = keys.of(question)
        seq = 3 * number
        entry = TapeEntry(
            entry=number,
            seq=seq - 2,
            t_us=0,
            kind=question.kind,
            connection=1,
            method=question.method,
            upstream=question.upstream,
            target=question.target,
            headers=question.headers,
            key=kept.key,
            tokens=kept.tokens,
            digests=kept.digests,
            answer=TapeAnswer(seq=seq - 1, t_us=0, status=200),
            end_seq=seq,
        )
        made.append(MemoryExchange(entry, _scrubbed(question), _pieces(answer)))
    return made


def _scrubbed(question: Question) -> bytes:
    """Its body as it is stored."""
    body = bytearray(question.body)
    for offset, length in question.secrets:
        body[offset : offset + length] = b"x" * length
    return bytes(body)


def with_secrets(body: Any, *secrets: str, **head: Any) -> Question:
    """A question, and where the scrubber finds these secrets in it."""
    question = asked(body, **head)
    places = sorted(
        (match.start(), len(secret))
        for secret in secrets
        for match in re.finditer(re.escape(secret.encode()), question.body)
    )
    return msgspec.structs.replace(question, secrets=tuple(places))


def at_once(exchanges: Sequence[MemoryExchange]) -> Sequence[MemoryExchange]:
    """The same exchanges, none of which has ended before the last one was asked."""
    last = exchanges[-1].entry.end_seq or 0
    for number, one in enumerate(exchanges, 1):
        one.entry = msgspec.structs.replace(one.entry, end_seq=last + number)
    return exchanges


def _pieces(answer: Any) -> list[bytes]:
    if isinstance(answer, list) and all(isinstance(one, bytes) for one in answer):
        return answer
    return [answer if isinstance(answer, bytes) else json.dumps(answer).encode()]


def matcher(exchanges: Sequence[MemoryExchange], by: Rules | None = None, **more: Any) -> Matcher:
    """A matcher of a tape."""
    return Matcher(exchanges, by or rules(), key=KEY, **more)


def answered(answer: Hit | Miss) -> Any:
    """The JSON that was served; None for a miss."""
    if isinstance(answer, Miss):
        return None
    return json.loads(b"".join(data for _, data in answer.pieces))
