"""Messages over a WebSocket that continue answers of a tape, as requests of their own."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from ptycassette.tape.providers.openai_responses import Conversations, asks, messages_of


def text_of(value: dict[str, Any]) -> bytes:
    """Its JSON."""
    return msgspec.json.encode(value)


def create(*items: Any, **more: Any) -> bytes:
    """A message of a client."""
    return text_of({"type": "response.create", "model": "m-1", "input": list(items), **more})


def done(name: str, *items: Any, listed: bool = True) -> tuple[bytes, ...]:
    """An answer, whose items are in its last event, or told one by one."""
    steps = [{"type": "response.output_item.done", "item": item} for item in items]
    response = {"id": name, "output": list(items) if listed else []}
    return tuple(map(text_of, (*steps, {"type": "response.completed", "response": response})))


@pytest.mark.parametrize("listed", [True, False])
def test_a_request_has_the_whole_conversation(listed: bool) -> None:
    """Over any number of answers; what is of a message alone is left out."""
    known = Conversations()
    known.learn(create("a"), done("r1", "A", listed=listed))
    known.learn(create("b", previous_response_id="r1"), done("r2", "B", listed=listed))
    body = known.whole(create("c", previous_response_id="r2"))

    assert body is not None
    assert msgspec.json.decode(body) == {
        "model": "m-1", "stream": True, "input": ["a", "A", "b", "B", "c"],
    }  # fmt: skip


def test_what_is_unknown_is_not_asked() -> None:
    """An answer of others, and what is no message."""
    known = Conversations()
    known.learn(create("b", previous_response_id="elsewhere"), done("r2", "B"))

    assert known.whole(create("c", previous_response_id="r2")) is None
    assert known.whole(b"\xff") is None


def test_what_wants_nothing_generated_is_answered_here() -> None:
    """And is known to the message that continues it."""
    known = Conversations()
    warm = create("a", generate=False)
    answer = known.warmed(warm)
    assert answer is not None
    known.learn(warm, answer)
    name = msgspec.json.decode(answer[-1])["response"]["id"]
    body = known.whole(create("b", previous_response_id=name))

    assert known.warmed(create("a")) is None
    assert body is not None
    assert msgspec.json.decode(body)["input"] == ["a", "b"]


def test_an_answer_over_http_becomes_messages() -> None:
    """An event each; an error is one, whatever the provider sent."""
    stream = b'event: x\ndata: {"a":1}\n\ndata: {"b":2}\r\n\r\ndata: [DONE]\n\n'
    [problem] = messages_of(429, b'{"error":{"message":"slow"}}')
    [plain] = messages_of(502, b"<html>")

    assert list(messages_of(200, stream)) == [b'{"a":1}', b'{"b":2}']
    assert msgspec.json.decode(problem) == {
        "type": "error", "status": 429, "error": {"message": "slow"},
    }  # fmt: skip
    assert msgspec.json.decode(plain)["error"]["message"] == "<html>"


def test_only_some_messages_ask() -> None:
    """Clients also say that an answer has arrived."""
    assert asks(create())
    assert not asks(b'{"type":"response.processed"}')
