"""Faults of the provider: what can go wrong with one answer, each by a mechanism of its own. Pure.

Errors and calls are written by the fake provider, so they are valid messages of the API that was
asked. Faults of the connection and of time happen to the recorded answer.
"""

from __future__ import annotations

from typing import Any

import msgspec

from ptycassette.errors import UsageError
from ptycassette.fork.made_answers import MadeAnswers, PacedHit, made_hit
from ptycassette.harness.provider.fake import Script
from ptycassette.model import Chunk, Clock, resolved, visible
from ptycassette.tape.matching import Hit, Question

FAULTS: dict[str, str] = {
    "rate-limit": "429, with retry-after: 1",
    "overloaded": "529",
    "error": "500",
    "disconnect": "the connection is broken off before an answer begins",
    "truncated": "it is broken off in the middle of the answer",
    "stalled": "the answer stops in the middle for 30 s, or stalled:TIME, and goes on",
    "dribble": "the answer comes 8 bytes at a time, every 20 ms, or dribble:TIME",
    "empty": "an answer that says nothing",
    "refusal": "the model refuses to answer",
    "unknown-tool": "a call of a tool that was not offered",
    "malformed-tool-call": "a call whose arguments are no JSON",
}
"""Every fault, and what happens to the answer."""

_OF_CONNECTIONS = frozenset(("disconnect", "truncated"))
_SECONDS = {"stalled": 30.0, "dribble": 0.02}
_MOST_S = 600.0
_DROP_BYTES = 8
_BROKEN = b'@\\"}'
_ERRORS = {"rate-limit": (429, 1), "overloaded": (529, None), "error": (500, None)}


class Fault(msgspec.Struct, frozen=True, kw_only=True):
    """A fault; ``seconds`` for those that take time."""

    name: str
    seconds: float = 0.0

    @classmethod
    def parse(cls, text: str) -> Fault:
        """Read ``truncated``, or ``stalled:5``.

        Raises:
            UsageError: there is no such fault.
        """
        name, sign, time = text.partition(":")
        if name not in FAULTS or (sign and name not in _SECONDS):
            raise UsageError(
                f"{visible(text, limit=40)} is no fault", hint=f"one of {', '.join(FAULTS)}"
            )
        try:
            seconds = float(time) if sign else _SECONDS.get(name, 0.0)
        except ValueError:
            seconds = -1.0
        if not 0 <= seconds <= _MOST_S:
            raise UsageError(f"{visible(time, limit=40)} is no time; write seconds, as 2.5")
        return cls(name=name, seconds=seconds)

    def check(self, question: Question, clock: Clock) -> None:
        """Refuse a fault that the answer to a question cannot have, before anything is started.

        Raises:
            UsageError: it cannot.
        """
        if question.kind == "message" and self.name in _OF_CONNECTIONS:
            raise UsageError(
                f"{self.name} is a fault of an answer over HTTP, and this is a WebSocket"
            )
        if self.name == "malformed-tool-call":
            _malformed(question, clock)


def faulty(fault: Fault, question: Question, recorded: Hit, clock: Clock) -> Hit:
    """The answer to a question, with the fault.

    Raises:
        UsageError: its API has no such answer.
    """
    match fault.name:
        case "disconnect":
            return made_hit(question, 0, (), (), complete=False)
        case "truncated":
            return _truncated(question, recorded)
        case "stalled":
            pieces = _in_halves(recorded)
            delays = (0.0, fault.seconds) if len(pieces) > 1 else (fault.seconds,)
            return _paced(recorded, pieces, delays)
        case "dribble":
            whole = recorded.pieces if question.kind == "message" else _in_drops(recorded)
            return _paced(recorded, whole, (fault.seconds,) * len(whole))
        case "malformed-tool-call":
            return _malformed(question, clock)
        case _:
            return _made(_reply_of(fault.name), question, clock)


def _truncated(question: Question, recorded: Hit) -> Hit:
    kept = _in_halves(recorded)[:1]
    return made_hit(
        question, recorded.status or 200, recorded.headers, kept, complete=False
    )  # fmt: skip


def _in_halves(recorded: Hit) -> tuple[tuple[Chunk, bytes], ...]:
    """The answer in two pieces, of a message over a WebSocket between two messages."""
    if recorded.entry.kind == "message":
        return recorded.pieces
    body = b"".join(data for _, data in recorded.pieces)
    half = len(body) // 2
    return tuple((Chunk(0, len(data)), data) for data in (body[:half], body[half:]) if data)


def _in_drops(recorded: Hit) -> tuple[tuple[Chunk, bytes], ...]:
    body = b"".join(data for _, data in recorded.pieces)
    drops = (body[at : at + _DROP_BYTES] for at in range(0, len(body), _DROP_BYTES))
    return tuple((Chunk(0, len(data)), data) for data in drops)


def _paced(
    recorded: Hit, pieces: tuple[tuple[Chunk, bytes], ...], delays_s: tuple[float, ...]
) -> Hit:
    return PacedHit(
        entry=recorded.entry,
        status=recorded.status,
        headers=recorded.headers,
        pieces=pieces,
        delays_s=delays_s,
    )


def _reply_of(name: str) -> dict[str, Any]:
    """The reply of a script for a fault."""
    if name in _ERRORS:
        status, retry_after_s = _ERRORS[name]
        error: dict[str, Any] = {"status": status, "message": f"{name}, on purpose"}
        if retry_after_s is not None:
            error["retry_after_s"] = retry_after_s
        return {"error": error}
    if name == "refusal":
        return {"text": "I cannot help with that.", "stop": "refusal"}
    if name == "unknown-tool":
        return {"parts": [{"tool": "no_such_tool", "arguments": {}, "unoffered": True}]}
    return {"text": ""}


def _made(reply: dict[str, Any], question: Question, clock: Clock) -> Hit:
    script = msgspec.convert(
        {
            "version": 1,
            "unknown_fields": "report",
            "pace": {"chunk_chars": 1 << 20},
            "replies": [{"times": 0, **reply}],
        },
        resolved(Script),
    )
    return MadeAnswers(script, clock, first_number=20_000_000).ask(question)


def _malformed(question: Question, clock: Clock) -> Hit:
    """A call of an offered tool; its arguments, a JSON text in a string, are cut off."""
    part = {"tool": _offered(question), "arguments": {"broken": "@"}, "unoffered": True}
    whole = _made({"parts": [part]}, question, clock)
    pieces = tuple(
        (Chunk(0, len(data), chunk.form), data)
        for chunk, piece in whole.pieces
        for data in (piece.replace(_BROKEN, b"@"),)
    )
    if pieces == whole.pieces:
        raise UsageError("a call of this API holds its arguments as an object: they are JSON")
    headers = tuple(one for one in whole.headers if one[0] != "content-length")
    return msgspec.structs.replace(whole, pieces=pieces, headers=headers)


def _offered(question: Question) -> str:
    """The name of the first tool that a request offers."""
    try:
        tools = msgspec.json.decode(question.body)["tools"]
        first = tools[0]
        return str(first.get("name") or first["function"]["name"])
    except (msgspec.DecodeError, KeyError, IndexError, TypeError, AttributeError):
        return "tool"
