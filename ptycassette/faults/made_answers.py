"""Answers of the fake provider's own writers, in the form in which a tape answers. Pure.

So a changed answer is a valid message of its API, streamed or whole as the request asks.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Literal
from urllib.parse import parse_qsl, unquote

import msgspec

from ptycassette.harness.provider.fake import (
    FakeProvider,
    HttpRequest,
    PlannedAnswer,
    Script,
)
from ptycassette.model import Chunk, Clock, TapeAnswer, TapeEntry, decoded_json
from ptycassette.tape.matching import Hit, Question

_PREVIOUS = "previous_response_id"


class PacedHit(Hit, frozen=True, kw_only=True):
    """An answer, and how long to wait before each of its pieces."""

    delays_s: tuple[float, ...] = ()


class MadeAnswers:
    """Answers questions by a script.

    Args:
        script: what to answer.
        clock: for the times in answers.
        first_number: of the ids in its answers: others than those of the tape.
    """

    def __init__(self, script: Script, clock: Clock, *, first_number: int = 1) -> None:
        self._provider = FakeProvider(script, clock, first_number=first_number)
        self._opened: dict[Hashable, HttpRequest] = {}
        self._served = b""

    @property
    def problems(self) -> tuple[str, ...]:
        """Questions that the script has no answer for, one line each."""
        return tuple(self._provider.problems)

    def learn(self, handshake: Question) -> None:
        """Note the WebSocket whose messages may be asked here."""
        self._opened[handshake.within] = _request(handshake)

    def ask(self, question: Question) -> Hit:
        """The answer to any question, an error in the form of its API where there is none."""
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
        """A body that does not continue an answer of others: what they said is not known here.

        The calls whose results it tells are put in front of them.
        """
        if _PREVIOUS.encode() not in body:
            return body
        document = decoded_json(body)
        previous = document.get(_PREVIOUS) if isinstance(document, dict) else None
        if not isinstance(previous, str) or previous.encode() in self._served:
            return body
        said_now = document.get("input")
        if isinstance(said_now, list):
            said_now = [one for item in said_now for one in (*_call_of(item), item)]
        return msgspec.json.encode({**document, _PREVIOUS: None, "input": said_now})


def _call_of(item: Any) -> tuple[dict[str, Any], ...]:
    """The call whose result an item of a request tells; none where it tells none."""
    kind = item.get("type") if isinstance(item, dict) else None
    if kind not in {"function_call_output", "custom_tool_call_output"}:
        return ()
    made = {"type": kind.removesuffix("_output"), "call_id": item.get("call_id"), "name": "earlier"}
    return ({**made, **({"arguments": "{}"} if kind.startswith("function") else {"input": ""})},)


def said(text: str) -> Script:
    """A script that answers everything with a text."""
    return Script.parse(
        "version = 1\n"
        'unknown_fields = "report"\n'
        "[[replies]]\n"
        "times = 0\n"
        f"text = {msgspec.json.encode(text).decode()}\n",
        where="the changed response",
    )


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
    """An answer that is on no tape."""
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
