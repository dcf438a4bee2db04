"""The OpenAI Chat Completions API."""

from __future__ import annotations

from typing import Any

import pytest

TOOL = {"type": "function", "function": {"name": "ls"}}
PARTS = """
[[replies]]
parts = [{ think = "hm" }, { text = "hello you" }, { tool = "ls", arguments = { path = "." } }]
usage = { input = 100, output = 20, cached_input = 40, reasoning_output = 3 }
[pace]
chunk_chars = 5
"""


def body(**more: Any) -> dict[str, Any]:
    """A request that this API takes."""
    user = {"role": "user", "content": "hi"}
    return {"model": "m", "messages": [user], "tools": [TOOL], **more}


def test_an_answer_in_one_piece(talk: Any) -> None:
    """Text, reasoning and a tool call in one message, with usage."""
    said = talk(PARTS)
    answer = said.json(said.ask("/v1/chat/completions", body()))
    message = answer["choices"][0]["message"]

    assert (message["content"], message["reasoning_content"]) == ("hello you", "hm")
    assert message["tool_calls"][0]["function"] == {"name": "ls", "arguments": '{"path":"."}'}
    assert answer["choices"][0]["finish_reason"] == "tool_calls"
    assert answer["usage"]["prompt_tokens_details"]["cached_tokens"] == 40


def test_a_stream_says_the_same_in_deltas(talk: Any) -> None:
    """The deltas of a stream put together are the message of the whole."""
    said = talk(PARTS)
    options = {"stream": True, "stream_options": {"include_usage": True}}
    exchange = said.ask("/v1/chat/completions", body(**options))
    stream = said.events(exchange)
    deltas = [event["choices"][0]["delta"] for event in stream if event["choices"]]
    calls = [delta["tool_calls"][0]["function"] for delta in deltas if "tool_calls" in delta]

    assert "".join(delta.get("content") or "" for delta in deltas) == "hello you"
    assert "".join(call["arguments"] for call in calls) == '{"path":"."}'
    assert stream[-1]["usage"]["total_tokens"] == 120
    assert exchange.steps[-1].data == b"data: [DONE]\n\n"


def test_usage_comes_only_where_it_is_asked_for(talk: Any) -> None:
    """Without ``include_usage`` a stream has no usage."""
    said = talk('[[replies]]\ntext = "a"')
    stream = said.events(said.ask("/v1/chat/completions", body(stream=True)))

    assert all("usage" not in event for event in stream)


def test_a_conversation_with_tools_is_understood(talk: Any) -> None:
    """Every role is read; a developer's text is system text."""
    said = talk(
        '[[replies]]\ntext = "ok"\nwhen = { result_contains = "a f", system_contains = "d" }'
    )
    history = [
        {"role": "developer", "content": "d"},
        {"role": "user", "content": [{"type": "text", "text": "x"}, {"type": "image_url"}]},
        {"role": "assistant", "content": None, "tool_calls": [{"id": "c1", **TOOL}]},
        {"role": "tool", "tool_call_id": "c1", "content": "a file"},
    ]

    assert said.ask("/v1/chat/completions", body(messages=history)).status == 200


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"n": 2}, "one choice"),
        ({"messages": [{"role": "robot"}]}, "unknown role"),
        ({"tools": [{"type": "magic"}]}, "unknown tool type"),
        ({"tools": [{"type": "function"}]}, "tools[0].function"),
    ],
)
def test_what_is_unknown_is_refused(talk: Any, change: dict[str, Any], told: str) -> None:
    """A wrong request is a 400 with OpenAI's error object."""
    said = talk('[[replies]]\ntext = "a"')
    exchange = said.ask("/v1/chat/completions", body(**change))

    assert exchange.status == 400
    assert told in said.json(exchange)["error"]["message"]


def test_free_input_does_not_exist_here(talk: Any) -> None:
    """A tool call with free text is a mistake of the script."""
    said = talk('[[replies]]\nparts = [{ tool = "ls", input = "free" }]')

    assert said.ask("/v1/chat/completions", body()).status == 500


def test_an_error_breaks_a_stream_off(talk: Any) -> None:
    """An error object in place of the rest."""
    said = talk('[[replies]]\ntext = "a"\nerror = { status = 500 }\nafter_events = 1')
    stream = said.events(said.ask("/v1/chat/completions", body(stream=True)))

    assert stream[-1]["error"]["type"] == "server_error"
