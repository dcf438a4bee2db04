"""Real agent CLIs are forked from their committed recordings, where they are installed."""

from __future__ import annotations

import itertools
import os
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("aiohttp")

from ptycassette import drift, replay
from ptycassette.agents.faults.registry import parse_fault
from ptycassette.agents.fork.io.forking import fork
from ptycassette.agents.fork.io.live import ForkOptions, LiveTerms
from ptycassette.agents.fork.places import Change, ForkPlace, Tail
from ptycassette.agents.fork.report import ForkReport
from ptycassette.agents.harness.fake.script import Script
from ptycassette.agents.harness.io.fake_provider import FakeProviderServer
from ptycassette.cassette.io.reader import open_cassette
from ptycassette.cassette.io.verdict import verify_cassette
from tests.integration.test_tape_fixtures import HOMES, TAPES, cli_as_recorded, drive_of

pytestmark = [pytest.mark.integration, pytest.mark.slow]

PLACES = {
    "codex-tape": {"exchange:1": 2, "tape:3": 2, "tape:6": 5, "tape:7": 6, "exchange:2": 7},
    "aider-tape": {
        "exchange:1": 0, "exchange:3": 1, "exchange:5": 2, "tape:1": 0, "tape:2": 1,
    },
}  # fmt: skip
"""How many requests are verified before each place."""
NOTHING = ""
ROWS = (
    ("codex-tape", "input=Say hello", "exchange:1 exchange:2", "fake", "hello"),
    ("codex-tape", "response=It says to buy silk.", "tape:3 tape:6 tape:7", "scripted", NOTHING),
    ("codex-tape", "tool-result=buy silk", "tape:7", "fake", "The tool has answered."),
    ("codex-tape", "model=m-2", "exchange:1 tape:6 tape:7", "fake", NOTHING),
    ("codex-tape", "binary=BINARY", "exchange:1 tape:6 exchange:2", "scripted", NOTHING),
    ("codex-tape", "size=90x25", "exchange:1 tape:7 exchange:2", "scripted", NOTHING),
    ("codex-tape", "exit=7", "exchange:1 tape:7 exchange:2", "scripted", NOTHING),
    ("codex-tape", "fault=error", "tape:3", "fake", NOTHING),
    ("aider-tape", "input=Say hello", "exchange:1 exchange:3 exchange:5", "fake", "hello"),
    ("aider-tape", "response=Nothing to do.", "tape:1 tape:2", "scripted", "Nothing to do."),
    ("aider-tape", "model=m-2", "exchange:1 tape:1 tape:2", "fake", NOTHING),
    ("aider-tape", "binary=BINARY", "exchange:1 tape:2 exchange:5", "scripted", NOTHING),
    ("aider-tape", "size=90x25", "exchange:1 tape:2 exchange:5", "scripted", NOTHING),
    ("aider-tape", "exit=7", "exchange:1 tape:2 exchange:5", "scripted", NOTHING),
)
"""Codex has two inputs, and tells one tool result; aider calls no tool, and asks twice."""
CASES = [
    pytest.param(name, place, change, tail, shows, id=f"{name}-{change.partition('=')[0]}-{place}")
    for name, change, places, tail, shows in ROWS
    for place in places.split()
]


def forked(name: str, at: str, change: str, folder: Path, **more: Any) -> tuple[Path, ForkReport]:
    """The child, and what was reported."""
    drive = drive_of(name)
    found = cli_as_recorded(name)
    if change == "binary=BINARY":
        other = folder / drive.harness
        other.symlink_to(found)
        change = f"binary={other}"
    path = f"{Path(found).parent}:{os.environ['PATH']}"
    made = Change.of(parse_fault("error")) if change == "fault=error" else Change.parse(change)
    options = ForkOptions(
        at=ForkPlace.parse(at),
        change=made,
        trusted=True,
        mode=drive.mode,
        model=drive.model,
        files=dict(drive.files),
        root=HOMES,
        environment={"PATH": path, "TZ": "UTC", "LANG": "C.UTF-8"},
        patience_s=60,
        **more,
    )
    with pytest.MonkeyPatch.context() as patch, open_cassette(TAPES / name) as cassette:
        patch.setenv("PATH", path)
        return folder / "child", fork(cassette, folder / "child", options)


@pytest.mark.parametrize(("name", "at", "change", "tail", "shows"), CASES)
def test_an_agent_is_forked(  # noqa: PLR0917 - the columns of a table
    name: str, at: str, change: str, tail: Tail, shows: str, tmp_path: Path
) -> None:
    """All before the place is verified; the child verifies, plays, and shows what was changed."""
    child, report = forked(name, at, change, tmp_path, tail=tail)

    # A question of the side that came early is one more.
    assert len(report.origin.prefix.entries) >= PLACES[name][at]
    assert verify_cassette(child).error is None
    with open_cassette(child) as cassette:
        events = replay(cassette, mode="collapsed")
        played = b"".join(event.data for event in events if event.kind == "output")
        assert played == b"".join(cassette.raw())
        shown = "\n".join(row for frame in cassette.frames() for row in frame.text)
    assert shows in shown
    assert drift(TAPES / name, child) or change.startswith("binary")


LIVE = """
version = 1
auth = { require = "key" }
[[replies]]
times = 0
when = { result_contains = "silk" }
text = "Live: silk."
[[replies]]
times = 0
text = "Live: something."
"""


def test_codex_goes_on_with_a_live_provider(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Over the WebSocket that the tape has opened: the provider gets the whole conversation."""
    key = "-".join(("mine", "a" * 20))
    monkeypatch.setenv("OPENAI_API_KEY", key)
    script = Script.parse(LIVE, where="script", variables={})
    with FakeProviderServer(script, accepted_keys=frozenset((key,))) as provider:
        for ids in ("_stamps", "_calls"):  # others than those of the tape, which it made, too
            monkeypatch.setattr(provider._provider, ids, itertools.count(1000))
        child, report = forked(
            "codex-tape", "tape:7", "tool-result=buy silk", tmp_path,
            tail="live", live=LiveTerms(provider=provider.url),
        )  # fmt: skip
        asked = provider.requests

    assert (report.refused, report.unanswered) == ((), ())
    assert len(asked) == 1
    kinds = [item["type"] for item in asked[0]["body"]["input"]]
    assert kinds[-2:] == ["function_call", "function_call_output"]
    assert asked[0]["body"]["input"][-1]["output"] == "buy silk"
    with open_cassette(child, check="full") as cassette:
        shown = "\n".join(row for frame in cassette.frames() for row in frame.text)
        outcomes = [one.entry.kind for one in cassette.tape()]
    assert "Live: silk." in shown
    assert outcomes.count("websocket") == 2
