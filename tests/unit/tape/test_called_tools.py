"""The tools that an answer may call, for people who decide whether to trust a tape."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ptycassette.tape.providers.answers import called_tools

ANTHROPIC = {
    "type": "content_block_start",
    "content_block": {"type": "tool_use", "id": "a", "name": "Bash", "input": {}},
}
CHAT = {"choices": [{"delta": {"tool_calls": [
    {"index": 0, "id": "a", "type": "function", "function": {"name": "Bash"}}]}}]}  # fmt: skip
RESPONSES = {"type": "response.output_item.done",
             "item": {"type": "function_call", "call_id": "a", "name": "Bash"}}  # fmt: skip
GEMINI = {"candidates": [{"content": {"parts": [{"functionCall": {"name": "Bash"}}]}}]}
SHELL = {"type": "response.completed",
         "response": {"output": [{"type": "local_shell_call", "call_id": "a"}]}}  # fmt: skip
OTHER_CHOICE = {"choices": [{"message": {}}, *CHAT["choices"]]}
NESTED = {"unknown": [{"deeper": ANTHROPIC}]}


def text(value: Any) -> bytes:
    """In JSON."""
    return json.dumps(value).encode()


def in_two_lines(value: Any) -> bytes:
    """An event whose data is on two lines."""
    return b"data: {\ndata:" + text(value)[1:] + b"\n\n"


WRITTEN = {
    "document": text,
    "indented": lambda value: json.dumps(value, indent=1).encode(),
    "list": lambda value: text([value]),
    "lines": lambda value: b"{}\n" + text(value) + b"\n",
    "event": lambda value: b"event: x\ndata: " + text(value) + b"\n\n",
    "CR alone": lambda value: b"event: x\rdata: " + text(value) + b"\r\r",
    "CR LF": lambda value: b"data:" + text(value) + b"\r\n\r\n",
    "two lines": in_two_lines,
    "never ended": lambda value: b"data: " + text(value),
    "behind a mark": lambda value: b"\xef\xbb\xbfdata: " + text(value) + b"\n\n",
    "escaped": lambda value: (
        b"data: "
        + text(value)
        .replace(b"function", b"f\\u0075nction")
        .replace(b"tool_use", b"tool\\u005fuse")
    ),
    "overwritten": lambda value: b"data: %b\n\ndata: {}\n\n" % text(value),
}


@pytest.mark.parametrize("how", WRITTEN)
@pytest.mark.parametrize(
    "answer",
    [ANTHROPIC, CHAT, RESPONSES, GEMINI, SHELL, OTHER_CHOICE, NESTED],
    ids=["anthropic", "chat", "responses", "gemini", "shell", "other choice", "nested"],
)
def test_a_call_is_found_however_it_is_written(answer: Any, how: str) -> None:
    """A client may be more lenient than a reader of usage; so is this."""
    name = "local_shell_call" if answer is SHELL else "Bash"

    assert {found for found, _ in called_tools(WRITTEN[how](answer))} == {name}


@pytest.mark.parametrize(
    "body",
    [b"", b"data: [DONE]\n\n", b"\xff\xfe", b"[" * 5000, text({"type": "text", "name": "x"})],
)
def test_what_calls_nothing_calls_nothing(body: bytes) -> None:
    """Nor does what is no JSON."""
    assert list(called_tools(body)) == []
