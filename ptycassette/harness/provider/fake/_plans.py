"""Answers as plans: status, headers, steps, log entry."""

from __future__ import annotations

from typing import Any

import msgspec

from ptycassette.harness.provider.fake._render import error_body
from ptycassette.harness.provider.fake.exchange import AnswerPart, PlannedAnswer
from ptycassette.harness.provider.fake.script import Failure, Route
from ptycassette.harness.provider.wire import responses_events as events
from ptycassette.harness.provider.wire.neutral import Api

JSON = {"content-type": "application/json"}
SSE = {"content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache"}


def plain(
    status: int, body: bytes, entry: dict[str, Any], headers: dict[str, str]
) -> PlannedAnswer:
    """An answer in one piece; JSON unless ``headers`` have another type."""
    steps = (AnswerPart(0, body),) if body else ()
    reply_headers = {**JSON, **headers}
    return PlannedAnswer(
        status=status, headers=reply_headers, steps=steps, entry={**entry, "status": status}
    )


def fixed(route: Route, entry: dict[str, Any]) -> PlannedAnswer:
    """A scripted route."""
    log_entry = {**entry, "operation": "route"}
    if route.json is not msgspec.UNSET:
        return plain(route.status, msgspec.json.encode(route.json), log_entry, route.headers)
    headers = {"content-type": "text/plain; charset=utf-8", **route.headers}
    return plain(route.status, (route.text or "").encode(), log_entry, headers)


def refusal(
    api: Api | None, status: int, message: str, entry: dict[str, Any], *, kind: str = ""
) -> PlannedAnswer:
    """An error that is not in the script."""
    body = error_body(api, status, f"ptycassette fake provider: {message}", kind)
    return plain(status, msgspec.json.encode(body), entry, {})


def scripted_error(
    api: Api, failure: Failure, headers: dict[str, str], entry: dict[str, Any], *, delay_ms: int
) -> PlannedAnswer:
    """An HTTP error of the script."""
    body = error_body(api, failure.status, failure.message, failure.kind)
    if api == "gemini" and failure.details:
        body["error"]["details"] = failure.details
    return PlannedAnswer(
        status=failure.status,
        headers={**JSON, **headers},
        steps=(AnswerPart(delay_ms, msgspec.json.encode(body)),),
        entry={**entry, "status": failure.status},
    )


def socket_error(
    failure: Failure, headers: dict[str, str], entry: dict[str, Any], *, delay_ms: int = 0
) -> PlannedAnswer:
    """An error over a WebSocket: one message that carries what headers would."""
    event = events.websocket_error(failure.status, failure.message, failure.kind, headers)
    return PlannedAnswer(
        status=failure.status,
        headers={},
        steps=(AnswerPart(delay_ms, events.text_message(event)),),
        entry={**entry, "status": failure.status},
    )


def dropped(entry: dict[str, Any], *, delay_ms: int) -> PlannedAnswer:
    """No answer: the connection breaks."""
    return PlannedAnswer(
        status=0,
        headers={},
        steps=(AnswerPart(delay_ms, b""),),
        ending="disconnect",
        entry={**entry, "status": 0},
    )
