"""The Anthropic Messages API."""

from __future__ import annotations

from typing import Any

import pytest

USER = {"role": "user", "content": "hi"}
PARTS = """
[[replies]]
parts = [{ think = "hm" }, { text = "hello you" }, { tool = "ls", arguments = { path = "." } }]
usage = { input = 100, output = 20, cached_input = 40 }
[pace]
chunk_chars = 5
"""


def body(**more: Any) -> dict[str, Any]:
    """A request that this API takes."""
    return {"model": "m", "max_tokens": 9, "messages": [USER], "tools": [{"name": "ls"}], **more}


def test_an_answer_in_one_piece(talk: Any) -> None:
    """Thinking, text and a tool call as content blocks, with Anthropic's token counts."""
    said = talk(PARTS)
    answer = said.json(said.ask("/v1/messages", body()))

    assert [block["type"] for block in answer["content"]] == ["thinking", "text", "tool_use"]
    assert answer["stop_reason"] == "tool_use"
    assert answer["usage"]["input_tokens"] == 60
    assert answer["usage"]["cache_read_input_tokens"] == 40


def test_a_stream_says_the_same_in_deltas(talk: Any) -> None:
    """The deltas of a stream put together are the blocks of the whole."""
    said = talk(PARTS)
    stream = said.events(said.ask("/v1/messages?beta=true", body(stream=True)))
    deltas = [event["delta"] for event in stream if event["type"] == "content_block_delta"]

    assert "".join(delta.get("text", "") for delta in deltas) == "hello you"
    assert "".join(delta.get("partial_json", "") for delta in deltas) == '{"path":"."}'
    assert [stream[0]["type"], stream[-2]["type"], stream[-1]["type"]] == [
        "message_start",
        "message_delta",
        "message_stop",
    ]
    assert stream[-2]["delta"]["stop_reason"] == "tool_use"


def test_a_conversation_with_tools_is_understood(talk: Any) -> None:
    """Blocks of every known kind are read; replies can match a tool's result."""
    said = talk('[[replies]]\ntext = "ok"\nwhen = { result_contains = "file", after = "tool" }')
    history = [
        {"role": "user", "content": [{"type": "text", "text": "look"}, {"type": "image"}]},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "hm"},
                {"type": "text", "text": "yes"},
                {"type": "tool_use", "id": "t1", "name": "ls", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "t1",
                    "content": [{"type": "text", "text": "a file"}],
                }
            ],
        },
        {"role": "system", "content": "more"},
    ]
    answer = said.json(said.ask("/v1/messages", body(messages=history, system="be good")))

    assert answer["content"] == [{"type": "text", "text": "ok"}]
    assert said.provider.problems == []


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"max_tokens": None}, "max_tokens"),
        ({"model": 1}, "$.model"),
        ({"surprise": 1}, "unknown request field: surprise"),
        ({"messages": [{"role": "robot", "content": ""}]}, "unknown role 'robot'"),
        ({"messages": [{"role": "user", "content": 1}]}, "expected a list"),
        ({"messages": [{"role": "user", "content": [{"type": "x"}]}]}, "unknown block type 'x'"),
        ({"messages": [1]}, "expected an object"),
        ({"tools": [{}]}, "tools[0].name"),
    ],
)
def test_what_the_api_refuses_is_refused_in_its_words(
    talk: Any, change: dict[str, Any], told: str
) -> None:
    """A wrong request is a 400 of this API and a problem of the run."""
    said = talk('[[replies]]\ntext = "a"')
    exchange = said.ask("/v1/messages", body(**change))
    answer = said.json(exchange)

    assert exchange.status == 400
    assert answer["error"]["type"] == "invalid_request_error"
    assert told in answer["error"]["message"]
    assert told in said.provider.problems[0]


def test_tokens_are_counted_without_max_tokens(talk: Any) -> None:
    """``count_tokens`` takes a request without ``max_tokens`` and estimates."""
    said = talk("")
    request = {"model": "m", "messages": [{"role": "user", "content": "x" * 400}]}

    assert said.json(said.ask("/v1/messages/count_tokens", request)) == {"input_tokens": 100}


def test_models_are_listed_and_told_one_by_one(talk: Any) -> None:
    """The list has the script's names; another model is not found."""
    said = talk('[[models]]\nid = "c"\nname = "C"\n[[models]]\nid = "g"\napis = ["gemini"]')
    version = {"anthropic_version": "2023-06-01"}
    listed = said.json(said.ask("/v1/models", **version))

    assert [(one["id"], one["display_name"]) for one in listed["data"]] == [("c", "C")]
    assert said.json(said.ask("/v1/models/c", **version))["id"] == "c"
    assert said.ask("/v1/models/x", **version).status == 404


def test_free_input_does_not_exist_here(talk: Any) -> None:
    """A tool call with free text cannot be said in this API: the script is wrong."""
    said = talk('[[replies]]\nparts = [{ tool = "ls", input = "free" }]')
    exchange = said.ask("/v1/messages", body())

    assert exchange.status == 500
    assert "free input" in said.provider.problems[0]


def test_an_error_breaks_a_stream_off(talk: Any) -> None:
    """After the events that were asked for comes one error event, and nothing more."""
    said = talk('[[replies]]\ntext = "a"\nerror = { status = 529 }\nafter_events = 2')
    stream = said.events(said.ask("/v1/messages", body(stream=True)))

    assert [event["type"] for event in stream] == ["message_start", "content_block_start", "error"]
    assert stream[-1]["error"]["type"] == "overloaded_error"
