"""Turn a provider's answer into a transcript of its text and its tool calls.

A transcript is ``{"messages": [{"role": "assistant", "content": TEXT}], "tool_calls": [...]}``,
modelled on the turns of agent-scroll 0.1. ``tool_calls`` exists only if there are any; each has
``id``, ``name`` and ``args_hash``, so that a transcript shows no arguments.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any

import msgspec

from ptycassette.cassette.manifest_digest import canonical_json
from ptycassette.model.records import decoded_json, objects_in


class AskedCall(msgspec.Struct):
    """A tool call that the model asks for; ``arguments`` are JSON or free text."""

    id: str = ""
    name: str = ""
    arguments: str = ""


class ModelAnswer:
    """An answer of Anthropic, OpenAI (either API) or Gemini, assembled from its events.

    Attributes:
        text: the pieces of the text.
        thoughts: the pieces of the visible reasoning.
        calls: the tool calls, by their place in the answer.
        model: the model that answered.
        fingerprint: the fingerprint of the system that answered.
        stop: why the answer ended, as the provider names it.
    """

    def __init__(self) -> None:
        self.text: list[str] = []
        self.thoughts: list[str] = []
        self.calls: dict[str, AskedCall] = {}
        self.model: str | None = None
        self.fingerprint: str | None = None
        self.stop: str | None = None
        self._items_done = False

    def transcript(self) -> dict[str, Any] | None:
        """The transcript; None if there is neither text nor a tool call."""
        if not self.text and not self.calls:
            return None
        found: dict[str, Any] = {"messages": [{"role": "assistant", "content": "".join(self.text)}]}
        if self.calls:
            found["tool_calls"] = [
                {"id": call.id, "name": call.name, "args_hash": args_hash(call.arguments)}
                for call in self.calls.values()
            ]
        return found

    def take(self, event: Mapping[str, Any]) -> None:
        """Add one event of a stream, or the whole document."""
        kind = _text(event, "type")
        inner = event.get("message") if kind == "message_start" else event.get("response")
        for one in (event, inner):
            if isinstance(one, dict):
                self.model = _text(one, "model") or _text(one, "modelVersion") or self.model
                self.fingerprint = _text(one, "system_fingerprint") or self.fingerprint
                self.stop = _text(one, "stop_reason") or self.stop
        if kind == "content_block_start":
            self._block(str(event.get("index")), event.get("content_block"), started=True)
        elif kind == "content_block_delta":
            self._delta(str(event.get("index")), event.get("delta"))
        elif kind == "message_delta" and isinstance(event.get("delta"), dict):
            self.stop = _text(event["delta"], "stop_reason") or self.stop
        elif kind == "response.output_item.done":  # an answer that is cut off has only these
            self._items_done = True
            self._items([event.get("item")])
        elif kind in {"response.completed", "response.incomplete"} and isinstance(inner, dict):
            self.stop = _text(inner, "status")
            if not self._items_done:
                self._items(inner.get("output"))
        elif kind == "message" or event.get("object") == "response":
            self._items(event.get("content") or event.get("output"))
        self._choices(event)
        self._candidates(event)

    def _block(self, index: str, block: Any, *, started: bool = False) -> None:
        if not isinstance(block, dict):
            return
        if _text(block, "type") in {"text", "output_text"} and isinstance(block.get("text"), str):
            self.text.append(block["text"])
        elif block.get("type") == "thinking" and isinstance(block.get("thinking"), str):
            self.thoughts.append(block["thinking"])
        elif block.get("type") == "tool_use":
            arguments = "" if started else json.dumps(block.get("input") or {})
            self.calls[index] = AskedCall(_text(block, "id"), _text(block, "name"), arguments)

    def _delta(self, index: str, delta: Any) -> None:
        if not isinstance(delta, dict):
            return
        self.text += [delta["text"]] if isinstance(delta.get("text"), str) else []
        self.thoughts += [delta["thinking"]] if isinstance(delta.get("thinking"), str) else []
        if index in self.calls and isinstance(delta.get("partial_json"), str):
            self.calls[index].arguments += delta["partial_json"]

    def _items(self, items: Any) -> None:
        for item in objects_in(items):
            kind = _text(item, "type")
            if kind in {"function_call", "custom_tool_call"}:
                arguments = _text(item, "arguments") or _text(item, "input")
                call = AskedCall(_text(item, "call_id"), _text(item, "name"), arguments)
                self.calls[str(len(self.calls))] = call
            elif kind == "local_shell_call":
                arguments = json.dumps(item.get("action") or {})
                call = AskedCall(_text(item, "call_id"), "local_shell", arguments)
                self.calls[str(len(self.calls))] = call
            elif kind == "reasoning":
                for part in (*objects_in(item.get("summary")), *objects_in(item.get("content"))):
                    self.thoughts.append(_text(part, "text"))
            elif kind == "message":
                for part in objects_in(item.get("content")):
                    self._block("", part)
            else:
                self._block(str(len(self.calls)), item)

    def _choices(self, event: Mapping[str, Any]) -> None:
        for choice in objects_in(event.get("choices"))[:1]:  # others are alternatives
            self.stop = _text(choice, "finish_reason") or self.stop
            said = choice.get("delta") or choice.get("message")
            if not isinstance(said, dict):
                continue
            self.text += [said["content"]] if isinstance(said.get("content"), str) else []
            thought = _text(said, "reasoning_content") or _text(said, "reasoning")
            self.thoughts += [thought] if thought else []
            for number, call in enumerate(objects_in(said.get("tool_calls"))):
                known = self.calls.setdefault(str(call.get("index", number)), AskedCall())
                function = call.get("function")
                if isinstance(function, dict):
                    known.name += _text(function, "name")
                    known.arguments += _text(function, "arguments")
                known.id = _text(call, "id") or known.id

    def _candidates(self, event: Mapping[str, Any]) -> None:
        for candidate in objects_in(event.get("candidates"))[:1]:
            self.stop = _text(candidate, "finishReason") or self.stop
            content = candidate.get("content")
            for part in objects_in(content.get("parts") if isinstance(content, dict) else None):
                if isinstance(part.get("text"), str):
                    (self.thoughts if part.get("thought") else self.text).append(part["text"])
                asked = part.get("functionCall")
                if isinstance(asked, dict):
                    arguments = json.dumps(asked.get("args") or {})
                    call = AskedCall(_text(asked, "id"), _text(asked, "name"), arguments)
                    self.calls[str(len(self.calls))] = call


def answer_of(pieces: Sequence[bytes], content_type: str | None) -> ModelAnswer:
    """Assemble the answer in a body: server-sent events, or one JSON document.

    Args:
        pieces: the body, cut anywhere; or messages of a WebSocket, each a JSON document.
        content_type: the type of the body; None for messages.
    """
    answer = ModelAnswer()
    for event in _events(pieces, content_type):
        answer.take(event)
    return answer


def _events(pieces: Sequence[bytes], content_type: str | None) -> Iterator[dict[str, Any]]:
    texts = list(pieces)
    if content_type is not None:
        body = b"".join(pieces)
        lines = content_type.partition(";")[0].strip().lower() == "text/event-stream"
        texts = (
            [line[5:] for line in body.split(b"\n") if line[:5] == b"data:"] if lines else [body]
        )
    for text in texts:
        found = decoded_json(text)  # None for [DONE], and what is cut off
        yield from objects_in(found if isinstance(found, list) else [found])


def args_hash(arguments: str) -> str:
    """The hash of a call's arguments: of the JSON value if they are JSON, else of the text."""
    try:
        value = json.loads(arguments or "{}")
        text = canonical_json(value)
    except (ValueError, TypeError, RecursionError):
        text = canonical_json(arguments)
    return f"sha256:{sha256(text).hexdigest()}"


def tool_graph(transcript: Any) -> list[tuple[str, str]] | None:
    """The tools of a transcript with their argument hashes; None if it is not a transcript."""
    if not isinstance(transcript, dict):
        return None
    calls = transcript.get("tool_calls", [])
    found = []
    for call in calls if isinstance(calls, list) else [None]:
        if not isinstance(call, dict) or not _text(call, "name"):
            return None
        hashed = _text(call, "args_hash")
        if not hashed and "args" in call:
            hashed = args_hash(json.dumps(call["args"]))
        if not hashed:
            return None
        found.append((call["name"], hashed))
    return found


def _text(value: Mapping[str, Any], name: str) -> str:
    found = value.get(name)
    return found if isinstance(found, str) else ""
