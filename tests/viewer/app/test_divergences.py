"""What a driver did that was not recorded, on the timeline and in words."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import ContentSwitcher, Static

from ptycassette import CassetteError, open_cassette
from ptycassette.model.records import Output, Typed
from ptycassette.viewing import read_reports, reported_divergences
from ptycassette_viewer.dialogs import ErrorDialog
from ptycassette_viewer.widgets.screen_view import Timeline
from ptycassette_viewer.widgets.virtual_list import VirtualList

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from driving import drive, press, recording

S = 1_000_000
EVENTS = (
    Output(1 * S, b"$ "),
    Typed(4 * S, b"date\r"),
    Output(5 * S, b"date\r\nmonday\r\n$ "),
    Typed(8 * S, b"exit\r"),
    Output(10 * S, b"exit\r\n"),
)


@pytest.fixture
def path(make: Callable[..., Path]) -> Path:
    """Two inputs."""
    return make(*EVENTS)


def diverged(path: Path, report: Path, typed: bytes) -> Path:
    """The report of a stand-in that was sent ``typed``."""
    subprocess.run(
        [sys.executable, "-m", "ptycassette", "stand-in", "--lenient", str(path)],
        input=typed,
        env={"PATH": "/usr/bin:/bin", "PTYCASSETTE_REPORT": str(report)},
        capture_output=True,
        check=False,
        timeout=120,
    )
    return report


@pytest.mark.integration
def test_a_divergence_is_marked_told_and_gone_to(path: Path, tmp_path: Path) -> None:
    """A stand-in was sent another word: d leads there, and the panel says what came."""
    report = diverged(path, tmp_path / "report.json", b"date\rquit\r")
    seen: dict[str, Any] = {}

    async def scenario(pilot: Pilot[Any]) -> None:
        screen = recording(pilot)
        seen["marks"] = screen.query_one(Timeline).render_line(0).text
        await press(pilot, "d")
        seen["seq"] = screen.playback.seq
        seen["said"] = screen._said
        await press(pilot, "d")
        seen["beyond"] = screen._said
        await press(pilot, "end", "D")
        assert screen.playback.seq == seen["seq"]
        await press(pilot, "p", *["tab"] * 5)
        assert screen.query_one(ContentSwitcher).current == "divergences"
        seen["text"] = str(screen.query_one("#divergence-text", Static).render())
        rows = screen.query_one("#divergences VirtualList", VirtualList)
        seen["row"] = rows.render_line(0).text
        await press(pilot, "home", "enter")
        assert screen.playback.seq == seen["seq"]

    drive(path, scenario, report=report)

    assert seen["marks"].index("\u2717") == 8 * 79 // 10
    assert seen["seq"] == 4
    assert seen["beyond"] == "there is none"
    for where in ("said", "text", "row"):
        assert "exit" in seen[where]
        assert "quit" in seen[where]


def test_a_run_without_divergence_has_no_panel(path: Path, tmp_path: Path) -> None:
    """And nothing on the timeline."""
    report = diverged(path, tmp_path / "report.json", b"date\rexit\r")
    names: list[str] = []

    async def scenario(pilot: Pilot[Any]) -> None:
        names.extend(recording(pilot).panels)

    drive(path, scenario, report=report)

    assert "divergences" not in names


NO_USE = {
    None: "there is no report",
    "nonsense": "not a report",
    '{"report": "ptycassette-stand-in", "cassette_id": "x"}': "about other recordings",
    '{"report": "ptycassette-stand-in", "divergences": 3}': "not a report",
}


def written(report: Path, text: str | None) -> Path:
    """A report, if there is one."""
    if text is not None:
        report.write_text(text, encoding="utf-8")
    return report


@pytest.mark.parametrize(("text", "words"), NO_USE.items())
def test_a_report_of_no_use_is_an_error(tmp_path: Path, text: str | None, words: str) -> None:
    """Which says why."""
    with pytest.raises(CassetteError, match=words):
        reported_divergences(read_reports(written(tmp_path / "report.json", text)), "a")


@pytest.mark.parametrize("text", ["nonsense", pytest.param(None, marks=pytest.mark.slow)])
def test_a_report_of_no_use_is_said(path: Path, tmp_path: Path, text: str | None) -> None:
    """In a dialog; the recording is shown all the same."""
    told: list[str] = []

    async def scenario(pilot: Pilot[Any]) -> None:
        assert isinstance(pilot.app.screen, ErrorDialog)
        told.append(pilot.app.screen.error.message)
        await press(pilot, "escape", "end")
        assert recording(pilot).playback.t_us == 10 * S

    drive(path, scenario, report=written(tmp_path / "report.json", text))

    assert NO_USE[text] in told[0]


def test_a_divergence_is_a_line_and_a_description(tmp_path: Path) -> None:
    """With what was expected and what came, where there is such; in the order of the recording."""
    late = {"kind": "input-missing", "message": "no more came", "seq": 9, "t_ms": 3}
    early = {
        "kind": "input-changed", "message": "other", "seq": 4, "t_ms": 1, "hint": "look",
        "expected": {"text": "exit"}, "got": {"text": "quit"},
    }  # fmt: skip
    document = {"report": "ptycassette-stand-in", "cassette_id": "a", "divergences": [late, early]}
    report = written(tmp_path / "report.json", json.dumps(document))
    first, second = reported_divergences(read_reports(report), "a")

    assert first.line == "input-changed  expected exit  got quit"
    assert list(first.lines()) == [
        "input-changed at seq 4, 1 ms: other", "  expected: exit", "  got:      quit",
        "  what to do: look",
    ]  # fmt: skip
    assert (second.line, len(list(second.lines()))) == ("input-missing", 1)


def test_nothing_of_a_report_acts_on_the_terminal(path: Path, tmp_path: Path) -> None:
    """Whoever wrote it."""
    evil = "\x1b]0;t\x07\u202e"
    with open_cassette(path) as cassette:
        cassette_id = cassette.manifest.id
    found = {"kind": evil, "message": evil, "seq": 2, "t_ms": 1, "got": {"text": evil}}
    document = {
        "report": "ptycassette-stand-in",
        "cassette_id": cassette_id,
        "divergences": [{**found, "hint": evil}],
    }
    report = tmp_path / "report.json"
    report.write_text(json.dumps(document), encoding="utf-8")
    (divergence,) = reported_divergences(read_reports(report), cassette_id)
    shown = [divergence.line, *divergence.lines()]

    assert not any(char in text for text in shown for char in evil[:1] + evil[-2:])
    with pytest.raises(CassetteError):
        reported_divergences(read_reports(report), "another")
