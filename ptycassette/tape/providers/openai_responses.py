"""The OpenAI Responses API: parse requests, write JSON, server-sent events or WebSocket messages.

Source: the public API reference of OpenAI (Responses, Streaming events, WebSocket mode). Over HTTP
a request is a body; over a WebSocket it is the same body with ``type: response.create``, and each
event is one text message. The events are the same, so they are made once, as objects, and framed
in two ways.

Each output item has ``response.output_item.added``, the deltas of its content, the same content
whole, and ``response.output_item.done``. Around them are ``response.created``,
``response.in_progress`` and ``response.completed``. Each event has ``sequence_number``, counted
from 0 over the whole answer.

``previous_response_id`` continues an earlier answer. The caller keeps the conversation before it;
this module only reads the id.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence, Sized
from http import HTTPStatus
from typing import Any

import msgspec

from ptycassette.model.records import decoded_json, objects_in
from ptycassette.tape.providers import openai_chat
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
from ptycassette.tape.providers.sse import DONE, data_lines, framed

error = openai_chat.error
models = openai_chat.models

PATH = re.compile(r"/responses$")
VERSION, LIST = openai_chat.VERSION, openai_chat.LIST
REQUEST_ID, CALL_PREFIX = openai_chat.REQUEST_ID, openai_chat.CALL_PREFIX
NO_KEY, WRONG_KEY = openai_chat.NO_KEY, openai_chat.WRONG_KEY
MESSAGES = "input"
SYSTEM = ("instructions",)
SCHEMA = openai_chat.SCHEMA
OPTIONS = {"max_tokens": "max_output_tokens"}
REFERENCES = (b'"file_id"', b'"conversation"', *openai_chat.REFERENCES)
STOPS = {"end": ("completed",), "length": ("incomplete",)}
USAGE = UsageNames(
    input="input_tokens",
    output="output_tokens",
    cached="input_tokens_details.cached_tokens",
    reasoning="output_tokens_details.reasoning_tokens",
)
_ROLES: dict[str, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
}
_TEXTS: dict[str, str | None] = {
    "input_text": "text",
    "output_text": "text",
    "text": "text",
    "refusal": "refusal",
    "input_image": None,
    "input_file": None,
    "input_audio": None,
    # Clients send back parts of encrypted conversations between agents.
    "encrypted_content": None,
}
_CALLS = {"function_call": "arguments", "custom_tool_call": "input", "local_shell_call": "action"}
OUTPUTS = frozenset(f"{kind}_output" for kind in _CALLS)
_SILENT = frozenset({"item_reference", "reasoning"})
# Items without anything that a script could match.
_UNMATCHED = frozenset(
    {
        "additional_tools",
        "compaction",
        "compaction_summary",
        "compaction_trigger",
        "image_generation_call",
        "mcp_list_tools",
        "tool_search_call",
        "tool_search_output",
        "web_search_call",
    }
)
_NAMED_TOOLS = frozenset({"function", "custom"})
_BUILT_IN_TOOLS = frozenset(
    {
        "apply_patch",
        "code_interpreter",
        "computer_use_preview",
        "file_search",
        "image_generation",
        "local_shell",
        "mcp",
        "shell",
        "tool_search",
        "web_search",
        "web_search_preview",
    }
)


class _Responses(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The fields of ``POST /v1/responses``, and ``type`` and ``generate`` of WebSocket mode."""

    model: str
    input: Any = None
    instructions: str | None = None
    previous_response_id: str | None = None
    stream: bool = False
    type: str | None = None
    generate: bool = True
    tools: list[dict[str, Any]] | None = None
    tool_choice: Any = None
    parallel_tool_calls: bool | None = None
    reasoning: Any = None
    text: Any = None
    store: bool | None = None
    include: list[str] | None = None
    prompt: Any = None
    prompt_cache_key: str | None = None
    prompt_cache_options: Any = None
    prompt_cache_retention: str | None = None
    client_metadata: Any = None
    metadata: Any = None
    conversation: Any = None
    context_management: Any = None
    background: bool | None = None
    max_output_tokens: int | None = None
    max_tool_calls: int | None = None
    safety_identifier: str | None = None
    service_tier: str | None = None
    stream_options: Any = None
    temperature: float | None = None
    top_logprobs: int | None = None
    top_p: float | None = None
    truncation: str | None = None
    user: str | None = None


class Context(msgspec.Struct, frozen=True):
    """The settings of a request besides the conversation."""

    previous_id: str | None = None
    generate: bool = True


def parse(
    body: Any, *, unknown_fields: UnknownFields = "reject"
) -> tuple[Ask, Context, tuple[str, ...]]:
    """A request as an ``Ask``, its context, and the unknown fields that were ignored.

    Raises:
        WireError: the API would refuse it, or this fake does not support it.
    """
    request, unknown = read(body, _Responses, unknown_fields=unknown_fields)
    if request.background:
        raise WireError("background: this fake answers at once")
    turns: list[Message] = []
    if request.instructions:
        turns.append(Message("system", request.instructions))
    if isinstance(request.input, str):
        turns.append(Message("user", request.input))
    elif request.input is not None:
        turns += (one for item in Field(request.input, "input").items() for one in turns_of(item))
    elif request.generate and request.previous_response_id is None:
        raise WireError("input: missing")
    tools: list[str] = []
    for tool in Field(request.tools or [], "tools").items():
        tools += _tool_names(tool)
    ask = Ask(
        api="responses",
        model=request.model,
        stream=request.stream,
        turns=tuple(turns),
        tools=tuple(tools),
    )
    return ask, Context(request.previous_response_id, request.generate), unknown


def _tool_names(tool: Field) -> list[str]:
    """The names with which a tool can be called; a namespace has several."""
    kind = tool.word("type")
    if kind in _NAMED_TOOLS:
        return [tool.word("name")]
    if kind == "namespace":
        return [name for one in tool.get("tools").items() for name in _tool_names(one)]
    if kind not in _BUILT_IN_TOOLS:
        tool.refuse(f".type: unknown tool type {kind!r}")
    return [kind]


def turns_of(item: Field) -> list[Message]:
    """The turns of one input item; empty for items without content."""
    kind = item.word("type", "message")
    if kind in _SILENT or (item.strict and kind in _UNMATCHED):
        return []
    if kind.startswith("local_shell"):  # no script can call it
        item.refuse(f".type: unknown item type {kind!r}")
    if kind in {"message", "agent_message"}:
        role = item.word("role") if kind == "message" else "assistant"
        if role not in _ROLES:
            item.refuse(f".role: unknown role {role!r}")
        return [Message(_ROLES.get(role, "user"), item.get("content").text(_TEXTS))]
    if kind in _CALLS:
        name = item.word("name") or kind.removesuffix("_call")
        call = Call(item.word("call_id"), name, item.get(_CALLS[kind]).value)
        return [Message("assistant", calls=(call,))]
    if kind in OUTPUTS:
        output = item.get("output").text(_TEXTS)
        return [Message("user", results=(ToolResult(item.word("call_id"), output),))]
    item.refuse(f".type: unknown item type {kind!r}")
    return [Message("user", f"[{kind}]")]


# What a recorded question or answer holds.


def tool_results(item: dict[str, Any]) -> Iterator[ToolPlace]:
    """The result of a tool, if a recorded item of the input is one."""
    if str(item.get("type")).endswith("_call_output"):
        yield ToolPlace(item, "output", text_in(item, "call_id"))


def is_answer(document: Mapping[str, Any]) -> bool:
    """Whether a document, or the first event of a stream, is an answer of this API."""
    return document.get("object") == "response" or str(document.get("type")).startswith("response.")


def calls_in(event: Mapping[str, Any], _known: Sized) -> Iterator[FoundCall]:
    """The tool calls of a recorded event, or of the whole response."""
    for item in (*objects_in([event.get("item")]), *objects_in(event.get("output"))):
        if text_in(item, "type") in _CALLS:
            yield item.get("call_id") or item.get("id"), item.get("name"), item


def take(answer: ModelAnswer, event: Mapping[str, Any]) -> None:
    """Add a recorded event of a stream, or the whole response, to an answer."""
    kind, response = text_in(event, "type"), event.get("response")
    if kind == "response.output_item.done":  # an answer that is cut off has only these
        answer.items_done = True
        _take_items(answer, [event.get("item")])
    elif kind in {"response.completed", "response.incomplete"} and isinstance(response, dict):
        answer.stop = text_in(response, "status")
        if not answer.items_done:
            _take_items(answer, response.get("output"))
    elif event.get("object") == "response":
        _take_items(answer, event.get("output"))


def _take_items(answer: ModelAnswer, items: Any) -> None:
    for item in objects_in(items):
        match item.get("type"):
            case "function_call" | "custom_tool_call":
                arguments = text_in(item, "arguments") or text_in(item, "input")
                call = AskedCall(text_in(item, "call_id"), text_in(item, "name"), arguments)
                answer.call(call)
            case "local_shell_call":
                arguments = json.dumps(item.get("action") or {})
                answer.call(AskedCall(text_in(item, "call_id"), "local_shell", arguments))
            case "reasoning":
                for part in (*objects_in(item.get("summary")), *objects_in(item.get("content"))):
                    answer.thoughts.append(text_in(part, "text"))
            case "message":
                answer.text += _texts(objects_in(item.get("content")))
            case _:
                answer.text += _texts([item])


def _texts(parts: list[dict[str, Any]]) -> Iterator[str]:
    for part in parts:
        if text_in(part, "type") in {"text", "output_text"} and isinstance(part.get("text"), str):
            yield part["text"]


def call_of(result: Any) -> tuple[dict[str, Any], ...]:
    """The call that an item with a tool's result answers, without its arguments.

    Returns:
        An item of the input; nothing for items that are not results.
    """
    kind = text_in(result, "type") if isinstance(result, dict) else ""
    if kind not in {"function_call_output", "custom_tool_call_output"}:
        return ()
    made = {
        "type": kind.removesuffix("_output"),
        "call_id": result.get("call_id"),
        "name": "earlier",
    }
    return ({**made, **({"arguments": "{}"} if kind.startswith("function") else {"input": ""})},)


# Answers as objects, framed for HTTP and WebSocket.


_Event = tuple[dict[str, Any], bool]


class Framing:
    """Numbers events and turns them into bytes, for one answer.

    Args:
        websocket: one JSON text per event instead of server-sent events.
    """

    def __init__(self, *, websocket: bool = False) -> None:
        self._websocket = websocket
        self._number = 0

    def __call__(self, event: dict[str, Any], *, paced: bool = False) -> Piece:
        """The bytes of one event."""
        numbered = {"type": event["type"], "sequence_number": self._number, **event}
        self._number += 1
        if self._websocket:
            return Piece(msgspec.json.encode(numbered), paced)
        return Piece(framed(numbered, name=str(event["type"])), paced)


def whole(answer: Answer, ask: Ask, stamp: Stamp) -> dict[str, Any]:
    """The answer as one response object."""
    output = [_item(part, stamp, index, full=True) for index, part in enumerate(answer.parts)]
    status = "incomplete" if answer.stop == "length" else "completed"
    return {
        **_head(ask, stamp, status),
        "incomplete_details": {"reason": "max_output_tokens"} if status == "incomplete" else None,
        "output": output,
        "usage": _usage(answer.usage),
    }


def stream(answer: Answer, ask: Ask, stamp: Stamp, framing: Framing) -> Iterator[Piece]:
    """The answer as events."""
    started = _head(ask, stamp, "in_progress")
    yield framing({"type": "response.created", "response": started}, paced=True)
    yield framing({"type": "response.in_progress", "response": started})
    for index, part in enumerate(answer.parts):
        for event, paced in _part_events(part, stamp, index, answer.chunk_chars):
            yield framing(event, paced=paced)
    done = whole(answer, ask, stamp)
    yield framing({"type": f"response.{done['status']}", "response": done})


def warmed(ask: Ask, stamp: Stamp, framing: Framing) -> Iterator[Piece]:
    """The answer to a WebSocket request that wants nothing generated (``generate: false``)."""
    head = _head(ask, stamp, "completed")
    yield framing({"type": "response.created", "response": head})
    yield framing({"type": "response.completed", "response": head})


def stream_error(body: dict[str, Any], ask: Ask, stamp: Stamp, framing: Framing) -> Piece:
    """An ``error`` in the middle of a stream: the response has failed."""
    problem = body["error"]
    failed = {
        **_head(ask, stamp, "failed"),
        "error": {"code": problem["code"] or problem["type"], "message": problem["message"]},
    }
    return framing({"type": "response.failed", "response": failed})


def websocket_error(
    status: int, message: str, kind: str, headers: dict[str, str]
) -> dict[str, Any]:
    """An error instead of an answer, over a WebSocket."""
    problem = openai_chat.error(status, message, kind)["error"]
    return {"type": "error", "status": status, "error": problem, "headers": headers}


def _head(ask: Ask, stamp: Stamp, status: str) -> dict[str, Any]:
    """A response object without output."""
    return {
        "id": stamp.id("resp"),
        "object": "response",
        "created_at": stamp.created_s,
        "status": status,
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "model": ask.model,
        "output": [],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": None,
        "metadata": {},
    }


def _item(part: Text | Thought | Call, stamp: Stamp, index: int, *, full: bool) -> dict[str, Any]:
    """An output item: whole, or in its form when it is added."""
    status = "completed" if full else "in_progress"
    match part:
        case Text(text=text):
            content = [_text_part(text)] if full else []
            return {
                "id": stamp.id("msg", index),
                "type": "message",
                "status": status,
                "role": "assistant",
                "content": content,
            }
        case Thought(text=text):
            summary = [{"type": "summary_text", "text": text}] if full else []
            return {"id": stamp.id("rs", index), "type": "reasoning", "summary": summary}
        case Call(arguments=str(text)):
            return {
                "id": stamp.id("ctc", index),
                "type": "custom_tool_call",
                "status": status,
                "call_id": part.call_id,
                "name": part.name,
                "input": text if full else "",
            }
        case Call():
            return {
                "id": stamp.id("fc", index),
                "type": "function_call",
                "status": status,
                "call_id": part.call_id,
                "name": part.name,
                "arguments": msgspec.json.encode(part.arguments).decode() if full else "",
            }


def _text_part(text: str) -> dict[str, Any]:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def _part_events(
    part: Text | Thought | Call, stamp: Stamp, index: int, size: int
) -> Iterator[_Event]:
    item = _item(part, stamp, index, full=True)
    where = {"output_index": index}
    added = _item(part, stamp, index, full=False)
    yield {"type": "response.output_item.added", **where, "item": added}, False
    here = {"item_id": item["id"], **where}
    match part:
        case Text(text=text):
            yield from _text_events(text, here, size)
        case Thought(text=text):
            yield from _thought_events(text, here, size)
        case Call(arguments=str(text)):
            name = "response.custom_tool_call_input"
            yield from _argument_events(name, "input", text, here, size)
        case Call():
            name = "response.function_call_arguments"
            yield from _argument_events(name, "arguments", item["arguments"], here, size)
    yield {"type": "response.output_item.done", **where, "item": item}, False


def _text_events(text: str, here: dict[str, Any], size: int) -> Iterator[_Event]:
    place = {**here, "content_index": 0}
    yield {"type": "response.content_part.added", **place, "part": _text_part("")}, False
    for piece in slices(text, size):
        yield {"type": "response.output_text.delta", **place, "delta": piece, "logprobs": []}, True
    yield {"type": "response.output_text.done", **place, "text": text, "logprobs": []}, False
    yield {"type": "response.content_part.done", **place, "part": _text_part(text)}, False


def _thought_events(text: str, here: dict[str, Any], size: int) -> Iterator[_Event]:
    place = {**here, "summary_index": 0}
    part = {"type": "summary_text", "text": text}
    empty = {"type": "summary_text", "text": ""}
    yield {"type": "response.reasoning_summary_part.added", **place, "part": empty}, False
    for piece in slices(text, size):
        yield {"type": "response.reasoning_summary_text.delta", **place, "delta": piece}, True
    yield {"type": "response.reasoning_summary_text.done", **place, "text": text}, False
    yield {"type": "response.reasoning_summary_part.done", **place, "part": part}, False


def _argument_events(
    name: str, field: str, text: str, here: dict[str, Any], size: int
) -> Iterator[_Event]:
    for piece in slices(text, size):
        yield {"type": f"{name}.delta", **here, "delta": piece}, True
    yield {"type": f"{name}.done", **here, field: text}, False


def _usage(usage: Usage) -> dict[str, Any]:
    """Token counts with the names of this API."""
    return {
        "input_tokens": usage.input,
        "input_tokens_details": {
            "cached_tokens": usage.cached_input,
            "cache_write_tokens": 0,
        },
        "output_tokens": usage.output,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning_output},
        "total_tokens": usage.input + usage.output,
    }


# Turn a WebSocket message into a separate HTTP request.
#
# Such a message continues an earlier answer by its id, and a provider does not have the ids of
# answers that came from a tape. So the request contains the whole conversation instead, as requests
# of clients without a WebSocket do. The conversation is known, because all of it was served here.


PREVIOUS = "previous_response_id"
_OF_A_MESSAGE = ("type", "generate", PREVIOUS)
_ENDS = frozenset(("response.completed", "response.incomplete", "response.failed"))


class Conversations:
    """The conversation up to each answer that was served over a WebSocket."""

    def __init__(self) -> None:
        self._said: dict[str, list[Any]] = {}
        self._warm = 0

    def learn(self, question: bytes, answer: Sequence[bytes]) -> None:
        """Note an answered message.

        Args:
            question: the message of the client.
            answer: the messages of the provider, or its whole response.
        """
        asked = _document(question)
        if asked is None:
            return
        said = self._before(asked)
        if said is None:
            return
        output: list[Any] = []
        for event in map(_document, answer):
            if event is None:
                continue
            if event.get("type") == "response.output_item.done":
                output.append(event.get("item"))
            whole = event.get("object") == "response"
            response = event if whole else event.get("response")
            if (whole or event.get("type") in _ENDS) and isinstance(response, dict):
                listed = response.get("output")
                self._said[str(response.get("id"))] = said + (listed or output)

    def whole(self, message: bytes) -> bytes | None:
        """The request's body; None if the message is not one, or continues an unknown answer."""
        asked = _document(message)
        if asked is None:
            return None
        said = self._before(asked)
        if said is None:
            return None
        kept = {name: value for name, value in asked.items() if name not in _OF_A_MESSAGE}
        return msgspec.json.encode({**kept, "input": said, "stream": True})

    def with_earlier(self, body: bytes) -> bytes:
        """A request's body with the conversation before it; unchanged if that is unknown."""
        asked = _document(body)
        said = None if asked is None or not asked.get(PREVIOUS) else self._before(asked)
        return body if said is None else msgspec.json.encode({**(asked or {}), "input": said})

    def warmed(self, message: bytes) -> tuple[bytes, ...] | None:
        """The answer to a message that wants nothing generated; None if it wants something.

        HTTP has no such request: its content is sent with the next message.
        """
        asked = _document(message)
        if asked is None or asked.get("generate") is not False:
            return None
        self._warm += 1
        head: dict[str, Any] = {
            "id": f"resp_warm_{self._warm}", "object": "response", "created_at": 0, "error": None,
            "model": asked.get("model"), "output": [], "status": "completed", "usage": None,
        }  # fmt: skip
        return tuple(
            msgspec.json.encode({"type": kind, "sequence_number": number, "response": head})
            for number, kind in enumerate(("response.created", "response.completed"))
        )

    def _before(self, asked: dict[str, Any]) -> list[Any] | None:
        """All items of a message, after the conversation before it."""
        now = asked.get("input")
        if isinstance(now, str):
            now = [{"type": "message", "role": "user", "content": now}]
        if not isinstance(now, list):
            return None
        previous = asked.get(PREVIOUS)
        if previous is None:
            return now
        earlier = self._said.get(str(previous))
        return None if earlier is None else earlier + now


def asks(message: bytes) -> bool:
    """Whether a message wants an answer; others confirm that one has arrived."""
    asked = _document(message)
    return asked is None or asked.get("type") == "response.create"


def confirms(message: Any) -> bool:
    """Whether a decoded message confirms an answer.

    Raises:
        WireError: it does not, and wants no answer, either.
    """
    kind = message.get("type") if isinstance(message, dict) else None
    if kind not in ("response.create", "response.processed"):  # any JSON; a set would hash it
        raise WireError(f"unknown WebSocket message type {kind!r}")
    return bool(kind == "response.processed")


def messages_of(status: int, body: bytes) -> Iterator[bytes]:
    """The WebSocket messages that correspond to an answer over HTTP.

    Each event of a stream is one; an error is one, in the form of the API.
    """
    if status == HTTPStatus.OK:
        yield from (data for line in data_lines(body) if (data := line.strip()) != DONE)
        return
    found = _document(body) or {}
    problem = found.get("error") or {"type": "error", "message": body.decode("utf-8", "replace")}
    yield msgspec.json.encode({"type": "error", "status": status, "error": problem})


def _document(data: bytes) -> dict[str, Any] | None:
    value = decoded_json(data)
    return value if isinstance(value, dict) else None
