"""Faults of the provider, in one request or its answer. Pure.

The fake provider writes errors and tool calls, so they are valid messages of the API in use. Faults
of the connection and of time change the recorded answer.
"""

from __future__ import annotations

import re
from typing import Any, ClassVar

import msgspec

from ptycassette.agents.faults.fault import Fault
from ptycassette.agents.harness.fake.script import Script
from ptycassette.agents.rerun.made_answers import MadeAnswers, PacedHit, made_hit
from ptycassette.errors import UsageError
from ptycassette.model.ports import Clock
from ptycassette.model.records import decoded_json
from ptycassette.model.resolved_types import resolved
from ptycassette.model.tape import Chunk
from ptycassette.tape.matching.matcher import Hit
from ptycassette.tape.matching.question import Question
from ptycassette.tape.providers.neutral import ToolPlace
from ptycassette.tape.providers.openai_responses import OUTPUTS
from ptycassette.tape.providers.questions import offered_tools, tool_results

# Change a question for the provider: another model, other tool results. Pure.


_GEMINI_MODEL = re.compile(r"(/models/)([^/:?]+)")


def with_model(question: Question, model: str) -> Question:
    """The question with another model; unchanged if it has no model."""
    target = _GEMINI_MODEL.sub(lambda found: f"{found[1]}{model}", question.target)
    document = decoded_json(question.body)
    if not isinstance(document, dict) or not isinstance(document.get("model"), str):
        return msgspec.structs.replace(question, target=target)
    body = msgspec.json.encode({**document, "model": model})
    return msgspec.structs.replace(question, target=target, body=body)


def last_call(body: bytes) -> str | None:
    """The call of the last tool result in a request; None if it has no result."""
    places = _places(decoded_json(body))
    return places[-1].call if places else None


def with_result(question: Question, call: str, text: str) -> Question:
    """The question with another result of that call, wherever the result appears."""
    document = decoded_json(question.body)
    changed = False
    for place in _places(document):
        if place.call == call:
            place.within[place.member] = {"output": text} if place.member == "response" else text
            changed = True
    if not changed:
        return question
    return msgspec.structs.replace(question, body=msgspec.json.encode(document))


def with_swapped(question: Question) -> Question | None:
    """The question with its last two tool results swapped between their calls.

    None if it does not have two different results. Ids and order stay, so it is a valid request of
    its API.
    """
    document = decoded_json(question.body)
    places = _places(document)
    results = {place.call: place.within.get(place.member, "") for place in places}
    last = list(dict.fromkeys(place.call for place in reversed(places)))[:2]
    if len(last) < 2 or results[last[0]] == results[last[1]]:
        return None
    other = {last[0]: results[last[1]], last[1]: results[last[0]]}
    for place in places:
        if place.call in other:
            place.within[place.member] = other[place.call]
    return msgspec.structs.replace(question, body=msgspec.json.encode(document))


def _places(document: Any) -> list[ToolPlace]:
    """The tool results in a request, in order; a call without an id gets its result's number."""
    found: list[ToolPlace] = []
    for place in tool_results(document):
        if place.member != "output" or place.within.get("type") in OUTPUTS:
            named = place.call or str(len(found) + 1)
            found.append(msgspec.structs.replace(place, call=named))
    return found


_DROP_BYTES = 8
_BROKEN = b'@\\"}'


class ProviderFault(Fault):
    """A fault of one request.

    Attributes:
        of_questions: it changes the question, so a recorded answer cannot show it.
    """

    of_questions: ClassVar[bool] = False

    def check(self, question: Question, clock: Clock) -> None:
        """Refuse a fault that this request cannot have, before anything is started.

        Raises:
            UsageError: the request cannot have it.
        """
        del clock
        self.question(question)

    def question(self, question: Question) -> Question:
        """The request as the provider gets it."""
        return question

    def answer(self, question: Question, recorded: Hit, clock: Clock) -> Hit:
        """The answer as the program gets it.

        Raises:
            UsageError: its API has no such answer.
        """
        del question, clock
        return recorded


class _Reply(ProviderFault):
    """An answer of the fake provider instead of the recorded one."""

    reply: ClassVar[dict[str, Any]]

    def answer(self, question: Question, recorded: Hit, clock: Clock) -> Hit:
        del recorded
        return _made(self.reply, question, clock)


class RateLimit(_Reply):
    name = "rate-limit"
    what = "the answer is 429, with retry-after: 1"
    reply = {"error": {"status": 429, "message": "rate-limit, on purpose", "retry_after_s": 1}}


class Overloaded(_Reply):
    name = "overloaded"
    what = "the answer is 529"
    reply = {"error": {"status": 529, "message": "overloaded, on purpose"}}


class ServerError(_Reply):
    name = "error"
    what = "the answer is 500"
    reply = {"error": {"status": 500, "message": "error, on purpose"}}


class Empty(_Reply):
    name = "empty"
    what = "the answer is empty"
    reply = {"text": ""}


class Refusal(_Reply):
    name = "refusal"
    what = "the model refuses to answer"
    reply = {"text": "I cannot help with that.", "stop": "refusal"}


class UnknownTool(_Reply):
    name = "unknown-tool"
    what = "a call of a tool that was not offered"
    reply = {"parts": [{"tool": "no_such_tool", "arguments": {}, "unoffered": True}]}


class _OfConnection(ProviderFault):
    """The connection of an answer over HTTP is broken off."""

    def check(self, question: Question, clock: Clock) -> None:
        del clock
        if question.kind == "message":
            raise UsageError(
                f"{self.name} is a fault of an answer over HTTP, and this is a WebSocket"
            )


class Disconnect(_OfConnection):
    name = "disconnect"
    what = "the connection is broken off before an answer begins"

    def answer(self, question: Question, recorded: Hit, clock: Clock) -> Hit:
        del recorded, clock
        return made_hit(question, 0, (), (), complete=False)


class Truncated(_OfConnection):
    name = "truncated"
    what = "the connection is broken off in the middle of the answer"

    def answer(self, question: Question, recorded: Hit, clock: Clock) -> Hit:
        del clock
        kept = _in_halves(recorded)[:1]
        return made_hit(
            question, recorded.status or 200, recorded.headers, kept, complete=False
        )  # fmt: skip


class Stalled(ProviderFault):
    name = "stalled"
    what = "the answer stops in the middle, and goes on"
    number = "TIME"
    default = 30.0

    def answer(self, question: Question, recorded: Hit, clock: Clock) -> Hit:
        del question, clock
        pieces = _in_halves(recorded)
        wait_s = self.spec.value
        return _paced(recorded, pieces, (0.0, wait_s) if len(pieces) > 1 else (wait_s,))


class Dribble(ProviderFault):
    name = "dribble"
    what = "the answer comes 8 bytes at a time; SECONDS between them"
    number = "TIME"
    default = 0.02

    def answer(self, question: Question, recorded: Hit, clock: Clock) -> Hit:
        del clock
        whole = recorded.pieces if question.kind == "message" else _in_drops(recorded)
        return _paced(recorded, whole, (self.spec.value,) * len(whole))


class MalformedToolCall(ProviderFault):
    """A call of an offered tool, whose JSON arguments are cut off."""

    name = "malformed-tool-call"
    what = "a call whose arguments are not JSON"

    def check(self, question: Question, clock: Clock) -> None:
        self.answer(question, made_hit(question, 200, (), ()), clock)

    def answer(self, question: Question, recorded: Hit, clock: Clock) -> Hit:
        del recorded
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


class SwappedToolResult(ProviderFault):
    """The model receives the last two tool results swapped between their calls."""

    name = "swapped-tool-result"
    what = "the model is told the results of the last two tool calls, swapped"
    of_questions = True

    def question(self, question: Question) -> Question:
        swapped = with_swapped(question)
        if swapped is None:
            raise UsageError(
                "swapped-tool-result needs a request with two different tool results",
                hint="find such a request with: ptycassette fork --places CASSETTE",
            )
        return swapped


PROVIDER_FAULTS: tuple[type[ProviderFault], ...] = (
    RateLimit,
    Overloaded,
    ServerError,
    Disconnect,
    Truncated,
    Stalled,
    Dribble,
    Empty,
    Refusal,
    UnknownTool,
    MalformedToolCall,
    SwappedToolResult,
)


def _in_halves(recorded: Hit) -> tuple[tuple[Chunk, bytes], ...]:
    """The answer in two pieces; over a WebSocket it is cut between two messages."""
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


def _offered(question: Question) -> str:
    """The name of the first tool that a request offers."""
    first = next(offered_tools(decoded_json(question.body)), {})
    return str(first.get("name") or "tool")
