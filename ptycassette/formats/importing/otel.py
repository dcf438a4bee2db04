"""Import calls of models in OpenTelemetry's GenAI conventions, from OTLP in JSON.

https://opentelemetry.io/docs/specs/semconv/gen-ai/: it reads the span of an inference. If no such
span has messages, it reads the event ``gen_ai.client.inference.operation.details``. Since 1.37 the
messages are in ``gen_ai.input.messages`` and ``gen_ai.output.messages``; before, each message was
an event (``gen_ai.user.message``, ``gen_ai.choice``), which is also read. Neither holds the actual
requests, so the calls are rebuilt (``cendor.py``).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from ptycassette.formats.importing.asciicast import objects_of
from ptycassette.formats.importing.cendor import (
    CHAT,
    JSON,
    base_of,
    chat_question,
)
from ptycassette.formats.importing.har import (
    Call,
    Skipped,
    SkippedError,
    checked_url,
    session_of_calls,
    tool_events,
    tool_failure,
)
from ptycassette.formats.importing.session import BadImportError, ImportedSession
from ptycassette.model.records import Noted, decoded_json, objects_in
from ptycassette.model.visible_text import visible
from ptycassette.tape.providers.openai_chat import (
    CALL_ID,
    TOOL_CALLS,
    USAGE,
    chat_answer,
    message,
    tool_call,
    tool_message,
)

# OTLP in JSON: spans and events of OpenTelemetry as plain values.


_MOST_NS = 1 << 63
_MOST_DEPTH = 32


NO_MESSAGE = "error"
"""The error of a span without a message."""


class TelemetryRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A span, or an event. Times are microseconds since 1970.

    ``trace`` and ``span`` are the ids of the span, or of the span that contains the event.
    """

    name: str
    is_span: bool
    trace: str
    span: str
    begun_us: int
    ended_us: int
    attributes: Mapping[str, Any]
    body: Any = None
    failed: str = ""


def records_in(data: bytes) -> Iterator[TelemetryRecord]:
    """All spans with their events, and all records of logs, in the order of the file.

    Raises:
        BadImportError: it is not OTLP; the message has the line.
    """
    for line, document in objects_of(data):
        if not {"resourceSpans", "resourceLogs"} & document.keys():
            raise BadImportError(f"line {line} has neither resourceSpans nor resourceLogs")
        try:
            for span in _inner(document, "resourceSpans", "scopeSpans", "spans"):
                yield from _span(span)
            for record in _inner(document, "resourceLogs", "scopeLogs", "logRecords"):
                yield _event(record, record)
        except (TypeError, ValueError, KeyError, AttributeError, RecursionError) as exc:
            raise BadImportError(f"line {line} is not OTLP: {exc!r}") from exc


def _inner(value: Any, *names: str) -> Iterator[dict[str, Any]]:
    if not names:
        yield value
        return
    for one in value.get(names[0]) or []:
        yield from _inner(one, *names[1:])


def _span(span: dict[str, Any]) -> Iterator[TelemetryRecord]:
    status = span.get("status") or {}
    begun_us = _us(span["startTimeUnixNano"])
    yield TelemetryRecord(
        name=str(span.get("name", "")),
        is_span=True,
        trace=str(span.get("traceId", "")),
        span=str(span.get("spanId", "")),
        begun_us=begun_us,
        ended_us=max(begun_us, _us(span.get("endTimeUnixNano", 0))),
        attributes=_attributes(span),
        failed=str(status.get("message") or NO_MESSAGE) if status.get("code") == 2 else "",
    )
    for event in span.get("events") or []:
        yield _event(event, span)


def _event(event: dict[str, Any], within: dict[str, Any]) -> TelemetryRecord:
    moment_us = _us(event.get("timeUnixNano") or event.get("observedTimeUnixNano") or 0)
    attributes = _attributes(event)
    return TelemetryRecord(
        name=str(event.get("eventName") or event.get("name") or attributes.get("event.name", "")),
        is_span=False,
        trace=str(within.get("traceId", "")),
        span=str(within.get("spanId", "")),
        begun_us=moment_us,
        ended_us=moment_us,
        attributes=attributes,
        body=_value(event.get("body")),
    )


def _us(nanoseconds: Any) -> int:
    number = int(nanoseconds)
    if not 0 <= number < _MOST_NS:
        raise ValueError(f"{number} is not a time")
    return number // 1000


def _attributes(owner: dict[str, Any]) -> dict[str, Any]:
    return {str(one["key"]): _value(one.get("value")) for one in owner.get("attributes") or []}


def _value(value: Any, depth: int = 0) -> Any:
    if depth > _MOST_DEPTH:
        raise ValueError("nested too deep")
    match value:
        case {"intValue": number}:
            return int(number)
        case {"stringValue": plain} | {"boolValue": plain} | {"doubleValue": plain}:
            return plain
        case {"arrayValue": {"values": list(values)}}:
            return [_value(one, depth + 1) for one in values]
        case {"kvlistValue": {"values": list(pairs)}}:
            return {str(one["key"]): _value(one.get("value"), depth + 1) for one in pairs}
        case _:
            return None


_STRUCTURED = {
    "gen_ai.input.messages",
    "gen_ai.output.messages",
    "gen_ai.system_instructions",
    "gen_ai.tool.definitions",
}
"""The attributes that are lists or objects. In place of a word these are ignored."""
_DETAILS = "gen_ai.client.inference.operation.details"
_OPERATIONS = frozenset({"chat", "generate_content", "text_completion"})
_MESSAGE_EVENTS = {
    "gen_ai.system.message": "system",
    "gen_ai.user.message": "user",
    "gen_ai.assistant.message": "assistant",
    "gen_ai.tool.message": "tool",
}
_CHOICE = "gen_ai.choice"
_PARAMETERS = (
    "temperature",
    "top_p",
    "max_tokens",
    "frequency_penalty",
    "presence_penalty",
    "seed",
)
_TOOL = "execute_tool"
_STATUSES = range(400, 600)
Messages = list[dict[str, Any]]
Choices = list[tuple[dict[str, Any], object]]


def read_otel(data: bytes) -> ImportedSession:
    """The calls of models in spans and events.

    Raises:
        BadImportError: it is not OTLP, or has no call.
    """
    records = list(records_in(data))
    events: defaultdict[tuple[str, str], list[TelemetryRecord]] = defaultdict(list)
    for one in records:
        if one.name in _MESSAGE_EVENTS or one.name in {_CHOICE, _DETAILS}:
            events[one.trace, one.span].append(one)
    calls: list[Call] = []
    notes: list[Noted] = []
    skipped = Skipped()
    taken: set[tuple[str, str]] = set()
    for one in sorted(
        records, key=lambda one: not one.is_span
    ):  # spans have the times of beginning and end
        place = one.trace, one.span
        if not one.is_span and (one.name != _DETAILS or (place in taken and any(place))):
            continue
        try:
            if one.is_span and one.attributes.get("gen_ai.operation.name") == _TOOL:
                notes += _tool(one)
                continue
            calls.append(_call(one, events[place] if any(place) else [one]))
            taken.add(place)
        except SkippedError as reason:
            skipped.note(reason, f"span {visible(one.span or one.name, limit=40)}")
    return session_of_calls(calls, skipped, dated=True, rebuilt=True, notes=notes)


def _tool(span: TelemetryRecord) -> Iterator[Noted]:
    """The tool call in a span, and its result."""
    said = span.attributes
    name = said.get("gen_ai.tool.name")
    if not isinstance(name, str):
        raise SkippedError("a call of a tool without a name", "gen_ai.tool.name")
    call_id = said.get("gen_ai.tool.call.id")
    arguments = _structured(said.get("gen_ai.tool.call.arguments"))
    ended = None
    if "gen_ai.tool.call.result" in said:
        ended = {"output": _structured(said["gen_ai.tool.call.result"])}
    elif failed := said.get("error.type") or span.failed:
        message = None if span.failed in {"", NO_MESSAGE} else span.failed
        kind = said.get("error.type")
        ended = tool_failure(message if kind else failed, kind=kind)
    times = span.begun_us, span.ended_us
    yield from tool_events(times, str(call_id or span.span), name, arguments, ended)


def _call(one: TelemetryRecord, events: list[TelemetryRecord]) -> Call:
    said = _said(one, events)
    operation = said.get("gen_ai.operation.name")
    if operation is None and not any(name.startswith("gen_ai.") for name in said):
        raise SkippedError("a span that is not about a model")
    if operation is not None and operation not in _OPERATIONS:
        raise SkippedError("an operation that asks no model for text")
    messages, choices = _messages(said, events)
    if not messages:
        raise SkippedError(
            "no messages in it (instrumentations leave them out by default)",
            "gen_ai.input.messages",
        )
    model = said.get("gen_ai.request.model")
    more = {name: said.get(f"gen_ai.request.{name}") for name in _PARAMETERS}
    tools = _structured(said.get("gen_ai.tool.definitions"))
    failed = str(said.get("error.type") or one.failed)
    status, answer = _answer(said, choices, failed)
    return Call(
        begun_us=one.begun_us,
        answered_us=one.ended_us,
        ended_us=one.ended_us,
        method="POST",
        url=checked_url(_base(said) + CHAT, "server.address"),
        headers=JSON,
        with_headers=False,
        rebuilt=True,
        body=chat_question(model, messages, {**more, "tools": tools}),
        status=status,
        answer_headers=JSON if status is not None else (),
        answer=answer,
        outcome="complete" if status is not None else "provider-gone",
        detail=failed if status is None else "",
    )


def _said(one: TelemetryRecord, events: list[TelemetryRecord]) -> dict[str, Any]:
    """The attributes of a span, with those of the event that has its details."""
    said = dict(one.attributes)
    for event in events:
        if event.name == _DETAILS:
            body = event.body if isinstance(event.body, dict) else {}
            said |= {**body, **event.attributes}
    return {
        name: value
        for name, value in said.items()
        if name in _STRUCTURED or not isinstance(value, dict | list)
    }


def _base(said: Mapping[str, Any]) -> str:
    address, port = said.get("server.address"), said.get("server.port")
    if isinstance(address, str) and address:
        host = f"[{address}]" if ":" in address else address
        plain = f"http://{host}:{port}"
        return f"https://{host}" if port in {None, 443} else plain
    return base_of(said.get("gen_ai.provider.name") or said.get("gen_ai.system"))


def _answer(said: Mapping[str, Any], choices: Choices, failed: str) -> tuple[int | None, bytes]:
    """Status and body; no status if there was no answer."""
    if choices:
        usage = (
            said.get("gen_ai.usage.input_tokens", said.get(f"gen_ai.usage.{USAGE.input}")),
            said.get("gen_ai.usage.output_tokens", said.get(f"gen_ai.usage.{USAGE.output}")),
        )
        model = said.get("gen_ai.response.model") or said.get("gen_ai.request.model")
        return 200, chat_answer(
            model, choices, usage=usage, answer_id=said.get("gen_ai.response.id")
        )
    if failed.isdecimal() and len(failed) == 3 and int(failed) in _STATUSES:
        return int(failed), msgspec.json.encode({"error": {"message": failed}})
    if failed:
        return None, b""
    raise SkippedError("no answer in it", "gen_ai.output.messages")


def _messages(said: Mapping[str, Any], events: list[TelemetryRecord]) -> tuple[Messages, Choices]:
    asked: Messages = []
    system = _structured(said.get("gen_ai.system_instructions"))
    if system:
        asked += _of_parts("system", system)
    for one in objects_in(_structured(said.get("gen_ai.input.messages"))):
        asked += _of_parts(str(one.get("role", "user")), one.get("parts"))
    choices: Choices = [
        (next(iter(_of_parts("assistant", one.get("parts"))), {}), one.get("finish_reason"))
        for one in objects_in(_structured(said.get("gen_ai.output.messages")))
    ]
    for event in sorted(events, key=lambda event: event.begun_us):
        body = event.body if isinstance(event.body, dict) else event.attributes
        if event.name == _CHOICE:
            inner = body.get("message")
            message: Mapping[str, Any] = inner if isinstance(inner, dict) else body
            choices.append((_old("assistant", message), body.get("finish_reason")))
        elif event.name in _MESSAGE_EVENTS:
            asked.append(_old(_MESSAGE_EVENTS[event.name], body))
    return asked, choices


def _old(role: str, body: Mapping[str, Any]) -> dict[str, Any]:
    """A message of the conventions before 1.37, which follow chat completions."""
    calls = body.get(TOOL_CALLS)
    made = message(body.get("role") or role, body.get("content"), calls and _structured(calls))
    return {**made, CALL_ID: body.get("id")} if role == "tool" else made


def _of_parts(role: str, parts: Any) -> Iterator[dict[str, Any]]:
    """Split a message with parts; results of tools become messages of their own."""
    texts, calls, results = [], [], []
    for part in objects_in(parts):
        match part.get("type"):
            case "tool_call":
                calls.append(tool_call(part.get("id"), part.get("name"), part.get("arguments")))
            case "tool_call_response":
                said = part.get("response", part.get("result"))
                text = said if isinstance(said, str) else msgspec.json.encode(said).decode()
                results.append(tool_message(part.get("id"), text))
            case "reasoning":  # questions do not contain the reasoning
                pass
            case kind:
                content = part.get("content")
                texts.append(content if isinstance(content, str) else f"[{kind}]")
    if texts or calls:
        yield message(role, "\n".join(texts) if texts else None, calls)
    yield from results


def _structured(value: Any) -> Any:
    """A value that instrumentations write as it is, or as JSON in a text."""
    return decoded_json(value) if isinstance(value, str) else value
