"""A recording of ``use_tape`` in the viewer: its turns are its screen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from textual.pilot import Pilot

from ptycassette import tool_call, use_tape
from tests.viewer.driving import drawn, drive, settled


def test_the_turns_of_a_function_are_shown(tmp_path: Path) -> None:
    """In the order in which they happened."""
    path = tmp_path / "run.cassette"
    with use_tape(path, mode="record"):
        for word in ("milk", "bread"):
            with tool_call("look_up", {"word": word}) as call:
                call.result = [word]
    shown = []

    async def look(pilot: Pilot[Any]) -> None:
        await settled(pilot)
        await pilot.press("end")
        await settled(pilot)
        shown.append(drawn(pilot))

    drive(path, look)

    rows = [row.strip() for row in shown[0].splitlines()]
    first = next(at for at, row in enumerate(rows) if '1 > tool look_up {"word":"milk"}' in row)
    assert '1 < ["milk"]' in rows[first + 1]
    assert '2 < ["bread"]' in rows[first + 3]
