"""The OpenAI Responses API over HTTP and WebSocket."""

from __future__ import annotations

from typing import Any

import pytest

TOOLS = [{"type": "function", "name": "ls"}, {"type": "custom", "name": "patch"}]
PARTS = """
[[replies]]
parts = [
  { think = "hm" }, { text = "hello you" },
  { tool = "ls", arguments = { path = "." } }, { tool = "patch", input = "*** patch" },
]
usage = { input = 100, output = 20, cached_input = 40, reasoning_output = 3 }
[pace]
chunk_chars = 5
"""
PATH = "/v1/responses"


def body(**more: Any) -> dict[str, Any]:
    """A request that this API takes."""
    return {"model": "m", "input": "hi", "tools": TOOLS, **more}


def test_a_stream_ends_with_what_the_whole_answer_is(talk: Any) -> None:
    """Deltas add up, numbers count from 0, and the last event holds the response."""
    said = talk(PARTS)
    stream = said.events(said.ask(PATH, body(stream=True)))

    def joined(kind: str) -> str:
        return "".join(event["delta"] for event in stream if event["type"] == f"response.{kind}")

    assert joined("output_text.delta") == "hello you"
    assert joined("function_call_arguments.delta") == '{"path":"."}'
    assert joined("custom_tool_call_input.delta") == "*** patch"
    assert joined("reasoning_summary_text.delta") == "hm"
    assert [event["sequence_number"] for event in stream] == list(range(len(stream)))
    whole = said.json(talk(PARTS).ask(PATH, body()))
    assert stream[-1] == {
        "type": "response.completed",
        "sequence_number": len(stream) - 1,
        "response": whole,
    }


def test_running_out_of_tokens_is_incomplete(talk: Any) -> None:
    """``stop = "length"`` ends with ``response.incomplete`` and its reason."""
    said = talk('[[replies]]\ntext = "a"\nstop = "length"')
    last = said.events(said.ask(PATH, body(stream=True)))[-1]

    assert last["type"] == "response.incomplete"
    assert last["response"]["incomplete_details"] == {"reason": "max_output_tokens"}


def test_a_websocket_says_what_the_stream_says(talk: Any) -> None:
    """The same events, one message each."""
    over_http, over_socket = talk(PARTS), talk(PARTS)
    stream = over_http.events(over_http.ask(PATH, body(stream=True)))

    assert over_socket.say({"type": "response.create", **body()}) == stream


def test_a_conversation_continues_by_id(talk: Any) -> None:
    """A warm-up and two turns: results answer calls that only the provider remembers."""
    said = talk(
        "[[replies]]\nparts = [{ tool = 'ls' }]\n[[replies]]\ntext = 'done'\n"
        "when = { prompt_contains = 'first', result_contains = 'a file' }"
    )
    warm = said.say({"type": "response.create", "generate": False, **body(input="first")})
    called = said.say(
        {
            "type": "response.create",
            **body(input=[], previous_response_id=warm[-1]["response"]["id"]),
        }
    )
    item = called[-1]["response"]["output"][0]
    output = {"type": "function_call_output", "call_id": item["call_id"], "output": "a file"}
    done = said.say(
        {
            "type": "response.create",
            **body(input=[output], previous_response_id=called[-1]["response"]["id"]),
        }
    )

    assert warm[-1]["type"] == "response.completed"
    assert done[-1]["response"]["output"][0]["content"][0]["text"] == "done"


def test_a_continuation_needs_no_input(talk: Any) -> None:
    """The provider has it all."""
    said = talk("[[replies]]\ntimes = 0\ntext = 'a'")
    first = said.json(said.ask(PATH, body()))["id"]

    assert said.ask(PATH, body(input=None, previous_response_id=first)).status == 200


def test_old_conversations_are_forgotten(talk: Any) -> None:
    """The provider remembers the last 64 answers."""
    said = talk("[[replies]]\ntimes = 0\ntext = 'a'")
    first = said.json(said.ask(PATH, body()))["id"]
    for _ in range(64):
        said.ask(PATH, body())

    assert said.ask(PATH, body(previous_response_id=first)).status == 400


def test_a_websocket_carries_errors_and_limits_as_messages(talk: Any) -> None:
    """Codex reads limits from an event, and an error's headers from the error."""
    said = talk(
        "[limits.codex]\nprimary = { used_percent = 100, window_minutes = 300, resets_in_s = 60 }\n"
        "credits = { has_credits = false }\n"
        "[[replies]]\ntext = 'a'\n"
        "[[replies]]\nerror = { status = 429, kind = 'usage_limit_reached', retry_after_s = 7 }"
    )
    limits = said.say({"type": "response.create", **body()})[0]
    error = said.say({"type": "response.create", **body()})[0]

    assert limits["type"] == "codex.rate_limits"
    assert limits["rate_limits"]["limit_reached"] is True
    assert (error["type"], error["status"]) == ("error", 429)
    assert error["headers"]["retry-after"] == "7"
    assert error["headers"]["x-codex-primary-used-percent"] == "100"


@pytest.mark.parametrize("text", ["{", "[]", '{"type": "magic"}', '{"type": "response.create"}'])
def test_unknown_messages_are_errors_and_problems(talk: Any, text: str) -> None:
    """What cannot be understood is answered with an error event."""
    said = talk("")

    assert said.say(text)[0]["type"] == "error"
    assert len(said.provider.problems) == 1


def test_acknowledgements_get_no_answer(talk: Any) -> None:
    """Codex tells what it has processed."""
    said = talk("")

    assert said.say({"type": "response.processed", "response_id": "r"}) == []
    assert said.provider.problems == []


def test_a_handshake_is_accepted_or_refused(talk: Any) -> None:
    """Only the one path upgrades; a script can switch it off, and ask for a key."""
    assert talk("").provider.connect(talk("").request(PATH)).status == 101
    assert talk("").provider.connect(talk("").request("/v1/other")).status == 404
    off, locked = talk("websocket = false"), talk("auth.require = 'key'")
    assert off.provider.connect(off.request(PATH)).status == 426
    assert locked.provider.connect(locked.request(PATH)).status == 401
