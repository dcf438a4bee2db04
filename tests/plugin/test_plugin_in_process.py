"""The fixture and the marker for the model and tool calls of a test."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec

import pytest

HTTPX = next((name for name in ("httpx", "httpx2") if find_spec(name)), "httpx")
pytest.importorskip(HTTPX)

pytest_plugins = ["pytester"]
pytestmark = pytest.mark.integration

INI = "[pytest]\nasyncio_default_fixture_loop_scope = function\n"
ALONE = ("-p", "no:xdist", "-p", "no:textual-snapshot")
AGENT = """
import HTTPX as httpx
from ptycassette import tape_tool

def ask(text):
    body = {"model": "m", "messages": [{"role": "user", "content": text}]}
    with httpx.Client() as client:
        return client.post("URL/v1/chat/completions", json=body).json()["said"]

async def ask_later(text):
    body = {"model": "m", "messages": [{"role": "user", "content": text}]}
    async with httpx.AsyncClient() as client:
        return (await client.post("URL/v1/chat/completions", json=body)).json()["said"]
"""
TESTS = """
import pytest
from agent import ask, ask_later
from ptycassette import use_tape

def test_fixture(ptycassette_tape):
    assert ask("one") == "one"

@pytest.mark.ptycassette_tape("named.cassette")
def test_marker():
    assert ask("two") == "two"

@pytest.mark.asyncio
async def test_async_fixture(ptycassette_tape):
    assert await ask_later("three") == "three"

class TestGroup:
    @pytest.mark.ptycassette_tape
    @pytest.mark.asyncio
    async def test_async_marker(self):
        assert await ask_later("four") == "four"

@pytest.mark.parametrize("text", ["five", "six"])
@pytest.mark.ptycassette_tape
def test_parameters(text):
    assert ask(text) == text

@use_tape("cassettes/decorated.cassette")
def test_decorator(tmp_path):
    assert ask("seven") == "seven"

@pytest.mark.asyncio
@use_tape("cassettes/decorated-later.cassette")
async def test_async_decorator(tape):
    assert await ask_later("eight") == "eight"
"""


@pytest.fixture
def provider() -> Iterator[str]:
    """A provider that repeats what it is asked; its URL."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            data = json.dumps({"said": body["messages"][0]["content"]}).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *args: object) -> None:
            """Print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


def run(pytester: pytest.Pytester, url: str, *options: str, tests: str = TESTS) -> pytest.RunResult:
    """A run of ``tests`` in a folder of their own."""
    pytester.makeini(INI)
    pytester.makepyfile(agent=AGENT.replace("URL", url).replace("HTTPX", HTTPX), test_agent=tests)
    return pytester.runpytest_subprocess("-W", "error", *options)


def test_tests_record_and_replay_without_a_provider(
    pytester: pytest.Pytester, provider: str
) -> None:
    """Functions and coroutines, by fixture, marker and decorator, each with its own cassette."""
    run(pytester, provider, *ALONE, "--ptycassette-mode=record").assert_outcomes(passed=8)
    replayed = run(pytester, "http://127.0.0.1:9", *ALONE)

    replayed.assert_outcomes(passed=8)
    replayed.stdout.fnmatch_lines(["*ptycassette: replayed 8*"])
    assert (pytester.path / "cassettes" / "named.cassette").is_dir()


@pytest.mark.slow
def test_workers_of_xdist_never_mix(pytester: pytest.Pytester, provider: str) -> None:
    """They record and replay at once."""
    pytest.importorskip("xdist")
    options = ("-n", "2", "-p", "no:textual-snapshot")

    run(pytester, provider, *options, "--ptycassette-mode=record").assert_outcomes(passed=8)
    run(pytester, "http://127.0.0.1:9", *options).assert_outcomes(passed=8)


SHARED = """
import pytest
from agent import ask
from ptycassette import use_tape

@pytest.fixture(scope="module")
def shared():
    with use_tape("shared.cassette"):
        yield

@pytest.mark.parametrize("text", ["one", "two", "three", "four"])
def test_of_several(shared, text):
    assert ask(text) == text
"""


@pytest.mark.slow
def test_a_block_of_several_tests_needs_one_worker(
    pytester: pytest.Pytester, provider: str
) -> None:
    """By default pytest-xdist gives the tests of a module to all workers; the error names that."""
    pytest.importorskip("xdist")
    options = ("-n", "2", "-p", "no:textual-snapshot")
    record = run(pytester, provider, *options, "--ptycassette-mode=record", tests=SHARED)
    assert record.parseoutcomes()["errors"] == 2
    assert "recorded in this run already" in record.stdout.str() or (
        "is being recorded by" in record.stdout.str()
    )
    run(pytester, provider, *ALONE, "--ptycassette-mode=record", tests=SHARED).assert_outcomes(
        passed=4
    )

    split = run(pytester, "http://127.0.0.1:9", *options, tests=SHARED)
    whole = run(pytester, "http://127.0.0.1:9", *options, "--dist", "loadfile", tests=SHARED)

    assert split.parseoutcomes()["errors"] == 2
    split.stdout.fnmatch_lines(["*pytest-xdist may run them in different workers*loadfile*"])
    whole.assert_outcomes(passed=4)


IN_FIXTURES = """
import pytest
from agent import ask
from ptycassette import use_tape

@pytest.fixture(scope="SCOPE")
def tape():
    with use_tape("shared.cassette"):
        yield

class TestOne:
    def test_first(self, tape):
        assert ask("one") == "one"

class TestTwo:
    def test_second(self, tape):
        assert ask("two") == "two"
"""


@pytest.mark.parametrize("scope", ["function", "class"])
def test_a_fixture_does_not_replace_a_recording_of_this_run(
    pytester: pytest.Pytester, provider: str, scope: str
) -> None:
    """It records when its test is over; the next test is refused, and a new run may replace it."""
    tests = IN_FIXTURES.replace("SCOPE", scope)
    for _ in range(2):
        record = run(pytester, provider, *ALONE, "--ptycassette-mode=record", tests=tests)

        record.assert_outcomes(passed=1, errors=1)
        record.stdout.fnmatch_lines(["*recorded in this run already, by *::test_first, and is*"])
    run(pytester, "http://127.0.0.1:9", *ALONE, "-k", "first", tests=tests).assert_outcomes(
        passed=1, deselected=1
    )


AUTO = """
import HTTPX as httpx
from agent import ask, ask_later
from ptycassette import use_tape

async def test_auto_mode(ptycassette_tape):
    assert await ask_later("one") == "one"

@use_tape("decorated.cassette")
async def test_auto_decorated():
    assert await ask_later("two") == "two"

class TestClass:
    @use_tape("method.cassette")
    async def test_method(self, tape):
        assert await ask_later("three") == "three"
"""


@pytest.mark.slow
def test_asynchronous_tests_without_markers_have_tapes(
    pytester: pytest.Pytester, provider: str
) -> None:
    """The automatic mode of pytest-asyncio runs them."""
    pytest.importorskip("pytest_asyncio")
    tests = AUTO.replace("HTTPX", HTTPX)
    options = (*ALONE, "-o", "asyncio_mode=auto")

    run(pytester, provider, *options, "--ptycassette-mode=record", tests=tests).assert_outcomes(
        passed=3
    )
    run(pytester, "http://127.0.0.1:9", *options, tests=tests).assert_outcomes(passed=3)


SWALLOWS = """
from agent import ask
from ptycassette import use_tape

def agent(text):
    try:
        return ask(text)
    except Exception:
        return "the agent gives up"

def test_one(ptycassette_tape):
    assert agent("TEXT")
"""


def test_a_swallowed_divergence_fails_the_test(pytester: pytest.Pytester, provider: str) -> None:
    """When its body is over, with the place where the question differs."""
    recorded = run(
        pytester, provider, *ALONE, "--ptycassette-mode=record",
        tests=SWALLOWS.replace("TEXT", "milk"),
    )  # fmt: skip
    recorded.assert_outcomes(passed=1)
    changed = run(pytester, provider, *ALONE, tests=SWALLOWS.replace("TEXT", "silk"))

    changed.assert_outcomes(failed=1)
    changed.stdout.fnmatch_lines(["*call-changed*", "*recorded 'milk', asked 'silk'*"])


def test_a_failed_test_keeps_no_recording(pytester: pytest.Pytester, provider: str) -> None:
    """Neither a new one nor a part of one; what was there stays."""
    passing = "from agent import ask\ndef test_one(ptycassette_tape):\n    ask('milk')\n"
    failing = passing.replace("ask('milk')", "ask('silk'); assert False")
    run(pytester, provider, *ALONE, "--ptycassette-mode=record", tests=failing).assert_outcomes(
        failed=1
    )
    assert not (pytester.path / "cassettes").exists()
    run(pytester, provider, *ALONE, "--ptycassette-mode=auto", tests=passing).assert_outcomes(
        passed=1
    )
    run(pytester, provider, *ALONE, "--ptycassette-mode=rewrite", tests=failing).assert_outcomes(
        failed=1
    )

    run(pytester, "http://127.0.0.1:9", *ALONE, tests=passing).assert_outcomes(passed=1)


def test_rerecord_reports_the_drift_of_a_test(pytester: pytest.Pytester, provider: str) -> None:
    """At the end of the run; an unknown mode or argument is an error."""
    text = "from agent import ask\ndef test_one(ptycassette_tape):\n    ask('milk')\n"
    run(pytester, provider, *ALONE, "--ptycassette-mode=record", tests=text)
    changed = text.replace("milk", "oat milk")
    again = run(pytester, provider, *ALONE, "--ptycassette-mode=rerecord", tests=changed)

    again.assert_outcomes(passed=1)
    again.stdout.fnmatch_lines(["*drift*test_one*1 change*"])
    wrong = (
        "import pytest\n@pytest.mark.ptycassette_tape(mod='record')\ndef test_one():\n    pass\n"
    )
    run(pytester, provider, *ALONE, tests=wrong).stderr.fnmatch_lines(["*mod is not one of*"])
    typo = run(pytester, provider, *ALONE, "--ptycassette-mode=recrod", tests=text)
    typo.stderr.fnmatch_lines(["*recrod*is not one of*"])


FAULTY = """
import pytest
from agent import ask
from ptycassette import TapeFork, use_tape

def twice(text):
    try:
        return ask(text)
    except Exception:
        return ask(text)

def test_fixture(ptycassette_tape):
    assert ask("one") == "one"

@pytest.mark.ptycassette_tape("two.cassette")
def test_marker():
    assert twice("two") == "two"

@use_tape("cassettes/three.cassette")
def test_decorator():
    assert twice("three") == "three"

def test_block(ptycassette_fault):
    with use_tape("cassettes/four.cassette") as tape:
        assert twice("four") == "four"
    assert ptycassette_fault is None or not tape.result.divergences

def test_other():
    pass
"""


def faults_of(pytester: pytest.Pytester, url: str, *options: str) -> dict[str, dict[str, str]]:
    """The outcomes of each test with each fault, after a recording."""
    run(pytester, url, *ALONE, "--ptycassette-mode=record", tests=FAULTY)
    run(
        pytester, "http://127.0.0.1:9", *ALONE, "--ptycassette-faults-json=f.json", *options,
        tests=FAULTY,
    )  # fmt: skip
    found: dict[str, dict[str, str]] = {}
    for one in json.loads((pytester.path / "f.json").read_text())["results"]:
        test = one["test"].rpartition("::")[2]
        found.setdefault(test, {})[one["fault"]] = one["outcome"]
    return found


@pytest.mark.parametrize("mode", ["replay", pytest.param("rerun", marks=pytest.mark.slow)])
def test_the_provider_of_code_fails_in_replay(
    pytester: pytest.Pytester, provider: str, mode: str
) -> None:
    """By fixture, marker, decorator and block; who asks again survives."""
    found = faults_of(
        pytester, provider, "--ptycassette-faults=error,disconnect,dribble",
        f"--ptycassette-mode={mode}",
    )  # fmt: skip

    survived = {"": "survived", "error": "survived", "disconnect": "survived"}
    assert found == {
        "test_fixture": {
            "": "survived", "error": "broken", "disconnect": "broken", "dribble": "survived",
        },
        **{name: {**survived, "dribble": "survived"} for name in
           ("test_marker", "test_decorator", "test_block")},
    }  # fmt: skip


@pytest.mark.slow
def test_all_faults_are_tried(pytester: pytest.Pytester, provider: str) -> None:
    """Code has no terminal, so it gets the eleven of the provider that answers can have."""
    found = faults_of(pytester, provider, "--ptycassette-faults=all", "-k", "test_block")
    assert len(found["test_block"]) == 1 + 11


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("stall", "stall is a fault of the terminal, and no test here can"),
        ("swapped-tool-result", "swapped-tool-result changes the request, but recorded answers"),
    ],
)
def test_a_fault_that_no_test_can_have_is_refused(
    pytester: pytest.Pytester, provider: str, fault: str, reason: str
) -> None:
    """Before any test runs."""
    refused = run(pytester, provider, *ALONE, f"--ptycassette-faults=error,{fault}", tests=FAULTY)
    assert refused.ret == pytest.ExitCode.USAGE_ERROR
    refused.stderr.fnmatch_lines([f"*{reason}*"])


FORKED = """
import pytest
from agent import ask
from ptycassette import TapeFork

@pytest.mark.ptycassette_tape(
    "named.cassette", fork=TapeFork(fault="error@1", child="child.cassette", overwrite=True)
)
def test_fork(ptycassette_tape):
    with pytest.raises(Exception):
        ask("two")
    assert ask("two") == "two"

@pytest.mark.ptycassette_tape("named.cassette", fork=TapeFork(at="tape:9", change="response=x"))
def test_nowhere(ptycassette_tape):
    pass

@pytest.mark.ptycassette("named.cassette", fork=TapeFork(at="tape:1"))
def test_program(ptycassette_use):
    pass
"""


def test_a_marker_forks_the_tape_of_a_test(pytester: pytest.Pytester, provider: str) -> None:
    """The child is beside its parent; a program's recording has none of it."""
    run(pytester, provider, *ALONE, "--ptycassette-mode=record", "-k", "test_marker")
    forked = run(pytester, "http://127.0.0.1:9", *ALONE, tests=FORKED)

    forked.assert_outcomes(passed=1, errors=2)
    forked.stdout.fnmatch_lines(["*there is no tape:9*", "*fork= is for ptycassette_tape*"])
    assert (pytester.path / "cassettes" / "child.cassette" / "manifest.json").is_file()


LEAN = """
import sys
from ptycassette import tape_tool, use_tape

@tape_tool(replay="serve")
def look_up(word):
    return [word]

@use_tape("run.cassette")
def test_it():
    assert look_up("milk") == ["milk"]

def test_loaded():
    heavy = ("aiohttp", "pyte", "ptycassette.agents.fork",
             "ptycassette.agents.harness", "ptycassette.tape.providers",
             "ptycassette.agents.rerun.made_answers", "ptycassette.formats",
             "ptycassette.recording.io", "ptycassette.recording.session.core",
             "ptycassette.recording.session.session", "ptycassette.recording.tape_source",
             "ptycassette.replaying.standin", "ptycassette.scrub.rules", "ptycassette.scrub.search",
             "ptycassette.scrub.session", "ptycassette.seal.bundle", "ptycassette.system.pty",
             "ptycassette.tape.consent", "ptycassette.terminal")
    roots = tuple(f"{name}." for name in heavy)
    assert [name for name in sys.modules if f"{name}.".startswith(roots)] == []
"""


def test_a_replay_loads_no_terminal(pytester: pytest.Pytester) -> None:
    """A test that replays calls waits for what calls need, and for nothing else."""
    pytester.makeini(INI)
    pytester.makepyfile(test_lean=LEAN)
    recorded = pytester.runpytest_subprocess(*ALONE, "--ptycassette-mode=record", "-k", "test_it")
    recorded.assert_outcomes(passed=1, deselected=1)

    pytester.runpytest_subprocess(*ALONE).assert_outcomes(passed=2)
