"""The Gemini API: ``generateContent``, ``streamGenerateContent``, ``countTokens``, ``models``.

Source: the public API reference of Google AI for Developers (``v1beta``). With ``alt=sse`` a stream
is one server-sent event per partial response; without it, it is one JSON array, element by element.
Function calls come whole, never in slices. Field names are accepted in camelCase and in snake_case,
as the API does.
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

PATH = re.compile(r"/models/[^/:]+:(?:g|streamG)enerateContent$")
VERSION, LIST, COUNT = "/v1beta", "models", "totalTokens"
COUNTS = (":countTokens",)
REQUEST_ID, CALL_PREFIX = "x-request-id", "call"
NO_KEY = (403, "Method doesn't allow unregistered callers. Please use API Key.")
WRONG_KEY = (400, "API key not valid. Please pass a valid API key.")
GENERATES = (":generateContent", ":streamGenerateContent")
MESSAGES = "contents"
PARTS = "parts"
SYSTEM = ("systemInstruction", "system_instruction")
MODEL = "modelVersion"
SCHEMA = "parametersJsonSchema"
CONFIG = ("generationConfig", "generation_config")
OPTIONS = {
    "max_tokens": "maxOutputTokens",
    "top_p": "topP",
    "top_k": "topK",
    "frequency_penalty": "frequencyPenalty",
    "presence_penalty": "presencePenalty",
    "n": "candidateCount",
}
REFERENCES = (b'"file_uri"', b'"fileUri"', b'"cachedContent"')
CALL = "functionCall"
"""The member of a part that calls a tool."""
USAGE_MEMBER = "usageMetadata"
USAGE = UsageNames(
    input="promptTokenCount",
    output="candidatesTokenCount",
    cached="cachedContentTokenCount",
    reasoning="thoughtsTokenCount",
    output_beside=("thoughtsTokenCount",),
)
_LINE_END = b"\r\n"
STOPS = {"end": ("STOP",), "tool": ("STOP",), "length": ("MAX_TOKENS",), "refusal": ("SAFETY",)}
_KINDS = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}
_ROLES: dict[str, Role] = {
    "user": "user",
    "model": "assistant",
    "function": "user",
    "system": "system",
}
_OTHER_PARTS = ("inlineData", "fileData", "executableCode", "codeExecutionResult")
_BUILT_IN_TOOLS = ("googleSearch", "codeExecution", "urlContext", "googleMaps", "fileSearch")


class _Generate(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The fields of ``generateContent`` in camelCase."""

    contents: list[Any]
    systemInstruction: Any = None  # noqa: N815 - the API's own spelling
    tools: list[dict[str, Any]] = []
    toolConfig: Any = None  # noqa: N815
    safetySettings: Any = None  # noqa: N815
    generationConfig: Any = None  # noqa: N815
    cachedContent: str | None = None  # noqa: N815
    labels: Any = None
    model: str | None = None
    serviceTier: str | None = None  # noqa: N815


def _camel(value: Any) -> Any:
    """An object with its own keys in camelCase."""
    if not isinstance(value, dict):
        return value
    return {re.sub(r"_([a-z])", lambda m: m[1].upper(), key): item for key, item in value.items()}


def parse(
    body: Any, *, model: str, stream: bool, sse: bool, unknown_fields: UnknownFields = "reject"
) -> tuple[Ask, tuple[str, ...]]:
    """A request as an ``Ask``, and the unknown fields that were ignored.

    Args:
        body: decoded JSON.
        model: the model from the path.
        stream: whether the method is ``streamGenerateContent``.
        sse: ``alt=sse`` in the query.
        unknown_fields: how to treat such a field.

    Raises:
        WireError: the API would refuse it, or this fake does not support it.
    """
    request, unknown = read(_camel(body), _Generate, unknown_fields=unknown_fields)
    turns: list[Message] = []
    if request.systemInstruction is not None:
        system = request.systemInstruction
        said = system if isinstance(system, str) else turn(Field(system, "systemInstruction")).text
        turns.append(Message("system", said))
    turns += map(turn, Field(request.contents, "contents").items())
    tools = tuple(_tools(Field(request.tools, "tools")))
    ask = Ask(api="gemini", model=model, stream=stream, turns=tuple(turns), tools=tools, sse=sse)
    return ask, unknown


def count(
    body: Any, *, model: str, unknown_fields: UnknownFields = "reject"
) -> tuple[Ask, tuple[str, ...]]:
    """A ``countTokens`` request: contents, or a whole request to count."""
    asked = _camel(body)
    if isinstance(asked, dict):
        asked = asked.get("generateContentRequest", asked)
    return parse(asked, model=model, stream=False, sse=False, unknown_fields=unknown_fields)


def _tools(tools: Field) -> Iterator[str]:
    """The names of offered tools; built-in ones by their own names."""
    for tool in map(_in_camel, tools.items()):
        for name in tool.value:
            if name == "functionDeclarations":
                yield from (declared.word("name") for declared in tool.get(name).items())
            elif name in _BUILT_IN_TOOLS:
                yield name
            else:
                tool.refuse(f": unknown tool {name!r}")


def declared(tool: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The functions that an offered tool declares; empty for tools of other kinds."""
    return objects_in(tool.get("functionDeclarations", tool.get("function_declarations")))


def turn(content: Field) -> Message:
    """One content: a role and parts."""
    role = content.word("role", "user")
    if role not in _ROLES:
        content.refuse(f".role: unknown role {role!r}")
    texts: list[str] = []
    calls: list[Call] = []
    results: list[ToolResult] = []
    for part in map(_in_camel, content.get("parts", []).items()):
        if "functionCall" in part.value:
            call = part.get("functionCall")
            call_id = str(call.get("id").value or "")
            calls.append(Call(call_id, call.word("name"), call.get("args").value))
        elif "functionResponse" in part.value:
            results.append(_result(part.get("functionResponse")))
        elif "text" in part.value:
            texts.append("" if part.value.get("thought") else part.word("text"))
        elif not part.strict:
            texts.append(f"[{next(iter(part.value), 'part')}]")
        elif not any(name in part.value for name in _OTHER_PARTS):
            part.refuse(f": unknown part with fields {', '.join(sorted(part.value))}")
    return Message(_ROLES.get(role, "user"), joined(texts), tuple(calls), tuple(results))


def _in_camel(found: Field) -> Field:
    return msgspec.structs.replace(found, value=_camel(found.value))


def _result(result: Field) -> ToolResult:
    """A function response; its content is kept as JSON text."""
    said = result.get("response")
    if not said.strict and isinstance(said.value, dict):
        said = said.get("output", said.value)
    is_text = isinstance(said.value, str) and not said.strict
    text = said.value if is_text else msgspec.json.encode(said.value).decode()
    return ToolResult(str(result.get("id").value or ""), text, result.word("name"))


def tool_results(content: dict[str, Any]) -> Iterator[ToolPlace]:
    """The results of tools in a recorded content."""
    for part in objects_in(content.get("parts")):
        if isinstance(part.get("functionResponse"), dict):
            yield ToolPlace(
                part["functionResponse"], "response", text_in(part["functionResponse"], "id")
            )


def is_answer(document: Mapping[str, Any]) -> bool:
    """Whether a document, or the first event of a stream, is an answer of this API."""
    return "candidates" in document


def calls_in(event: Mapping[str, Any], known: Sized) -> Iterator[FoundCall]:
    """The tool calls of a recorded response; one without an id gets the number of ``known``."""
    for candidate in objects_in(event.get("candidates")):
        for part in _parts(candidate):
            asked = part.get(CALL)
            if isinstance(asked, dict):
                yield asked.get("id") or str(len(known)), asked.get("name"), asked


def take(answer: ModelAnswer, event: Mapping[str, Any]) -> None:
    """Add a recorded response, which may be a part of a stream, to an answer."""
    for candidate in objects_in(event.get("candidates"))[:1]:
        answer.stop = text_in(candidate, "finishReason") or answer.stop
        for part in _parts(candidate):
            if isinstance(part.get("text"), str):
                (answer.thoughts if part.get("thought") else answer.text).append(part["text"])
            asked = part.get(CALL)
            if isinstance(asked, dict):
                arguments = json.dumps(asked.get("args") or {})
                answer.call(AskedCall(text_in(asked, "id"), text_in(asked, "name"), arguments))


def _parts(candidate: Mapping[str, Any]) -> list[dict[str, Any]]:
    content = candidate.get("content")
    return objects_in(content.get("parts") if isinstance(content, dict) else None)


def whole(answer: Answer, ask: Ask, stamp: Stamp) -> dict[str, Any]:
    """The answer as one response object."""
    parts = [_part(part) for part in answer.parts]
    return _response(parts, answer, ask, stamp, last=True)


def stream(answer: Answer, ask: Ask, stamp: Stamp, *_: object) -> Iterator[Piece]:
    """The answer as server-sent events or as the elements of a JSON array."""
    parts: list[Text | Thought | Call] = []
    for part in answer.parts:
        if isinstance(part, Call):
            parts.append(part)
        else:
            parts += [type(part)(piece) for piece in slices(part.text, answer.chunk_chars)]
    for index, part in enumerate(parts):
        last = index == len(parts) - 1
        yield _framed(
            _response([_part(part)], answer, ask, stamp, last=last), ask, first=index == 0
        )
    if not ask.sse:
        yield Piece(b"]\n")


def _framed(value: dict[str, Any], ask: Ask, *, first: bool) -> Piece:
    """One partial response in the framing that the client requested."""
    if ask.sse:
        return Piece(framed(value, line_end=_LINE_END), paced=True)
    return Piece((b"[" if first else b"," + _LINE_END) + msgspec.json.encode(value), paced=True)


def _part(part: Text | Thought | Call) -> dict[str, Any]:
    match part:
        case Text(text=text):
            return {"text": text}
        case Thought(text=text):
            return {"text": text, "thought": True}
        case Call():
            if isinstance(part.arguments, str):
                raise WireError("this API has no tools with free input", status=500)
            return {"functionCall": {"id": part.call_id, "name": part.name, "args": part.arguments}}


def _response(
    parts: list[dict[str, Any]], answer: Answer, ask: Ask, stamp: Stamp, *, last: bool
) -> dict[str, Any]:
    """A response with one candidate; only the last one of a stream has a finish reason."""
    candidate: dict[str, Any] = {"content": {"parts": parts, "role": "model"}, "index": 0}
    if last:
        candidate["finishReason"] = STOPS[answer.stop][0]
    return {
        "candidates": [candidate],
        "usageMetadata": _usage(answer.usage),
        "modelVersion": ask.model,
        "responseId": stamp.id("resp"),
    }


def _usage(usage: Usage) -> dict[str, Any]:
    """Gemini counts thoughts beside, not inside, the candidates' tokens."""
    counts = {
        "promptTokenCount": usage.input,
        "candidatesTokenCount": usage.output - usage.reasoning_output,
        "totalTokenCount": usage.input + usage.output,
    }
    if usage.cached_input:
        counts["cachedContentTokenCount"] = usage.cached_input
    if usage.reasoning_output:
        counts["thoughtsTokenCount"] = usage.reasoning_output
    return counts


def error(status: int, message: str, kind: str = "") -> dict[str, Any]:
    """An error object (google.rpc.Status)."""
    error_status = kind or _KINDS.get(
        status, "INTERNAL" if status >= 500 else "FAILED_PRECONDITION"
    )
    return {"error": {"code": status, "message": message, "status": error_status}}


def stream_error(body: dict[str, Any], *_: object) -> Piece:
    """An ``error`` in the middle of a stream."""
    return Piece(framed(body, line_end=_LINE_END))


def models(names: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """The answer to ``GET /v1beta/models`` for pairs of id and display name."""
    return {
        "models": [
            {
                "name": f"models/{name}",
                "version": "001",
                "displayName": shown,
                "inputTokenLimit": 1048576,
                "outputTokenLimit": 65536,
                "supportedGenerationMethods": ["generateContent", "countTokens"],
            }
            for name, shown in names
        ]
    }
