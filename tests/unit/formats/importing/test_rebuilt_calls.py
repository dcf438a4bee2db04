"""What telemetry and logs tell of calls becomes a tape of chat completions, and says so."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ptycassette import open_cassette
from ptycassette.errors import UsageError
from ptycassette.formats.importing.io.mitmproxy_flows import read_flows
from ptycassette.formats.importing.registry import import_named
from ptycassette.formats.importing.session import BadImportError, ImportedSession
from ptycassette.model.records import Noted
from ptycassette.tape.items import (
    AnswerBegun,
    AnswerData,
    ExchangeEnded,
    RequestBegun,
    RequestData,
    SocketMessage,
)

NS = 1_767_225_600 * 10**9


def read(name: str, *documents: Any) -> ImportedSession:
    """Documents, one on each line, by a format."""
    return import_named(name).read(b"\n".join(json.dumps(one).encode() for one in documents))


def of_kind(session: ImportedSession, kind: type) -> list[Any]:
    """Its items of a kind."""
    return [item for item in session.items if isinstance(item, kind)]


def bodies(session: ImportedSession) -> tuple[Any, Any]:
    """The first question and the first answer."""
    return tuple(json.loads(of_kind(session, kind)[0].data) for kind in (RequestData, AnswerData))


def attributes(**said: Any) -> list[dict[str, Any]]:
    """Attributes in OTLP; double underscores are dots."""
    return [
        {
            "key": name.replace("__", "."),
            "value": {"intValue": str(value)} if isinstance(value, int) else {"stringValue": value},
        }
        for name, value in said.items()
    ]


def span(attributes: Any, **more: Any) -> dict[str, Any]:
    """A document with one span."""
    made = {
        "traceId": "t", "spanId": "s", "name": "chat m",
        "startTimeUnixNano": str(NS), "endTimeUnixNano": str(NS + 5_000_000),
        "attributes": attributes, **more,
    }  # fmt: skip
    return {"resourceSpans": [{"scopeSpans": [{"spans": [made]}]}]}


CALL = {"type": "tool_call", "id": "call_1", "name": "shell", "arguments": {"cmd": "ls"}}
RESULT = {"type": "tool_call_response", "id": "call_1", "response": "note.txt"}
INPUT = [
    {"role": "user", "parts": [{"type": "text", "content": "What is here?"}]},
    {"role": "assistant", "parts": [CALL]},
    {"role": "tool", "parts": [RESULT]},
]
OUTPUT = [
    {
        "role": "assistant",
        "parts": [{"type": "text", "content": "A note."}],
        "finish_reason": "stop",
    }
]
SAID = {
    "gen_ai__operation__name": "chat",
    "gen_ai__provider__name": "anthropic",
    "gen_ai__request__model": "m",
    "gen_ai__usage__input_tokens": 7,
    "gen_ai__usage__output_tokens": 3,
    "gen_ai__input__messages": json.dumps(INPUT),
    "gen_ai__output__messages": json.dumps(OUTPUT),
}


def test_a_span_with_messages_is_a_call() -> None:
    """Messages, tools, tokens, times; it is marked as rebuilt."""
    session = read("otel", span(attributes(**SAID)))
    question, answer = bodies(session)
    [begun], [ended] = of_kind(session, RequestBegun), of_kind(session, ExchangeEnded)

    assert [one["role"] for one in question["messages"]] == ["user", "assistant", "tool"]
    assert question["messages"][1]["tool_calls"][0]["function"]["arguments"] == '{"cmd":"ls"}'
    assert answer["choices"][0]["message"]["content"] == "A note."
    assert answer["usage"] == {"prompt_tokens": 7, "completion_tokens": 3}
    assert (begun.upstream, ended.t_us) == ("https://api.anthropic.com", 5000)
    assert session.rebuilt
    assert session.recorded_at is not None
    assert session.recorded_at.isoformat() == "2026-01-01T00:00:00+00:00"


def test_messages_in_events_are_read() -> None:
    """Those of older conventions, in the log beside a span."""
    bare = attributes(gen_ai__operation__name="chat", gen_ai__system="openai")
    user = {"content": {"stringValue": "hi"}}
    choice = {"message": {"kvlistValue": {"values": []}}, "finish_reason": {"stringValue": "stop"}}
    records = [
        {
            "eventName": name, "traceId": "t", "spanId": "s", "timeUnixNano": str(NS + number),
            "body": {"kvlistValue": {"values": [{"key": k, "value": v} for k, v in body.items()]}},
        }
        for number, (name, body) in enumerate(
            [("gen_ai.user.message", user), ("gen_ai.choice", choice)]
        )
    ]  # fmt: skip
    logs = {"resourceLogs": [{"scopeLogs": [{"logRecords": records}]}]}
    question, answer = bodies(read("otel", logs, span(bare)))

    assert question["messages"] == [{"role": "user", "content": "hi"}]
    assert answer["choices"][0]["finish_reason"] == "stop"


def test_the_event_with_details_alone_is_a_call() -> None:
    """And with its span it is one call, not two."""
    details = {
        "eventName": "gen_ai.client.inference.operation.details",
        "traceId": "t", "spanId": "s", "timeUnixNano": str(NS), "attributes": attributes(**SAID),
    }  # fmt: skip
    logs = {"resourceLogs": [{"scopeLogs": [{"logRecords": [details]}]}]}
    bare = span(attributes(gen_ai__operation__name="chat"))

    assert len(of_kind(read("otel", logs), RequestBegun)) == 1
    assert len(of_kind(read("otel", logs, bare), RequestBegun)) == 1


@pytest.mark.parametrize(
    ("error", "status", "outcome"),
    [("429", 429, "complete"), ("timeout", None, "provider-gone")],
)
def test_a_failed_call_stays_one(error: str, status: int | None, outcome: str) -> None:
    """With its status, or without an answer."""
    said = {name: value for name, value in SAID.items() if "output" not in name}
    session = read("otel", span(attributes(**said, error__type=error)))

    assert [one.status for one in of_kind(session, AnswerBegun)] == ([status] if status else [])
    assert of_kind(session, ExchangeEnded)[0].outcome == outcome


def test_what_is_no_call_is_counted() -> None:
    """By reason."""
    tool = span(attributes(gen_ai__operation__name="execute_tool"))  # without a name
    other = span(attributes(http__method="GET"))
    silent = span(attributes(gen_ai__operation__name="chat"))
    session = read("otel", span(attributes(**SAID)), tool, other, silent)

    assert sum(session.skipped.values()) == 3
    assert len(session.skipped) == 3


def test_a_span_of_a_tool_is_its_call_and_result() -> None:
    """As service events, at their times."""
    said = {
        "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "shell",
        "gen_ai.tool.call.id": "c", "gen_ai.tool.call.arguments": '{"cmd": "ls"}',
        "gen_ai.tool.call.result": '["note.txt"]',
    }  # fmt: skip
    tool = span([{"key": key, "value": {"stringValue": value}} for key, value in said.items()])
    session = read("otel", span(attributes(**SAID)), tool)

    assert [note.payload for note in session.events if isinstance(note, Noted)] == [
        {"type": "tool-call", "call_id": "c", "name": "shell", "arguments": {"cmd": "ls"}},
        {"type": "tool-result", "call_id": "c", "output": ["note.txt"]},
    ]
    assert session.skipped == {}


@pytest.mark.parametrize(
    "line",
    [
        {"kind": "tool", "request": {"name": "refund", "arguments": {"n": 5}}, "result": "ok"},
        {"type": "tool_call", "name": "refund", "arguments": {"n": 5}, "output": "ok"},
        {"type": "function", "tool": {"name": "refund", "input": {"n": 5}}, "response": "ok"},
        {"tool": "refund", "args": {"n": 5}, "result": "ok"},
        {"name": "refund", "parameters": {"n": 5}, "output": "ok"},
    ],
)
def test_a_line_of_a_tool_is_its_call_and_result(line: dict[str, Any]) -> None:
    """However a trace writes it; alone, too."""
    for more in ((), ({"request": {"model": "m", "messages": []}, "response": {"id": 1}},)):
        session = read("trace", *more, line)
        call, result = (note.payload for note in session.events if isinstance(note, Noted))

        assert (call["name"], call["arguments"], result["output"]) == ("refund", {"n": 5}, "ok")
        assert call["call_id"] == result["call_id"]
        assert session.skipped == {}


def test_a_request_holds_no_words_about_it() -> None:
    """The provider decides where it went."""
    line = {"request": {"provider": "openai", "model": "m", "messages": []}, "response": {}}
    session = read("trace", line)

    assert json.loads(of_kind(session, RequestData)[0].data) == {"model": "m", "messages": []}
    assert of_kind(session, RequestBegun)[0].upstream == "https://api.openai.com"
    assert session.compared_headers == ()


@pytest.mark.parametrize(
    ("line", "target", "answer"),
    [
        ({"request": {"model": "m", "messages": []}, "response": {"id": 1}},
         "/v1/chat/completions", b'{"id":1}'),
        ({"request": {"model": "claude-x", "messages": []}, "response": {"id": 1}},
         "/v1/messages", b'{"id":1}'),
        ({"request": {"input": "hi"}, "response": "data: {}"}, "/v1/responses", b"data: {}"),
        ({"request": {"contents": []}, "model": "g", "response": []},
         "/v1beta/models/g:generateContent", b"[]"),
        ({"request": {"url": "http://localhost:1/x?a=1", "body": "q"},
          "response": {"status": 503, "body": "busy"}}, "/x?a=1", b"busy"),
    ],
)  # fmt: skip
def test_a_line_with_both_bodies_is_taken_as_it_is(
    line: dict[str, Any], target: str, answer: bytes
) -> None:
    """Where it was sent is said, or told by its form."""
    session = read("trace", line)

    assert [one.target for one in of_kind(session, RequestBegun)] == [target]
    assert [one.data for one in of_kind(session, AnswerData)] == [answer]
    assert not session.rebuilt


def test_a_line_that_tells_of_a_call_is_rebuilt() -> None:
    """Times and tokens are those of the line; a line without a request is counted."""
    line = {
        "timestamp": "2026-01-01T00:00:00Z", "latency_ms": 12.5, "provider": "openai",
        "model": "m", "messages": [{"role": "user", "content": "hi"}],
        "response": "hello", "usage": {"input_tokens": 2, "output_tokens": 1},
    }  # fmt: skip
    session = read("trace", line, {"entry": 1, "sent_bytes": 3})
    question, answer = bodies(session)

    assert session.rebuilt
    assert question == {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
    assert answer["usage"] == {"prompt_tokens": 2, "completion_tokens": 1}
    assert session.end_us == 12_500
    assert session.skipped == {"no request in it": 1}


@pytest.mark.parametrize(
    "usage",
    [
        {"prompt_tokens": 9, "completion_tokens": 3},
        {"input_tokens": 9, "output_tokens": 3},
        {"input_tokens": 2, "cache_read_input_tokens": 7, "output_tokens": 3},
        {"promptTokenCount": 9, "candidatesTokenCount": 1, "thoughtsTokenCount": 2},
    ],
)
def test_the_tokens_of_a_line_are_counted_in_the_words_of_any_api(usage: dict[str, int]) -> None:
    """Some APIs count cached input and thoughts separately."""
    line = {"messages": [], "completion": "hi", "model": "m", "usage": usage}
    answer = bodies(read("trace", line))[1]

    assert answer["usage"] == {"prompt_tokens": 9, "completion_tokens": 3}


def test_lines_keep_their_order() -> None:
    """Those without a time, whatever they took, and those of one moment."""
    at = {"timestamp": "2026-01-01T00:00:00Z"}
    model = {"provider": "openai", "model": "m", "messages": [], "response": "x"}
    tool = {"tool": "f", "args": {}, "result": 1, "duration_ms": 700}
    for lines in (
        [model, tool, model, tool],
        [{**one, **at, "duration_ms": 0} for one in (model, tool, model, tool)],
        [{**model, "duration_ms": 900}, tool, model, tool],
        [model, {**tool, **at}, model, tool],
        [{**model, **at}, tool, model, tool],
    ):
        session = read("trace", *lines)
        events = [event for event in session.events if isinstance(event, Noted)]
        begun = [one.t_us for one in of_kind(session, RequestBegun)]
        ended = [one.t_us for one in of_kind(session, ExchangeEnded)]
        called, result, called_again, _ = (event.t_us for event in events)

        assert session.skipped == {}
        assert begun[0] <= ended[0] < called <= result < begun[1] <= ended[1] < called_again


def test_without_mitmproxy_the_message_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """Install it, or save as HAR."""
    monkeypatch.setitem(sys.modules, "mitmproxy.io", None)

    with pytest.raises(UsageError, match="not installed"):
        read_flows(b"")


class DamagedError(Exception):
    """As mitmproxy says that a file is broken; no class of ours, and no ``ValueError``."""


def side(content: bytes = b"message", packing: str = "", **more: Any) -> SimpleNamespace:
    """A request or a response, as mitmproxy has it."""
    packed = [("content-encoding", packing)] if packing else []
    headers = SimpleNamespace(items=lambda *, multi: [("content-type", "text/plain"), *packed])
    return SimpleNamespace(
        timestamp_start=1.0, timestamp_end=None, headers=headers, raw_content=content, **more
    )


def said(kind: int, *, by_client: bool) -> SimpleNamespace:
    """A message over a WebSocket."""
    return SimpleNamespace(timestamp=2.0, from_client=by_client, content=b"hi", type=kind)


def flow(**more: Any) -> SimpleNamespace:
    """A flow of HTTP, whose answer came."""
    fields = {"request": side(method="GET", url="http://a/x"), "response": side(status_code=200),
              "error": None, "websocket": None}  # fmt: skip
    return SimpleNamespace(**{**fields, **more})


TALK = SimpleNamespace(messages=[
    said(2, by_client=True), said(1, by_client=True), said(1, by_client=False),
])  # fmt: skip
SOCKET = flow(websocket=TALK, response=side(b"", status_code=101))
FLOWS = (flow(), SOCKET, SimpleNamespace(request=None))
LOST = flow(response=None, error=SimpleNamespace(msg="reset"))


@pytest.fixture
def as_mitmproxy(monkeypatch: pytest.MonkeyPatch) -> Callable[..., bytes]:
    """What stands for mitmproxy, where it is not installed: it hands these flows out."""

    def hand_out(*flows: object, broken: type[Exception] | None = None) -> bytes:
        def stream() -> Iterator[object]:
            yield from flows
            if broken:
                raise broken("invalid")

        reader = SimpleNamespace(FlowReader=lambda file: SimpleNamespace(stream=stream))
        monkeypatch.setitem(sys.modules, "mitmproxy", SimpleNamespace())
        monkeypatch.setitem(sys.modules, "mitmproxy.io", reader)
        return b""

    return hand_out


def test_flows_become_calls(as_mitmproxy: Callable[..., bytes]) -> None:
    """One that was broken off says so; a broken file is told by the number of the flow."""
    session = read_flows(as_mitmproxy(*FLOWS))
    (ended,) = of_kind(read_flows(as_mitmproxy(LOST)), ExchangeEnded)

    assert [one.kind for one in of_kind(session, RequestBegun)] == ["http", "websocket"]
    assert [one.data for one in of_kind(session, AnswerData)] == [b"message"]
    assert [(one.sender, one.binary) for one in of_kind(session, SocketMessage)] == [
        ("client", True),
        ("client", False),
        ("provider", False),
    ]
    assert session.skipped == {"a flow that is not HTTP": 1}
    assert (ended.outcome, ended.detail) == ("provider-gone", "reset")
    for error in (DamagedError, AssertionError, AttributeError, RecursionError):
        with pytest.raises(BadImportError, match="flow 4"):
            read_flows(as_mitmproxy(*FLOWS, broken=error))


def test_bodies_of_flows_are_unpacked_within_bounds(as_mitmproxy: Callable[..., bytes]) -> None:
    """By us: mitmproxy would unpack a bomb."""
    said = zlib.compress(b"message")
    bomb = zlib.compress(bytes(64 << 20))
    session = read_flows(
        as_mitmproxy(
            flow(response=side(said, "deflate", status_code=200)),
            flow(response=side(bomb, "deflate", status_code=200)),
            flow(response=side(b"\xff\x00", "gzip", status_code=200)),
        )
    )

    assert [one.data for one in of_kind(session, AnswerData)] == [b"message"]
    assert sum(session.skipped.values()) == 2
    assert any("unpacks to too much" in reason for reason in session.skipped)


WRITING = """
import sys
from mitmproxy.io import FlowWriter
from mitmproxy.test import tflow
with open(sys.argv[1], "wb") as file:
    for flow in (tflow.tflow(resp=True), tflow.twebsocketflow(), tflow.ttcpflow()):
        FlowWriter(file).add(flow)
"""


@pytest.mark.slow
def test_flows_of_mitmproxy_are_read(tmp_path: Path) -> None:
    """As mitmproxy itself writes them; in processes of their own, as its pins are not ours."""
    place = os.environ.get("PTYCASSETTE_MITMPROXY")
    if place is None:
        pytest.skip("mitmproxy is not installed (PTYCASSETTE_MITMPROXY)")

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, *words], cwd=tmp_path, env={**os.environ, "PYTHONPATH": place},
            capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip

    assert run("-c", WRITING, "a.flows").stderr == ""
    imported = run("-m", "ptycassette", "import", "a.flows", "-o", "made")
    with (tmp_path / "a.flows").open("ab") as file:
        file.write(b"9:abc")
    broken = run("-m", "ptycassette", "import", "a.flows", "-o", "other")
    with open_cassette(tmp_path / "made") as cassette:
        found = [(one.entry.kind, one.answer()) for one in cassette.tape()]

    assert found[0] == ("http", b"message")
    assert [kind for kind, _ in found].count("websocket") == 1
    assert "a flow that is not HTTP" in imported.stdout + imported.stderr
    assert "flow 4" in broken.stderr


SENT_TO = [
    # What a line says, and where it was sent; of a provider that nobody knows, nowhere.
    ({"messages": []}, {}, "https://api.openai.com/v1/chat/completions"),
    ({"messages": [], "model": "claude-x"}, {}, "https://api.anthropic.com/v1/messages"),
    ({"messages": [], "model": "o9"}, {"provider": "Anthropic"},
     "https://api.anthropic.com/v1/messages"),
    ({"messages": []}, {"provider": "mistral_ai"}, "https://api.mistral.ai/v1/chat/completions"),
    ({"messages": []}, {"provider": "nobody"}, "https://imported.invalid/v1/chat/completions"),
    ({"input": "x"}, {}, "https://api.openai.com/v1/responses"),
    *(({"contents": [], "model": "g-2"}, said,
       "https://generativelanguage.googleapis.com/v1beta/models/g-2:generateContent")
      for said in ({}, {"provider": "google"}, {"provider": "gcp.gemini"}, {"provider": "nobody"})),
    ({"contents": []}, {},
     "https://generativelanguage.googleapis.com/v1beta/models/unknown:generateContent"),
]  # fmt: skip


@pytest.mark.parametrize(("body", "said", "url"), SENT_TO)
def test_the_form_of_a_question_and_its_provider_say_where_it_was_sent(
    body: dict[str, Any], said: dict[str, Any], url: str
) -> None:
    """By what ``providers.toml`` knows; a path is that of the form."""
    session = read("trace", {"request": body, "response": {}, **said})
    (begun,) = of_kind(session, RequestBegun)

    assert f"{begun.upstream}{begun.target}" == url


ODD_VALUES: list[dict[str, Any]] = [
    {"arrayValue": {"values": [{"stringValue": "chat"}]}},
    {"kvlistValue": {"values": [{"key": "a", "value": {"intValue": "1"}}]}},
    {"intValue": "7"},
    {"doubleValue": 0.5},
    {"boolValue": True},
    {"stringValue": ""},
    {},
]


@pytest.mark.parametrize("value", ODD_VALUES, ids=lambda value: next(iter(value), "nothing"))
@pytest.mark.parametrize("name", [*SAID, "server__address", "server__port", "error__type"])
def test_an_attribute_of_another_type_is_no_bug(name: str, value: dict[str, Any]) -> None:
    """A list where a word belongs, and the like: the call is read without it, or skipped."""
    others = attributes(**{key: one for key, one in SAID.items() if key != name})
    odd = {"key": name.replace("__", "."), "value": value}
    try:
        session = read("otel", span([*others, odd]))
    except BadImportError:
        return

    assert of_kind(session, RequestBegun)
