"""A question as the provider gets it after a change: another model, other tool results. Pure.

The program asked what it asked, and its child's tape says so. Only what goes to the provider is
another text: for a tool result, wherever that result is given again, too.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from ptycassette.model.json_values import decoded_json
from ptycassette.tape._facts import ToolPlace, tool_results
from ptycassette.tape.matching.question import Question

_GEMINI_MODEL = re.compile(r"(/models/)([^/:?]+)")
_OUTPUTS = frozenset(("function_call_output", "custom_tool_call_output", "local_shell_call_output"))


def with_model(question: Question, model: str) -> Question:
    """The question, to another model; unchanged where it names none."""
    target = _GEMINI_MODEL.sub(lambda found: f"{found[1]}{model}", question.target)
    document = decoded_json(question.body)
    if not isinstance(document, dict) or not isinstance(document.get("model"), str):
        return msgspec.structs.replace(question, target=target)
    body = msgspec.json.encode({**document, "model": model})
    return msgspec.structs.replace(question, target=target, body=body)


def last_call(body: bytes) -> str | None:
    """The call whose result is the last one in a request; None where there is none."""
    places = _places(decoded_json(body))
    return places[-1].call if places else None


def with_result(question: Question, call: str, text: str) -> Question:
    """The question with another result of that call, wherever it has one."""
    document = decoded_json(question.body)
    changed = False
    for place in _places(document):
        if place.call == call:
            place.within[place.member] = {"output": text} if place.member == "response" else text
            changed = True
    if not changed:
        return question
    return msgspec.structs.replace(question, body=msgspec.json.encode(document))


def with_swapped(question: Question) -> Question | None:
    """The question with its last two results of tools, each given as that of the other call.

    None where it does not tell two results that differ. Ids and order stay, so it is a valid
    request of its API.
    """
    document = decoded_json(question.body)
    places = _places(document)
    results = {place.call: place.within.get(place.member, "") for place in places}
    last = list(dict.fromkeys(place.call for place in reversed(places)))[:2]
    if len(last) < 2 or results[last[0]] == results[last[1]]:
        return None
    other = {last[0]: results[last[1]], last[1]: results[last[0]]}
    for place in places:
        if place.call in other:
            place.within[place.member] = other[place.call]
    return msgspec.structs.replace(question, body=msgspec.json.encode(document))


def _places(document: Any) -> list[ToolPlace]:
    """The results of tools in a request, in order; a call without an id has its result's number."""
    found: list[ToolPlace] = []
    for place in tool_results(document):
        if place.member != "output" or place.within.get("type") in _OUTPUTS:
            named = place.call or str(len(found) + 1)
            found.append(msgspec.structs.replace(place, call=named))
    return found
