"""The events of an OpenAI Responses answer, as objects and framed for HTTP and WebSocket.

Per output item: ``response.output_item.added``, the deltas of its content, the
same content whole, ``response.output_item.done``; around them
``response.created``, ``response.in_progress`` and ``response.completed``. Each
event carries ``sequence_number``, counted from 0 over the whole answer.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from ptycassette.tape.providers import openai_chat
from ptycassette.tape.providers.neutral import (
    Answer,
    Ask,
    Call,
    Piece,
    Stamp,
    Text,
    Thought,
    Usage,
    slices,
)
from ptycassette.tape.providers.sse import framed

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
            return Piece(text_message(numbered), paced)
        return Piece(framed(numbered, name=str(event["type"])), paced)


def text_message(event: dict[str, Any]) -> bytes:
    """An event for a WebSocket: one text message."""
    return msgspec.json.encode(event)


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


def stream_error(ask: Ask, stamp: Stamp, framing: Framing, problem: dict[str, Any]) -> Piece:
    """An error in the middle of a stream: the response has failed."""
    failed = {
        **_head(ask, stamp, "failed"),
        "error": {"code": problem["code"] or problem["type"], "message": problem["message"]},
    }
    return framing({"type": "response.failed", "response": failed})


def websocket_error(
    status: int, message: str, kind: str, headers: dict[str, str]
) -> dict[str, Any]:
    """An error in place of an answer, over a WebSocket."""
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
    """An output item: whole, or as it is when it is added."""
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
    """A part of a message."""
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def _part_events(
    part: Text | Thought | Call, stamp: Stamp, index: int, size: int
) -> Iterator[_Event]:
    """All events of one output item."""
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
    """The events of a message's text."""
    place = {**here, "content_index": 0}
    yield {"type": "response.content_part.added", **place, "part": _text_part("")}, False
    for piece in slices(text, size):
        yield {"type": "response.output_text.delta", **place, "delta": piece, "logprobs": []}, True
    yield {"type": "response.output_text.done", **place, "text": text, "logprobs": []}, False
    yield {"type": "response.content_part.done", **place, "part": _text_part(text)}, False


def _thought_events(text: str, here: dict[str, Any], size: int) -> Iterator[_Event]:
    """The events of a reasoning summary."""
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
    """The events of a tool call's arguments or free input."""
    for piece in slices(text, size):
        yield {"type": f"{name}.delta", **here, "delta": piece}, True
    yield {"type": f"{name}.done", **here, field: text}, False


def _usage(usage: Usage) -> dict[str, Any]:
    """Token counts in the words of this API."""
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
