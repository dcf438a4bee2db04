"""Encodes planned answers, by the wire module of each API."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from ptycassette.harness.provider.fake.exchange import AnswerPart, Ending
from ptycassette.harness.provider.fake.script import Failure, Model, Pace, Reply
from ptycassette.harness.provider.wire import (
    anthropic,
    gemini,
    openai_chat,
    openai_responses,
    responses_events,
)
from ptycassette.harness.provider.wire.neutral import Answer, Api, Ask, Piece, Stamp

_ERRORS = {
    "anthropic": anthropic.error,
    "responses": openai_responses.error,
    "chat": openai_chat.error,
    "gemini": gemini.error,
}
_WHOLE = {
    "anthropic": anthropic.whole,
    "responses": responses_events.whole,
    "chat": openai_chat.whole,
    "gemini": gemini.whole,
}
_MODELS = {
    "anthropic": anthropic.models,
    "responses": openai_responses.models,
    "chat": openai_responses.models,
    "gemini": gemini.models,
}


def error_body(api: Api | None, status: int, message: str, kind: str = "") -> dict[str, Any]:
    """An error in the form of ``api``; in OpenAI's without an API."""
    return _ERRORS[api or "responses"](status, message, kind)


def whole_body(answer: Answer, ask: Ask, stamp: Stamp) -> bytes:
    """The answer as one JSON object."""
    return msgspec.json.encode(_WHOLE[ask.api](answer, ask, stamp))


def model_list(api: Api, models: Sequence[Model]) -> dict[str, Any]:
    """The models that ``api`` offers."""
    on_list = [(one.id, one.name or one.id) for one in models if api in one.apis]
    return _MODELS[api](on_list)


def streamed(
    reply: Reply,
    answer: Answer,
    ask: Ask,
    stamp: Stamp,
    *,
    pace: Pace,
    framing: responses_events.Framing,
) -> tuple[tuple[AnswerPart, ...], Ending]:
    """The answer as steps of a stream, broken off if the reply is."""
    pieces = list(_pieces(answer, ask, stamp, framing))
    ending: Ending = "complete"
    if reply.after_events is not None:
        pieces = pieces[: reply.after_events]
        if reply.error is not None:
            pieces.append(_stream_error(reply.error, ask, stamp, framing))
        else:
            ending = "disconnect"
    return tuple(_paced(pieces, pace)), ending


def _pieces(
    answer: Answer, ask: Ask, stamp: Stamp, framing: responses_events.Framing
) -> Iterable[Piece]:
    """The stream in the form of the request's API."""
    match ask.api:
        case "anthropic":
            return anthropic.stream(answer, ask, stamp)
        case "responses":
            return responses_events.stream(answer, ask, stamp, framing)
        case "chat":
            return openai_chat.stream(answer, ask, stamp)
        case "gemini":
            return gemini.stream(answer, ask, stamp)


def _stream_error(
    failure: Failure, ask: Ask, stamp: Stamp, framing: responses_events.Framing
) -> Piece:
    """The error that breaks a stream off."""
    match ask.api:
        case "anthropic":
            return anthropic.stream_error(failure.status, failure.message, failure.kind)
        case "responses":
            problem = openai_chat.error(failure.status, failure.message, failure.kind)["error"]
            return responses_events.stream_error(ask, stamp, framing, problem)
        case "chat":
            return openai_chat.stream_error(failure.status, failure.message, failure.kind)
        case "gemini":
            return gemini.stream_error(failure.status, failure.message, failure.kind)


def _paced(pieces: Iterable[Piece], pace: Pace) -> Iterable[AnswerPart]:
    """Steps with the pace of the script: once before the first, then before each paced one."""
    for index, piece in enumerate(pieces):
        delay = pace.first_ms if index == 0 else pace.each_ms if piece.paced else 0
        yield AnswerPart(delay, piece.data)
