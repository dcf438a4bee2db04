"""Laws of questions that are rebuilt from a trace: one form for all APIs, and no input raises."""

from __future__ import annotations

import json
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from ptycassette.agents.rerun.made_answers import as_asked, made_hit
from ptycassette.model.tape import Chunk
from ptycassette.tape.matching.question import Question
from ptycassette.tape.providers.questions import rebuilt_parts, rebuilt_question
from ptycassette.testing import ManualClock
from tests.examples import examples

PATHS = (
    "/v1/messages",
    "/v1/responses",
    "/v1/chat/completions",
    "/v1beta/models/m:generateContent",
)
WORDS = [
    *("messages", "role", "user", "assistant", "tool", "content", "text", "type", "tool_calls"),
    *("function", "name", "arguments", "id", "input", "tool_call_id", "contents", "parts", "args"),
    *("functionCall", "functionResponse", "response", "system", "instructions", "tools", "model"),
    *("functionDeclarations", "parameters", "generationConfig", "temperature", "output", "delta"),
    *("choices", "message", "candidates", "usage", "tool_use", "tool_result", "stream", "item"),
    *("function_call", "call_id", "object"),
]
LEAVES = st.sampled_from([*WORDS, '{"a":1}', "[1]", "\ud83d", None, True, 0, -1, 1.5, 10**30])
JSON = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=5)
    ),
    max_leaves=20,
)
DOCUMENTS = st.dictionaries(st.sampled_from(WORDS), JSON, max_size=8)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)


@examples(400)
@given(DOCUMENTS, DOCUMENTS, st.sampled_from(PATHS), st.booleans())
def test_no_question_and_no_answer_raises(
    asked: dict[str, Any], other: dict[str, Any], path: str, streamed: bool
) -> None:
    """Strangers may have written the trace, and the program may ask anything."""
    body, answer = json.dumps(asked).encode(), json.dumps(other).encode()
    for like in (None, rebuilt_parts(answer)):
        made = rebuilt_question(body, target=path, like=like)
        if made is not None:
            msgspec.json.encode(made)
    kind = "text/event-stream" if streamed else "application/json"
    data = b"data: " + answer + b"\n\n" if streamed else answer
    hit = made_hit(
        Question(kind="http"), 200, (("content-type", kind),), ((Chunk(0, len(data)), data),)
    )
    as_asked(hit, Question(kind="http", method="POST", target=path, body=body), ManualClock())


@given(TEXTS, TEXTS, TEXTS, TEXTS, st.dictionaries(TEXTS, st.integers(-9, 9), max_size=3))
def test_one_conversation_is_one_question_in_every_api(
    system: str, prompt: str, said: str, result: str, arguments: dict[str, int]
) -> None:
    """And it stays itself when it is rebuilt again."""
    text = json.dumps(arguments)
    chat = {
        "model": "m",
        "messages": [
            {"role": "system", "content": system},
            {"role": "user", "content": prompt},
            {"role": "assistant", "content": said, "tool_calls": [
                {"id": "x", "type": "function", "function": {"name": "f", "arguments": text}}]},
            {"role": "tool", "tool_call_id": "x", "content": result},
        ],
    }  # fmt: skip
    messages = {
        "model": "m",
        "system": [{"type": "text", "text": system}],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": prompt}]},
            {"role": "assistant", "content": [
                {"type": "text", "text": said},
                {"type": "tool_use", "id": "t1", "name": "f", "input": arguments}]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "t1", "content": result}]},
        ],
    }  # fmt: skip
    responses = {
        "model": "m",
        "instructions": system,
        "input": [
            {"role": "user", "content": [{"type": "input_text", "text": prompt}]},
            {"type": "message", "role": "assistant", "content": [
                {"type": "output_text", "text": said}]},
            {"type": "function_call", "call_id": "c", "name": "f", "arguments": text},
            {"type": "function_call_output", "call_id": "c", "output": result},
        ],
    }  # fmt: skip
    gemini = {
        "systemInstruction": {"parts": [{"text": system}]},
        "contents": [
            {"role": "user", "parts": [{"text": prompt}]},
            {"role": "model", "parts": [
                {"text": said}, {"functionCall": {"name": "f", "args": arguments}}]},
            {"role": "user", "parts": [
                {"functionResponse": {"name": "f", "response": {"output": result}}}]},
        ],
    }  # fmt: skip
    first = rebuilt_question(json.dumps(chat).encode())
    assert first is not None
    for document in (first, messages, responses, gemini):
        body = json.dumps(document).encode()
        assert rebuilt_question(body, target="/v1beta/models/m:generateContent") == first
    parts = rebuilt_parts(msgspec.json.encode(first))
    assert rebuilt_question(json.dumps(messages).encode(), like=parts) == first
    without = rebuilt_question(json.dumps(messages).encode(), like=parts - {"a system prompt"})
    assert without is not None
    assert without["messages"] == first["messages"][1:]
