"""Laws of the fake provider: streams say what whole answers say, and nothing makes it raise."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptycassette.agents.harness.fake.engine import FakeProvider
from ptycassette.agents.harness.fake.script import HttpRequest, Script
from ptycassette.profiles.session_log import EventRule, LogSource, read_rows
from ptycassette.testing import ManualClock

REQUESTS: dict[str, dict[str, Any]] = {
    "/v1/messages": {"model": "m", "max_tokens": 1, "messages": []},
    "/v1/responses": {"model": "m", "input": "x"},
    "/v1/chat/completions": {"model": "m", "messages": []},
    "/v1beta/models/m:streamGenerateContent": {"contents": []},
}
PATHS = [*REQUESTS, "/v1/messages/count_tokens", "/v1beta/models/m:countTokens", "/v1/models"]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "model",
                    "messages",
                    "input",
                    "contents",
                    "role",
                    "content",
                    "type",
                    "text",
                    "tools",
                    "parts",
                    "name",
                    "max_tokens",
                    "stream",
                    "functionCall",
                    "call_id",
                    "output",
                ]
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=12,
)


def provider(text: str, size: int) -> FakeProvider:
    """A provider that says one text for ever."""
    raw = {"version": 1, "pace": {"chunk_chars": size}, "replies": [{"times": 0, "text": text}]}
    return FakeProvider(msgspec.convert(raw, Script), ManualClock())


def streamed_text(path: str, data: str) -> str:
    """The text that the deltas of a stream make."""
    texts: list[str] = []
    for line in data.replace("\r\n", "\n").split("\n"):
        if not line.startswith("data: {"):
            continue
        event = json.loads(line[6:])
        match path.split("/")[2]:
            case "messages":
                texts.append(event.get("delta", {}).get("text", ""))
            case "responses":
                if event["type"] == "response.output_text.delta":
                    texts.append(event["delta"])
            case "chat":
                texts += [one["delta"].get("content") or "" for one in event["choices"]]
            case _:
                texts += [
                    part["text"] for one in event["candidates"] for part in one["content"]["parts"]
                ]
    return "".join(texts)


@pytest.mark.parametrize("path", REQUESTS)
@given(text=st.text(st.characters(exclude_categories=["Cs"])), size=st.integers(1, 40))
def test_the_deltas_of_a_stream_make_the_text(path: str, text: str, size: int) -> None:
    """Whatever the text, however it is sliced, in all four APIs."""
    body = dict(REQUESTS[path])
    if "contents" not in body:
        body["stream"] = True
    request = HttpRequest(
        method="POST", path=path, query=(("alt", "sse"),), body=json.dumps(body).encode()
    )
    exchange = provider(text, size).http(request)

    assert exchange.status == 200
    assert streamed_text(path, b"".join(step.data for step in exchange.steps).decode()) == text


@given(path=st.sampled_from(PATHS), body=JSON | st.binary(max_size=20))
def test_no_request_makes_it_raise(path: str, body: Any) -> None:
    """Every request gets an answer; what was not expected is a problem."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    fake = provider("a", 4)
    exchange = fake.http(HttpRequest(method="POST", path=path, body=raw))

    assert exchange.status in {200, 400, 404, 405}
    assert (exchange.status == 200) == (not fake.problems)


@given(text=st.text() | JSON.map(json.dumps))
def test_no_message_makes_it_raise(text: str) -> None:
    """Over a WebSocket, too."""
    exchange = provider("a", 4).message(text, HttpRequest(method="GET", path="/v1/responses"))

    assert exchange.status in {200, 400}


@given(rows=st.lists(JSON, max_size=6))
def test_no_session_log_makes_the_reader_raise(rows: list[Any]) -> None:
    """A log is what another program wrote."""
    rule = EventRule(type="usage", fields={"input_tokens": "text", "id": "name"})
    each = EventRule(type="tool-call", each="parts", fields={"call_id": "call_id"})
    facts = read_rows(LogSource(glob="x", events=(rule, each)), rows)

    assert len(facts.events) <= sum(1 + len(str(row)) for row in rows)
