"""The pure parts of a fork: places, changes, edited questions, made answers, lineage."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from ptycassette.agents.faults.provider import last_call, with_model, with_result
from ptycassette.agents.fork.places import Change, ForkPlace, cut_at
from ptycassette.agents.fork.report import (
    Descent,
    ForkRecord,
    ParentOf,
    PrefixProof,
    fork_of,
    lineage_json,
    lineage_lines,
    related,
)
from ptycassette.agents.harness.fake.script import Script
from ptycassette.agents.rerun.made_answers import MadeAnswers, said
from ptycassette.errors import NotFoundError, UsageError
from ptycassette.model.records import Event, FrameRecord, InputRecord, OutputRecord
from ptycassette.model.screen import Cursor, Size
from ptycassette.model.tape import TapeEntry
from ptycassette.tape.matching.question import Question
from ptycassette.testing import ManualClock

SIZE = Size(24, 80)
MESSAGES: dict[str, tuple[str, dict[str, Any]]] = {
    "anthropic": (
        "/v1/messages",
        {
            "model": "m",
            "max_tokens": 9,
            "messages": [
                {"role": "user", "content": "hi"},
                {
                    "role": "assistant",
                    "content": [{"type": "tool_use", "id": "t1", "name": "read", "input": {}}],
                },
                {
                    "role": "user",
                    "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "milk"}],
                },
            ],
        },
    ),
    "chat": (
        "/v1/chat/completions",
        {
            "model": "m",
            "messages": [
                {"role": "user", "content": "hi"},
                {
                    "role": "assistant",
                    "content": "",
                    "tool_calls": [
                        {
                            "id": "t1",
                            "type": "function",
                            "function": {"name": "read", "arguments": "{}"},
                        }
                    ],
                },
                {"role": "tool", "tool_call_id": "t1", "content": "milk"},
            ],
        },
    ),
    "responses": (
        "/v1/responses",
        {
            "model": "m",
            "input": [
                {"type": "message", "role": "user", "content": "hi"},
                {"type": "function_call", "call_id": "t1", "name": "read", "arguments": "{}"},
                {"type": "function_call_output", "call_id": "t1", "output": "milk"},
            ],
        },
    ),
    "gemini": (
        "/v1beta/models/m:generateContent",
        {
            "contents": [
                {"role": "user", "parts": [{"text": "hi"}]},
                {"role": "model", "parts": [{"functionCall": {"name": "read", "args": {}}}]},
                {
                    "role": "user",
                    "parts": [
                        {"functionResponse": {"name": "read", "response": {"output": "milk"}}}
                    ],
                },
            ]
        },
    ),
}


def question(api: str, **more: Any) -> Question:
    """A question with a tool's result, in the form of an API."""
    target, body = MESSAGES[api]
    return Question(
        kind="http", method="POST", target=target, body=json.dumps({**body, **more}).encode()
    )


def frame(seq: int, text: str) -> Event:
    """A screen."""
    record = FrameRecord(
        seq=seq,
        t_ms=seq,
        size=SIZE,
        text=(text,),
        cursor=Cursor(0, 0, visible=True),
        raw_start=0,
        raw_end=0,
        parser_offset=0,
    )
    return Event(seq=seq, t_us=seq * 1000, kind="frame", record=record)


@pytest.mark.parametrize(
    ("text", "kind", "number"),
    [("exchange:3", "exchange", 3), ("tape:12", "tape", 12), ("7", "exchange", 7)],
)
def test_a_place_is_an_exchange_or_an_entry(text: str, kind: str, number: int) -> None:
    """A bare number is what people count: inputs."""
    assert ForkPlace.parse(text) == ForkPlace(kind, number)  # type: ignore[arg-type]


@pytest.mark.parametrize("text", ["", "0", "tape:0", "frame:1", "exchange:-1", "1\n", "tape:x"])
def test_anything_else_is_no_place(text: str) -> None:
    """And the message says what is one."""
    with pytest.raises(UsageError, match="not a place"):
        ForkPlace.parse(text)


def test_a_change_is_read_and_checked() -> None:
    """Values are parsed before anything is started."""
    assert Change.parse("size=100x30").size == Size(30, 100)
    assert Change.parse("exit=7").status == 7
    assert Change.parse("input=a=b").value == "a=b"
    assert Change.parse("swap=tape:2") == Change(kind="swap", value="tape:2", entry=2)
    assert [str(Change.parse(one)) for one in ("skip", "none", "ask")] == ["skip", "none", "ask"]
    for wrong in (
        "skip=1",
        "none=",
        "swap=exchange:1",
        "colour=red",
        "input",
        "input=",
        "size=big",
        "exit=256",
        "exit=-1",
        "exit=x",
    ):
        with pytest.raises(UsageError):
            Change.parse(wrong)


@pytest.mark.parametrize(
    ("change", "place", "tail", "script"),
    [
        ("input=x", "tape:1", "scripted", False),
        ("response=x", "exchange:1", "scripted", False),
        ("tool-result=x", "exchange:1", "fake", False),
        ("tool-result=x", "tape:1", "scripted", False),
        ("model=x", "tape:1", "scripted", False),
        ("model=x", "tape:1", "held", False),
        ("ask", "tape:1", "held", False),
        ("ask", "exchange:1", "fake", False),
        ("skip", "tape:1", "held", False),
        ("swap=2", "exchange:1", "held", False),
    ],
)
def test_a_change_that_says_nothing_there_is_refused(
    change: str, place: str, tail: Any, script: bool
) -> None:
    """With the place where it can be made."""
    with pytest.raises(UsageError):
        Change.parse(change).check(ForkPlace.parse(place), tail, script=script)


def test_a_change_of_what_the_model_is_told_wants_answers_that_read_it() -> None:
    """A script's do, and a provider's."""
    place = ForkPlace("tape", 1)
    Change.parse("tool-result=x").check(place, "scripted", script=True)
    Change.parse("model=x").check(place, "live", script=False)


def _events() -> list[Event]:
    typed = [
        InputRecord(seq=seq, t_ms=seq, kind="input", bytes=data, source="driver")
        for seq, data in ((2, b"a"), (3, b"\r"), (5, b"b"))
    ]
    events = [Event(seq=one.seq, t_us=one.seq * 1000, kind="input", record=one) for one in typed]
    output = OutputRecord(seq=4, t_ms=4, offset=0, length=1)
    shown = Event(seq=4, t_us=4000, kind="output", record=output, data=b"x")
    return sorted([frame(1, "> "), *events, shown], key=lambda one: one.seq)


def _entry(number: int, t_us: int) -> TapeEntry:
    return TapeEntry(entry=number, seq=number, t_us=t_us, kind="http", connection=1)


def test_a_recording_is_cut_at_an_exchange() -> None:
    """Its first input, what was typed and asked before it, and what is left."""
    cut = cut_at(ForkPlace("exchange", 2), _events(), [_entry(1, 3500), _entry(2, 6000)])

    assert [step.number for step in cut.prefix] == [1, 2]
    assert [step.number for step in cut.here] == [3]
    assert cut.rest == ()
    assert cut.before == {1}
    assert cut.screens == 1


def test_a_recording_is_cut_at_an_entry() -> None:
    """Inputs before the request are typed before it."""
    cut = cut_at(ForkPlace("tape", 2), _events(), [_entry(1, 1500), _entry(2, 3500)])

    assert [step.number for step in cut.prefix] == [1, 2]
    assert [step.number for step in cut.rest] == [3]
    assert (cut.entry, cut.before) == (2, {1})


@pytest.mark.parametrize("place", [ForkPlace("exchange", 3), ForkPlace("tape", 1)])
def test_a_place_that_is_not_there_is_said(place: ForkPlace) -> None:
    """With how many there are."""
    with pytest.raises(NotFoundError, match="the recording has"):
        cut_at(place, _events(), [])


@pytest.mark.parametrize("api", MESSAGES)
def test_a_tools_result_is_another_for_the_provider(api: str) -> None:
    """In each API, and nothing else changes."""
    asked = question(api)
    call = last_call(asked.body)
    assert call is not None
    changed = with_result(asked, call, "silk")

    assert changed.body.count(b"silk") == 1
    assert b"milk" not in changed.body
    assert json.loads(changed.body.replace(b"silk", b"milk")) == json.loads(asked.body)


def test_the_result_of_another_call_stays() -> None:
    """Only that call's is changed; a request without it is not touched."""
    asked = question("chat")
    assert with_result(asked, "t2", "silk") is asked
    assert last_call(b'{"messages": [{"role": "user", "content": "hi"}]}') is None
    assert last_call(b"no json") is None


def test_a_result_is_found_by_the_id_of_its_call_or_else_by_its_number() -> None:
    """Gemini's may have ids; what a result of another kind holds is no text, and stays."""
    parts = [
        {"functionResponse": {"name": "read", "response": {"output": "milk"}, **more}}
        for more in ({}, {}, {"id": "t3"})
    ]
    body = {"contents": [{"role": "user", "parts": parts}]}
    asked = Question(kind="http", method="POST", target="/", body=json.dumps(body).encode())
    told = [
        [part["functionResponse"]["response"]["output"] for part in found["contents"][0]["parts"]]
        for call in ("2", "t3")
        for found in [json.loads(with_result(asked, call, "silk").body)]
    ]

    assert last_call(asked.body) == "t3"
    assert told == [["milk", "silk", "milk"], ["milk", "milk", "silk"]]
    screen = {"type": "computer_call_output", "call_id": "t1", "output": {}}
    assert last_call(json.dumps({"input": [screen]}).encode()) is None


@pytest.mark.parametrize("api", MESSAGES)
def test_another_model_is_asked(api: str) -> None:
    """In the body, or in Gemini's path."""
    changed = with_model(question(api), "m-2")
    document = json.loads(changed.body)

    assert (document.get("model") == "m-2") != ("/models/m-2:" in changed.target)


@pytest.mark.parametrize("api", MESSAGES)
@pytest.mark.parametrize("stream", [False, True])
def test_a_changed_response_is_a_message_of_its_api(api: str, stream: bool) -> None:
    """Made by the fake provider's own writers, streamed as the request asks."""
    asked = question(api, **({"stream": True} if stream and api != "gemini" else {}))
    if api == "gemini" and stream:
        target = asked.target.replace("generateContent", "streamGenerateContent?alt=sse")
        asked = msgspec.structs.replace(asked, target=target)
    made = MadeAnswers(said('It says "silk".'), ManualClock())
    hit = made.ask(asked)
    body = b"".join(data for _, data in hit.pieces)

    assert (hit.status, made.problems) == (200, ())
    assert body.startswith((b"data:", b"event:")) == stream
    if not stream:
        assert 'It says "silk".' in json.dumps(json.loads(body), ensure_ascii=False).replace(
            '\\"', '"'
        )


def test_a_question_without_an_answer_gets_its_apis_error() -> None:
    """And is a problem that the report shows."""
    made = MadeAnswers(Script.parse("version = 1", where="script"), ManualClock())
    hit = made.ask(question("chat"))

    assert (hit.status or 0) >= 400
    assert len(made.problems) == 1


def test_an_answer_that_only_the_tape_had_is_not_continued() -> None:
    """A made answer knows nothing of it; the call of a result that is marked is put in front."""
    said_now = [{"type": "function_call_output", "call_id": "t1", "output": "milk"}]
    body = {"model": "m", "previous_response_id": "resp_of_the_tape", "input": said_now}
    asked = Question(
        kind="http", method="POST", target="/v1/responses", body=json.dumps(body).encode()
    )
    made = MadeAnswers(said("Silk."), ManualClock(), first_number=500)
    hit = made.ask(asked)
    document = json.loads(b"".join(data for _, data in hit.pieces))

    assert (hit.status, made.problems) == (200, ())
    assert document["id"] == "resp_fake_000500"


def _record(parent: str, **more: Any) -> ForkRecord:
    return ForkRecord(
        parent=ParentOf(id="p", manifest_sha256=parent),
        at="tape:1",
        change=more.get("change", "response"),
        value=more.get("value", "x"),
        tail="scripted",
        prefix=PrefixProof(entries=(1,), screens=2),
    )


def test_lineage_is_a_tree_and_says_what_is_missing() -> None:
    """By digests; what comes from a cassette is shown without control characters."""
    root = Descent(path="a", id="a", sha256="aaa")
    child = Descent(path="b", id="b", sha256="bbb", origin=_record("aaa"))
    grandchild = Descent(path="c", id="c", sha256="ccc", origin=_record("bbb", value="\x1b[2J"))
    orphan = Descent(path="d", id="d", sha256="ddd", origin=_record("eee"))
    lines = list(lineage_lines([root, child, grandchild, orphan]))

    assert [line.split("  at ")[0] for line in lines] == [
        "a  aaa", "  b  bbb", "    c  ccc", "missing parent eee (id p)", "  d  ddd",
    ]  # fmt: skip
    assert not any("\x1b" in line for line in lines)
    assert [one["parent_found"] for one in lineage_json([root, child, orphan])["recordings"]] == [
        False, True, False,
    ]  # fmt: skip
    assert [one.path for one in related([root, child, grandchild, orphan], "b")] == ["a", "b", "c"]


def test_an_origin_that_is_nonsense_is_none() -> None:
    """A cassette is untrusted: what it says of its parent is data."""
    marked = msgspec.to_builtins(_record("aaa"))
    assert fork_of({"fork": marked}) == _record("aaa")
    for wrong in (None, {}, {"fork": 3}, {"fork": {**marked, "at": 1}}, {"fork": {}}):
        assert fork_of(wrong) is None
