"""What four providers answer, as one transcript."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ptycassette.seal.bundle.transcripts import args_hash, transcript_of
from ptycassette.tape.providers.answers import answer_of


def events(*values: Any) -> bytes:
    """Server-sent events."""
    return b"".join(b"data: " + json.dumps(value).encode() + b"\n\n" for value in values)


ANTHROPIC = events(
    {"type": "message_start", "message": {"model": "m"}},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "I "}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "read"}},
    {"type": "content_block_start", "index": 1,
     "content_block": {"type": "tool_use", "id": "c1", "name": "read", "input": {}}},
    {"type": "content_block_delta", "index": 1,
     "delta": {"type": "input_json_delta", "partial_json": '{"path":'}},
    {"type": "content_block_delta", "index": 1,
     "delta": {"type": "input_json_delta", "partial_json": '"a"}'}},
    {"type": "message_stop"},
)  # fmt: skip
CHAT = events(
    {"model": "m", "choices": [{"delta": {"content": "I "}}]},
    {"choices": [{"delta": {"content": "read"}}]},
    {"choices": [{"delta": {"tool_calls": [
        {"index": 0, "id": "c1", "function": {"name": "read", "arguments": '{"path":'}}]}}]},
    {"choices": [{"delta": {"tool_calls": [{"index": 0, "function": {"arguments": '"a"}'}}]}}]},
) + b"data: [DONE]\n\n"  # fmt: skip
OUTPUT = [
    {"type": "message", "content": [{"type": "output_text", "text": "I read"}]},
    {"type": "function_call", "call_id": "c1", "name": "read", "arguments": '{"path":"a"}'},
]
RESPONSES = events(
    {"type": "response.output_text.delta", "delta": "I read"},
    {"type": "response.completed", "response": {"model": "m", "output": OUTPUT}},
)
GEMINI = events(
    {"modelVersion": "m", "candidates": [{"content": {"parts": [{"text": "I "}]}}]},
    {"candidates": [{"content": {"parts": [
        {"text": "hmm", "thought": True}, {"text": "read"},
        {"functionCall": {"id": "c1", "name": "read", "args": {"path": "a"}}}]}}]},
)  # fmt: skip
CASES = {
    "anthropic": (ANTHROPIC, "text/event-stream"),
    "chat": (CHAT, "text/event-stream; charset=utf-8"),
    "responses": (RESPONSES, "text/event-stream"),
    "gemini": (GEMINI, "text/event-stream"),
    "anthropic whole": (
        json.dumps({"type": "message", "model": "m", "content": [
            {"type": "text", "text": "I read"},
            {"type": "tool_use", "id": "c1", "name": "read", "input": {"path": "a"}}]}).encode(),
        "application/json",
    ),
    "responses whole": (
        json.dumps({"object": "response", "model": "m", "output": OUTPUT}).encode(),
        "application/json",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_an_answer_is_the_same_transcript_from_every_provider(name: str) -> None:
    """However it is cut, streamed or whole."""
    body, content_type = CASES[name]
    cut = len(body) // 3
    answer = answer_of([body[:cut], body[cut:]], content_type)

    assert answer.model == "m"
    assert transcript_of(answer) == {
        "messages": [{"role": "assistant", "content": "I read"}],
        "tool_calls": [{"id": "c1", "name": "read", "args_hash": args_hash('{ "path": "a" }')}],
    }


@pytest.mark.parametrize(
    "body", [b"", b"data: {", b"[1, 2]", b'{"choices": 3}', b"\xff", b"[" * 9999]
)
def test_what_is_no_answer_is_no_transcript(body: bytes) -> None:
    """And no exception."""
    for content_type in ("text/event-stream", "application/json", None):
        assert transcript_of(answer_of([body], content_type)) is None
