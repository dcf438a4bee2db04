"""Forks of code in ``use_tape``: from a test, and by a command; faults, children, blame."""

# ruff: noqa: E402

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("aiohttp")
HTTPX = next((name for name in ("httpx", "httpx2") if find_spec(name)), "httpx")
httpx = pytest.importorskip(HTTPX)

from ptycassette import TapeFork, open_cassette, tape_tool, tool_call, use_tape
from ptycassette.agents.blame.io.blaming import BlameOptions
from ptycassette.agents.blame.oracle import Oracle
from ptycassette.agents.faults.provider import PROVIDER_FAULTS
from ptycassette.agents.fork.io.live import LiveTerms
from ptycassette.agents.harness.fake.script import Script
from ptycassette.agents.harness.io.fake_provider import FakeProviderServer
from ptycassette.agents.inprocess.calls import ToolError
from ptycassette.agents.inprocess.commands import blame_command
from ptycassette.errors import (
    CassetteError,
    DivergenceError,
    ExistsError,
    NotFoundError,
    UsageError,
)
from ptycassette.tape.consent.terms import ApprovalNeededError
from ptycassette.viewing import fork_of, read_lineage
from tests.commands import ptycassette

pytestmark = pytest.mark.integration

NOWHERE = "http://127.0.0.1:9"
PATIENT = ("--patience", "120")  # a busy machine starts a program late
ASKED = "What does the note say?"
SCRIPT = """version = 1
[[replies]]
times = 0
when = { after = "prompt" }
parts = [{ tool = "read_note", arguments = { path = "note.txt" } }]
[[replies]]
times = 0
when = { after = "tool", result_contains = "milk" }
text = "It says to buy milk."
[[replies]]
times = 0
when = { after = "tool" }
text = "It says something else."
"""
TOOL = {"name": "read_note", "parameters": {"type": "object"}}
ran: list[str] = []
"""What the tools of this process were called with."""


@tape_tool
def read_note(path: str) -> dict[str, str]:
    """Runs in replay, too."""
    ran.append(path)
    return {"text": "buy milk"}


@tape_tool(name="read_note", replay="serve")
def served_note(path: str) -> dict[str, str]:
    """Does not run in replay."""
    ran.append(path)
    return {"text": "buy milk"}


Tool = Callable[[str], dict[str, str]]


def body_of(messages: list[Any]) -> dict[str, Any]:
    """A question of the agent."""
    return {
        "model": "m", "messages": messages, "tools": [{"type": "function", "function": TOOL}],
    }  # fmt: skip


def agent(url: str = NOWHERE, tool: Tool = read_note) -> str:
    """An agent that calls tools until it has an answer."""
    messages: list[Any] = [{"role": "user", "content": ASKED}]
    with httpx.Client() as client:
        while True:
            answer = client.post(f"{url}/v1/chat/completions", json=body_of(messages))
            answer.raise_for_status()
            message = answer.json()["choices"][0]["message"]
            if not message.get("tool_calls"):
                return str(message["content"])
            messages.append(message)
            for call in message["tool_calls"]:
                result = tool(**json.loads(call["function"]["arguments"]))
                messages.append(
                    {"role": "tool", "tool_call_id": call["id"], "content": json.dumps(result)}
                )


async def agent_later() -> str:
    """The same, asynchronously; it asks once more with the result of the tool."""
    messages: list[Any] = [{"role": "user", "content": ASKED}]
    async with httpx.AsyncClient() as client:
        while True:
            answer = await client.post(f"{NOWHERE}/v1/chat/completions", json=body_of(messages))
            message = answer.json()["choices"][0]["message"]
            if not message.get("tool_calls"):
                return str(message["content"])
            messages.append(message)
            for call in message["tool_calls"]:
                result = read_note(**json.loads(call["function"]["arguments"]))
                messages.append(
                    {"role": "tool", "tool_call_id": call["id"], "content": json.dumps(result)}
                )


@pytest.fixture
def parent(tmp_path: Path) -> Path:
    """A recording: a request, a tool call, a request."""
    path = tmp_path / "run.cassette"
    with (
        FakeProviderServer(Script.parse(SCRIPT, variables={})) as provider,
        use_tape(path, mode="record"),
    ):
        assert agent(provider.url) == "It says to buy milk."
    (tmp_path / "script.toml").write_text(SCRIPT)
    ran.clear()
    return path


def types_of(path: Path) -> list[str]:
    """The service events of a cassette."""
    with open_cassette(path) as cassette:
        return [
            str(event.payload["type"])
            for event in cassette.service_events()
            if isinstance(event.payload, dict)
        ]


def test_an_answer_is_changed_and_the_child_is_a_cassette_of_its_own(
    parent: Path, tmp_path: Path
) -> None:
    """Before the change all is served and verified; the child replays without a fork."""
    child = tmp_path / "child.cassette"
    fork = TapeFork(at="tape:2", change="response=It says to buy silk.", child=child)
    with use_tape(parent, fork=fork) as tape:
        assert agent() == "It says to buy silk."
    report = tape.result.fork
    assert report is not None
    assert report.origin.prefix.entries == (1,)
    assert report.origin.prefix.fingerprint
    assert ran == ["note.txt"]

    with use_tape(child) as tape:
        assert agent() == "It says to buy silk."
    assert tape.result.fingerprint == tape.result.expected_fingerprint
    with open_cassette(child) as cassette:
        origin = fork_of(cassette.final.metadata)
    assert origin == report.origin
    [found] = [one.origin for one in read_lineage(child) if one.path == str(child)]
    assert found is not None
    assert found.at == "tape:2"
    after = types_of(child).index("fork")
    assert types_of(child)[after + 1 :] == ["model-answer", "model-end", "usage"]


@pytest.mark.parametrize("place", ["tool:1", "2"])
@pytest.mark.parametrize("tool", [read_note, served_note])
def test_a_tool_result_is_changed_for_the_program(
    parent: Path, tmp_path: Path, tool: Tool, place: str
) -> None:
    """The tool does not run, in the child neither; what follows is the answer to the new result."""
    child = tmp_path / "child.cassette"
    fork = TapeFork(
        at=place, change='tool-result={"text": "buy silk"}', child=child,
        script=tmp_path / "script.toml",
    )  # fmt: skip
    with use_tape(parent, fork=fork):
        assert agent(tool=tool) == "It says something else."
    with use_tape(child):
        assert agent(tool=tool) == "It says something else."
    assert ran == []
    with open_cassette(child) as cassette:
        [_, second] = [one.question() for one in cassette.tape()]
    assert b"buy silk" in second


def test_the_result_of_a_block_is_changed(tmp_path: Path) -> None:
    """It runs, because it is no function; what it has set is replaced."""
    path = tmp_path / "run.cassette"

    def count() -> Any:
        with tool_call("count", {"of": "milk"}) as call:
            call.result = 2
        return call.result

    with use_tape(path, mode="record"):
        count()
    with use_tape(path, fork=TapeFork(at="tool:1", change="tool-result=3")):
        assert count() == 3


@pytest.mark.parametrize(
    ("recorded", "value", "got"),
    [("a text", "3", "3"), (2, "3", 3), (2, "three", "three"), ([1], "null", None)],
)
def test_a_result_is_text_where_it_was_one_and_json_otherwise(
    tmp_path: Path, recorded: Any, value: str, got: Any
) -> None:
    """As a reader of the recording would write it."""
    path = tmp_path / "run.cassette"

    @tape_tool
    def look() -> Any:
        return recorded

    with use_tape(path, mode="record"):
        look()
    with use_tape(path, fork=TapeFork(at="tool:1", change=f"tool-result={value}")):
        assert look() == got


def test_held_answers_and_results_come_in_their_order(parent: Path, tmp_path: Path) -> None:
    """Whatever is asked behind the change."""
    for change in ('tool-result={"text": "buy silk"}', "none"):
        with use_tape(parent, fork=TapeFork(at="tool:1", change=change, tail="held")) as tape:
            assert agent(tool=served_note) == "It says to buy milk."
        assert tape.result.fork is not None
        assert tape.result.fork.unanswered == ()
    fork = TapeFork(at="tape:1", change="response=No.", tail="held", child=tmp_path / "c")
    with use_tape(parent, fork=fork):
        assert agent() == "No."
        assert served_note("another.txt") == {"text": "buy milk"}
    assert ran == []


def test_a_served_tool_never_runs_behind_a_change(parent: Path) -> None:
    """Where the recording does not have the call, it fails, and that is reported."""
    with use_tape(parent, fork=TapeFork(at="tape:1", change="response=No.")) as tape:
        agent()
        with pytest.raises(ToolError, match="does not run"):
            served_note("another.txt")
        assert read_note("another.txt") == {"text": "buy milk"}  # it may run
    assert ran == ["another.txt"]
    assert tape.result.fork is not None
    assert "tool read_note was not recorded" in tape.result.fork.unanswered[0]


@pytest.mark.parametrize("fault", [one.name for one in PROVIDER_FAULTS])
def test_every_fault_of_the_provider_is_a_fork(parent: Path, tmp_path: Path, fault: str) -> None:
    """The child has what the client got; a child of a failed run is published, too."""
    spec = f"{fault}:30@2" if fault == "stalled" else f"{fault}@2"
    more: dict[str, Any] = {}
    if fault == "swapped-tool-result":  # it changes the question: a tail must read it
        more = {"script": tmp_path / "script.toml"}
    if fault == "swapped-tool-result":
        with pytest.raises(UsageError, match="two different tool results"):
            use_tape(parent, fork=TapeFork(fault=spec, **more)).__enter__()
        return
    child = tmp_path / "child.cassette"
    using = use_tape(parent, fork=TapeFork(fault=spec, child=child))
    got: Any = None
    try:
        with using:
            got = agent()
    except Exception as exc:  # noqa: BLE001 - whatever its client makes of it
        got = type(exc)
    report = using.result.fork
    assert report is not None
    assert report.origin.changed == f"fault={spec.removesuffix('@2')}"
    raised = "" if isinstance(got, str) else got.__qualname__
    assert report.raised == raised
    again: Any = None
    try:
        with use_tape(child):
            again = agent()
    except Exception as exc:  # noqa: BLE001 - as above
        again = type(exc)
    assert again == (got if fault != "stalled" else "It says to buy milk.")


def test_swapped_results_are_told_to_a_tail(tmp_path: Path) -> None:
    """With two results before the request."""
    path, script = tmp_path / "run.cassette", tmp_path / "s.toml"
    calls = ", ".join(f'{{ tool = "read_note", arguments = {{ path = "{one}" }} }}' for one in "ab")
    first = f"[[replies]]\ntimes = 1\nparts = [{calls}]\n"
    text = (
        f'version = 1\n{first}[[replies]]\ntimes = 0\nwhen = {{ after = "tool" }}\ntext = "Done."\n'
    )
    script.write_text(text.replace(first, ""))

    @tape_tool(name="read_note")
    def named(path: str) -> dict[str, str]:
        return {"text": path}

    with (
        FakeProviderServer(Script.parse(text, variables={})) as provider,
        use_tape(path, mode="record"),
    ):
        agent(provider.url, named)
    fork = TapeFork(fault="swapped-tool-result@2", script=script)
    with use_tape(path, fork=fork) as tape:
        assert agent(tool=named) == "Done."
    assert tape.result.fork is not None
    assert tape.result.fork.unanswered == ()


def test_a_changed_model_and_an_asked_tail(parent: Path, tmp_path: Path) -> None:
    """They need a tail that reads; without one they are refused."""
    for change in ("model=other", "ask", "tool-result=silk"):
        with pytest.raises(UsageError, match="does not depend"):
            use_tape(parent, fork=TapeFork(at="tape:2", change=change)).__enter__()
        fork = TapeFork(at="tape:2", change=change, script=tmp_path / "script.toml")
        with use_tape(parent, fork=fork):
            expected = "else" if change.startswith("tool-result") else "buy milk"
            assert expected in agent()


def test_a_live_provider_answers_behind_the_change(parent: Path, tmp_path: Path) -> None:
    """Through the proxy of forks, and only with an agreement where it is not on this machine."""
    fork = TapeFork(
        at="tool:1", change='tool-result={"text": "buy silk"}', tail="live",
        live=LiveTerms(provider="openai"),
    )  # fmt: skip
    with pytest.raises(ApprovalNeededError), use_tape(parent, fork=fork):
        agent()
    with FakeProviderServer(Script.parse(SCRIPT, variables={})) as provider:
        for later in (False, True):
            fork = TapeFork(
                at="tool:1", change='tool-result={"text": "buy silk"}', tail="live",
                live=LiveTerms(provider=provider.url), child=tmp_path / "child.cassette",
                overwrite=True,
            )  # fmt: skip
            with use_tape(parent, fork=fork) as tape:
                answer = asyncio.run(agent_later()) if later else agent()
            assert answer == "It says something else."
            assert tape.result.fork is not None
            assert tape.result.fork.requests == 1
        assert len(provider.requests) == 2
    with use_tape(tmp_path / "child.cassette"):
        assert agent() == "It says something else."


def test_what_differs_before_the_change_leaves_no_child(parent: Path, tmp_path: Path) -> None:
    """Another question, a tool that gives another result, a place that never comes."""
    child = tmp_path / "child.cassette"
    fork = TapeFork(at="tape:2", change="response=No.", child=child)

    @tape_tool(name="read_note")
    def other(path: str) -> dict[str, str]:
        return {"text": f"not {path}"}

    for what, code in (
        ("tool-changed", lambda: agent(tool=other)),
        ("was not reached", lambda: None),
        ("call-changed", lambda: httpx.post(f"{NOWHERE}/v1/chat/completions", json={"model": "x"})),
    ):
        refused = pytest.raises(DivergenceError, match=f"(?s)no fork.*{what}")
        with refused, use_tape(parent, fork=fork):
            code()
        assert not child.exists()


@pytest.mark.parametrize(
    ("fork", "error", "says"),
    [
        (TapeFork(at="tape:9"), NotFoundError, "2 requests"),
        (TapeFork(at="tool:2", change="tool-result=x"), NotFoundError, "1 tool calls"),
        (TapeFork(at="9"), NotFoundError, "3 calls"),
        (TapeFork(at="tool:1", change="response=x"), UsageError, "at a request"),
        (TapeFork(at="tape:1", change="tool-result=x", tail="fake"), UsageError, "no tool result"),
        (TapeFork(at="tape:1", change="swap=tape:9"), NotFoundError, "tape:9"),
        (TapeFork(at="tape:2", child="run.cassette"), ExistsError, "run.cassette"),
    ],
)
def test_what_cannot_be_forked_is_refused_when_the_block_is_entered(
    parent: Path, fork: TapeFork, error: type[CassetteError], says: str
) -> None:
    """Nothing of the block runs."""
    with pytest.raises(error, match=says), use_tape(parent, fork=fork):
        pytest.fail("it was entered")


@pytest.mark.parametrize(
    ("fork", "says"),
    [
        (TapeFork(), "needs a place"),
        (TapeFork(at="tape:1", change="input=x"), "no terminal"),
        (TapeFork(at="tape:1", change="exit=3"), "no terminal"),
        (TapeFork(fault="error"), "one place"),
        (TapeFork(at="tape:1", fault="error@2"), "one place"),
        (TapeFork(at="tape:2", fault="error", change="response=x"), "one change"),
        (TapeFork(fault="login-screen@1"), "fault of the terminal"),
        (TapeFork(at="tape:1", tail="fake", script="s.toml"), "goes with"),
        (TapeFork(at="page:1"), "not a place"),
    ],
)
def test_a_wrong_fork_is_an_error_at_once(fork: TapeFork, says: str) -> None:
    """Where ``use_tape`` is called."""
    with pytest.raises(UsageError, match=says):
        use_tape("run.cassette", fork=fork)


def test_a_body_that_fails_behind_the_change_has_a_child_and_fails(
    parent: Path, tmp_path: Path
) -> None:
    """Its error is the one that is raised."""
    child = tmp_path / "child.cassette"

    @use_tape(parent, fork=TapeFork(at="tape:2", change="response=No.", child=child))
    def test_agent() -> None:
        assert "milk" in agent()

    with pytest.raises(AssertionError):
        test_agent()
    assert types_of(child).count("fork") == 1


def test_draws_are_served_before_the_change_and_made_behind_it(tmp_path: Path) -> None:
    """The child has all of them."""
    path, child = tmp_path / "run.cassette", tmp_path / "child.cassette"

    @tape_tool
    def look() -> str:
        return "milk"

    with use_tape(path, mode="record") as tape:
        first = tape.draws.uuid4()
        look()
    fork = TapeFork(at="tool:1", change="tool-result=silk", child=child, overwrite=True)
    with use_tape(path, fork=fork) as tape:
        assert tape.draws.uuid4() == first
        assert look() == "silk"
        second = tape.draws.random()
    with use_tape(child) as tape:
        assert tape.draws.uuid4() == first
        assert look() == "silk"
        assert tape.draws.random() == second
    with pytest.raises(DivergenceError, match="no fork"), use_tape(path, fork=fork) as tape:
        tape.draws.random()


# -- by a command --------------------------------------------------------------------------

CODE = f"""
import json, sys
import {HTTPX} as httpx
from ptycassette import tape_tool, use_tape

@tape_tool
def read_note(path):
    return {{"text": "buy milk"}}

def agent():
    messages = [{{"role": "user", "content": {ASKED!r}}}]
    with httpx.Client() as client:
        while True:
            body = {{"model": "m", "messages": messages, "tools": {body_of([])["tools"]!r}}}
            answer = client.post("{NOWHERE}/v1/chat/completions", json=body)
            message = answer.json()["choices"][0]["message"]
            if not message.get("tool_calls"):
                return message["content"]
            messages.append(message)
            for call in message["tool_calls"]:
                result = read_note(**json.loads(call["function"]["arguments"]))
                content = json.dumps(result)
                messages.append({{"role": "tool", "tool_call_id": call["id"], "content": content}})

with use_tape("run.cassette"):
    said = agent()
print(said)
sys.exit("milk" not in said)
"""


@pytest.fixture
def code(parent: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A script that uses the cassette; the current folder is its."""
    (parent.parent / "code.py").write_text(CODE)
    monkeypatch.chdir(parent.parent)
    return [sys.executable, "code.py"]


def test_a_command_runs_the_code_of_a_fork(code: list[str]) -> None:
    """The report has its status; the child is where it was wanted."""
    places = ptycassette("fork", "--places", "run.cassette", status=0).stdout
    made = ptycassette(
        "fork", "run.cassette", "--at", "tool:1", "--change", 'tool-result={"text": "silk"}',
        "--script", "script.toml", "-o", "child.cassette", "--json",
        *PATIENT, "--", *code, status=0,
    )  # fmt: skip

    assert places.splitlines() == [
        "tape:1  asks POST /v1/chat/completions",
        'tool:1  calls read_note {"path":"note.txt"}',
        "tape:2  asks POST /v1/chat/completions, tells a result",
    ]
    report = json.loads(made.stdout)
    assert report["exit"]["Code"] == 1
    assert report["argv"] == code
    assert report["child"] == "child.cassette"
    assert types_of(Path("child.cassette")).count("fork") == 1
    assert "child.cassette" in ptycassette("lineage", "run.cassette", status=0).stdout


def test_a_command_may_run_one_test(code: list[str], tmp_path: Path) -> None:
    """As the function under pytest; ``pytest`` is that of this Python where PATH has none."""
    body = CODE.replace(
        'with use_tape("run.cassette"):', '@use_tape("run.cassette")\ndef test_it():'
    )
    body = body.partition("print(said)")[0] + '    assert "milk" in said\n'
    (tmp_path / "test_code.py").write_text(body)
    environment = {**os.environ, "PATH": "/usr/bin:/bin"}
    made = ptycassette(
        "fork", "run.cassette", "--fault", "empty@1", "-o", "child.cassette", *PATIENT, "--",
        "pytest", "-q", "-p", "no:cacheprovider", "test_code.py::test_it",
        env=environment, status=0,
    )  # fmt: skip

    assert "changed: fault=empty" in made.stdout
    assert "exit: status 1" in made.stdout


@pytest.mark.parametrize(
    ("words", "command", "status", "says"),
    [
        (("--at", "tape:9", "--change", "response=x"), ("false",), 3, "2 requests"),
        (("--at", "tape:1", "--change", "input=x"), ("false",), 2, "--at exchange"),
        (("--at", "tape:1", "--change", "response=x"), (), 2, "-- pytest"),
        (("--at", "tape:1", "--change", "response=x"), ("true",), 1, "no block of use_tape"),
        (("--at", "tape:1", "--change", "response=x"), ("/no/such",), 127, "cannot be started"),
        (("--at", "tape:1", "--change", "none", "--patience", "0.1"), ("sleep", "60"), 1, "ended"),
        (("--fault", "eror@1"), ("false",), 2, "is not a known fault"),
    ],
)
@pytest.mark.usefixtures("code")
def test_a_command_that_cannot_fork_says_why(
    words: tuple[str, ...], command: tuple[str, ...], status: int, says: str
) -> None:
    """With the documented status, and without a child."""
    end = ("--", *command) if command else ()
    refused = ptycassette("fork", "run.cassette", *words, "-o", "child.cassette", *end)

    assert (refused.returncode, says in refused.stderr) == (status, True), refused.stderr
    assert not Path("child.cassette").exists()


def test_a_block_that_differs_tells_the_command(code: list[str]) -> None:
    """The error of the block, not only its status; two blocks of one cassette are refused."""
    Path("code.py").write_text(CODE.replace(ASKED, "Something else?"))
    words = ("--at", "tape:2", "--change", "response=x", "-o", "child.cassette", *PATIENT, "--")
    differs = ptycassette("fork", "run.cassette", *words, *code, status=1)
    Path("code.py").write_text(
        CODE.replace("print(said)", "with use_tape('run.cassette'): agent()")
    )
    twice = ptycassette("fork", "run.cassette", *words, *code, status=0)

    assert "call-changed" in differs.stderr
    assert "Something else?" in differs.stderr
    assert "exit: status 1" in twice.stdout


# -- blame ---------------------------------------------------------------------------------


PLANTED = f"""
import sys
import {HTTPX} as httpx
from ptycassette import tape_tool, use_tape

RULE = sys.argv[1]

@tape_tool
def look(what):
    return "the light is green"

@tape_tool
def count(what):
    return "seven"

def ask(text):
    body = {{"model": "m", "messages": [{{"role": "user", "content": text}}]}}
    with httpx.Client() as client:
        answer = client.post("URL/v1/chat/completions", json=body).json()
    return answer["choices"][0]["message"]["content"] or ""

with use_tape("planted.cassette"):
    seen = [ask("one"), look("a"), ask("two"), count("b"), ask("three")]
if RULE == "crash" and not seen[0]:
    raise ValueError("no answer")
sys.exit({{"answer": "granted" not in seen[2], "tool": "green" not in seen[1]}}.get(RULE, False))
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rule", "causes"), [("answer", ["tape:2"]), ("tool", ["tool:1"]), ("crash", [])]
)
def test_a_planted_cause_is_blamed_and_nothing_else(
    tmp_path: Path, rule: str, causes: list[str]
) -> None:
    """Decoys are the calls before and behind it, with the same words; shams are never blamed."""
    script = 'version = 1\n[[replies]]\ntimes = 0\ntext = "Step is granted."\n'
    with FakeProviderServer(Script.parse(script, variables={})) as provider:
        (tmp_path / "code.py").write_text(PLANTED.replace("URL", provider.url))
        ran = recorded_planted(tmp_path, rule)
        assert ran == 0
    options = BlameOptions(
        oracle=Oracle(kind="exit"), budget=60, jobs=4,
        interventions=("neutral", "drop", "sham"),
        tail="held", argv=(sys.executable, "code.py", rule), cwd=tmp_path, patience_s=120.0,
    )  # fmt: skip
    report = blame_command(tmp_path / "planted.cassette", options)

    assert list(report.causes) == causes
    assert [step.at for step in report.steps] == ["tape:1", "tool:1", "tape:2", "tool:2", "tape:3"]
    assert {step.label for step in report.steps if step.at not in causes} == {"no effect"}
    assert {step.label for step in report.shams} == {"no effect"}
    crashed = [one.reasons for step in report.steps for one in step.interventions if one.reasons]
    assert crashed == ([("the program crashed: ValueError",)] if rule == "crash" else [])
    assert report.deterministic


def recorded_planted(folder: Path, rule: str) -> int:
    """Record the planted code; its status."""
    environment = {**os.environ, "PTYCASSETTE_MODE": "record"}
    argv = [sys.executable, "code.py", rule]
    return subprocess.run(argv, cwd=folder, env=environment, check=False, timeout=120).returncode


def test_a_crash_is_no_effect_of_nothing(code: list[str], tmp_path: Path) -> None:
    """It is undefined, as a run without a verdict; a budget that ends ends with 6."""
    words = (
        "blame",
        "run.cassette",
        *PATIENT,
        "--oracle",
        "exit",
        "--at",
        "tape:2",
        "--intervention",
        "drop",
    )
    Path("code.py").write_text(CODE.replace("print(said)", "len(said)").replace(
        "    said = agent()", "    said = agent() + ''"))  # fmt: skip
    found = json.loads(
        ptycassette(*words, "--budget", "20", "--json", "--", *code, status=0).stdout
    )
    [step] = found["steps"]
    assert (step["label"], found["causes"]) == ("undefined", [])
    assert "TypeError" in step["interventions"][0]["reasons"][0]
    assert ptycassette(*words[:6], "--budget", "5", "--", *code).returncode == 6
    for end, status in (((), 2), (("--", "false"), 1)):
        assert ptycassette(*words, "--budget", "9", *end).returncode == status


# -- what changed --------------------------------------------------------------------------


def test_causes_of_drift_are_known_for_code(parent: Path, tmp_path: Path) -> None:
    """Nothing right after a recording; against a newer one its models, features, headers."""
    alone = json.loads(ptycassette("doctor", "--drift", str(parent), "--json", status=0).stdout)
    newer = tmp_path / "newer.cassette"
    with (
        FakeProviderServer(Script.parse(SCRIPT, variables={})) as provider,
        use_tape(newer, mode="record"),
        httpx.Client() as client,
    ):
        body = {"model": "other", "messages": [{"role": "user", "content": "x"}], "seed": 1}
        client.post(
            f"{provider.url}/v1/chat/completions",
            json=body, headers={"user-agent": "sdk/2", "openai-beta": "new"},
        )  # fmt: skip
    words = ("doctor", "--drift", str(parent), "--now", str(newer), "--json")
    found = json.loads(ptycassette(*words, status=1).stdout)
    causes = {one["cause"]: one for one in found["causes"] if one["status"] == "changed"}

    assert alone["same"]
    by_name = {one["cause"]: one["status"] for one in alone["causes"]}
    assert (by_name["version"], by_name["term"]) == ("same", "not-recorded")
    assert set(causes) >= {
        "asked-models", "provider-models", "request-features", "request-headers",
    }  # fmt: skip
    assert causes["request-features"]["now"] == "also seed"
    assert "tool read_note" in causes["request-features"]["recorded"]
    assert "user-agent: sdk/2" in causes["request-headers"]["now"]
