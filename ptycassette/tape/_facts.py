"""What questions and answers say of themselves: model, tokens, tool calls.

The providers' formats differ in where they say it, and agree enough to be read by one reader:
OpenAI's chat completions and responses, Anthropic's messages, Gemini's content. A field that is
not there is not guessed. Events of answers are read one by one; of a body that is one document
the first megabytes are kept until its end.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from ptycassette.model.json_values import decoded_json, objects_in

_MOST_DOCUMENT = 8 << 20
_MOST_LINE = 8 << 20
_MODEL_IN_TARGET = re.compile(r"/models/([^/:?]+)")
_TELLING = re.compile(rb"usage|\"model|_call|function|tool_use|usageMetadata")
_CALLS = frozenset({"function_call", "custom_tool_call", "tool_use", "local_shell_call"})
_BY_LINES = ("text/event-stream", "application/x-ndjson", "application/jsonl")


def question_model(document: Any, target: str) -> str | None:
    """The model that a question asks for."""
    model = document.get("model") if isinstance(document, dict) else None
    if isinstance(model, str):
        return model
    found = _MODEL_IN_TARGET.search(target)
    return found[1] if found else None


class ToolPlace(msgspec.Struct, frozen=True):
    """Where a question holds the result of a tool: an object, and its member.

    ``call`` is the id of the call; empty where there is none, as in most of Gemini's questions.
    """

    within: dict[str, Any]
    member: str
    call: str


def tool_results(document: Any) -> Iterator[ToolPlace]:
    """The results of tools that a question holds, in order, those of earlier turns included."""
    if not isinstance(document, dict):
        return
    for message in (*objects_in(document.get("messages")), *objects_in(document.get("input"))):
        if message.get("role") == "tool":
            yield _place(message, "content", "tool_call_id")
        if str(message.get("type")).endswith("_call_output"):
            yield _place(message, "output", "call_id")
        for block in objects_in(message.get("content")):
            if block.get("type") == "tool_result":
                yield _place(block, "content", "tool_use_id")
    for content in objects_in(document.get("contents")):
        for part in objects_in(content.get("parts")):
            if isinstance(part.get("functionResponse"), dict):
                yield _place(part["functionResponse"], "response", "id")


def _place(within: dict[str, Any], member: str, named: str) -> ToolPlace:
    call = within.get(named)
    return ToolPlace(within, member, call if isinstance(call, str) else "")


class AnswerFacts:
    """Reads an answer as it comes.

    Args:
        content_type: of the answer; "" for messages of a WebSocket, each one document.

    Attributes:
        model: the model that answered.
        calls: tool calls, by id or number: their names.
        name: the id of what holds the usage, which a later question may refer to.
    """

    def __init__(self, content_type: str = "") -> None:
        self._lines = content_type.partition(";")[0].strip().lower() in _BY_LINES
        self._held = bytearray()
        self._skipping = False
        self._usage: dict[str, Any] = {}
        self.model: str | None = None
        self.name = ""
        self.calls: dict[str, str] = {}

    def feed(self, data: bytes) -> None:
        """Take a piece."""
        if not self._lines:
            if len(self._held) <= _MOST_DOCUMENT:
                self._held += data
            return
        *lines, rest = data.split(b"\n")
        for line in lines:
            self._held += line
            if not self._skipping:
                self._line(bytes(self._held))
            self._held.clear()
            self._skipping = False
        self._held += rest
        if len(self._held) > _MOST_LINE:
            self._held.clear()
            self._skipping = True

    def end(self) -> None:
        """Note the end of the answer, or of a message of it."""
        if self._lines:
            self._line(bytes(self._held))
        elif len(self._held) <= _MOST_DOCUMENT:
            self._take(decoded_json(bytes(self._held)))
        self._held.clear()

    @property
    def usage(self) -> dict[str, int | float]:
        """Tokens, in the words of session logs; empty where nothing was said."""
        return usage_of(self._usage)

    def _line(self, line: bytes) -> None:
        if not _TELLING.search(line):  # most of a stream are pieces of a text
            return
        line = line.strip().removeprefix(b"data:")
        if line[:1] == b" ":
            line = line[1:]
        if line[:1] == b"{":
            self._take(decoded_json(line))

    def _take(self, value: Any) -> None:
        if isinstance(value, list):  # Gemini's stream without alt=sse
            for one in objects_in(value):
                self._take(one)
            return
        if not isinstance(value, dict):
            return
        for inner in (value.get("response"), value.get("message")):
            if isinstance(inner, dict):
                self._take(inner)
        model = value.get("model") or value.get("modelVersion")
        if isinstance(model, str):
            self.model = model
        for name in ("usage", "usageMetadata"):
            if isinstance(value.get(name), dict):
                counts = value[name].items()
                self._usage.update({key: one for key, one in counts if one is not None})
                self.name = str(value.get("id") or self.name)
        self._take_calls(value)

    def _take_calls(self, value: Mapping[str, Any]) -> None:
        blocks = [
            *objects_in([value.get("item"), value.get("content_block")]),
            *objects_in(value.get("output")),
            *objects_in(value.get("content")),
        ]
        for block in blocks:
            if block.get("type") in _CALLS:
                self._call(block.get("call_id") or block.get("id"), block.get("name"), block)
        for choice in objects_in(value.get("choices")):
            said = choice.get("delta") or choice.get("message")
            for call in objects_in(said.get("tool_calls") if isinstance(said, dict) else None):
                function = call.get("function")
                name = function.get("name") if isinstance(function, dict) else None
                self._call(call.get("id"), name, call)
        for candidate in objects_in(value.get("candidates")):
            content = candidate.get("content")
            for part in objects_in(content.get("parts") if isinstance(content, dict) else None):
                asked = part.get("functionCall")
                if isinstance(asked, dict):
                    self._call(asked.get("id") or str(len(self.calls)), asked.get("name"), asked)

    def _call(self, call_id: Any, name: Any, call: Mapping[str, Any]) -> None:
        if isinstance(call_id, str) and call_id:
            named = name if isinstance(name, str) else str(call.get("type", ""))
            self.calls[call_id] = named or self.calls.get(call_id, "")


_LINE_END = re.compile(rb"\r\n|\n|\r")  # of server-sent events (HTML, section 9.2.6)
_HOLDERS = ("function", "functionCall", "function_call")


def called_tools(body: bytes) -> Iterator[tuple[str, str]]:
    """The names of the tools that an answer may call, each with the id of the call, if it has one.

    For people who decide whether to trust a tape. So it reads all that any client could read: the
    body as a document, its lines, and its events, whatever its content type; each object that looks
    like a call, wherever it is. One call may come several times.
    """
    lines = _LINE_END.split(body.removeprefix(b"\xef\xbb\xbf"))
    texts, event = [body, *lines], list[bytes]()
    for line in (*lines, b""):
        if line.startswith(b"data:"):
            event.append(line[5:].removeprefix(b" "))
        elif not line and event:
            texts += [*event, b"\n".join(event)]
            event = []
    for text in dict.fromkeys(texts):
        if text.lstrip()[:1] in {b"{", b"["}:
            yield from _called(decoded_json(text))


def _called(value: Any) -> Iterator[tuple[str, str]]:
    left = [value]
    while left:
        one = left.pop()
        if isinstance(one, list):
            left += reversed(one)
        if not isinstance(one, dict):
            continue
        left += reversed(one.values())
        kind, call_id = one.get("type"), one.get("call_id") or one.get("id")
        if isinstance(kind, str) and (kind.endswith("_call") or "tool_use" in kind):
            yield str(one.get("name") or kind), str(call_id or "")
        for holder in _HOLDERS:
            inner = one.get(holder)
            if isinstance(inner, dict) and inner.get("name"):
                yield str(inner["name"]), str(call_id or inner.get("id") or "")


def usage_of(said: Mapping[str, Any]) -> dict[str, int | float]:
    """What a provider says of tokens and cost, in the words of session logs.

    ``cached_input_tokens`` are part of ``input_tokens``, ``reasoning_output_tokens`` of
    ``output_tokens``; where a provider counts them beside each other they are added.
    """
    read = _count(said, "cache_read_input_tokens")
    written = _count(said, "cache_creation_input_tokens")
    beside = _count(said, "thoughtsTokenCount")
    given = _first(said, "input_tokens", "prompt_tokens", "promptTokenCount")
    answered = _first(said, "output_tokens", "completion_tokens", "candidatesTokenCount")
    found: dict[str, int | float | None] = {
        "input_tokens": None if given is None else given + (read or 0) + (written or 0),
        "output_tokens": None if answered is None else answered + (beside or 0),
        "cached_input_tokens": read
        if read is not None
        else _first(
            said,
            "cachedContentTokenCount",
            "input_tokens_details.cached_tokens",
            "prompt_tokens_details.cached_tokens",
        ),
        "reasoning_output_tokens": beside
        if beside is not None
        else _first(
            said,
            "output_tokens_details.reasoning_tokens",
            "completion_tokens_details.reasoning_tokens",
        ),
    }
    cost = said.get("cost")
    if isinstance(cost, int | float) and not isinstance(cost, bool) and cost >= 0:
        found["cost_usd"] = cost
    return {name: value for name, value in found.items() if value is not None}


def _first(said: Mapping[str, Any], *names: str) -> int | None:
    return next((count for name in names if (count := _count(said, name)) is not None), None)


def _count(said: Mapping[str, Any], name: str) -> int | None:
    value: Any = said
    for part in name.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    whole = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 53
    return value if whole else None
