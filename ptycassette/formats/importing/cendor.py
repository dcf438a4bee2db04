"""Import cassettes of cendor-cassette (versions 1 and 2), and rebuild calls from descriptions.

``{"version": 2, "entries": [...]}``; an entry has ``seq``, ``kind`` (``llm`` or ``tool``),
``request_hash``, ``request`` and ``response``. Version 2 added ``stream`` to a request and
``response_type`` to an entry. A model's request has ``provider``, ``model`` and ``messages``
instead of the actual request, and there are no times. Source: ``cendor/cassette/__init__.py`` of
cendor-cassette 1.1.1, ``_normalized_request`` and ``_recording``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from ptycassette.formats.importing.asciicast import decoded
from ptycassette.formats.importing.har import (
    Call,
    Skipped,
    SkippedError,
    session_of_calls,
    tool_events,
)
from ptycassette.formats.importing.session import BadImportError, ImportedSession
from ptycassette.model.records import Noted
from ptycassette.tape.providers import anthropic, gemini
from ptycassette.tape.providers.openai_chat import chat_answer
from ptycassette.tape.providers.questions import rebuilt_question
from ptycassette.tape.routing import known_providers

# Rebuild questions and answers that a file only describes, as OpenAI's chat completions.


NOWHERE = "https://imported.invalid"
"""The address for a question without one (RFC 2606 reserves the name)."""

CHAT = "/v1/chat/completions"
JSON = (("content-type", "application/json"),)


def base_of(provider: object) -> str:
    """The base URL of a provider; names of OpenTelemetry's conventions work, too."""
    known = known_providers().named(str(provider))
    return known.url if known else NOWHERE


def chat_question(model: object, messages: Sequence[Any], more: Mapping[str, Any]) -> bytes:
    """The body of a question. ``more`` are other members; those with the value None are left out.

    It has the form in which a tape compares such questions (``rebuilt_question``).
    """
    said = {"model": model, "messages": list(messages), **more}
    body = msgspec.json.encode({name: value for name, value in said.items() if value is not None})
    made = rebuilt_question(body)
    return body if made is None else msgspec.json.encode(made)


VERSIONS = (1, 2)
_APART_US = 1000
_OK = 200


class _Entry(msgspec.Struct, kw_only=True):
    seq: int
    kind: str
    request: dict[str, Any]
    response: Any = None


class _Versioned(msgspec.Struct):
    version: int = 1


class _Document(msgspec.Struct, kw_only=True):
    entries: list[_Entry]


def read_cendor(data: bytes) -> ImportedSession:
    """The calls of a cassette; calls of tools become service events.

    Raises:
        BadImportError: it is not such a cassette, or its version is unknown.
    """
    version = decoded(data, "the document", _Versioned).version
    if version not in VERSIONS:
        known = " and ".join(map(str, VERSIONS))
        raise BadImportError(f"its version is {version}, and {known} are known")
    calls: list[Call] = []
    notes: list[Noted] = []
    skipped = Skipped()
    entries = decoded(data, "the document", _Document).entries
    for number, entry in enumerate(entries):
        t_us = number * _APART_US
        try:
            match entry.kind:
                case "llm":
                    calls.append(_call(entry, t_us))
                case "tool":
                    notes += _tool(entry, number, t_us)
                case _:
                    skipped["entries of another kind than llm and tool"] += 1
        except SkippedError as exc:
            skipped.note(exc, f"entry {number + 1}")
    return session_of_calls(
        calls,
        skipped,
        dated=False,
        rebuilt=True,
        notes=notes,
        made_by="cendor-cassette",
        format_version=version,
    )


def _call(entry: _Entry, t_us: int) -> Call:
    request, response = entry.request, entry.response
    messages = request.get("messages")
    if not isinstance(messages, list):
        raise SkippedError("a call of a model without messages", "messages")
    body = chat_question(request.get("model"), messages, {"stream": request.get("stream") or None})
    answer = msgspec.json.encode(response)
    if not isinstance(response, dict):
        message = {"role": "assistant", "content": response if isinstance(response, str) else None}
        answer = chat_answer(request.get("model"), [(message, "stop")])
    return Call(
        begun_us=t_us,
        answered_us=t_us,
        ended_us=t_us,
        method="POST",
        url=base_of(request.get("provider")) + _path(response, request.get("model")),
        headers=JSON,
        with_headers=False,
        rebuilt=True,
        body=body,
        status=_OK,
        answer_headers=JSON,
        answer=answer,
    )


def _path(response: Any, model: object) -> str:
    """The path of the API whose answers have this form."""
    members = response if isinstance(response, dict) else {}
    if anthropic.is_answer(members):
        return "/v1/messages"
    if gemini.is_answer(members):
        return f"/v1beta/models/{model}:generateContent"
    return CHAT


def _tool(entry: _Entry, number: int, t_us: int) -> Iterator[Noted]:
    """The call of a tool and its result, in the form of the tape."""
    name, arguments = entry.request.get("name"), entry.request.get("arguments")
    if not isinstance(name, str):
        raise SkippedError("a call of a tool without a name", "name")
    ended = {"output": entry.response}
    yield from tool_events((t_us, t_us), f"entry-{number}", name, arguments, ended)
