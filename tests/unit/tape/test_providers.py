"""The APIs of model providers: each is one file, and reads whatever a provider sends."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import ptycassette
from ptycassette.tape.providers.answers import AnswerFacts, answer_of, api_of, called_tools
from ptycassette.tape.providers.openai_responses import call_of
from ptycassette.tape.providers.questions import read_question, tool_results

PRODUCT = Path(ptycassette.__file__).parent
READERS = {
    "gemini": r"functionCall|usageMetadata|\"candidates\"",
    "anthropic": r"input_json_delta|content_block",
    "openai_responses": r"response\.output_text|function_call_output",
}
STRANGE = ([], {}, [["x"]], {"x": 1}, None, 3, True, "")
ANSWERS = (
    {"type": "message", "content": [{"type": "tool_use", "id": "a", "name": "n", "input": {}}]},
    {"type": "content_block_start", "content_block": {"type": "tool_use", "id": "a", "name": "n"}},
    {"type": "response.output_item.done", "item": {"type": "function_call", "call_id": "a"}},
    {"type": "response.completed", "response": {"output": [
        {"type": "message", "content": [{"type": "output_text", "text": "t"}]}]}},
    {"object": "response", "output": [{"type": "local_shell_call", "action": {}}]},
    {"choices": [{"delta": {"tool_calls": [{"id": "a", "function": {"name": "n"}}]}}],
     "usage": {"prompt_tokens": 1, "prompt_tokens_details": {"cached_tokens": 1}}},
    {"candidates": [{"content": {"parts": [{"functionCall": {"name": "n", "args": {}}}]}}],
     "usageMetadata": {"promptTokenCount": 1}},
)  # fmt: skip


@pytest.mark.parametrize("api", READERS)
def test_the_words_of_an_api_are_in_its_file_alone(api: str) -> None:
    """A new API, or a change of one, is a change of one file."""
    named = [
        path.relative_to(PRODUCT).as_posix()
        for path in PRODUCT.rglob("*.py")
        if re.search(READERS[api], path.read_text("utf-8"))
    ]

    assert named == [f"tape/providers/{api}.py"]


def changed(value: Any) -> list[Any]:
    """The value with each of its parts replaced by each strange one."""
    found: list[Any] = list(STRANGE)
    places = value.items() if isinstance(value, dict) else enumerate(value)
    for place, part in list(places) if isinstance(value, dict | list) else ():
        for one in changed(part) if isinstance(part, dict | list) else STRANGE:
            made = value.copy()
            made[place] = one
            found.append(made)
    return found


@pytest.mark.parametrize("answer", ANSWERS, ids=json.dumps)
def test_an_answer_with_parts_of_other_types_is_read_as_far_as_possible(answer: Any) -> None:
    """A provider that sends a list as the type of a block does not end a recording."""
    for value in changed(answer):
        body = json.dumps(value).encode()
        facts = AnswerFacts()
        facts.feed(body)
        facts.end()
        list(called_tools(body))
        list(tool_results({"messages": [value], "input": [value], "contents": [value]}))
        answer_of([body], None)
        api_of(value)
        call_of(value)
        read_question(body)


def test_a_call_is_noted_beside_a_block_of_another_type() -> None:
    """The strange block is left out alone."""
    facts = AnswerFacts()
    blocks = [{"type": []}, {"type": "function_call", "call_id": "a", "name": "n"}]
    facts.feed(json.dumps({"object": "response", "output": blocks}).encode())
    facts.end()

    assert facts.calls == {"a": "n"}
