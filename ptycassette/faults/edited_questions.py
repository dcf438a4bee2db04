"""A question as the provider gets it after a change: another model, other tool results. Pure.

The program asked what it asked, and its child's tape says so. Only what goes to the provider is
another text: for a tool result, wherever that result is given again, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from ptycassette.tape.matching import Question

_GEMINI_MODEL = re.compile(r"(/models/)([^/:?]+)")
_OUTPUTS = frozenset(("function_call_output", "custom_tool_call_output", "local_shell_call_output"))


class ToolPlace(msgspec.Struct, frozen=True):
    """Where a body holds the result of a tool: an object and its member.

    ``call`` names the call; in Gemini's requests, which have no ids, it is the result's number.
    """

    within: dict[str, Any]
    member: str
    call: str


def with_model(question: Question, model: str) -> Question:
    """The question, to another model; unchanged where it names none."""
    target = _GEMINI_MODEL.sub(lambda found: f"{found[1]}{model}", question.target)
    document = _document(question.body)
    if not isinstance(document, dict) or not isinstance(document.get("model"), str):
        return msgspec.structs.replace(question, target=target)
    body = msgspec.json.encode({**document, "model": model})
    return msgspec.structs.replace(question, target=target, body=body)


def last_call(body: bytes) -> str | None:
    """The call whose result is the last one in a request; None where there is none."""
    places = list(_places(_document(body)))
    return places[-1].call if places else None


def with_result(question: Question, call: str, text: str) -> Question:
    """The question with another result of that call, wherever it has one."""
    document = _document(question.body)
    changed = False
    for place in _places(document):
        if place.call == call:
            old = place.within[place.member]
            place.within[place.member] = {"output": text} if isinstance(old, dict) else text
            changed = True
    if not changed:
        return question
    return msgspec.structs.replace(question, body=msgspec.json.encode(document))


def with_swapped(question: Question) -> Question | None:
    """The question with its last two results of tools, each given as that of the other call.

    None where it does not tell two results that differ. Ids and order stay, so it is a valid
    request of its API.
    """
    document = _document(question.body)
    places = list(_places(document))
    results = {place.call: place.within[place.member] for place in places}
    last = list(dict.fromkeys(place.call for place in reversed(places)))[:2]
    if len(last) < 2 or results[last[0]] == results[last[1]]:
        return None
    other = {last[0]: results[last[1]], last[1]: results[last[0]]}
    for place in places:
        place.within[place.member] = other.get(place.call, place.within[place.member])
    return msgspec.structs.replace(question, body=msgspec.json.encode(document))


def _document(body: bytes) -> Any:
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    yield from (one for one in value if isinstance(one, dict)) if isinstance(value, list) else ()


def _places(document: Any) -> Iterator[ToolPlace]:
    """The results of tools in a request of any of the four APIs, in order."""
    if not isinstance(document, dict):
        return
    for message in _objects(document.get("messages")):
        if message.get("role") == "tool" and "content" in message:  # Chat Completions
            yield ToolPlace(message, "content", str(message.get("tool_call_id")))
        for block in _objects(message.get("content")):  # Anthropic Messages
            if block.get("type") == "tool_result":
                block.setdefault("content", "")
                yield ToolPlace(block, "content", str(block.get("tool_use_id")))
    for item in _objects(document.get("input")):  # Responses
        if item.get("type") in _OUTPUTS and "output" in item:
            yield ToolPlace(item, "output", str(item.get("call_id")))
    count = 0
    for content in _objects(document.get("contents")):  # Gemini
        for part in _objects(content.get("parts")):
            result = part.get("functionResponse")
            if isinstance(result, dict) and "response" in result:
                count += 1
                yield ToolPlace(result, "response", str(count))
