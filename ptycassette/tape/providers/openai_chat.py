"""The OpenAI Chat Completions API: parse requests, write JSON or server-sent events.

Source: the public API reference of OpenAI (Chat Completions, Streaming, Models). A stream is a
chunk with the role, chunks with deltas, one with the finish reason, one with the usage if
``stream_options.include_usage`` is set, and ``data: [DONE]``.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from typing import Any

import msgspec

from ptycassette.model.records import decoded_json, objects_in
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
    read,
    slices,
    text_in,
)
from ptycassette.tape.providers.sse import LAST_LINE, framed

PATH = re.compile(r"/chat/completions$")
VERSION, LIST = "/v1", "data"
REQUEST_ID, CALL_PREFIX = "x-request-id", "call"
NO_KEY = (401, "You didn't provide an API key.")
WRONG_KEY = (401, "Incorrect API key provided.")
MESSAGES = "messages"
FUNCTION = "function"
"""The member of a tool, or of a call, that has its name."""
OLD_CALL = "function_call"
TOOL_CALLS = "tool_calls"
CALL_ID = "tool_call_id"
SCHEMA = "parameters"
FINGERPRINT = "system_fingerprint"
OPTIONS = {"max_tokens": "max_completion_tokens"}
REFERENCES = (b'"image_url":"http', b'"image_url": "http')
USAGE = UsageNames(
    input="prompt_tokens",
    output="completion_tokens",
    cached="prompt_tokens_details.cached_tokens",
    reasoning="completion_tokens_details.reasoning_tokens",
)
STOPS = {
    "end": ("stop",),
    "tool": ("tool_calls", "function_call"),
    "length": ("length",),
    "refusal": ("content_filter",),
}
_ROLES: dict[str, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "user",
}
_TEXTS: dict[str, str | None] = {
    "text": "text",
    "refusal": "refusal",
    "image_url": None,
    "input_audio": None,
    "file": None,
}
KINDS = {
    400: ("invalid_request_error", None),
    401: ("invalid_request_error", "invalid_api_key"),
    403: ("invalid_request_error", "unsupported_country_region_territory"),
    404: ("invalid_request_error", None),
    429: ("requests", "rate_limit_exceeded"),
    500: ("server_error", None),
    503: ("server_error", "server_is_overloaded"),
}


class _Completion(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The fields of ``POST /v1/chat/completions``."""

    model: str
    messages: list[Any]
    stream: bool = False
    stream_options: dict[str, Any] | None = None
    tools: list[dict[str, Any]] | None = None
    tool_choice: Any = None
    parallel_tool_calls: bool | None = None
    temperature: float | None = None
    top_p: float | None = None
    n: int | None = None
    stop: Any = None
    max_tokens: int | None = None
    max_completion_tokens: int | None = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    logit_bias: Any = None
    logprobs: bool | None = None
    top_logprobs: int | None = None
    metadata: Any = None
    modalities: Any = None
    prediction: Any = None
    prompt_cache_key: str | None = None
    prompt_cache_retention: str | None = None
    reasoning_effort: str | None = None
    response_format: Any = None
    safety_identifier: str | None = None
    seed: int | None = None
    service_tier: str | None = None
    store: bool | None = None
    user: str | None = None
    verbosity: str | None = None
    web_search_options: Any = None


def parse(body: Any, *, unknown_fields: UnknownFields = "reject") -> tuple[Ask, tuple[str, ...]]:
    """A request as an ``Ask``, and the unknown fields that were ignored.

    Raises:
        WireError: the API would refuse it, or this fake does not support it.
    """
    request, unknown = read(body, _Completion, unknown_fields=unknown_fields)
    if request.n not in {None, 1}:
        raise WireError("n: this fake gives one choice")
    options = request.stream_options or {}
    offered = Field(request.tools or [], "tools")
    ask = Ask(
        api="chat",
        model=request.model,
        stream=request.stream,
        turns=tuple(map(turn, Field(request.messages, "messages").items())),
        tools=tuple(_named(tool).word("name") for tool in offered.items()),
        wants_usage=options.get("include_usage") is True,
    )
    return ask, unknown


def _named(tool: Field) -> Field:
    """The part of an offered tool, or of a call, that has its name."""
    kind = tool.word("type")
    if kind in {"function", "custom"}:
        return tool.get(kind)
    tool.refuse(f".type: unknown tool type {kind!r}")
    return tool.get("function")


def is_own(message: Field) -> bool:
    """Whether Anthropic's API has no such message."""
    return message.word("role") in {"developer", "tool"} or bool(message.value.get("tool_calls"))


def is_system(message: Mapping[str, Any]) -> bool:
    """Whether a recorded message is of the system."""
    return _ROLES.get(text_in(message, "role")) == "system"


def turn(message: Field) -> Message:
    """One message."""
    role = message.word("role")
    if role not in _ROLES:
        message.refuse(f".role: unknown role {role!r}")
    text = message.get("content").text(_TEXTS)
    if role == "tool":
        return Message("user", results=(ToolResult(message.word("tool_call_id"), text),))
    calls: list[Call] = []
    for call in message.get("tool_calls").items() if message.value.get("tool_calls") else ():
        named = _named(call)
        arguments = named.get("arguments").value or named.get("input").value
        calls.append(Call(call.word("id"), named.word("name"), arguments))
    return Message(_ROLES.get(role, "user"), text, tuple(calls))


def tool_results(message: dict[str, Any]) -> Iterator[ToolPlace]:
    """The result of a tool, if a recorded message is one."""
    if message.get("role") == "tool":
        yield ToolPlace(message, "content", text_in(message, "tool_call_id"))


def is_answer(document: Mapping[str, Any]) -> bool:
    """Whether a document, or the first event of a stream, is an answer of this API."""
    return "choices" in document


def calls_in(event: Mapping[str, Any], _known: Sized) -> Iterator[FoundCall]:
    """The tool calls of a recorded chunk, or of the whole completion."""
    for choice in objects_in(event.get("choices")):
        said = choice.get("delta") or choice.get("message")
        for call in objects_in(said.get("tool_calls") if isinstance(said, dict) else None):
            function = call.get("function")
            name = function.get("name") if isinstance(function, dict) else None
            yield call.get("id"), name, call


def take(answer: ModelAnswer, event: Mapping[str, Any]) -> None:
    """Add a recorded chunk, or the whole completion, to an answer."""
    for choice in objects_in(event.get("choices"))[:1]:  # others are alternatives
        answer.stop = text_in(choice, "finish_reason") or answer.stop
        said = choice.get("delta") or choice.get("message")
        if not isinstance(said, dict):
            continue
        answer.text += [said["content"]] if isinstance(said.get("content"), str) else []
        thought = text_in(said, "reasoning_content") or text_in(said, "reasoning")
        answer.thoughts += [thought] if thought else []
        for number, call in enumerate(objects_in(said.get("tool_calls"))):
            known = answer.calls.setdefault(str(call.get("index", number)), AskedCall())
            function = call.get("function")
            if isinstance(function, dict):
                known.name += text_in(function, "name")
                known.arguments += text_in(function, "arguments")
            known.id = text_in(call, "id") or known.id


def whole(answer: Answer, ask: Ask, stamp: Stamp) -> dict[str, Any]:
    """The answer as one completion object."""
    said = "".join(part.text for part in answer.parts if isinstance(part, Text))
    message: dict[str, Any] = {"role": "assistant", "content": said or None, "refusal": None}
    thought = "".join(part.text for part in answer.parts if isinstance(part, Thought))
    if thought:
        message["reasoning_content"] = thought
    calls = [_call(part) for part in answer.parts if isinstance(part, Call)]
    if calls:
        message["tool_calls"] = calls
    choice = {
        "index": 0,
        "message": message,
        "logprobs": None,
        "finish_reason": STOPS[answer.stop][0],
    }
    head = _head(ask, stamp, "chat.completion")
    return {**head, "choices": [choice], "usage": _usage(answer.usage)}


def stream(answer: Answer, ask: Ask, stamp: Stamp, *_: object) -> Iterator[Piece]:
    """The answer as server-sent events."""
    head = _head(ask, stamp, "chat.completion.chunk")
    yield _chunk(head, {"role": "assistant", "content": ""}, paced=True)
    number = 0
    for part in answer.parts:
        match part:
            case Text(text=text):
                for piece in slices(text, answer.chunk_chars):
                    yield _chunk(head, {"content": piece}, paced=True)
            case Thought(text=text):
                # Not OpenAI's own, but compatible servers send it and clients read it.
                for piece in slices(text, answer.chunk_chars):
                    yield _chunk(head, {"reasoning_content": piece}, paced=True)
            case Call():
                yield from _call_chunks(head, part, number, answer.chunk_chars)
                number += 1
    yield _chunk(head, {}, finish=STOPS[answer.stop][0])
    if ask.wants_usage:
        yield _data({**head, "choices": [], "usage": _usage(answer.usage)})
    yield Piece(LAST_LINE + b"\n\n")


def _call_chunks(head: dict[str, Any], part: Call, number: int, size: int) -> Iterator[Piece]:
    """A tool call: its name first, then its arguments in slices."""
    full = _call(part)
    arguments = full["function"]["arguments"]
    opening = {**full, "index": number, "function": {"name": part.name, "arguments": ""}}
    yield _chunk(head, {"tool_calls": [opening]}, paced=True)
    for piece in slices(arguments, size):
        delta = {"index": number, "function": {"arguments": piece}}
        yield _chunk(head, {"tool_calls": [delta]}, paced=True)


def _call(part: Call) -> dict[str, Any]:
    if isinstance(part.arguments, str):
        raise WireError("tools with free input are not offered over this API", status=500)
    return tool_call(part.call_id, part.name, part.arguments)


def chat_answer(
    model: object,
    choices: Sequence[tuple[Mapping[str, Any], object]],
    *,
    usage: tuple[object, object] = (None, None),
    answer_id: object = None,
) -> bytes:
    """The body of a whole answer that is known only in parts, as from a trace.

    Args:
        model: the model that answered.
        choices: each message, and why it ended.
        usage: tokens in and out; None if unknown.
        answer_id: its id.
    """
    tokens = {
        name: count
        for name, count in zip(("prompt_tokens", "completion_tokens"), usage, strict=True)
        if isinstance(count, int) and not isinstance(count, bool)
    }
    said = {
        "id": answer_id,
        "object": "chat.completion",
        "model": model,
        "choices": [
            {"index": number, "message": dict(message), "finish_reason": reason}
            for number, (message, reason) in enumerate(choices)
        ],
        "usage": tokens or None,
    }
    return msgspec.json.encode({name: value for name, value in said.items() if value is not None})


def usual_stop(calls: Sized) -> str:
    """Why an answer with these calls ended, if it was not cut off."""
    return STOPS["tool" if calls else "end"][0]


def tool_call(call_id: object, name: object, arguments: object) -> dict[str, Any]:
    """A tool call, as a part of a message."""
    if not isinstance(arguments, str):
        arguments = msgspec.json.encode(arguments).decode()
    return {"id": call_id, "type": FUNCTION, FUNCTION: {"name": name, "arguments": arguments}}


def offered_tool(name: object, description: object, parameters: object) -> dict[str, Any]:
    """A tool that a question offers; None for a part that is unknown."""
    function = {"name": name, "description": description, SCHEMA: parameters}
    known = {name: value for name, value in function.items() if value is not None}
    return {"type": FUNCTION, FUNCTION: known}


def tool_message(call_id: object, text: object) -> dict[str, Any]:
    """The message with the result of a tool."""
    return {"role": "tool", "tool_call_id": call_id, "content": text}


def message(role: object, content: object, calls: object = None) -> dict[str, Any]:
    """A message; ``calls`` are a list of ``tool_call``, or empty."""
    made = {"role": role, "content": content}
    return {**made, "tool_calls": calls} if calls else made


def messages_of(messages: Iterable[Message]) -> list[dict[str, Any]]:
    """Messages of this API with numbered calls; neighbours of one role are joined."""
    system: list[str] = []
    made: list[dict[str, Any]] = []
    numbers: dict[str, int] = {}
    waiting: deque[tuple[int, str, str]] = deque()  # calls without a result: number, id, name
    for message in messages:
        if message.role == "system":
            system += [message.text] if message.text else []
            continue
        made += [_result(result, waiting) for result in message.results]
        if not message.text and not message.calls:
            continue
        last = made[-1] if made and made[-1]["role"] == message.role else None
        if last is None or ("tool_calls" in last and message.text):
            last = {"role": message.role}
            made.append(last)
        if message.text:
            last["content"] = "\n".join(filter(None, (last.get("content"), message.text)))
        for call in message.calls:
            number = len(numbers) + 1
            numbers[call.call_id or f" {number}"] = number
            waiting.append((number, call.call_id, call.name))
            arguments = msgspec.json.encode(call.values, order="deterministic").decode()
            called = tool_call(f"call_{number}", call.name, arguments)
            last["tool_calls"] = [*last.get("tool_calls", ()), called]
    return [{"role": "system", "content": "\n".join(system)}, *made] if system else made


def _result(result: ToolResult, waiting: deque[tuple[int, str, str]]) -> dict[str, Any]:
    """The message of a result; without an id it belongs to the first call of its tool."""
    named = [one for one in waiting if result.call_id and one[1] == result.call_id]
    named = named or [one for one in waiting if result.name and one[2] == result.name]
    named = named or list(waiting)
    number = 0
    if named:
        number = named[0][0]
        waiting.remove(named[0])
    value = decoded_json(result.text)
    if isinstance(value, dict | list):  # it may have another spelling
        text = msgspec.json.encode(value, order="deterministic").decode()
    else:
        text = result.text
    return tool_message(f"call_{number}", text)


def _head(ask: Ask, stamp: Stamp, kind: str) -> dict[str, Any]:
    """The fields that all objects of one answer share."""
    return {
        "id": stamp.id("chatcmpl"),
        "object": kind,
        "created": stamp.created_s,
        "model": ask.model,
        "system_fingerprint": "fp_fake",
    }


def _chunk(
    head: dict[str, Any], delta: dict[str, Any], *, finish: str | None = None, paced: bool = False
) -> Piece:
    """One chunk with one choice."""
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
    return _data({**head, "choices": [choice]}, paced=paced)


def _data(value: dict[str, Any], *, paced: bool = False) -> Piece:
    """One server-sent event without a name."""
    return Piece(framed(value), paced)


def _usage(usage: Usage) -> dict[str, Any]:
    """Token counts with the names of this API."""
    return {
        "prompt_tokens": usage.input,
        "completion_tokens": usage.output,
        "total_tokens": usage.input + usage.output,
        "prompt_tokens_details": {"cached_tokens": usage.cached_input, "audio_tokens": 0},
        "completion_tokens_details": {
            "reasoning_tokens": usage.reasoning_output,
            "audio_tokens": 0,
            "accepted_prediction_tokens": 0,
            "rejected_prediction_tokens": 0,
        },
    }


def error(status: int, message: str, kind: str = "", code: str | None = None) -> dict[str, Any]:
    """An error object in the form of both OpenAI APIs."""
    usual, usual_code = KINDS.get(
        status, ("server_error" if status >= 500 else KINDS[400][0], None)
    )
    body = {"message": message, "type": kind or usual, "param": None, "code": code or usual_code}
    return {"error": body}


def stream_error(body: dict[str, Any], *_: object) -> Piece:
    """An ``error`` in the middle of a stream."""
    return _data(body)


def models(names: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """The answer to ``GET /v1/models`` for pairs of id and display name."""
    data = [
        {"id": name, "object": "model", "created": 1735689600, "owned_by": "fake"}
        for name, _ in names
    ]
    return {"object": "list", "data": data}
