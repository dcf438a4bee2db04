"""Each fault is what it says, in each API, and a mechanism of its own."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ptycassette.agents.faults.provider import PROVIDER_FAULTS, ProviderFault, last_call
from ptycassette.agents.faults.registry import parse_fault, provider_fault
from ptycassette.agents.rerun.made_answers import MadeAnswers, PacedHit, said
from ptycassette.errors import UsageError
from ptycassette.tape.matching.matcher import Hit
from ptycassette.tape.matching.question import Question
from ptycassette.testing import ManualClock
from tests.unit.agents.fork.test_fork_parts import MESSAGES, question

APIS = sorted(MESSAGES)
TOOLS: dict[str, Any] = {
    "anthropic": {"name": "read", "input_schema": {"type": "object"}},
    "chat": {"type": "function", "function": {"name": "read", "parameters": {}}},
    "responses": {"type": "function", "name": "read", "parameters": {}},
}


def asked(api: str) -> Question:
    """A question that offers a tool."""
    return question(api, **({"tools": [TOOLS[api]]} if api in TOOLS else {}))


def recorded(api: str) -> Hit:
    """The answer without a fault."""
    return MadeAnswers(said("The note says something."), ManualClock()).ask(asked(api))


def fault_of(text: str) -> ProviderFault:
    """A fault."""
    return provider_fault(parse_fault(text))


def served(fault: str, api: str) -> Hit:
    """The answer with the fault."""
    return fault_of(fault).answer(asked(api), recorded(api), ManualClock())


def body(hit: Hit) -> bytes:
    """What is sent."""
    return b"".join(data for _, data in hit.pieces)


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize(
    ("fault", "status"), [("rate-limit", 429), ("overloaded", 529), ("error", 500)]
)
def test_an_error_is_one_of_its_api(api: str, fault: str, status: int) -> None:
    """With its status; who may ask again is told when."""
    hit = served(fault, api)

    assert hit.status == status
    assert "error" in json.loads(body(hit))
    assert (dict(hit.headers).get("retry-after") == "1") == (fault == "rate-limit")


@pytest.mark.parametrize("api", APIS)
def test_a_connection_is_broken_off(api: str) -> None:
    """Before the head, or in the middle of the recorded answer."""
    none, half = served("disconnect", api), served("truncated", api)
    whole = body(recorded(api))

    assert (none.status, none.pieces, none.entry.outcome) == (None, (), "provider-gone")
    assert (half.status, half.entry.outcome) == (200, "provider-gone")
    assert whole.startswith(body(half))
    assert 0 < len(body(half)) < len(whole)


@pytest.mark.parametrize("api", APIS)
def test_an_answer_is_late(api: str) -> None:
    """It is the recorded one: in the middle it stops, or it comes in drops."""
    stalled, dribbled = served("stalled:5", api), served("dribble:0.5", api)
    assert isinstance(stalled, PacedHit)
    assert isinstance(dribbled, PacedHit)

    assert body(stalled) == body(dribbled) == body(recorded(api))
    assert stalled.delays_s == (0.0, 5.0)
    assert set(dribbled.delays_s) == {0.5}
    assert max(len(data) for _, data in dribbled.pieces) == 8
    assert len(dribbled.delays_s) == len(dribbled.pieces)


@pytest.mark.parametrize("api", APIS)
def test_an_answer_is_whole_and_says_nothing_of_use(api: str) -> None:
    """Nothing, a refusal, a call of a tool that was not offered: JSON with status 200."""
    bodies = {name: body(served(name, api)) for name in ("empty", "refusal", "unknown-tool")}
    for name, data in bodies.items():
        assert served(name, api).status == 200
        json.loads(data)
    assert b"no_such_tool" in bodies["unknown-tool"]
    assert b"cannot help" in bodies["refusal"]
    assert not any(word in bodies["empty"] for word in (b"note", b"help", b"no_such_tool"))


@pytest.mark.parametrize("api", sorted(TOOLS))
def test_the_arguments_of_a_call_are_no_json(api: str) -> None:
    """The message around them is."""
    streamed = question(api, tools=[TOOLS[api]], stream=True)
    hit = fault_of("malformed-tool-call").answer(streamed, recorded(api), ManualClock())
    events = [
        json.loads(line.removeprefix("data: "))
        for line in body(hit).decode().splitlines()
        if line.startswith("data: {")
    ]
    texts = [text for event in events for text in _strings(event) if '"broken"' in text]

    assert texts
    for text in texts:
        with pytest.raises(json.JSONDecodeError):
            json.loads(text)
    assert any("read" in _strings(event) for event in events)


def _strings(value: Any) -> list[str]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return [text for one in value for text in _strings(one)]
    return [value] if isinstance(value, str) else []


@pytest.mark.parametrize("api", ["anthropic", "gemini"])
def test_arguments_that_are_an_object_cannot_be_malformed(api: str) -> None:
    """It is refused before anything is started. Anthropic's are a text in streams alone."""
    with pytest.raises(UsageError, match="as an object"):
        fault_of("malformed-tool-call").check(asked(api), ManualClock())


def test_no_two_faults_are_the_same() -> None:
    """Each has an answer of its own."""
    names = [one.name for one in PROVIDER_FAULTS if not one.of_questions]
    hits = [served(name, "chat") for name in names]
    seen = {
        (hit.status, body(hit), hit.entry.outcome, getattr(hit, "delays_s", ())) for hit in hits
    }

    assert len(seen) == len(names) == len(PROVIDER_FAULTS) - 1


def twice(api: str, *, second: str = "eggs") -> Question:
    """A question that tells the results of two calls: milk, and ``second``."""
    target, body = MESSAGES[api]
    text = json.dumps(body)
    member = next(name for name in ("messages", "input", "contents") if name in body)
    turns = body[member]
    more = json.loads(json.dumps(turns[1:]).replace("t1", "t2").replace("milk", second))
    assert text.count("milk") == 1
    whole = {**body, member: [*turns, *more]}
    return Question(kind="http", method="POST", target=target, body=json.dumps(whole).encode())


@pytest.mark.parametrize("api", APIS)
def test_results_of_tools_are_swapped(api: str) -> None:
    """The request is a valid one of its API, with the same calls; the fault happens to it alone."""
    asked_now = twice(api)
    swapped = fault_of("swapped-tool-result").question(asked_now)
    text = swapped.body.decode()

    assert text.index("eggs") < text.index("milk")
    back = text.replace("eggs", "?").replace("milk", "eggs").replace("?", "milk")
    assert json.loads(back) == json.loads(asked_now.body)
    assert last_call(swapped.body) == last_call(asked_now.body)
    assert MadeAnswers(said("Hm."), ManualClock()).ask(swapped).status == 200


@pytest.mark.parametrize("api", APIS)
def test_one_result_cannot_be_swapped(api: str) -> None:
    """Nor two that are the same: refused before anything is started."""
    for one in (asked(api), twice(api, second="milk")):
        with pytest.raises(UsageError, match="two different tool results"):
            fault_of("swapped-tool-result").check(one, ManualClock())


def test_a_websocket_has_no_faults_of_http() -> None:
    """They are refused before anything is started."""
    message = Question(kind="message", body=b"{}", form="text")
    for name in ("disconnect", "truncated"):
        with pytest.raises(UsageError, match="WebSocket"):
            fault_of(name).check(message, ManualClock())
        fault_of(name).check(asked("chat"), ManualClock())
    fault_of("error").check(message, ManualClock())
