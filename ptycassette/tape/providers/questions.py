"""Read a question to a model in any of the four APIs.

It reads as much as possible: a part of an unknown type counts as ``[type]``. Only the modules of
the APIs have their words.

``rebuilt_question`` writes a question as a chat completion, to compare it with the question in a
trace. A trace does not have the actual request, and often only a part of it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

import msgspec

from ptycassette.model.records import decoded_json, objects_in
from ptycassette.tape.providers import anthropic, gemini, openai_chat, openai_responses
from ptycassette.tape.providers.neutral import Field, Message, ToolPlace
from ptycassette.tape.providers.openai_chat import FUNCTION, messages_of, offered_tool

_APIS = (openai_chat, openai_responses, anthropic, gemini)
_MESSAGES = (openai_chat.MESSAGES, openai_responses.MESSAGES, gemini.MESSAGES)
_SYSTEM = (*anthropic.SYSTEM, *openai_responses.SYSTEM, *gemini.SYSTEM)
_REFERENCES = tuple(one for api in _APIS for one in api.REFERENCES)
_MODEL_IN_TARGET = re.compile(r"/models/([^/:?]+)")


def question_model(document: Any, target: str) -> str | None:
    """The model that a question is for."""
    model = document.get("model") if isinstance(document, dict) else None
    if isinstance(model, str):
        return model
    found = _MODEL_IN_TARGET.search(target)
    return found[1] if found else None


def tool_results(document: Any) -> Iterator[ToolPlace]:
    """The results of tools in a question, in order, including those of earlier turns."""
    if not isinstance(document, dict):
        return
    for name in _MESSAGES:
        apis = (gemini,) if name == gemini.MESSAGES else _APIS[:-1]
        for message in objects_in(document.get(name)):
            for api in apis:
                yield from api.tool_results(message)


class AskedQuestion(msgspec.Struct, frozen=True):
    """A question. ``goes_on``: it contains only what is new since an answer that it names."""

    messages: tuple[Message, ...]
    goes_on: bool = False


def read_question(body: bytes) -> AskedQuestion | None:
    """The question in a body; None if it is not a question to a model."""
    document = decoded_json(body)
    if not isinstance(document, dict):
        return None
    found = tuple(one for one in _messages(document) if one.text or one.calls or one.results)
    return AskedQuestion(found, bool(earlier_answer(document))) if found else None


def _messages(document: dict[str, Any]) -> Iterator[Message]:
    asked = Field(document, "", strict=False)
    for name in _SYSTEM:
        yield Message("system", asked.get(name).text({}))
    for message in asked.get(openai_chat.MESSAGES).items():
        yield (openai_chat if openai_chat.is_own(message) else anthropic).turn(message)
    said = asked.get(openai_responses.MESSAGES)
    if isinstance(said.value, str):
        yield Message("user", said.value)
    for item in said.items():
        yield from openai_responses.turns_of(item)
    yield from map(gemini.turn, asked.get(gemini.MESSAGES).items())


def messages_in(document: Mapping[str, Any]) -> list[Any] | None:
    """The messages of a question, as its API writes them; None if it has no list of them."""
    for name in _MESSAGES:
        messages = document.get(name)
        if isinstance(messages, str):
            messages = [{"role": "user", "content": messages}]
        if isinstance(messages, list):
            return messages
    return None


def system_prompt(document: Mapping[str, Any]) -> str:
    """The system prompt from its own member; else from the messages of the system."""
    for name in _SYSTEM:
        if name in document:
            return _plain(document[name])
    messages = objects_in(messages_in(document))
    return "\n".join(_plain(one.get("content")) for one in messages if openai_chat.is_system(one))


def _plain(value: Any) -> str:
    if isinstance(value, dict):
        value = value.get(gemini.PARTS)
    if isinstance(value, list):
        texts = (one.get("text") for one in value if isinstance(one, dict))
        return "\n".join(text for text in texts if isinstance(text, str))
    return value if isinstance(value, str) else ""


def earlier_answer(document: Any) -> str:
    """The id of the answer that a question continues; empty if it has all messages itself."""
    found = document.get(openai_responses.PREVIOUS) if isinstance(document, Mapping) else None
    return str(found) if found else ""


def asks_a_model(method: str, target: str, document: Any) -> bool:
    """Whether a request wants an answer of a model, which costs tokens."""
    path = target.partition("?")[0]
    if path.endswith((*anthropic.COUNTS, *gemini.COUNTS)):
        return False
    if path.endswith(gemini.GENERATES):
        return True
    named = isinstance(document, Mapping) and isinstance(document.get("model"), str)
    return named and method in {"POST", "GET"}  # GET: a message over a WebSocket


def refers_elsewhere(body: bytes) -> bool:
    """Whether a question may refer to a file or a conversation that the provider has."""
    return any(one in body for one in _REFERENCES)


_SAID = frozenset((*_SYSTEM, *_MESSAGES, "tools", "model"))


def rebuilt_question(
    body: bytes, *, target: str = "", like: Collection[str] | None = None
) -> dict[str, Any] | None:
    """A question in one form for all APIs: that of a chat completion.

    Calls of tools are numbered (``call_1``), because some APIs give them no ids, and a trace may
    have lost them. Content that only one API supports, such as pictures, becomes ``[type]``.

    Args:
        body: the body of the request, in any of the four APIs.
        target: the target of the request; Gemini has the model there.
        like: the parts of another question (``rebuilt_parts``). All other parts are left out.

    Returns:
        The question; None if the body is not a question to a model.
    """
    document, asked = decoded_json(body), read_question(body)
    if asked is None:
        return None
    made: dict[str, Any] = {
        "model": question_model(document, target),
        "messages": messages_of(asked.messages),
        "tools": list(map(_offered, offered_tools(document))) or None,
    }
    options = document.keys() - _SAID if like is None else set(like) - made.keys() - _PARTS
    for name in sorted(options):
        made[name] = next(option_values(document, name), None)
    if like is not None:
        made = {name: made[name] for name in made if name in like or name == "messages"}
        if _SYSTEM_PART not in like:
            made["messages"] = [one for one in made["messages"] if one["role"] != "system"]
        for tool in made.get("tools") or ():
            known = tool[FUNCTION].items()
            tool[FUNCTION] = {one: value for one, value in known if _OF_TOOL.format(one) in like}
    return {name: value for name, value in made.items() if value is not None}


_SYSTEM_PART, _OF_TOOL = "a system prompt", "{} of tools"
_PARTS = {_SYSTEM_PART, *map(_OF_TOOL.format, ("name", "description", "parameters"))}


def rebuilt_parts(body: bytes) -> frozenset[str]:
    """The members of a question in the form of ``rebuilt_question``, and their parts."""
    document = decoded_json(body)
    made = document if isinstance(document, dict) else {}
    system = any(one.get("role") == "system" for one in objects_in(made.get("messages")))
    functions = (one.get(FUNCTION) for one in objects_in(made.get("tools")))
    of_tools = (name for one in functions if isinstance(one, dict) for name in one)
    return frozenset((*made, *([_SYSTEM_PART] if system else ()), *map(_OF_TOOL.format, of_tools)))


def offered_tools(document: Any) -> Iterator[dict[str, Any]]:
    """The tools that a question offers: the objects that have their names."""
    for tool in objects_in(document.get("tools") if isinstance(document, dict) else None):
        for one in gemini.declared(tool) or [tool]:
            inner = one.get(FUNCTION)
            yield inner if isinstance(inner, dict) else one


def _offered(tool: Mapping[str, Any]) -> dict[str, Any]:
    return offered_tool(
        tool.get("name") or tool.get("type"),
        tool.get("description"),
        next((tool[api.SCHEMA] for api in _APIS if tool.get(api.SCHEMA)), None),
    )


def option_values(document: Mapping[str, Any], name: str) -> Iterator[Any]:
    """The values of an option, such as ``max_tokens``, under its name in each of the APIs."""
    names = [name, *(api.OPTIONS[name] for api in _APIS if name in api.OPTIONS)]
    for place in (document, *objects_in([document.get(one) for one in gemini.CONFIG])):
        yield from (place[one] for one in names if one in place)
