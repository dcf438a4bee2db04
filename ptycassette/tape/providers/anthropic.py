"""The Anthropic Messages API: parse requests, write JSON or server-sent events.

Source: the public API reference of Anthropic (Messages, Streaming, Count tokens, Models, Errors;
version ``2023-06-01``). A stream is ``message_start``, per block ``content_block_start``, deltas
and ``content_block_stop``, then ``message_delta`` with the stop reason and ``message_stop``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence, Sized
from typing import Any

import msgspec

from ptycassette.model.records import objects_in
from ptycassette.tape.providers.neutral import (
    Answer,
    Ask,
    AskedCall,
    Call,
    Field,
    FoundCall,
    Message,
    ModelAnswer,
    Piece,
    Role,
    Stamp,
    Text,
    Thought,
    ToolPlace,
    ToolResult,
    UnknownFields,
    Usage,
    UsageNames,
    WireError,
    joined,
    read,
    slices,
    text_in,
)
from ptycassette.tape.providers.sse import framed

PATH = re.compile(r"/messages$")
VERSION, LIST, COUNT = "/v1", "data", "input_tokens"
COUNTS = ("count_tokens",)
REQUEST_ID, CALL_PREFIX = "request-id", "toolu"
NO_KEY = (401, "x-api-key header is required")
WRONG_KEY = (401, "invalid x-api-key")
SYSTEM = ("system",)
CALL = "tool_use"
"""The type of a block that calls a tool."""
STOP = "stop_reason"
SCHEMA = "input_schema"
OPTIONS: dict[str, str] = {}
REFERENCES = (b'"file_id"', b'"url":"http', b'"url": "http')
USAGE = UsageNames(
    input="input_tokens",
    output="output_tokens",
    cached="cache_read_input_tokens",
    input_beside=("cache_read_input_tokens", "cache_creation_input_tokens"),
)
STOPS = {
    "end": ("end_turn", "stop_sequence"),
    "tool": ("tool_use",),
    "length": ("max_tokens",),
    "refusal": ("refusal",),
}
_KINDS = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    529: "overloaded_error",
}
_ROLES: dict[str, Role] = {"system": "system", "user": "user", "assistant": "assistant"}
_TEXTS: dict[str, str | None] = {"text": "text", "image": None, "document": None}
_SILENT = frozenset({"thinking", "redacted_thinking"})


class _Messages(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The fields of ``POST /v1/messages``; ``count_tokens`` has some of them."""

    model: str
    messages: list[Any]
    max_tokens: int | None = None
    system: Any = None
    stream: bool = False
    tools: list[dict[str, Any]] = []
    tool_choice: Any = None
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    stop_sequences: list[str] | None = None
    metadata: Any = None
    thinking: Any = None
    service_tier: str | None = None
    container: Any = None
    context_management: Any = None
    mcp_servers: Any = None
    output_config: Any = None
    output_format: Any = None
    cache_control: Any = None
    diagnostics: Any = None
    inference_geo: str | None = None
    speed: str | None = None


def parse(
    body: Any, *, unknown_fields: UnknownFields = "reject", counting: bool = False
) -> tuple[Ask, tuple[str, ...]]:
    """A request as an ``Ask``, and the unknown fields that were ignored.

    Raises:
        WireError: the API would refuse it, or this fake does not support it.
    """
    request, unknown = read(body, _Messages, unknown_fields=unknown_fields)
    if request.max_tokens is None and not counting:
        raise WireError("max_tokens: Field required")
    turns: list[Message] = []
    if request.system is not None:
        turns.append(Message("system", Field(request.system, "system").text(_TEXTS)))
    turns += map(turn, Field(request.messages, "messages").items())
    tools = tuple(tool.word("name") for tool in Field(request.tools, "tools").items())
    ask = Ask(
        api="anthropic",
        model=request.model,
        stream=request.stream,
        turns=tuple(turns),
        tools=tools,
    )
    return ask, unknown


def turn(message: Field) -> Message:
    """One message: a role, and a string or blocks."""
    role = message.word("role")
    if role not in _ROLES:
        message.refuse(f".role: unknown role {role!r}")
    content = message.get("content")
    if isinstance(content.value, str):
        return Message(_ROLES.get(role, "user"), content.value)
    texts: list[str] = []
    calls: list[Call] = []
    results: list[ToolResult] = []
    for block in content.items():
        match block.word("type"):
            case "tool_use":
                arguments = block.get("input").value
                calls.append(Call(block.word("id"), block.word("name"), arguments))
            case "tool_result":
                output = block.get("content").text(_TEXTS)
                results.append(ToolResult(block.word("tool_use_id"), output))
            case kind if kind not in _SILENT:
                texts.append(block.block_text(_TEXTS))
    return Message(_ROLES.get(role, "user"), joined(texts), tuple(calls), tuple(results))


def tool_results(message: dict[str, Any]) -> Iterator[ToolPlace]:
    """The results of tools in a recorded message."""
    for block in objects_in(message.get("content")):
        if block.get("type") == "tool_result":
            yield ToolPlace(block, "content", text_in(block, "tool_use_id"))


def is_answer(document: Mapping[str, Any]) -> bool:
    """Whether a document, or the first event of a stream, is an answer of this API."""
    return text_in(document, "type") in {"message", "message_start"}


def started(event: Mapping[str, Any]) -> Any:
    """The message whose stream begins with an event; None for other events."""
    return event.get("message") if event.get("type") == "message_start" else None


def calls_in(event: Mapping[str, Any], _known: Sized) -> Iterator[FoundCall]:
    """The tool calls of a recorded event, or of the whole answer."""
    for block in (*objects_in([event.get("content_block")]), *objects_in(event.get("content"))):
        if block.get("type") == CALL:
            yield block.get("id"), block.get("name"), block


def take(answer: ModelAnswer, event: Mapping[str, Any]) -> None:
    """Add a recorded event of a stream, or the whole document, to an answer."""
    delta = event.get("delta")
    match event.get("type"):
        case "content_block_start":
            _take_block(answer, str(event.get("index")), event.get("content_block"), started=True)
        case "content_block_delta" if isinstance(delta, dict):
            _take_delta(answer, str(event.get("index")), delta)
        case "message_delta" if isinstance(delta, dict):
            answer.stop = text_in(delta, "stop_reason") or answer.stop
        case "message":
            for block in objects_in(event.get("content")):
                _take_block(answer, str(len(answer.calls)), block)


def _take_block(answer: ModelAnswer, index: str, block: Any, *, started: bool = False) -> None:
    if not isinstance(block, dict):
        return
    kind = block.get("type")
    if kind == "text" and isinstance(block.get("text"), str):
        answer.text.append(block["text"])
    elif kind == "thinking" and isinstance(block.get("thinking"), str):
        answer.thoughts.append(block["thinking"])
    elif kind == CALL:
        arguments = "" if started else json.dumps(block.get("input") or {})
        answer.calls[index] = AskedCall(text_in(block, "id"), text_in(block, "name"), arguments)


def _take_delta(answer: ModelAnswer, index: str, delta: dict[str, Any]) -> None:
    answer.text += [delta["text"]] if isinstance(delta.get("text"), str) else []
    answer.thoughts += [delta["thinking"]] if isinstance(delta.get("thinking"), str) else []
    if index in answer.calls and isinstance(delta.get("partial_json"), str):
        answer.calls[index].arguments += delta["partial_json"]


def whole(answer: Answer, ask: Ask, stamp: Stamp) -> dict[str, Any]:
    """The answer as one message object."""
    return {
        **_head(ask, stamp),
        "content": [_block(part, full=True) for part in answer.parts],
        "stop_reason": STOPS[answer.stop][0],
        "usage": _usage(answer.usage),
    }


def stream(answer: Answer, ask: Ask, stamp: Stamp, *_: object) -> Iterator[Piece]:
    """The answer as server-sent events."""
    start = {**_head(ask, stamp), "usage": {**_usage(answer.usage), "output_tokens": 1}}
    yield _event("message_start", {"message": start}, paced=True)
    for index, part in enumerate(answer.parts):
        block = _block(part, full=False)
        yield _event("content_block_start", {"index": index, "content_block": block})
        if index == 0:
            yield _event("ping", {})
        for delta in _delta_events(part, answer.chunk_chars):
            yield _event("content_block_delta", {"index": index, "delta": delta}, paced=True)
        yield _event("content_block_stop", {"index": index})
    delta = {"stop_reason": STOPS[answer.stop][0], "stop_sequence": None}
    yield _event("message_delta", {"delta": delta, "usage": _usage(answer.usage)})
    yield _event("message_stop", {})


def _head(ask: Ask, stamp: Stamp) -> dict[str, Any]:
    """A message object without content."""
    return {
        "id": stamp.id("msg"),
        "type": "message",
        "role": "assistant",
        "model": ask.model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
    }


def _block(part: Text | Thought | Call, *, full: bool) -> dict[str, Any]:
    """A content block: with its content, or empty as at the start of a stream."""
    match part:
        case Text(text=text):
            return {"type": "text", "text": text if full else ""}
        case Thought(text=text):
            signature = "ZmFrZQ==" if full else ""
            return {"type": "thinking", "thinking": text if full else "", "signature": signature}
        case Call():
            if isinstance(part.arguments, str):
                raise WireError("this API has no tools with free input", status=500)
            arguments = part.arguments if full else {}
            return {"type": "tool_use", "id": part.call_id, "name": part.name, "input": arguments}


def _delta_events(part: Text | Thought | Call, size: int) -> Iterator[dict[str, Any]]:
    """The deltas of one block."""
    match part:
        case Text(text=text):
            for piece in slices(text, size):
                yield {"type": "text_delta", "text": piece}
        case Thought(text=text):
            for piece in slices(text, size):
                yield {"type": "thinking_delta", "thinking": piece}
            yield {"type": "signature_delta", "signature": "ZmFrZQ=="}
        case Call(arguments=arguments):
            for piece in slices(msgspec.json.encode(arguments).decode(), size):
                yield {"type": "input_json_delta", "partial_json": piece}


def _usage(usage: Usage) -> dict[str, Any]:
    """Anthropic counts cached input beside, not inside, the input."""
    return {
        "input_tokens": usage.input - usage.cached_input,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": usage.cached_input,
        "output_tokens": usage.output,
    }


def _event(name: str, data: dict[str, Any], *, paced: bool = False) -> Piece:
    """One server-sent event, named as the type in its data."""
    return Piece(framed({"type": name, **data}, name=name), paced)


def error(status: int, message: str, kind: str = "") -> dict[str, Any]:
    """An error object in the API's form."""
    error_type = kind or _KINDS.get(
        status, "api_error" if status >= 500 else "invalid_request_error"
    )
    return {"type": "error", "error": {"type": error_type, "message": message}}


def stream_error(body: dict[str, Any], *_: object) -> Piece:
    """An ``error`` in the middle of a stream."""
    return _event("error", {"error": body["error"]})


def models(names: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """The answer to ``GET /v1/models`` for pairs of id and display name."""
    same = {"type": "model", "created_at": "2025-01-01T00:00:00Z", "lifecycle": "active"}
    data = [{**same, "id": name, "display_name": shown} for name, shown in names]
    first, last = (names[0][0], names[-1][0]) if names else (None, None)
    return {"data": data, "has_more": False, "first_id": first, "last_id": last}
