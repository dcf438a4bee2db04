"""What docs/agents.md says is recorded of each CLI is; the page is that of the recordings."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path

import pytest

from ptycassette.cassette.io.reader import open_cassette
from ptycassette.model.records import FrameRecord, InputRecord

pytestmark = pytest.mark.integration

ROOT = Path(__file__).resolve().parent.parent.parent
AGENTS = ROOT / "fixtures" / "agents"
MATRIX: dict[str, dict[str, dict[str, str]]] = tomllib.loads((AGENTS / "matrix.toml").read_text())
CELLS = [
    (name, item, cell["in"], cell["shows"])
    for name, items in MATRIX.items()
    for item, cell in items.items()
    if "in" in cell
]
CTRL_C = (b"\x03", b"\x1b[99;5u")  # the second with kitty's keyboard protocol in force


def test_every_cli_has_the_same_items() -> None:
    """Each is recorded, or says why it is not; every recording has its place or its CLI."""
    items = {frozenset(one) for one in MATRIX.values()}
    names = {path.parent.name.split("-")[0] for path in AGENTS.glob("*/manifest.json")}

    assert len(items) == 1
    assert names == set(MATRIX)
    assert all(
        cell.get("in") or cell.get("none") for one in MATRIX.values() for cell in one.values()
    )


@cache
def screens_of(recording: str) -> list[str]:
    """The text of each frame; read once, for all that is looked for in it."""
    with open_cassette(AGENTS / recording) as cassette:
        return ["\n".join(frame.text) for frame in cassette.frames()]


@pytest.mark.parametrize(("name", "item", "recording", "shows"), CELLS)
def test_a_recording_shows_what_it_is_named_for(
    name: str, item: str, recording: str, shows: str
) -> None:
    """On one of its screens."""
    assert recording.startswith(f"{name}-")
    assert any(shows in screen for screen in screens_of(recording))


@pytest.mark.parametrize("name", MATRIX)
def test_a_resize_is_one(name: str) -> None:
    """An input of that kind, after which the CLI still draws."""
    with open_cassette(AGENTS / MATRIX[name]["resize"]["in"]) as cassette:
        kinds = [
            "resize" if isinstance(one.record, InputRecord) and one.record.size else one.kind
            for one in cassette.events()
        ]

    assert "output" in kinds[kinds.index("resize") :]


@pytest.mark.parametrize("name", [name for name in MATRIX if "in" in MATRIX[name]["ctrl-c"]])
def test_ctrl_c_comes_in_the_middle_of_a_turn(name: str) -> None:
    """While the answer is on its way: what there is of it has its beginning, never its end."""
    shown = ""
    with open_cassette(AGENTS / MATRIX[name]["ctrl-c"]["in"]) as cassette:
        for event in cassette.events():
            if isinstance(event.record, FrameRecord):
                shown = "\n".join(event.record.text)
            elif isinstance(event.record, InputRecord) and event.record.bytes in CTRL_C:
                break

    assert "one two" in shown
    assert "twenty" not in shown.partition("one two")[2]


@pytest.mark.slow
def test_the_page_is_that_of_the_recordings() -> None:
    """It is written by the script."""
    done = subprocess.run(
        [sys.executable, str(ROOT / "fixtures" / "report_agents.py"), "--check"],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
