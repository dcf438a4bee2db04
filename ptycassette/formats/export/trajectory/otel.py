"""Export calls of models as telemetry: OpenTelemetry's GenAI conventions, in OTLP JSON lines.

https://opentelemetry.io/docs/specs/semconv/gen-ai/: a span for the agent's run contains a span for
each call of a model. Each call has an event ``gen_ai.client.inference.operation.details`` with the
structured messages. Without a tape, the run has one such event with the whole conversation. The
first line has the spans and each further line one event, as the collector's file exporter writes
them. Ids are derived from the cassette's id, so that the same cassette gives the same file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from hashlib import sha256
from typing import Any

import msgspec

from ptycassette.formats.export.registry import ExportSource
from ptycassette.formats.export.trajectory.from_tape import Inference, Step, conversation_of, whole
from ptycassette.model.records import Manifest
from ptycassette.model.visible_text import visible_json
from ptycassette.tape.providers.answers import stop_of
from ptycassette.tape.providers.neutral import Call, Message, ToolResult
from ptycassette.tape.routing import host_and_port
from ptycassette.version import __version__

SCHEMA_URL = "https://opentelemetry.io/schemas/1.37.0"
DETAILS = "gen_ai.client.inference.operation.details"

_INTERNAL, _CLIENT, _ERROR = 1, 3, 2
_FAILED = 400
_PROVIDERS = {
    "api.openai.com": "openai",
    "chatgpt.com": "openai",
    "api.anthropic.com": "anthropic",
    "generativelanguage.googleapis.com": "gcp.gemini",
    "cloudcode-pa.googleapis.com": "gcp.gen_ai",
    "openrouter.ai": "openrouter",
}
_STOPS = {"end": "stop", "tool": "tool_call", "length": "length", "refusal": "content_filter"}
_TOKENS = {"input_tokens": "input_tokens", "output_tokens": "output_tokens"}


class _Ids:
    """Ids of one cassette, as hexadecimal digits."""

    def __init__(self, manifest: Manifest) -> None:
        self._id = manifest.id
        self.trace = self._made("trace", 32)
        self.run = self.span(0)

    def span(self, entry: int) -> str:
        """The id of the span of an entry; 0 is the run."""
        return self._made(str(entry), 16)

    def _made(self, name: str, digits: int) -> str:
        return sha256(f"{self._id}:{name}".encode()).hexdigest()[:digits]


def recording_otel(source: ExportSource) -> Iterator[bytes]:
    """The telemetry, JSON lines.

    Raises:
        UsageError: there is no conversation in the recording.
    """
    cassette = whole(source)
    spoken = conversation_of(source)
    manifest, ids = cassette.manifest, _Ids(cassette.manifest)
    start = datetime.fromisoformat(manifest.provenance.recorded_at)
    start_ns = round(start.timestamp() * 1_000_000) * 1000
    run = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": manifest.harness.name,
        "gen_ai.conversation.id": manifest.id,
        "gen_ai.request.model": spoken.model,
    }
    end_ns = start_ns + cassette.final.duration_ms * 1_000_000
    lost = {
        f"ptycassette.left_out.{name.replace(' ', '_')}": count
        for name, count in spoken.left_out.items()
    }
    spans = [
        {
            "traceId": ids.trace,
            "spanId": ids.run,
            "name": f"invoke_agent {manifest.harness.name}",
            "kind": _INTERNAL,
            "startTimeUnixNano": str(start_ns),
            "endTimeUnixNano": str(end_ns),
            "attributes": _attributes({**run, **lost}),
        },
        *(_span(one, ids, start_ns) for one in spoken.inferences),
    ]
    yield _line(manifest, "resourceSpans", "scopeSpans", "spans", spans)
    for one in spoken.inferences:
        said = {
            **_about(one),
            **_messages(one.asked.messages),
            "gen_ai.output.messages": [{**_answer(one.said), "finish_reason": _stop(one)}],
        }
        yield _event(
            manifest, ids.trace, ids.span(one.entry.entry), start_ns + one.ended_us * 1000, said
        )
    if not spoken.inferences:
        asked = [Message("user", step.text) for step in spoken.steps if step.source == "user"]
        asked += [
            Message("user", results=tuple(step.results)) for step in spoken.steps if step.results
        ]
        answers = [
            {**_answer(step), "finish_reason": "tool_call" if step.calls else "stop"}
            for step in spoken.steps
            if step.source == "agent"
        ]
        said = {**run, **_messages(asked), "gen_ai.output.messages": answers}
        yield _event(manifest, ids.trace, ids.run, end_ns, said)


def _line(manifest: Manifest, resources: str, scopes: str, name: str, records: list[Any]) -> bytes:
    resource = {
        "service.name": manifest.harness.name,
        "service.version": manifest.harness.binary_version,
        "ptycassette.cassette.id": manifest.id,
    }
    scope = {"scope": {"name": "ptycassette", "version": __version__}, name: records}
    return (
        visible_json(
            msgspec.json.encode(
                {
                    resources: [
                        {
                            "resource": {"attributes": _attributes(resource)},
                            scopes: [{**scope, "schemaUrl": SCHEMA_URL}],
                            "schemaUrl": SCHEMA_URL,
                        }
                    ]
                }
            )
        )
        + b"\n"
    )


def _event(manifest: Manifest, trace: str, span: str, t_ns: int, said: dict[str, Any]) -> bytes:
    record = {
        "timeUnixNano": str(t_ns),
        "observedTimeUnixNano": str(t_ns),
        "eventName": DETAILS,
        "traceId": trace,
        "spanId": span,
        "attributes": _attributes(said),
    }
    return _line(manifest, "resourceLogs", "scopeLogs", "logRecords", [record])


def _span(one: Inference, ids: _Ids, start_ns: int) -> dict[str, Any]:
    made = {
        "traceId": ids.trace,
        "spanId": ids.span(one.entry.entry),
        "parentSpanId": ids.run,
        "name": f"chat {one.asked_model or one.said.model or ''}".rstrip(),
        "kind": _CLIENT,
        "startTimeUnixNano": str(start_ns + one.begun_us * 1000),
        "endTimeUnixNano": str(start_ns + one.ended_us * 1000),
        "attributes": _attributes(_about(one)),
    }
    failed = _failed(one)
    return {**made, "status": {"code": _ERROR, "message": failed}} if failed else made


def _failed(one: Inference) -> str:
    """Why a call failed, as ``error.type``; empty if it did not."""
    status = None if one.entry.answer is None else one.entry.answer.status
    if status is not None and status >= _FAILED:
        return str(status)
    return "" if one.entry.outcome == "complete" or one.stop else one.entry.outcome


def _about(one: Inference) -> dict[str, Any]:
    host, port = host_and_port(one.upstream)
    usage = {f"gen_ai.usage.{name}": one.said.usage.get(ours) for name, ours in _TOKENS.items()}
    return {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": _PROVIDERS.get(host, host) or "unknown",
        "gen_ai.request.model": one.asked_model,
        "gen_ai.response.model": one.said.model,
        "gen_ai.response.finish_reasons": [_stop(one)],
        "gen_ai.usage.cache_read.input_tokens": one.said.usage.get("cached_input_tokens"),
        **usage,
        "server.address": host or None,
        "server.port": (port or 443) if host else None,
        "error.type": _failed(one) or None,
        "ptycassette.tape.entry": one.entry.entry,
    }


def _stop(one: Inference) -> str:
    if _failed(one):
        return "error"
    if one.said.calls:
        return "tool_call"
    stop = stop_of(one.stop)
    return one.stop or "stop" if stop is None else _STOPS[stop]


def _messages(messages: Iterable[Message]) -> dict[str, Any]:
    """The attributes for the messages of a question."""
    system: list[dict[str, Any]] = []
    asked: list[dict[str, Any]] = []
    for message in messages:
        if message.role == "system":
            system.append(_text(message.text))
            continue
        parts = [*([_text(message.text)] if message.text else []), *_calls(message.calls)]
        if parts:
            asked.append({"role": message.role, "parts": parts})
        if message.results:
            asked.append({"role": "tool", "parts": [_result(one) for one in message.results]})
    found = {"gen_ai.system_instructions": system, "gen_ai.input.messages": asked}
    return {name: value for name, value in found.items() if value}


def _answer(step: Step) -> dict[str, Any]:
    parts: list[dict[str, Any]] = []
    if step.thought:
        parts.append({"type": "reasoning", "content": step.thought})
    if step.text:
        parts.append(_text(step.text))
    return {"role": "assistant", "parts": [*parts, *_calls(step.calls)]}


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "content": text}


def _calls(calls: Iterable[Call]) -> Iterator[dict[str, Any]]:
    for call in calls:
        yield {"type": "tool_call", "id": call.call_id, "name": call.name, "arguments": call.values}


def _result(result: ToolResult) -> dict[str, Any]:
    return {"type": "tool_call_response", "id": result.call_id, "response": result.text}


def _attributes(said: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"key": name, "value": _value(value)} for name, value in said.items() if value is not None
    ]


def _value(value: Any) -> dict[str, Any]:
    """A value as OTLP's ``AnyValue``; null becomes an empty one."""
    made: dict[str, Any]
    match value:
        case None:
            made = {}
        case bool():
            made = {"boolValue": value}
        case int():
            made = {"intValue": str(value)}
        case float():
            made = {"doubleValue": value}
        case list():
            made = {"arrayValue": {"values": [_value(one) for one in value]}}
        case dict():
            values = [{"key": str(name), "value": _value(one)} for name, one in value.items()]
            made = {"kvlistValue": {"values": values}}
        case _:
            made = {"stringValue": str(value)}
    return made
