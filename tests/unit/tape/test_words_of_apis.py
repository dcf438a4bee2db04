"""Each API of model providers has one module, and only that module has the API's words."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
PROVIDERS = "ptycassette/tape/providers"
WORDS = {
    "openai_chat": r'"choices"|"finish_reason"|"tool_calls"|"tool_call_id"|"reasoning_content"'
    r"|\b(?:prompt|completion)_tokens\b|max_completion_tokens|system_fingerprint|include_usage",
    "anthropic": r'content_block|"?stop_reason"|"tool_use"|"tool_result"|\btool_use_id'
    r'|"message_(?:start|delta|stop)"|cache_(?:read|creation)_input|"end_turn"|"input_schema"',
    "openai_responses": r'"response\.\w+|output_item|output_text|"input_text"|function_call_output'
    r'|"(?:custom_tool|local_shell)_call|previous_response_id|max_output_tokens|"instructions"',
    "gemini": r'functionCall|functionResponse|functionDeclarations|"candidates"|"finishReason"'
    r'|usageMetadata|"\w+TokenCount"|generationConfig|systemInstruction|maxOutputTokens'
    r"|modelVersion|candidateCount|totalTokens",
    "sse": r'text/event-stream|"data:|"event: |b"\[DONE\]|x-ndjson',
}
"""How to recognise the words of each API, and of the streams that all of them send."""

OF_OTHERS = {
    "ptycassette/formats/export/trajectory/from_tape.py": "members of ATIF and of Inspect's logs",
    "ptycassette/formats/export/trajectory/otel.py": "an attribute of OpenTelemetry",
    "ptycassette/formats/importing/otel.py": "an attribute of OpenTelemetry",
    "ptycassette/profiles/session_log.py": "the data URLs of pictures",
    "ptycassette/replaying/scenario/_predicates.py": "a predicate of scenarios",
    "ptycassette/replaying/scenario/predicate.py": "a predicate of scenarios",
    "ptycassette/seal/bundle/transcripts.py": "a member of a transcript of agent-scroll",
}
"""Modules with formats of their own that share a word with an API."""


@cache
def modules() -> dict[str, str]:
    """The text of each module of the product."""
    paths = (*(ROOT / "ptycassette").rglob("*.py"), *(ROOT / "viewer").rglob("*.py"))
    return {one.relative_to(ROOT).as_posix(): one.read_text(encoding="utf-8") for one in paths}


def modules_with(words: str) -> set[str]:
    """The modules of the product whose text has one of some words."""
    return {path for path, text in modules().items() if re.search(words, text)}


@pytest.mark.parametrize("api", WORDS)
def test_only_the_module_of_an_api_has_its_words(api: str) -> None:
    """Other modules read and write the neutral form, so a new API is one module."""
    found = modules_with(WORDS[api]) - OF_OTHERS.keys()

    assert found == {f"{PROVIDERS}/{api}.py"}


def test_the_exceptions_are_needed() -> None:
    """An exception that no longer shares a word is removed from the list."""
    assert OF_OTHERS.keys() <= set().union(*map(modules_with, WORDS.values()))
