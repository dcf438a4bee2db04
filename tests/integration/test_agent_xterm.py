"""What we render of real agent CLIs is what xterm.js shows, at every frame, resizes and all.

``PTYCASSETTE_XTERM`` names a folder whose ``node_modules`` have xterm.js (`.ci/run` makes one):

    npm install --prefix FOLDER @xterm/headless@6.0.0 @xterm/addon-unicode-graphemes@0.4.0
"""

from __future__ import annotations

import base64
import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ptycassette.cassette.io.reader import open_cassette
from ptycassette.model import InputRecord
from ptycassette.model.events import FrameRecord

WHERE = os.environ.get("PTYCASSETTE_XTERM", "")
pytestmark = [
    pytest.mark.integration,
    pytest.mark.slow,
    pytest.mark.skipif(not WHERE, reason="PTYCASSETTE_XTERM names no folder with xterm.js"),
]

AGENTS = Path(__file__).resolve().parent.parent.parent / "fixtures" / "agents"
CASSETTES = sorted(path.parent for path in AGENTS.glob("*/manifest.json"))
SCRIPT = Path(__file__).with_name("xterm_frames.js")


def steps_of(path: Path) -> tuple[dict[str, Any], dict[int, FrameRecord]]:
    """What to play, and our frames by their numbers."""
    steps: list[dict[str, Any]] = []
    frames: dict[int, FrameRecord] = {}
    with open_cassette(path) as cassette:
        terminal = cassette.manifest.terminal
        for event in cassette.events():
            record = event.record
            if event.kind == "output":
                steps.append({"feed": base64.b64encode(event.data).decode()})
            elif isinstance(record, InputRecord) and record.size is not None:
                steps.append({"resize": [record.size.rows, record.size.cols]})
            elif isinstance(record, FrameRecord):
                steps.append({"frame": event.seq})
                frames[event.seq] = record
    play = {"rows": terminal.initial_rows, "cols": terminal.initial_cols, "steps": steps}
    return play, frames


@pytest.mark.parametrize("path", CASSETTES, ids=[path.name for path in CASSETTES])
def test_xterm_shows_the_recorded_frames(path: Path, program: Callable[[str], str]) -> None:
    """Rows and cursor."""
    play, frames = steps_of(path)
    done = subprocess.run(
        [program("node"), str(SCRIPT)],
        input=json.dumps(play),
        env={**os.environ, "NODE_PATH": str(Path(WHERE) / "node_modules")},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    told = [json.loads(line) for line in done.stdout.splitlines()]
    assert [one["seq"] for one in told] == list(frames)
    for one in told:
        frame = frames[one["seq"]]
        rows = [row.rstrip() for row in one["rows"]]
        ours = [row.rstrip() for row in frame.text]
        ours += [""] * (frame.size.rows - len(ours))
        column = min(one["cursor"][1], frame.size.cols - 1)

        assert rows == ours, f"frame {one['seq']}"
        assert [frame.cursor.row, min(frame.cursor.col, frame.size.cols - 1)] == [
            one["cursor"][0],
            column,
        ], f"frame {one['seq']}"
