"""A fault breaks an agent that is not ready for it, and is survived by one that is."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("aiohttp")

from ptycassette.agents.faults.provider import PROVIDER_FAULTS
from ptycassette.agents.faults.registry import parse_fault
from ptycassette.agents.fork.io.forking import fork
from ptycassette.agents.fork.io.live import ForkOptions
from ptycassette.agents.fork.places import Change, ForkPlace
from ptycassette.agents.fork.report import ForkReport
from ptycassette.agents.harness.fake.script import Script
from ptycassette.agents.harness.io.fake_provider import FakeProviderServer
from ptycassette.cassette.io.reader import open_cassette
from ptycassette.cassette.io.verdict import verify_cassette
from ptycassette.errors import UsageError
from ptycassette.recording.io.recording import record

pytestmark = pytest.mark.integration

AGENT = (sys.executable, "-I", str(Path(__file__).parent.parent / "programs" / "fault_agent.py"))
SCRIPT = """
version = 1
[[replies]]
parts = [{ tool = "clock", arguments = { zone = "UTC" } }]
"""
TIMED = {"dribble": "dribble:2.5", "stalled": "stalled:60"}


@pytest.fixture(scope="module")
def parent(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One question and its answer, a call of a tool."""
    folder = tmp_path_factory.mktemp("recorded")
    with FakeProviderServer(Script.parse(SCRIPT, where="script", variables={})) as provider:
        options: dict[str, Any] = {"tape": provider.url, "probe_version": False}
        with record(AGENT, folder / "agent.cassette", **options) as session:
            session.wait_for_text("it is noon UTC", timeout_s=90)
            session.wait_exit(timeout_s=90)
    return folder / "agent.cassette"


def forked(parent: Path, child: Path, fault: str, *words: str) -> ForkReport:
    """The agent with this fault."""
    options = ForkOptions(
        at=ForkPlace("tape", 1),
        change=Change.of(parse_fault(fault)),
        trusted=True,
        argv=(*AGENT, *words),
        patience_s=60,
    )
    with open_cassette(parent) as cassette:
        return fork(cassette, child, options)


def printed(child: Path) -> str:
    """All that it printed."""
    with open_cassette(child) as cassette:
        return b"".join(
            event.data for event in cassette.events() if event.kind == "output"
        ).decode()  # fmt: skip


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(name, marks=() if name in {"error", "disconnect"} else pytest.mark.slow)
        for name in (one.name for one in PROVIDER_FAULTS if not one.of_questions)
    ],
)
def test_a_fault_breaks_who_is_not_ready(parent: Path, tmp_path: Path, fault: str) -> None:
    """Whoever asks again gets the recorded answer."""
    given = TIMED.get(fault, fault)
    unready = forked(parent, tmp_path / "unready", given)
    ready = forked(parent, tmp_path / "ready", given, "--ready")

    assert unready.exit is not None
    assert ready.exit is not None
    assert (unready.exit.code, ready.exit.code) == (1, 0)
    assert "it is noon" not in printed(tmp_path / "unready")
    said = printed(tmp_path / "ready")
    assert said.startswith("no use")
    assert said.endswith("it is noon UTC\r\n")
    assert (ready.requests, ready.unanswered) == (2, ())
    for child in ("unready", "ready"):
        assert verify_cassette(tmp_path / child).error is None


def test_what_a_fault_did_to_the_connection_is_on_the_childs_tape(
    parent: Path, tmp_path: Path
) -> None:
    """An answer that never began, and then one."""
    forked(parent, tmp_path / "child", "disconnect", "--ready")
    with open_cassette(tmp_path / "child") as child:
        outcomes = [one.entry.outcome for one in child.tape()]
        answers = [one.entry.answer is not None for one in child.tape()]

    assert outcomes == ["provider-gone", "complete"]
    assert answers == [False, True]


RESULTS = """
version = 1
[[replies]]
when = { after = "prompt" }
[[replies.parts]]
tool = "clock"
arguments = { zone = "UTC" }
[[replies.parts]]
tool = "clock"
arguments = { zone = "HST" }
[[replies]]
times = 0
when = { result_contains = "noon UTC\\nnoon HST" }
text = "noon UTC, noon HST"
[[replies]]
times = 0
text = "noon HST, noon UTC"
"""


@pytest.mark.slow
def test_swapped_results_mislead_who_does_not_check(tmp_path: Path) -> None:
    """The model is told them once; whoever asks again gets a true answer."""
    script = tmp_path / "script.toml"
    script.write_text(RESULTS)
    with FakeProviderServer(Script.parse(RESULTS, where="script", variables={})) as provider:
        options: dict[str, Any] = {"tape": provider.url, "probe_version": False}
        with record((*AGENT, "--two"), tmp_path / "agent", **options) as session:
            session.wait_for_text("it is noon UTC, noon HST", timeout_s=90)
            session.wait_exit(timeout_s=90)
    for words in ((), ("--ready",)):
        fork_options = ForkOptions(
            at=ForkPlace("tape", 2),
            change=Change.of(parse_fault("swapped-tool-result")),
            script=script,
            trusted=True,
            argv=(*AGENT, "--two", *words),
            patience_s=60,
        )
        with open_cassette(tmp_path / "agent") as cassette:
            fork(cassette, tmp_path / f"child{len(words)}", fork_options)

    assert printed(tmp_path / "child0") == "it is noon HST, noon UTC\r\n"
    assert printed(tmp_path / "child1") == "no use: ValueError\r\nit is noon UTC, noon HST\r\n"


def test_a_fault_that_the_api_does_not_have_is_refused(parent: Path, tmp_path: Path) -> None:
    """Before anything is started."""
    with pytest.raises(UsageError, match="is not a known fault"):
        forked(parent, tmp_path / "child", "late")
    assert not (tmp_path / "child").exists()
