"""Make answers with the fake provider's writers, in the form of a tape. Pure.

A run with answers from a tape only loads neither this module nor the fake provider.
"""

from __future__ import annotations

from collections.abc import Hashable
from http import HTTPStatus
from typing import Any, Literal
from urllib.parse import parse_qsl, unquote

import msgspec

from ptycassette.agents.harness.fake.engine import FakeProvider
from ptycassette.agents.harness.fake.script import (
    HttpRequest,
    Part,
    PlannedAnswer,
    Reply,
    Script,
    TokenCounts,
)
from ptycassette.model.ports import Clock
from ptycassette.model.records import decoded_json
from ptycassette.model.tape import Chunk, TapeAnswer, TapeEntry
from ptycassette.tape.matching.matcher import Hit
from ptycassette.tape.matching.question import Question
from ptycassette.tape.providers import openai_responses, sse
from ptycassette.tape.providers.answers import APIS, answer_of, api_of, stop_of, usage_of
from ptycassette.tape.providers.neutral import Api, Call
from ptycassette.tape.providers.openai_responses import PREVIOUS


class PacedHit(Hit, frozen=True, kw_only=True):
    """An answer, and the wait before each of its pieces."""

    delays_s: tuple[float, ...] = ()


class MadeAnswers:
    """Answers questions by a script.

    Args:
        script: the answers.
        clock: for the times in answers.
        first_number: the first number for ids in its answers; they must differ from the tape's.
    """

    def __init__(self, script: Script, clock: Clock, *, first_number: int = 1) -> None:
        self._provider = FakeProvider(script, clock, first_number=first_number)
        self._opened: dict[Hashable, HttpRequest] = {}
        self._served = b""

    @property
    def problems(self) -> tuple[str, ...]:
        """Questions for which the script has no answer, one line each."""
        return tuple(self._provider.problems)

    def learn(self, handshake: Question) -> None:
        """Note the WebSocket over which messages may come."""
        self._opened[handshake.within] = _request(handshake)

    def ask(self, question: Question) -> Hit:
        """The answer to any question; an error in the form of its API if the script has none."""
        if question.kind == "message":
            opening = self._opened.get(question.within, HttpRequest(method="GET", path="/"))
            text = self._known(question.body).decode("utf-8", "replace")
            planned = self._provider.message(text, opening)
        elif question.kind == "websocket":
            self.learn(question)
            planned = self._provider.connect(_request(question))
        else:
            request = msgspec.structs.replace(_request(question), body=self._known(question.body))
            planned = self._provider.http(request)
        self._served += b"".join(step.data for step in planned.steps)
        return hit_of(planned, question)

    def _known(self, body: bytes) -> bytes:
        """A body that does not refer to an answer from elsewhere, which is unknown here.

        The calls that belong to its tool results are added in front of them.
        """
        if PREVIOUS.encode() not in body:
            return body
        document = decoded_json(body)
        previous = document.get(PREVIOUS) if isinstance(document, dict) else None
        if not isinstance(previous, str) or previous.encode() in self._served:
            return body
        said_now = document.get("input")
        if isinstance(said_now, list):
            said_now = [one for item in said_now for one in (*openai_responses.call_of(item), item)]
        return msgspec.json.encode({**document, PREVIOUS: None, "input": said_now})


def said(text: str) -> Script:
    """A script that answers every question with a text."""
    return Script.parse(
        "version = 1\n"
        'unknown_fields = "report"\n'
        "[[replies]]\n"
        "times = 0\n"
        f"text = {msgspec.json.encode(text).decode()}\n",
        where="the changed response",
    )


_IDS_OF_AN_ENTRY = 1000


def as_asked(hit: Hit, question: Question, clock: Clock) -> Hit:
    """A recorded answer in the form that the question asks for: whole, or as a stream.

    A trace may have an answer as one document, although it came as a stream. The answer is
    unchanged, byte by byte, if it already has the form, is an error, or is not an answer of a
    model.
    """
    path = question.target.partition("?")[0]
    api = next((name for name, one in APIS.items() if one.PATH.search(path)), None)
    body = b"".join(data for _, data in hit.pieces)
    if api is None or hit.status != HTTPStatus.OK:
        return hit
    asked = decoded_json(question.body)
    streams = ":stream" in path or (isinstance(asked, dict) and asked.get("stream") is True)
    kind = dict(hit.headers).get("content-type", "")
    streamed = sse.CONTENT_TYPE in kind
    recorded = decoded_json(next(iter(sse.data_lines(body)), b"") if streamed else body)
    if isinstance(recorded, list) or (streams == streamed and api_of(recorded) == api):
        return hit
    answer = answer_of([body], kind)
    calls = (Call(one.id, one.name, one.arguments).values for one in answer.calls.values())
    parts = [Part(text="".join(answer.text))] if answer.text else []
    parts += [
        Part(tool=one.name, arguments=values, unoffered=True)
        for one, values in zip(answer.calls.values(), calls, strict=True)
    ]
    if not parts:
        return hit
    stop = stop_of(answer.stop)
    reply = Reply(
        parts=tuple(parts),
        stop=stop if stop in {"length", "refusal"} else None,
        usage=_tokens(recorded),
    )
    script = Script(version=1, unknown_fields="accept", replies=(reply,))
    first = hit.entry.entry * _IDS_OF_AN_ENTRY
    made = MadeAnswers(script, clock, first_number=first).ask(
        msgspec.structs.replace(question, target=_usual(api, question.target))
    )
    return msgspec.structs.replace(made, entry=hit.entry)


def _tokens(document: Any) -> TokenCounts:
    said = document.get("usage") if isinstance(document, dict) else None
    found = usage_of(said) if isinstance(said, dict) else {}
    counted = {"input": found.get("input_tokens"), "output": found.get("output_tokens")}
    return TokenCounts(**{name: int(count) for name, count in counted.items() if count is not None})


def _usual(api: Api, target: str) -> str:
    """The target at the provider itself, without the prefix of a gateway."""
    path, mark, query = target.partition("?")
    found = APIS[api].PATH.search(path)
    return f"{APIS[api].VERSION}{'' if found is None else found[0]}{mark}{query}"


def _request(question: Question) -> HttpRequest:
    path, _, query = question.target.partition("?")
    return HttpRequest(
        method=question.method,
        path=unquote(path),
        query=tuple(parse_qsl(query, keep_blank_values=True)),
        headers=dict(question.headers),
    )


def hit_of(planned: PlannedAnswer, question: Question) -> Hit:
    """A planned answer, with its pace."""
    form: Literal["", "text"] = "text" if question.kind == "message" else ""
    steps = [step for step in planned.steps if step.data]
    hit = made_hit(
        question,
        planned.status,
        tuple((name.lower(), value) for name, value in planned.headers.items()),
        tuple((Chunk(0, len(step.data), form), step.data) for step in steps),
        complete=planned.ending == "complete",
    )
    delays_s = tuple(step.delay_ms / 1000 for step in steps)
    if not any(delays_s):
        return hit
    return PacedHit(
        entry=hit.entry,
        status=hit.status,
        headers=hit.headers,
        pieces=hit.pieces,
        delays_s=delays_s,
    )


def made_hit(
    question: Question,
    status: int,
    headers: tuple[tuple[str, str], ...],
    pieces: tuple[tuple[Chunk, bytes], ...],
    *,
    complete: bool = True,
) -> Hit:
    """An answer that does not come from a tape."""
    answer = TapeAnswer(seq=0, t_us=0, status=status, headers=headers) if status else None
    return Hit(
        entry=TapeEntry(
            entry=0,
            seq=0,
            t_us=0,
            kind=question.kind,
            connection=0,
            method=question.method,
            answer=answer,
            outcome="complete" if complete else "provider-gone",
            end_us=0,
        ),
        status=status or None,
        headers=headers,
        pieces=tuple((chunk, data) for chunk, data in pieces if data),
    )
