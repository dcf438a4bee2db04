"""What we render of real agent CLIs is what xterm.js shows, at every frame, resizes and all.

``PTYCASSETTE_XTERM`` names a folder whose ``node_modules`` have xterm.js (`.ci/run` makes one):

    npm install --prefix FOLDER @xterm/headless@6.0.0 @xterm/addon-unicode-graphemes@0.4.0
"""

from __future__ import annotations

import base64
import json
import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unicodedata import east_asian_width

import pytest

from ptycassette.cassette.io.reader import open_cassette
from ptycassette.model.records import FrameRecord, InputRecord

WHERE = os.environ.get("PTYCASSETTE_XTERM", "")
pytestmark = [
    pytest.mark.integration,
    pytest.mark.slow,
    pytest.mark.skipif(not WHERE, reason="PTYCASSETTE_XTERM names no folder with xterm.js"),
]

AGENTS = Path(__file__).resolve().parent.parent.parent / "fixtures" / "agents"
CASSETTES = sorted(path.parent for path in AGENTS.glob("*/manifest.json"))
SCRIPT = Path(__file__).with_name("xterm_frames.js")


class Replaced:
    """The output with other characters where xterm.js's widths are known to be wrong.

    ``@xterm/addon-unicode-graphemes`` 0.4.0 gives every character beyond U+FFFF one column.
    Unicode makes U+1F310 and its like two columns (East Asian Width W or F, UAX #11), as we do.
    So each is played and compared as a syllable of Hangul, which is wide for both.
    """

    _BEYOND = re.compile(rb"[\xf0-\xf4][\x80-\xbf]{3}")
    _BEGUN = re.compile(rb"[\xf0-\xf4][\x80-\xbf]{0,2}\Z")

    def __init__(self) -> None:
        self._by: dict[str, str] = {}
        self._begun = b""

    def output(self, data: bytes) -> bytes:
        """A chunk; what begins a character at its end comes with the next one."""
        data = self._begun + data
        begun = self._BEGUN.search(data)
        self._begun = begun[0] if begun else b""
        return self._BEYOND.sub(self._played, data.removesuffix(self._begun))

    def text(self, text: str) -> str:
        """A row of ours."""
        return "".join(self._by.get(char, char) for char in text)

    def _played(self, found: re.Match[bytes]) -> bytes:
        char = found[0].decode(errors="replace")
        if len(char) == 1 and east_asian_width(char) in "WF":
            return self._by.setdefault(char, chr(0xAC00 + len(self._by))).encode()
        return found[0]


def steps_of(path: Path) -> tuple[dict[str, Any], dict[int, FrameRecord], Replaced]:
    """What to play, our frames by their numbers, and how their text was played."""
    steps: list[dict[str, Any]] = []
    frames: dict[int, FrameRecord] = {}
    replaced = Replaced()
    with open_cassette(path) as cassette:
        terminal = cassette.manifest.terminal
        for event in cassette.events():
            record = event.record
            if event.kind == "output":
                steps.append({"feed": base64.b64encode(replaced.output(event.data)).decode()})
            elif isinstance(record, InputRecord) and record.size is not None:
                steps.append({"resize": [record.size.rows, record.size.cols]})
            elif isinstance(record, FrameRecord):
                steps.append({"frame": event.seq})
                frames[event.seq] = record
    play = {"rows": terminal.initial_rows, "cols": terminal.initial_cols, "steps": steps}
    return play, frames, replaced


def told_by_xterm(node: str, play: dict[str, Any]) -> list[dict[str, Any]]:
    """What xterm.js shows at each frame."""
    done = subprocess.run(
        [node, str(SCRIPT)],
        input=json.dumps(play),
        env={**os.environ, "NODE_PATH": str(Path(WHERE) / "node_modules")},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_the_known_error_of_xterm_is_still_there(program: Callable[[str], str]) -> None:
    """Once it is gone, nothing needs to be replaced (``Replaced``)."""
    globe, replaced = "\U0001f310".encode(), Replaced()
    columns = []
    for parts in ([globe], [replaced.output(globe[:2]), replaced.output(globe[2:])]):
        feeds = [{"feed": base64.b64encode(part).decode()} for part in parts]
        play = {"rows": 2, "cols": 9, "steps": [*feeds, {"frame": 1}]}
        columns += [told["cursor"][1] for told in told_by_xterm(program("node"), play)]

    assert columns == [1, 2]


@pytest.mark.parametrize("path", CASSETTES, ids=[path.name for path in CASSETTES])
def test_xterm_shows_the_recorded_frames(path: Path, program: Callable[[str], str]) -> None:
    """Rows and cursor."""
    play, frames, replaced = steps_of(path)
    told = told_by_xterm(program("node"), play)
    assert [one["seq"] for one in told] == list(frames)
    for one in told:
        frame = frames[one["seq"]]
        rows = [row.rstrip() for row in one["rows"]]
        ours = [replaced.text(row).rstrip() for row in frame.text]
        ours += [""] * (frame.size.rows - len(ours))
        column = min(one["cursor"][1], frame.size.cols - 1)

        assert rows == ours, f"frame {one['seq']}"
        assert [frame.cursor.row, min(frame.cursor.col, frame.size.cols - 1)] == [
            one["cursor"][0],
            column,
        ], f"frame {one['seq']}"
