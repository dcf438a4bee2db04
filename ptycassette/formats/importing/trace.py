"""Import traces of calls: JSON lines, one call each. docs/imports.md lists the supported members.

A line contains the request and the answer, or only a description of the call. A described call is
rebuilt as a chat completion (``cendor.py``), and the cassette notes that.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

import msgspec

from ptycassette.formats.importing.asciicast import objects_of
from ptycassette.formats.importing.cendor import (
    CHAT,
    JSON,
    NOWHERE,
    base_of,
    chat_question,
)
from ptycassette.formats.importing.har import (
    Call,
    Headers,
    Skipped,
    SkippedError,
    checked_status,
    checked_url,
    header_pairs,
    moment_us,
    session_of_calls,
    tool_events,
    tool_failure,
    without_packing,
)
from ptycassette.formats.importing.session import ImportedSession
from ptycassette.model.records import Noted
from ptycassette.tape.providers import sse
from ptycassette.tape.providers.answers import usage_of
from ptycassette.tape.providers.openai_chat import CALL_ID, chat_answer
from ptycassette.tape.providers.questions import rebuilt_question
from ptycassette.tape.routing import known_providers

_BEGUN = ("timestamp", "started_at", "start_time", "time", "ts")
_ENDED = ("ended_at", "end_time")
_LASTED_MS = ("duration_ms", "latency_ms")
_ANSWERS = ("response", "completion", "output")
_OK, _BROKEN = 200, 500
_APART_US = 1000
_ABOUT = ("provider",)
"""Members that describe a request but belong to no API."""
_TOOL_KINDS = ("tool", "function", "execute_tool")
_MODEL_KINDS = ("llm", "model", "chat", "generation", "completion")
_TOOL_NAMES = ("name", "tool", "tool_name")
_ARGUMENTS = ("arguments", "args", "input", "parameters")
_ASKS_A_MODEL = frozenset({"messages", "contents", "model", "url", "body", "endpoint"})
_EVENTS = (("content-type", sse.CONTENT_TYPE),)


def read_trace(data: bytes) -> ImportedSession:
    """The calls of a trace; calls of tools become service events.

    Raises:
        BadImportError: a line is not an object, or no line is a call.
    """
    calls: list[Call] = []
    notes: list[Noted] = []
    skipped = Skipped()
    rebuilt = False
    lines = list(objects_of(data))
    clock = _Times([line for _, line in lines])
    for number, line in lines:
        try:
            begun_us = clock.of(line)
            if _is_tool(line):
                notes += _tool(number, line, begun_us)
                continue
            call, made = _call(line, begun_us)
        except SkippedError as reason:
            skipped.note(reason, f"line {number}")
            continue
        calls.append(call)
        rebuilt = rebuilt or made
    return session_of_calls(calls, skipped, dated=clock.dated, rebuilt=rebuilt, notes=notes)


class _Times:
    """The times of lines. Lines with equal times keep their order, and so do those without a time.

    Attributes:
        dated: whether any line has a time.
    """

    def __init__(self, lines: Sequence[dict[str, Any]]) -> None:
        first = next((at for at, line in enumerate(lines) if _begun(line)), None)
        self.dated = first is not None
        self._next_us, self._last_us, self._equal = _APART_US, -1, 0
        if first is not None:
            name = _begun(lines[first])
            with suppress(SkippedError):  # it is raised again when the line is read
                self._next_us = moment_us(lines[first][name], name) - first * _APART_US

    def of(self, line: dict[str, Any]) -> int:
        """The time of a line; a line without a time follows the line before it."""
        name = _begun(line)
        if not name:
            begun_us = self._next_us
        else:
            begun_us = moment_us(line[name], name)
            self._equal = self._equal + 1 if begun_us == self._last_us else 0
            self._last_us = begun_us
            begun_us += self._equal
        self._next_us = _ended_us(line, begun_us) + (1 if self.dated else _APART_US)
        return begun_us


def _begun(line: dict[str, Any]) -> str:
    """The member with the time of a line; empty if there is none."""
    return next((name for name in _BEGUN if line.get(name) is not None), "")


def _is_tool(line: dict[str, Any]) -> bool:
    """Whether a line is a tool call: by its kind, or because it names a tool and no model."""
    if _kind(line).startswith(_TOOL_KINDS):
        return True
    asked = line.get("request")
    said = asked if isinstance(asked, dict) else line
    if not said.keys().isdisjoint(_ASKS_A_MODEL) or not line.keys().isdisjoint(_ASKS_A_MODEL):
        return False
    named = any(isinstance(one.get(name), str) for one in (said, line) for name in _TOOL_NAMES[1:])
    return named or (isinstance(said.get("name"), str) and not said.keys().isdisjoint(_ARGUMENTS))


def _kind(line: dict[str, Any]) -> str:
    kind = next((line[name] for name in ("kind", "type") if isinstance(line.get(name), str)), "")
    return kind.lower().replace("-", "_")


def _tool(number: int, line: dict[str, Any], t_us: int) -> Iterator[Noted]:
    inner = (line.get("request"), line.get("tool"))
    places = [*(one for one in inner if isinstance(one, dict)), line]

    def said(*names: str) -> Any:
        found = (one[name] for one in places for name in names if one.get(name) is not None)
        return next(found, None)

    names = (one.get(name) for one in places for name in _TOOL_NAMES)
    name = next((one for one in names if isinstance(one, str)), None)
    if name is None:
        raise SkippedError("a call of a tool without a name", "name")
    results = ("result", *_ANSWERS)
    ended = None
    if said("error") is not None and said(*results) is None:
        ended = tool_failure(said("error"))
    elif any(name in one for one in places for name in results):
        ended = {"output": said(*results)}
    call_id = said("call_id", CALL_ID, "id") or f"line-{number}"
    times = t_us, _ended_us(line, t_us)
    yield from tool_events(times, str(call_id), name, said(*_ARGUMENTS), ended)


def _call(line: dict[str, Any], begun_us: int) -> tuple[Call, bool]:
    """The call of a line, and whether it was rebuilt."""
    url, method, headers, body, made = _question(line)
    status, answer_headers, answer, made_answer = _answer(line)
    call = Call(
        begun_us=begun_us,
        answered_us=begun_us,
        ended_us=_ended_us(line, begun_us),
        method=method,
        url=checked_url(url),
        headers=JSON if headers is None else headers,
        with_headers=headers is not None,
        body=body,
        status=status,
        answer_headers=answer_headers,
        answer=answer,
        outcome="complete" if status is not None else "provider-gone",
        detail="" if status is not None else str(line.get("error") or "no answer"),
        rebuilt=made,
    )
    return call, made or made_answer


def _ended_us(line: dict[str, Any], begun_us: int) -> int:
    for name in _ENDED:
        if line.get(name) is not None:
            return max(begun_us, moment_us(line[name], name))
    for name in _LASTED_MS:
        lasted = line.get(name)
        if isinstance(lasted, int | float) and 0 <= lasted < 1e12:
            return begun_us + round(lasted * 1000)
    return begun_us


def _question(line: dict[str, Any]) -> tuple[str, str, Headers | None, bytes, bool]:
    """URL, method, headers (None if the line has none) and body; whether it was rebuilt."""
    request = line.get("request")
    url = line.get("url") or line.get("endpoint")
    method = str(line.get("method") or "POST")
    if isinstance(request, dict) and ("url" in request or "body" in request):
        url = request.get("url") or url
        sent = request.get("headers")
        headers = _headers(sent) if isinstance(sent, dict) else None
        body = _bytes(request.get("body"))
        method = str(request.get("method") or method)
        return _url(url, line, request.get("body")), method, headers, body, False
    if isinstance(request, dict):
        sent = {name: value for name, value in request.items() if name not in _ABOUT}
        about = {name: request[name] for name in _ABOUT if name in request}
        address = _url(url, {**about, **line}, sent)
        body = msgspec.json.encode(sent)
        made = rebuilt_question(body) if about else None
        if made is not None:
            return address, method, None, msgspec.json.encode(made), True
        return address, method, None, body, False
    messages = line.get("messages")
    if isinstance(messages, list):
        body = chat_question(line.get("model"), messages, {"tools": line.get("tools")})
        return url or base_of(line.get("provider")) + CHAT, method, None, body, True
    is_call = any(name in line for name in (*_ANSWERS, "request", "messages"))
    raise SkippedError(
        "no request in it", "request" if is_call or _kind(line) in _MODEL_KINDS else ""
    )


def _url(url: object, line: dict[str, Any], body: object) -> str:
    """The URL of the request; guessed from the form of the body if the line has no URL."""
    if isinstance(url, str) and url:
        return url
    body = body if isinstance(body, dict) else {}
    model = str(body.get("model") or line.get("model") or "")
    known = known_providers()
    said = line.get("provider")
    named = known.named(str(said)) if said else None
    if "contents" in body:
        usual = next(one for one in known.providers.values() if one.contents)
        path = (named.contents if named else "") or usual.contents
        return (named or usual).url + path.format(model=model or "unknown")
    provider = named if said else known.of_model(model)
    base = provider.url if provider else NOWHERE
    if "messages" in body:
        return base + (provider.messages if provider else CHAT)
    if "input" in body:
        return f"{base}/v1/responses"
    raise SkippedError("the address it was sent to is missing", "url")


def _answer(line: dict[str, Any]) -> tuple[int | None, Headers, bytes, bool]:
    """Status, headers and body, and whether the body was rebuilt."""
    answer = next((line[name] for name in _ANSWERS if line.get(name) is not None), None)
    status = checked_status(line.get("status") or line.get("status_code"))
    if isinstance(answer, dict) and ("body" in answer or "status" in answer):
        status = checked_status(answer.get("status") or status or _OK)
        return status, _headers(answer.get("headers")), _bytes(answer.get("body")), False
    if isinstance(answer, dict | list):
        return status or _OK, JSON, msgspec.json.encode(answer), False
    if isinstance(answer, str):
        if sse.is_stream(answer):
            return status or _OK, _EVENTS, answer.encode(), False
        said = line.get("usage")
        usage = usage_of(said) if isinstance(said, dict) else {}
        tokens = usage.get("input_tokens"), usage.get("output_tokens")
        message = {"role": "assistant", "content": answer}
        body = chat_answer(line.get("model"), [(message, "stop")], usage=tokens)
        return status or _OK, JSON, body, True
    if status is None or status < _BROKEN - 100:
        return None, (), b"", False
    return status, JSON, msgspec.json.encode({"error": line.get("error")}), True


def _headers(said: object) -> Headers:
    pairs = said.items() if isinstance(said, dict) else ()
    return without_packing(header_pairs(pairs))


def _bytes(said: object) -> bytes:
    if said is None:
        return b""
    return said.encode() if isinstance(said, str) else msgspec.json.encode(said)
