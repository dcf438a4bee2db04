"""What a question to a model says: its messages, in the words that four APIs share.

Anthropic's Messages, OpenAI's Chat Completions and Responses, Gemini's content. Everything is read
that can be: a part of an unknown type counts as ``[type]``. (The readers of the fake provider in
``harness.provider.wire`` refuse what they do not know, as a provider does.)
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Literal

import msgspec

Role = Literal["system", "user", "assistant"]

_OUTPUTS = frozenset({"function_call_output", "custom_tool_call_output", "local_shell_call_output"})
_CALLS = frozenset({"function_call", "custom_tool_call", "local_shell_call"})
_TEXTS = frozenset({"text", "input_text", "output_text"})
_SILENT = frozenset({"thinking", "redacted_thinking", "reasoning", "item_reference"})
_ROLES: dict[object, Role] = {
    "assistant": "assistant", "model": "assistant", "system": "system", "developer": "system",
}  # fmt: skip


class ToolCall(msgspec.Struct, frozen=True):
    """A tool that the model wanted called. ``arguments`` are JSON, or free text."""

    call_id: str
    name: str
    arguments: str = ""

    @property
    def values(self) -> dict[str, Any]:
        """The arguments by name; free text is the one named ``input``."""
        try:
            found = json.loads(self.arguments or "{}")
        except (ValueError, RecursionError):
            found = self.arguments
        return found if isinstance(found, dict) else {"input": found}


class ToolResult(msgspec.Struct, frozen=True):
    """The result of a tool, as text. ``call_id`` is empty where the API has none (Gemini)."""

    call_id: str
    text: str
    name: str = ""


class Message(msgspec.Struct, frozen=True):
    """One message."""

    role: Role
    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    results: tuple[ToolResult, ...] = ()


class AskedQuestion(msgspec.Struct, frozen=True):
    """A question. ``goes_on``: it holds only what is new since an answer that it names."""

    messages: tuple[Message, ...]
    goes_on: bool = False


def read_question(body: bytes) -> AskedQuestion | None:
    """The question in a body; None where it is not one to a model."""
    try:
        document = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    if not isinstance(document, dict):
        return None
    found = tuple(one for one in _messages(document) if one.text or one.calls or one.results)
    return AskedQuestion(found, bool(document.get("previous_response_id"))) if found else None


def _messages(document: dict[str, Any]) -> Iterator[Message]:
    for name in ("system", "instructions", "systemInstruction", "system_instruction"):
        if document.get(name):
            yield Message("system", _text(document[name]))
    for message in _dicts(document.get("messages")):
        yield _message(message)
    asked = document.get("input")
    if isinstance(asked, str):
        yield Message("user", asked)
    for item in _dicts(asked):
        yield _item(item)
    for content in _dicts(document.get("contents")):
        yield _content(content)


def _message(message: dict[str, Any]) -> Message:
    """Of Anthropic's Messages, and of Chat Completions."""
    content = message.get("content")
    if message.get("role") == "tool":
        return Message(
            "user", results=(ToolResult(_word(message, "tool_call_id"), _text(content)),)
        )
    blocks = _dicts(content)
    calls = [
        ToolCall(_word(one, "id"), _word(one, "name"), json.dumps(one.get("input") or {}))
        for one in blocks
        if one.get("type") == "tool_use"
    ]
    for one in _dicts(message.get("tool_calls")):
        function = one.get("function") or one.get("custom")
        if isinstance(function, dict):
            arguments = _word(function, "arguments") or _word(function, "input")
            calls.append(ToolCall(_word(one, "id"), _word(function, "name"), arguments))
    results = tuple(
        ToolResult(_word(one, "tool_use_id"), _text(one.get("content")))
        for one in blocks
        if one.get("type") == "tool_result"
    )
    return Message(_ROLES.get(message.get("role"), "user"), _text(content), tuple(calls), results)


def _item(item: dict[str, Any]) -> Message:
    """Of Responses."""
    kind = item.get("type", "message")
    if kind in _OUTPUTS:
        return Message(
            "user", results=(ToolResult(_word(item, "call_id"), _text(item.get("output"))),)
        )
    if kind in _CALLS:
        arguments = _word(item, "arguments") or _word(item, "input")
        name = _word(item, "name") or str(kind).removesuffix("_call")
        call = ToolCall(
            _word(item, "call_id"), name, arguments or json.dumps(item.get("action") or {})
        )
        return Message("assistant", calls=(call,))
    if kind != "message":
        return Message("user", "" if kind in _SILENT else f"[{kind}]")
    return Message(_ROLES.get(item.get("role"), "user"), _text(item.get("content")))


def _content(content: dict[str, Any]) -> Message:
    """Of Gemini."""
    texts, calls, results = [], [], []
    for part in _dicts(content.get("parts")):
        call, result = part.get("functionCall"), part.get("functionResponse")
        if isinstance(call, dict):
            arguments = json.dumps(call.get("args") or {})
            calls.append(ToolCall(_word(call, "id"), _word(call, "name"), arguments))
        elif isinstance(result, dict):
            said = result.get("response")
            output = said.get("output", said) if isinstance(said, dict) else said
            text = output if isinstance(output, str) else json.dumps(output)
            results.append(ToolResult(_word(result, "id"), text, _word(result, "name")))
        elif isinstance(part.get("text"), str):
            texts.append("" if part.get("thought") else part["text"])
        else:
            texts.append(f"[{next(iter(part), 'part')}]")
    text = "\n".join(filter(None, texts))
    return Message(_ROLES.get(content.get("role"), "user"), text, tuple(calls), tuple(results))


def _text(content: Any) -> str:
    """The text of a content: a string, or parts of it."""
    if isinstance(content, str):
        return content
    if isinstance(content, dict):
        return _text(content.get("parts") or content.get("text") or content.get("content"))
    texts = []
    for part in _dicts(content):
        kind = part.get("type", "text")
        if kind in _TEXTS or "text" in part:
            texts.append(_word(part, "text"))
        elif kind not in _SILENT and kind not in {"tool_use", "tool_result"}:
            texts.append(f"[{kind}]")
    return "\n".join(filter(None, texts))


def _word(value: dict[str, Any], name: str) -> str:
    found = value.get(name)
    return found if isinstance(found, str) else ""


def _dicts(value: Any) -> list[dict[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []
