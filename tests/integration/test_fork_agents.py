"""Real agent CLIs are forked from their committed recordings, where they are installed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

pytest.importorskip("aiohttp")

from ptycassette.cassette.io import open_cassette, verify_cassette
from ptycassette.faults import parse_fault
from ptycassette.fork import Change, ForkPlace
from ptycassette.fork.io import ForkOptions, fork
from ptycassette.harness.io import load_profile
from ptycassette.harness.io.files import find_binary
from ptycassette.rerun.io import RerunOptions
from tests.integration.test_tape_fixtures import HOMES, TAPES, drive_of

pytestmark = [pytest.mark.integration, pytest.mark.slow]

CASES = [
    ("codex-tape", "tape:3", "response=It says to buy silk.", "scripted", 2, "buy silk"),
    ("codex-tape", "exchange:1", "input=Say hello", "fake", 2, "Say hello"),
    ("codex-tape", "tape:7", "tool-result=buy silk", "fake", 6, "The tool has answered."),
    ("codex-tape", "exchange:2", "size=100x30", "scripted", 7, ""),
    ("codex-tape", "tape:3", "fault=error", "fake", 2, ""),
    ("aider-tape", "tape:1", "response=Nothing to do.", "scripted", 0, "Nothing to do."),
    ("aider-tape", "exchange:3", "input=Say hello", "fake", 1, "Say hello"),
    ("aider-tape", "exchange:5", "exit=7", "scripted", 2, ""),
]


@pytest.mark.parametrize(
    ("name", "at", "change", "tail", "entries", "shows"),
    CASES,
    ids=[f"{name}-{at}-{change.partition('=')[0]}" for name, at, change, *_ in CASES],
)
def test_an_agent_is_forked(  # noqa: PLR0917 - the columns of a table
    name: str, at: str, change: str, tail: str, entries: int, shows: str, tmp_path: Path
) -> None:
    """All before the place is verified; the child is valid, and shows what was changed."""
    drive = drive_of(name)
    found = find_binary(
        load_profile(drive.harness, env={}), path=os.environ.get("PTYCASSETTE_AGENTS", "")
    )
    if found is None:
        pytest.skip(f"PTYCASSETTE_AGENTS names no folder with {drive.harness}")
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
        tail=tail,  # type: ignore[arg-type] # a name from the table
        run=run,
    )
    with pytest.MonkeyPatch.context() as patch, open_cassette(TAPES / name) as cassette:
        patch.setenv("PATH", path)
        report = fork(cassette, tmp_path / "child", options)

    # A question of the side that came early is one more.
    assert len(report.origin.prefix.entries) >= entries
    assert verify_cassette(tmp_path / "child").error is None
    with open_cassette(tmp_path / "child") as child:
        shown = "\n".join(row for frame in child.frames() for row in frame.text)
    assert shows in shown
