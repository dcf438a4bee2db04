"""Traces of tests in the viewer: listed, shown, and what else is there in their place."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import DataTable

from ptycassette import CassetteError
from ptycassette.model.records import Output, Typed
from ptycassette_viewer.app import RecordingScreen, ViewerApp
from ptycassette_viewer.dialogs import ErrorDialog
from ptycassette_viewer.traces.trace_screen import TraceScreen, read_trace, start_of, trace_rows

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from driving import settled

S = 1_000_000


def screen(*rows: str) -> dict[str, Any]:
    """A screen in a trace."""
    return {"rows": list(rows), "cols": 20, "styles": [[] for _ in rows]}


DIVERGED: dict[str, Any] = {
    "cassette": "$PWD/made", "action": "replay", "errors": [], "notes": [], "drift": [],
    "divergences": [{
        "kind": "input-changed", "message": "input 1 is not what was recorded", "seq": 2,
        "t_ms": 1000, "exchange": 1, "screen": ["> "], "hint": "record again",
        "expected": {"text": "sky<enter>", "bytes": ""}, "got": {"text": "sly<enter>", "bytes": ""},
    }],
    "steps": [
        {"name": "wait_for_text", "detail": "'> '", "places": [{"file": "$PWD/t.py", "line": 3}],
         "t_ms": 0, "took_ms": 1, "start_seq": 0, "seq": 1, "error": "", "screen": 0},
        {"name": "submit", "detail": "'sly'", "places": [{"file": "$PWD/t.py", "line": 4}],
         "t_ms": 1, "took_ms": 1, "start_seq": 1, "seq": 1, "error": "DivergenceError: no",
         "screen": 0},
    ],
    "screens": [screen("> sly")],
    "recordings": [{
        "events": [
            {"seq": 1, "t_ms": 0, "kind": "output", "last_seq": 1, "exchange": 0, "text": ">"},
            {"seq": 2, "t_ms": 1000, "kind": "input", "last_seq": 2, "exchange": 1, "text": "sky"},
        ],
        "frames": [{"seq": 1, "t_ms": 0, **screen("> ")}],
        "diverged": {"now": screen("> "), "recorded": screen("> sky", "blue"), "exchange": 1,
                     "seq": 1, "t_ms": 1000},
    }],
}  # fmt: skip
DRIFTED: dict[str, Any] = {
    "cassette": "made", "action": "rerecord", "divergences": [],
    "drift": [{
        "old": 1, "new": 1, "before": screen("> sky", "blue"), "now": screen("> sky", "red"),
        "changes": [{"kind": "changed", "what": "screen, rows 1", "expected": "blue",
                     "got": "red"}],
    }],
}  # fmt: skip


def trace_of(place: Path, name: str, *runs: dict[str, Any], **fields: Any) -> Path:
    """The JSON of a trace in a directory of its own."""
    path = place / name / "trace.json"
    path.parent.mkdir(parents=True)
    whole = {
        "report": "ptycassette-trace", "version": 1, "test": f"t.py::{name}", "outcome": "failed",
        "message": "", "steps": [], "runs": list(runs), **fields,
    }  # fmt: skip
    path.write_text(json.dumps(whole), encoding="utf-8")
    return path


def shown(
    scenario: Callable[[Pilot[Any]], Awaitable[None]],
    *paths: Path,
    size: tuple[int, int] = (120, 36),
) -> None:
    """Run the app on traces, and let ``scenario`` use it."""

    async def run() -> None:
        app = ViewerApp(paths[0], traces=paths, now=lambda: datetime.now(UTC))
        app.animation_level = "none"
        async with app.run_test(size=size) as pilot:
            await pilot.pause()
            await scenario(pilot)

    asyncio.run(run())


def text_of(pilot: Pilot[Any]) -> str:
    """What is drawn."""
    strips = pilot.app.screen._compositor.render_strips()
    return "\n".join("".join(part.text for part in line).rstrip() for line in strips)


def test_the_failed_step_is_shown_with_both_screens(tmp_path: Path) -> None:
    """The recorded one over that of this run, as in a diff; why, and what to do."""
    texts: list[str] = []

    async def scenario(pilot: Pilot[Any]) -> None:
        for key in ("", "o", "o"):
            await pilot.press(*([key] if key else []))
            await pilot.pause()
            texts.append(text_of(pilot))

    shown(scenario, trace_of(tmp_path, "test_it", DIVERGED))
    overlaid, recorded, this_run = texts

    for words in ("t.py::test_it: failed", "-> sky", "+> sly", "-blue", "submit('sly')  t.py:4"):
        assert words in overlaid
    assert "input-changed  expected sky<enter>  got sly<enter>" in overlaid
    assert "what to do: record again" in overlaid
    assert recorded.split("\n")[1].startswith("> sky ")
    assert this_run.split("\n")[1].startswith("> sly ")


def test_steps_and_events_are_in_their_order(tmp_path: Path) -> None:
    """A step stands behind what was there when it began; the list starts at what failed."""
    rows = trace_rows(read_trace(trace_of(tmp_path, "test_it", DIVERGED)))
    words = [row.line.plain.split("  ")[-1] for row in rows]

    assert [word.strip() for word in words] == [
        "$PWD/made (replay)",
        "t.py:3",
        ">",
        "DivergenceError: no",
        "sky",
    ]
    assert start_of(rows) == 3


def test_what_drifted_is_shown_before_and_now(tmp_path: Path) -> None:
    """Of a rerecord: what changed, and one screen over the other."""
    texts: list[str] = []

    async def scenario(pilot: Pilot[Any]) -> None:
        texts.append(text_of(pilot))

    shown(scenario, trace_of(tmp_path, "test_it", DRIFTED, outcome="passed"))

    for words in ("drifted: input 1", "-blue", "+red", "- input 1, before   + now", "+ red"):
        assert words in texts[0]


def test_several_traces_are_listed_and_opened(tmp_path: Path) -> None:
    """In the order given, each with what happened; q leads back."""
    paths = [
        trace_of(tmp_path, "test_new", DIVERGED),
        trace_of(tmp_path, "test_old", message="E       AssertionError: it\x1b[2J"),
    ]
    seen: list[Any] = []

    async def scenario(pilot: Pilot[Any]) -> None:
        for _ in range(200):
            if pilot.app.screen.query_one(DataTable).row_count == 2:
                break
            await pilot.pause(0.02)
        await pilot.pause()
        seen.append(text_of(pilot))
        await pilot.press("down", "enter")
        await pilot.pause()
        seen.append(isinstance(pilot.app.screen, TraceScreen))
        await pilot.press("q")
        await pilot.pause()
        seen.append(bool(pilot.app.screen.query(DataTable)))

    shown(scenario, *paths)
    lines = seen[0].split("\n")

    assert "t.py::test_new" in lines[2]
    assert "input-changed" in lines[2]
    assert "AssertionError: it\\e[2J" in lines[3]
    assert seen[1:] == [True, True]


def test_the_cassette_is_opened_at_the_moment(
    tmp_path: Path, make: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """C leads to where it diverged; one that is not there is a dialog."""
    make(Output(0, b"> "), Typed(S, b"sky\r"), Output(2 * S, b"blue"))
    monkeypatch.chdir(tmp_path)
    seqs: list[int] = []

    async def there(pilot: Pilot[Any]) -> None:
        await pilot.press("c")
        await settled(pilot)
        assert isinstance(pilot.app.screen, RecordingScreen)
        seqs.append(pilot.app.screen.playback.seq)

    async def gone(pilot: Pilot[Any]) -> None:
        await pilot.press("c")
        await pilot.pause()
        assert isinstance(pilot.app.screen, ErrorDialog)

    shown(there, trace_of(tmp_path, "test_it", DIVERGED))
    shown(gone, trace_of(tmp_path, "test_gone", {**DIVERGED, "cassette": "gone"}))

    assert seqs == [1]


def test_every_tab_and_key_of_a_trace_works(tmp_path: Path) -> None:
    """Divergences in words, what the test said, wrapping, zoom, help; escape asks."""
    texts: list[str] = []

    async def scenario(pilot: Pilot[Any]) -> None:
        for key in ("tab", "tab", "z", "escape", "W", "j", "question_mark"):
            await pilot.press(key)
            await pilot.pause()
            texts.append(text_of(pilot))
        await pilot.press("escape", "escape")
        await pilot.pause()
        texts.append(text_of(pilot))

    path = trace_of(tmp_path, "test_it", DIVERGED, message="the whole\nmessage")
    shown(scenario, path, size=(80, 24))

    assert "expected: sky<enter>" in texts[0]
    assert "the whole" in texts[1]
    assert "t.py::test_it" not in texts[2]
    assert "t.py::test_it" in texts[3]
    assert "open the cassette at this moment" in texts[6]
    assert "Leave the viewer?" in texts[7]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"{}", "not a trace"),
        (b'{"report": "other", "test": "t", "outcome": "o"}', "not a trace"),
        (b"\xff" * 20, "not a trace"),
        (b"[" * 100_000, "not a trace"),
        (b'{"report": "ptycassette-trace", "test": "t", "outcome": "o", "runs": 3}', "runs"),
    ],
)
def test_what_is_no_trace_is_an_error(tmp_path: Path, content: bytes, words: str) -> None:
    """One that the command line knows what to do with."""
    path = tmp_path / "trace.json"
    path.write_bytes(content)

    with pytest.raises(CassetteError, match=words):
        read_trace(path)
    with pytest.raises(CassetteError, match="cannot be read"):
        read_trace(tmp_path / "gone.json")


def test_a_hostile_trace_draws_no_control_characters(tmp_path: Path) -> None:
    """Nor takes a screen of any size, a number beyond its lists, or styles beyond its columns."""
    evil = "\x1b]52;c;x\x07\u202e\x9b2J"
    run = json.loads(json.dumps(DIVERGED).replace("sly", "EVIL").replace("sky", "EVIL"))
    whole = json.loads(json.dumps(run).replace("EVIL", json.dumps(evil)[1:-1]))
    whole["steps"][0]["screen"] = 99
    whole["screens"] = [
        {"rows": [evil] * 5_000, "cols": 10**9,
         "styles": [[{"col": 10**6, "length": 10**9, "style": {"fg": evil}}]]}
    ]  # fmt: skip
    texts: list[str] = []

    async def scenario(pilot: Pilot[Any]) -> None:
        for key in ("up", "down", "tab", "tab"):
            await pilot.press(key)
            await pilot.pause()
            texts.append(text_of(pilot))

    shown(scenario, trace_of(tmp_path, "test_it", whole, message=evil, test=evil))

    assert not {"\x1b", "\x9b", "\x07", "\u202e"} & set("".join(texts))
