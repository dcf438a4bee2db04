"""Real agent CLIs are forked from their committed recordings, where they are installed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

pytest.importorskip("aiohttp")

from ptycassette.cassette.io import open_cassette, verify_cassette
from ptycassette.faults import parse_fault
from ptycassette.fork import Change, ForkPlace, Tail
from ptycassette.fork.io import ForkOptions, fork
from ptycassette.harness.io import load_profile
from ptycassette.harness.io.files import find_binary
from ptycassette.replaying.io import drift, replay
from ptycassette.rerun.io import RerunOptions
from tests.integration.test_tape_fixtures import HOMES, TAPES, drive_of

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
    ("codex-tape", "size=100x30", "exchange:1 tape:7 exchange:2", "scripted", NOTHING),
    ("codex-tape", "exit=7", "exchange:1 tape:7 exchange:2", "scripted", NOTHING),
    ("codex-tape", "fault=error", "tape:3", "fake", NOTHING),
    ("aider-tape", "input=Say hello", "exchange:1 exchange:3 exchange:5", "fake", "hello"),
    ("aider-tape", "response=Nothing to do.", "tape:1 tape:2", "scripted", "Nothing to do."),
    ("aider-tape", "model=m-2", "exchange:1 tape:1 tape:2", "fake", NOTHING),
    ("aider-tape", "binary=BINARY", "exchange:1 tape:2 exchange:5", "scripted", NOTHING),
    ("aider-tape", "size=100x30", "exchange:1 tape:2 exchange:5", "scripted", NOTHING),
    ("aider-tape", "exit=7", "exchange:1 tape:2 exchange:5", "scripted", NOTHING),
)
"""Codex has two inputs, and tells one tool result; aider calls no tool, and asks twice."""
CASES = [
    pytest.param(name, place, change, tail, shows, id=f"{name}-{change.partition('=')[0]}-{place}")
    for name, change, places, tail, shows in ROWS
    for place in places.split()
]


@pytest.mark.parametrize(("name", "at", "change", "tail", "shows"), CASES)
def test_an_agent_is_forked(  # noqa: PLR0917 - the columns of a table
    name: str, at: str, change: str, tail: Tail, shows: str, tmp_path: Path
) -> None:
    """All before the place is verified; the child verifies, plays, and shows what was changed."""
    drive = drive_of(name)
    found = find_binary(
        load_profile(drive.harness, env={}), path=os.environ.get("PTYCASSETTE_AGENTS", "")
    )
    if found is None:
        pytest.skip(f"PTYCASSETTE_AGENTS names no folder with {drive.harness}")
    if change == "binary=BINARY":
        other = tmp_path / drive.harness
        other.symlink_to(found)
        change = f"binary={other}"
    path = f"{Path(found).parent}:{os.environ['PATH']}"
    run = RerunOptions(
        trusted=True,
        mode=drive.mode,
        model=drive.model,
        files=dict(drive.files),
        root=HOMES,
        environment={"PATH": path, "TZ": "UTC", "LANG": "C.UTF-8"},
        patience_s=60,
    )
    options = ForkOptions(
        at=ForkPlace.parse(at),
        change=Change.of(parse_fault("error")) if change == "fault=error" else Change.parse(change),
        tail=tail,
        run=run,
    )
    with pytest.MonkeyPatch.context() as patch, open_cassette(TAPES / name) as cassette:
        patch.setenv("PATH", path)
        report = fork(cassette, tmp_path / "child", options)

    # A question of the side that came early is one more.
    assert len(report.origin.prefix.entries) >= PLACES[name][at]
    assert verify_cassette(tmp_path / "child").error is None
    with open_cassette(tmp_path / "child") as child:
        events = replay(child, mode="collapsed")
        played = b"".join(event.data for event in events if event.kind == "output")
        assert played == b"".join(child.raw())
        shown = "\n".join(row for frame in child.frames() for row in frame.text)
    assert shows in shown
    assert drift(TAPES / name, tmp_path / "child") or change.startswith("binary")
