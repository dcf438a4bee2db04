"""Read a question to a model in any of the four APIs.

It reads as much as possible: a part of an unknown type counts as ``[type]``.

``rebuilt_question`` writes a question as a chat completion, to compare it with the question in a
trace. A trace does not have the actual request, and often only a part of it.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

import msgspec

from ptycassette.model.records import decoded_json, objects_in
from ptycassette.tape.providers import anthropic, gemini, openai_chat, openai_responses
from ptycassette.tape.providers.neutral import Field, Message, ToolPlace, ToolResult
from ptycassette.tape.providers.openai_responses import turns_of

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
    for message in (*objects_in(document.get("messages")), *objects_in(document.get("input"))):
        for api in (openai_chat, openai_responses, anthropic):
            yield from api.tool_results(message)
    for content in objects_in(document.get("contents")):
        yield from gemini.tool_results(content)


_OF_CHAT = frozenset({"developer", "tool"})
"""Roles that Anthropic's messages do not have."""


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
    return AskedQuestion(found, bool(document.get("previous_response_id"))) if found else None


def _messages(document: dict[str, Any]) -> Iterator[Message]:
    asked = Field(document, "", strict=False)
    for name in _SYSTEM:
        yield Message("system", asked.get(name).text({}))
    for message in asked.get("messages").items():
        of_chat = message.word("role") in _OF_CHAT or message.value.get("tool_calls")
        yield (openai_chat if of_chat else anthropic).turn(message)
    if isinstance(document.get("input"), str):
        yield Message("user", document["input"])
    for item in asked.get("input").items():
        yield from turns_of(item)
    yield from map(gemini.turn, asked.get("contents").items())


_SYSTEM = ("system", "instructions", "systemInstruction", "system_instruction")
_SAID = frozenset((*_SYSTEM, "messages", "input", "contents", "tools", "model"))
_OPTIONS = {
    "max_tokens": ("max_completion_tokens", "max_output_tokens", "maxOutputTokens"),
    "top_p": ("topP",),
    "top_k": ("topK",),
    "frequency_penalty": ("frequencyPenalty",),
    "presence_penalty": ("presencePenalty",),
}
"""Options with different names in the APIs; the first name is that of telemetry."""
_CONFIG = ("generationConfig", "generation_config")


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
        "messages": _in_chat(asked.messages),
        "tools": list(_offered(document.get("tools"))) or None,
    }
    options = document.keys() - _SAID if like is None else set(like) - made.keys() - _PARTS
    for name in sorted(options):
        made[name] = _option(document, name)
    if like is not None:
        made = {name: made[name] for name in made if name in like or name == "messages"}
        if _SYSTEM_PART not in like:
            made["messages"] = [one for one in made["messages"] if one["role"] != "system"]
        for tool in made.get("tools") or ():
            function = tool["function"]
            tool["function"] = {
                name: function[name] for name in function if _OF_TOOL.format(name) in like
            }
    return {name: value for name, value in made.items() if value is not None}


_SYSTEM_PART, _OF_TOOL = "a system prompt", "{} of tools"
_PARTS = {_SYSTEM_PART, *map(_OF_TOOL.format, ("name", "description", "parameters"))}


def rebuilt_parts(body: bytes) -> frozenset[str]:
    """The members of a question in the form of ``rebuilt_question``, and their parts."""
    document = decoded_json(body)
    made = document if isinstance(document, dict) else {}
    system = any(one.get("role") == "system" for one in objects_in(made.get("messages")))
    functions = (one.get("function") for one in objects_in(made.get("tools")))
    of_tools = (name for one in functions if isinstance(one, dict) for name in one)
    return frozenset((*made, *([_SYSTEM_PART] if system else ()), *map(_OF_TOOL.format, of_tools)))


def _in_chat(messages: Iterable[Message]) -> list[dict[str, Any]]:
    """Messages of chat completions; neighbours of one role are joined."""
    system: list[str] = []
    made: list[dict[str, Any]] = []
    numbers: dict[str, int] = {}
    waiting: deque[tuple[int, str, str]] = deque()  # calls without a result: number, id, name
    for message in messages:
        if message.role == "system":
            system += [message.text] if message.text else []
            continue
        made += [_result(result, waiting) for result in message.results]
        if not message.text and not message.calls:
            continue
        last = made[-1] if made and made[-1]["role"] == message.role else None
        if last is None or ("tool_calls" in last and message.text):
            last = {"role": message.role}
            made.append(last)
        if message.text:
            last["content"] = "\n".join(filter(None, (last.get("content"), message.text)))
        for call in message.calls:
            number = len(numbers) + 1
            numbers[call.call_id or f" {number}"] = number
            waiting.append((number, call.call_id, call.name))
            arguments = msgspec.json.encode(call.values, order="deterministic").decode()
            function = {"name": call.name, "arguments": arguments}
            called = {"id": f"call_{number}", "type": "function", "function": function}
            last["tool_calls"] = [*last.get("tool_calls", ()), called]
    return [{"role": "system", "content": "\n".join(system)}, *made] if system else made


def _result(result: ToolResult, waiting: deque[tuple[int, str, str]]) -> dict[str, Any]:
    """The message of a result; without an id it belongs to the first call of its tool."""
    named = [one for one in waiting if result.call_id and one[1] == result.call_id]
    named = named or [one for one in waiting if result.name and one[2] == result.name]
    named = named or list(waiting)
    number = 0
    if named:
        number = named[0][0]
        waiting.remove(named[0])
    value = decoded_json(result.text)
    if isinstance(value, dict | list):  # it may have another spelling
        text = msgspec.json.encode(value, order="deterministic").decode()
    else:
        text = result.text
    return {"role": "tool", "tool_call_id": f"call_{number}", "content": text}


def _offered(tools: Any) -> Iterator[dict[str, Any]]:
    """The tools that a question offers, named as in chat completions."""
    for tool in objects_in(tools):
        declared = tool.get("functionDeclarations", tool.get("function_declarations"))
        for one in objects_in(declared) if declared else [tool]:
            inner = one.get("function")
            said = inner if isinstance(inner, dict) else one
            schemas = ("parameters", "input_schema", "parametersJsonSchema")
            function = {
                "name": said.get("name") or said.get("type"),
                "description": said.get("description"),
                "parameters": next((said[name] for name in schemas if said.get(name)), None),
            }
            known = {name: value for name, value in function.items() if value is not None}
            yield {"type": "function", "function": known}


def _option(document: Mapping[str, Any], name: str) -> Any:
    places = [document, *objects_in([document.get(one) for one in _CONFIG])]
    names = (name, *_OPTIONS.get(name, ()))
    found = (place[one] for place in places for one in names if one in place)
    return next(found, None)
