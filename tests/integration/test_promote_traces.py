"""``promote TRACE``: the test passes with an agent that does the same, and fails with another."""

# ruff: noqa: E402 - skipped without the extra

from __future__ import annotations

import ast
import itertools
import json
import os
import runpy
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

pytest.importorskip("aiohttp")
HTTPX = next((name for name in ("httpx", "httpx2") if find_spec(name)), "httpx")
httpx = pytest.importorskip(HTTPX)

from ptycassette import tape_tool, use_tape
from ptycassette.agents.harness.fake.script import Script
from ptycassette.agents.harness.io.fake_provider import FakeProviderServer
from ptycassette.errors import DivergenceError
from tests.commands import ptycassette
from tests.unit.formats.importing.test_rebuilt_calls import NS, attributes

pytestmark = pytest.mark.integration

PROMPT = "Refund order 5"
ANSWER = "Refunded."
ARGUMENTS = {"amount": 5}
CALL = {
    "id": "call_abc",
    "type": "function",
    "function": {"name": "refund", "arguments": json.dumps(ARGUMENTS)},
}
SCRIPT = """
version = 1
[[replies]]
when = { after = "prompt" }
parts = [{ tool = "refund", arguments = { amount = 5 } }]
[[replies]]
text = "Refunded."
"""
SCHEMA = {"type": "object", "properties": {"amount": {"type": "integer"}}}
NOWHERE = "http://127.0.0.1:9"


# -- agents --------------------------------------------------------------------------------


@tape_tool
def refund(amount: int, currency: str = "EUR") -> dict[str, Any]:
    """The tool of the agent."""
    return {"ok": True, "left": 10 - amount, "currency": currency}


class Agent:
    """An agent over chat completions. Its attributes are what a bad one does otherwise."""

    base = NOWHERE
    system = "You are kind."
    prompt = ""
    model = "m"
    tool: Callable[..., Any] = staticmethod(refund)
    more_arguments: Mapping[str, Any] = MappingProxyType({})
    asks_once_more = False
    stops_early = False
    swallows = False
    headers: Mapping[str, str] = MappingProxyType({})

    def __call__(self, prompt: str) -> str:
        """Do what the prompt asks."""
        try:
            return self.run(self.prompt or prompt)
        except Exception:
            if self.swallows:
                return ""
            raise

    def post(self, path: str, body: dict[str, Any]) -> Any:
        """Ask the model."""
        with httpx.Client() as client:
            answer = client.post(f"{self.base}{path}", json=body, headers=dict(self.headers))
        answer.raise_for_status()
        return answer.json()

    def run(self, prompt: str) -> str:
        """Ask, call the tool, and ask again."""
        messages: list[dict[str, Any]] = [
            {"role": "system", "content": self.system},
            {"role": "user", "content": prompt},
        ]
        function = {"name": "refund", "parameters": SCHEMA}
        tools = [{"type": "function", "function": function}]
        while True:
            body = {"model": self.model, "messages": messages, "tools": tools}
            said = self.post("/v1/chat/completions", body)["choices"][0]["message"]
            if not said.get("tool_calls") or self.stops_early:
                if self.asks_once_more:
                    self.post("/v1/chat/completions", body)
                return str(said["content"])
            messages.append(said)
            for call in said["tool_calls"]:
                given = {**json.loads(call["function"]["arguments"]), **self.more_arguments}
                result = json.dumps(self.tool(**given))
                result_of = {"role": "tool", "tool_call_id": call["id"], "content": result}
                messages.append(result_of)


class OverMessages(Agent):
    """The same agent over Anthropic's API, with streams."""

    base = "https://api.anthropic.com"

    def run(self, prompt: str) -> str:
        """Ask, call the tool, and ask again."""
        messages: list[dict[str, Any]] = [{"role": "user", "content": prompt}]
        tools = [{"name": "refund", "input_schema": SCHEMA}]
        while True:
            said = self.post(
                "/v1/messages",
                {"model": "m", "max_tokens": 9, "system": self.system, "messages": messages,
                 "tools": tools},
            )  # fmt: skip
            messages.append({"role": "assistant", "content": said["content"]})
            calls = [block for block in said["content"] if block["type"] == "tool_use"]
            if not calls:
                return str(said["content"][0]["text"])
            results = [
                {"type": "tool_result", "tool_use_id": call["id"],
                 "content": json.dumps(self.tool(**call["input"]))}
                for call in calls
            ]  # fmt: skip
            messages.append({"role": "user", "content": results})


class OverResponses(Agent):
    """The same agent over the Responses API, which names the answer that it continues."""

    def run(self, prompt: str) -> str:
        """Ask, call the tool, and ask again."""
        asked: dict[str, Any] = {"input": prompt}
        tools = [{"type": "function", "name": "refund", "parameters": SCHEMA}]
        while True:
            body = {"model": "m", "instructions": self.system, "tools": tools, **asked}
            said = self.post("/v1/responses", body)
            calls = [item for item in said["output"] if item["type"] == "function_call"]
            if not calls:
                return str(said["output"][0]["content"][0]["text"])
            results = [
                {"type": "function_call_output", "call_id": call["call_id"],
                 "output": json.dumps(self.tool(**json.loads(call["arguments"])))}
                for call in calls
            ]  # fmt: skip
            asked = {"previous_response_id": said["id"], "input": results}


@tape_tool(name="refund")
def another_result(amount: int) -> dict[str, Any]:
    """A tool that gives something else."""
    return {"ok": False, "left": amount}


def never_recorded(**arguments: Any) -> Any:
    """A tool of an agent that forgot its decorator: it makes no call of a tool."""
    return refund.__wrapped__(**arguments)  # type: ignore[attr-defined]


BAD: dict[str, dict[str, Any]] = {
    "asks something else": {"prompt": "Refund order 6"},
    "asks another thing and swallows the error": {"prompt": "Refund order 6", "swallows": True},
    "asks once more": {"asks_once_more": True},
    "stops early": {"stops_early": True},
    "gives the tool's result otherwise": {"tool": staticmethod(another_result)},
}
BAD_WITH_TOOLS = {
    "gives the tool another argument": {"more_arguments": {"amount": 6}},
    "gives the tool one more argument": {"more_arguments": {"currency": "USD"}},
    "calls no tool": {"tool": staticmethod(never_recorded)},
}


def agent(**otherwise: Any) -> Agent:
    """The agent of the trace, or a bad one."""
    return type("Bad", (Agent,), otherwise)()  # type: ignore[no-any-return]


# -- traces --------------------------------------------------------------------------------

RESULT = refund.__wrapped__(**ARGUMENTS)  # type: ignore[attr-defined]
ASKED = [{"role": "user", "content": PROMPT}]
CALLED = {"role": "assistant", "content": None, "tool_calls": [CALL]}
HISTORY = [
    *ASKED,
    CALLED,
    {"role": "tool", "tool_call_id": "call_abc", "content": json.dumps(RESULT)},
]


def completion(message: dict[str, Any]) -> dict[str, Any]:
    """An answer of the Chat Completions API."""
    reason = "tool_calls" if "tool_calls" in message else "stop"
    choice = {"index": 0, "finish_reason": reason, "message": message}
    return {"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}


def jsonl(*lines: dict[str, Any]) -> bytes:
    """Lines of JSON."""
    return b"\n".join(json.dumps(line, separators=(",", ":")).encode() for line in lines)


def as_seed(folder: Path) -> bytes:
    """The lines of a library that records calls: models, and tools between them."""
    del folder
    about = {"provider": "openai", "model": "m"}
    said = {"role": "assistant", "content": ANSWER}
    return jsonl(
        {"kind": "llm", "request": {**about, "messages": ASKED}, "response": completion(CALLED)},
        {"kind": "tool", "request": {"name": "refund", "arguments": ARGUMENTS}, "result": RESULT},
        {"kind": "llm", "request": {**about, "messages": HISTORY}, "response": completion(said)},
    )


def recorded(folder: Path) -> Path:
    """The agent at work, recorded; for traces of what was really sent."""
    path = folder / "recorded.cassette"
    if not path.exists():
        server = FakeProviderServer(Script.parse(SCRIPT))
        with server, use_tape(path, mode="record"):
            assert agent(base=server.url)(PROMPT) == ANSWER
    return path


def as_har(folder: Path) -> bytes:
    """An HTTP archive."""
    out = str(folder / "recorded.har")
    ptycassette("export", "--overwrite", str(recorded(folder)), out, status=0)
    return (folder / "recorded.har").read_bytes()


def as_vcr(folder: Path) -> bytes:
    """A cassette of vcrpy."""
    out = folder / "recorded.yaml"
    ptycassette("export", "--format", "vcr", str(recorded(folder)), str(out), status=0)
    return out.read_bytes()


def as_bodies(folder: Path) -> bytes:
    """Lines of the very bodies, with a line for the tool."""
    entries = json.loads(as_har(folder))["log"]["entries"]
    lines = [
        {
            "request": json.loads(one["request"]["postData"]["text"]),
            "response": json.loads(one["response"]["content"]["text"]),
        }
        for one in entries
    ]
    tool = {"tool": "refund", "args": ARGUMENTS, "result": RESULT}
    return jsonl(lines[0], tool, *lines[1:])


def parts(*parts: dict[str, Any], role: str = "user") -> list[dict[str, Any]]:
    """A message in OpenTelemetry's form."""
    return [{"role": role, "parts": list(parts)}]


def as_otel(folder: Path) -> bytes:
    """Spans of two inferences, and of the tool between them, as instrumentations write them."""
    del folder
    call = {"type": "tool_call", "id": "call_abc", "name": "refund", "arguments": ARGUMENTS}
    result = {"type": "tool_call_response", "id": "call_abc", "response": RESULT}
    asked = parts({"type": "text", "content": PROMPT})
    called = parts(call, role="assistant")
    answer = parts({"type": "text", "content": ANSWER}, role="assistant")
    about = {
        "gen_ai__operation__name": "chat",
        "gen_ai__provider__name": "openai",
        "gen_ai__request__model": "m",
    }
    tool = {
        "gen_ai__operation__name": "execute_tool",
        "gen_ai__tool__name": "refund",
        "gen_ai__tool__call__arguments": json.dumps(ARGUMENTS),
        "gen_ai__tool__call__result": json.dumps(RESULT),
    }
    said = [
        {**about, "gen_ai__input__messages": asked, "gen_ai__output__messages": called},
        tool,
        {
            **about,
            "gen_ai__input__messages": asked + called + parts(result, role="tool"),
            "gen_ai__output__messages": answer,
        },
    ]
    spans = [
        {
            "traceId": "t", "spanId": f"s{number}", "name": "x",
            "startTimeUnixNano": str(NS + number * 10_000_000),
            "endTimeUnixNano": str(NS + number * 10_000_000 + 5_000_000),
            "attributes": attributes(**{
                name: value if isinstance(value, str) else json.dumps(value)
                for name, value in one.items()
            }),
        }
        for number, one in enumerate(said)
    ]  # fmt: skip
    return jsonl({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]})


def _at(second: int) -> str:
    return f"2026-11-01T10:00:0{second}.000Z"


def as_claude_log(folder: Path) -> bytes:
    """The session log of Claude Code."""
    del folder

    def row(kind: str, content: Any, second: int, **more: Any) -> dict[str, Any]:
        return {
            "parentUuid": None, "isSidechain": False, "type": kind, "uuid": f"u{second}",
            "message": {"role": kind, "content": content, **more}, "timestamp": _at(second),
            "sessionId": "s", "version": "2.1.0",
        }  # fmt: skip

    use = {"type": "tool_use", "id": "t1", "name": "refund", "input": ARGUMENTS}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": json.dumps(RESULT)}
    aside = row("user", "look around", 1) | {"isSidechain": True}
    return jsonl(
        row("user", PROMPT, 0),
        aside,
        row("assistant", [{"type": "thinking", "thinking": "hm"}], 1, id="m1", model="x"),
        row("assistant", [use], 2, id="m1", model="x"),
        row("user", [result], 3),
        row("assistant", [{"type": "text", "text": ANSWER}], 4, id="m2", model="x"),
    )


def as_codex_log(folder: Path) -> bytes:
    """The session log of Codex."""
    del folder

    def row(kind: str, second: int, **payload: Any) -> dict[str, Any]:
        return {"timestamp": _at(second), "type": kind, "payload": payload}

    asked = [{"type": "input_text", "text": PROMPT}]
    said = [{"type": "output_text", "text": ANSWER}]
    call = {"type": "function_call", "call_id": "t1", "name": "refund"}
    output = {"type": "function_call_output", "call_id": "t1", "output": json.dumps(RESULT)}
    return jsonl(
        row("session_meta", 0, id="s", cli_version="0.171.0"),
        row("response_item", 1, type="message", role="user", content=asked),
        row("response_item", 2, **call, arguments=json.dumps(ARGUMENTS)),
        row("response_item", 3, **output),
        row("response_item", 4, type="message", role="assistant", content=said),
    )


def as_cendor(folder: Path) -> bytes:
    """A cassette of another library that records functions."""
    lines = [json.loads(line) for line in as_seed(folder).splitlines()]
    entries = [
        {"seq": number, "kind": line["kind"], "request_hash": "x", "request": line["request"],
         "response": line.get("response", line.get("result"))}
        for number, line in enumerate(lines)
    ]  # fmt: skip
    return json.dumps({"version": 2, "entries": entries}).encode()


TRACES: dict[str, Callable[[Path], bytes]] = {
    "trace.jsonl": as_seed,
    "bodies.jsonl": as_bodies,
    "spans.otlp.json": as_otel,
    "archive.har": as_har,
    "vcr.yaml": as_vcr,
    "claude.jsonl": as_claude_log,
    "rollout-1.jsonl": as_codex_log,
    "calls.cendor.json": as_cendor,
}
WITHOUT_TOOLS = {"archive.har", "vcr.yaml"}
REBUILT = {"trace.jsonl", "spans.otlp.json", "claude.jsonl", "rollout-1.jsonl"}


@pytest.fixture(scope="module")
def promoted(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The test that is made of a trace, made once."""
    folder = tmp_path_factory.mktemp("promoted")
    made: dict[str, Path] = {}

    def test_of(name: str) -> Path:
        if name not in made:
            (folder / name).write_bytes(TRACES[name](folder))
            done = ptycassette("promote", "--json", str(folder / name), "-o", str(folder), status=0)
            [one] = json.loads(done.stdout)["tests"]
            made[name] = Path(one["test"])
            assert one["entries"] == 2
            assert one["tools"] == (0 if name in WITHOUT_TOOLS else 1)
        return made[name]

    return test_of


def run(test: Path, agent: Callable[[str], Any]) -> None:
    """Run a promoted test with an agent, without a process of its own."""
    found = runpy.run_path(str(test))
    [function] = (value for name, value in found.items() if name.startswith("test_"))
    function(agent=agent)


# -- what holds for each form --------------------------------------------------------------


@pytest.mark.parametrize("name", TRACES)
def test_an_agent_that_does_the_same_passes(name: str, promoted: Callable[[str], Path]) -> None:
    """Each time: nothing is used up by a run."""
    for _ in range(2):
        run(promoted(name), agent())


@pytest.mark.parametrize(
    ("name", "how"),
    [
        *itertools.product(TRACES, BAD),
        *itertools.product(sorted(TRACES.keys() - WITHOUT_TOOLS), BAD_WITH_TOOLS),
    ],
)
def test_an_agent_that_does_another_thing_fails(
    name: str, how: str, promoted: Callable[[str], Path]
) -> None:
    """Also if the agent swallows what goes wrong. Some forms hold no calls of tools."""
    bad = agent(**{**BAD, **BAD_WITH_TOOLS}[how])
    with pytest.raises(DivergenceError):
        run(promoted(name), bad)


@pytest.mark.parametrize("name", sorted(REBUILT))
@pytest.mark.parametrize("kind", [OverMessages, OverResponses])
def test_a_rebuilt_trace_is_for_any_api(
    kind: type[Agent], name: str, promoted: Callable[[str], Path]
) -> None:
    """Such a trace does not hold what was sent, so the API is not compared; all else is."""
    run(promoted(name), kind())
    with pytest.raises(DivergenceError, match="messages"):
        run(promoted(name), type("Bad", (kind,), {"prompt": "Refund order 6"})())


def test_an_answer_is_a_stream_where_the_agent_asks_for_one(tmp_path: Path) -> None:
    """A trace has it as one document; a stream in a trace is what it is."""
    body = {"model": "m", "messages": ASKED, "stream": True}
    said = completion({"role": "assistant", "content": ANSWER})
    events = 'data: {"choices": [{"delta": {"content": "Hi"}}]}\n\ndata: [DONE]\n\n'
    lines = [{"request": body, "response": said}, {"request": body, "response": events}]
    (tmp_path / "x.jsonl").write_bytes(jsonl(*lines))
    ptycassette("promote", str(tmp_path / "x.jsonl"), "-o", str(tmp_path), status=0)

    def streams(prompt: str) -> None:
        got = []
        for _ in lines:
            with httpx.Client() as client:
                answer = client.post(f"{NOWHERE}/v1/chat/completions", json=body)
            assert answer.headers["content-type"].startswith("text/event-stream"), prompt
            got.append(answer.text)
        pieces = [json.loads(line[6:]) for line in got[0].split("\n\n")[:-2]]
        texts = [one["choices"][0]["delta"].get("content") or "" for one in pieces]
        assert ("".join(texts), got[1]) == (ANSWER, events)

    run(tmp_path / "test_x.py", streams)


@pytest.mark.parametrize("name", ["trace.jsonl", "bodies.jsonl"])
def test_a_provider_that_a_trace_does_not_name_may_be_anywhere(
    name: str, promoted: Callable[[str], Path]
) -> None:
    """At its own address, or on this machine, to which tests point an agent."""
    run(promoted(name), agent(base="https://api.openai.com"))
    run(promoted(name), agent(base=NOWHERE))


def test_only_headers_that_were_recorded_are_compared(promoted: Callable[[str], Path]) -> None:
    """An archive has them; a trace of bodies does not."""
    other = agent(headers={"accept": "text/html"})
    run(promoted("bodies.jsonl"), other)
    with pytest.raises(DivergenceError, match="accept"):
        run(promoted("archive.har"), other)


def test_what_a_trace_has_is_compared(promoted: Callable[[str], Path]) -> None:
    """The model, where a trace has it; the system prompt, where it holds the bodies."""
    other, rude = agent(model="another"), agent(system="You are rude.")
    run(promoted("claude.jsonl"), other)  # a log has the model that answered alone
    run(promoted("trace.jsonl"), rude)
    for name, bad in (
        ("trace.jsonl", other),
        ("spans.otlp.json", other),
        ("bodies.jsonl", rude),
        ("archive.har", rude),
    ):
        with pytest.raises(DivergenceError):
            run(promoted(name), bad)


def test_pytest_runs_the_test(promoted: Callable[[str], Path], tmp_path: Path) -> None:
    """As it was written, with an agent that is a coroutine function; a bad one fails it."""
    promoted("trace.jsonl")
    source = promoted("trace.jsonl").with_name("trace.jsonl")
    (tmp_path / "my_agent.py").write_text(
        f"import sys; sys.path.insert(0, {str(Path(__file__).parents[2])!r})\n"
        "import os\n"
        "from tests.integration.test_promote_traces import agent\n"
        "async def run(prompt):\n"
        "    return agent(prompt=os.environ.get('OTHER', ''))(prompt)\n"
    )
    words = ("promote", str(source), "-o", str(tmp_path), "--calls", "my_agent:run")
    ptycassette(*words, status=0)
    again = ptycassette(*words, status=6)
    ptycassette(*words, "--overwrite", status=0)

    def tested(**more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"],
            cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120,
            env={**os.environ, **more},
        )  # fmt: skip

    assert "something exists there already" in again.stderr
    good, bad = tested(), tested(OTHER="Refund order 6")
    assert good.returncode == 0, good.stdout
    assert bad.returncode == 1
    assert "recorded 'Refund order 5', asked 'Refund order 6'" in bad.stdout


# -- what else may be in a trace -----------------------------------------------------------

TOKEN = "ghp_" + "Zk2mN8xR4tV1wY6uI9oP3sD5fG0hJ2kL7aQe"
LINE = {"kind": "llm", "request": {"provider": "openai", "model": "m", "messages": ASKED}}
ANSWERED = {**LINE, "response": completion({"role": "assistant", "content": ANSWER})}
NO_CALL = {"messages": [{"role": "user", "content": 7}]}


@pytest.mark.parametrize(
    ("name", "data", "status", "said"),
    [
        ("x.jsonl", jsonl(ANSWERED) + b"\n{", 3, "line 2 is not JSON"),
        ("x.jsonl", jsonl(ANSWERED, {"kind": "tool", "args": {}}), 3, "line 2: name: a call of"),
        ("x.jsonl", jsonl({**ANSWERED, "timestamp": "noon"}), 3, "line 1: timestamp: not a time"),
        ("x.jsonl", jsonl(ANSWERED, {"kind": "llm", "response": {}}), 3, "line 2: request: no"),
        ("x.jsonl", jsonl({**ANSWERED, "status": "ok"}), 3, "line 1: status: not a status"),
        ("x.jsonl", jsonl({**ANSWERED, "url": "nowhere"}), 3, "line 1: url: not a URL"),
        ("x.har", b'{"log": {"entries": [{"request": {}, "response": {}}]}}', 3, "entry 1: "),
        ("x.yaml", b"interactions:\n- request: {uri: x}\n  response: {}", 3, "interaction 1: sta"),
        ("x.otlp.json", b'{"resourceSpans": 5}', 3, "not a valid otel file"),
        ("x.cast", b'{"version": 2, "width": 80, "height": 24}', 2, "holds no calls"),
        ("x.jsonl", jsonl(ANSWERED, {**LINE, "metadata": {}, "response": "x"}), 0, ""),
        (
            "x.jsonl",
            jsonl({"request": {**NO_CALL, "model": "m", "vault": "x"}, "response": {}}),
            6,
            "question 1 has inputs under forbidden keys: vault",
        ),
        (
            "x.jsonl",
            jsonl(ANSWERED, {"tool": "look", "args": {"holdOut": 1}, "result": 1}),
            6,
            "tool-call look has inputs under forbidden keys: arguments.holdOut",
        ),
    ],
    ids=range(13),
)
def test_a_broken_trace_is_named_and_nothing_is_left(
    name: str, data: bytes, status: int, said: str, tmp_path: Path
) -> None:
    """With the line and the field; a call is never left out, as an import does."""
    (tmp_path / name).write_bytes(data)
    done = ptycassette("promote", str(tmp_path / name), "-o", str(tmp_path / "tests"))

    assert (done.returncode, said in done.stderr) == (status, True), done.stderr
    assert (tmp_path / "tests" / "test_x.py").exists() == (status == 0)
    assert (tmp_path / "tests" / "x.cassette").exists() == (status == 0)


def test_a_trace_writes_no_code_and_no_secret_into_its_test(tmp_path: Path) -> None:
    """Whatever its name and its prompt are; the function is checked, too."""
    evil = f'"""\nimport os\nos.remove("x")\n\'\'\' \\ {TOKEN} \u2028 ä'
    asked = {"provider": "openai", "model": "m", "messages": [{"role": "user", "content": evil}]}
    file = tmp_path / "a'''\"\"\"\nimport os;1.jsonl"
    file.write_bytes(jsonl({**ANSWERED, "request": asked}))
    ptycassette("promote", str(file), "-o", str(tmp_path), status=0)
    [test] = tmp_path.glob("test_*.py")
    found = runpy.run_path(str(test))

    assert found["PROMPT"].startswith('"""\nimport os')
    assert TOKEN not in test.read_text()
    assert "# The first question had a secret, which is masked." in test.read_text()
    modules = ast.parse(test.read_text()).body
    assert sum(isinstance(one, ast.Import | ast.ImportFrom) for one in modules) == 3
    assert sum(isinstance(one, ast.Expr) for one in modules) == 1  # the docstring
    assert len(modules) == 6
    for calls in ("os:remove('x')", "os", "my_agent:run; x", "class:run", "os.:x"):
        done = ptycassette("promote", "--overwrite", str(file), "--calls", calls)
        assert done.returncode == 2, calls


def test_a_masked_secret_is_compared(tmp_path: Path) -> None:
    """The agent must ask with the real one."""
    about = {"provider": "openai", "model": "m"}
    messages = [{"role": "user", "content": f"look at {TOKEN} now"}]
    file = tmp_path / "x.jsonl"
    file.write_bytes(jsonl({**ANSWERED, "request": {**about, "messages": messages}}))
    ptycassette("promote", str(file), "-o", str(tmp_path), status=0)

    def with_secret(secret: str) -> Callable[[str], None]:
        def ask(prompt: str) -> None:
            asked = {"role": "user", "content": prompt.replace(prompt.split()[2], secret)}
            agent().post("/v1/chat/completions", {"model": "m", "messages": [asked]})

        return ask

    run(tmp_path / "test_x.py", with_secret(TOKEN))
    with pytest.raises(DivergenceError, match="masked value"):
        run(tmp_path / "test_x.py", with_secret(TOKEN[:-1] + "z"))


def failing(error: Any) -> bytes:
    """A trace in which a tool failed."""
    tool = {"tool": "refund", "args": ARGUMENTS, "error": error}
    return jsonl(ANSWERED, tool)


@pytest.mark.parametrize(
    ("error", "passes", "fails"),
    [
        ("ValueError: no stock", ValueError("no stock"), ValueError("no money")),
        ("ValueError: no stock", ValueError("no stock"), KeyError("no stock")),
        ("no stock", KeyError("no stock"), ValueError("no money")),
        ({"type": "builtins.ValueError"}, ValueError("x"), KeyError("x")),
        ({"type": "ValueError", "message": "x"}, ValueError("x"), ValueError("y")),
    ],
)
def test_the_failure_of_a_tool_is_compared(
    error: Any, passes: Exception, fails: Exception, tmp_path: Path
) -> None:
    """By its type and its message, each if it was recorded; a tool that succeeds is another."""
    if error == "no stock":
        passes = RuntimeError("no stock")
    (tmp_path / "x.jsonl").write_bytes(failing(error))
    ptycassette("promote", str(tmp_path / "x.jsonl"), "-o", str(tmp_path), status=0)

    def with_tool(raised: Exception | None) -> Callable[[str], None]:
        @tape_tool(name="refund")
        def tool(amount: int) -> int:
            if raised is not None:
                raise raised
            return amount

        def run_agent(prompt: str) -> None:
            agent().post("/v1/chat/completions", {"model": "m", "messages": ASKED})
            with suppress(Exception):  # as agents do
                tool(**ARGUMENTS)
            assert prompt

        return run_agent

    run(tmp_path / "test_x.py", with_tool(passes))
    for bad in (fails, None):
        with pytest.raises(DivergenceError, match="refund"):
            run(tmp_path / "test_x.py", with_tool(bad))


@pytest.mark.parametrize("name", ["trace.jsonl", "archive.har"])
def test_a_fingerprint_is_that_of_the_run(name: str, promoted: Callable[[str], Path]) -> None:
    """Of what an agent asked in this run, also where the questions were rebuilt."""
    cassette = promoted(name).parent / f"{promoted(name).stem.removeprefix('test_')}.cassette"
    prints = []
    for one in (agent(), OverMessages() if name == "trace.jsonl" else agent(), agent(system="x")):
        with use_tape(cassette, lenient=True) as tape, suppress(httpx.HTTPStatusError):
            one(PROMPT)
        prints.append(tape.result.fingerprint == tape.result.expected_fingerprint)

    assert prints == [True, True, name == "trace.jsonl"]  # which has no system prompt


def test_calls_in_another_order_fail(promoted: Callable[[str], Path]) -> None:
    """A tool that is called before the model asked for it."""

    class Hasty(Agent):
        tool = staticmethod(lambda **given: RESULT)

        def run(self, prompt: str) -> str:
            refund(**ARGUMENTS)
            return super().run(prompt)

    with pytest.raises(DivergenceError, match="came before"):
        run(promoted("trace.jsonl"), Hasty())
