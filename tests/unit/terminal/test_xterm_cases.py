"""Screens as xterm.js (headless 6.0, Unicode 11 widths) shows them, cell by cell.

``data/xterm_cases.json`` holds random control functions and texts that were made
for this project, and what xterm.js made of them: rows, cursor, which rows are
wrapped, and runs of equal style. Links count as underlined there.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ptycassette.model.screen import Size
from ptycassette.terminal.emulator import PyteEmulator
from ptycassette.testing import CheckedScreen

CASES: list[dict[str, Any]] = json.loads(
    (Path(__file__).parent / "data" / "xterm_cases.json").read_text()
)
STEPS = (0, 95, 135, 175, 215, 255)


def rgb(color: str | None) -> str | None:
    """A colour of the 256-colour cube as xterm.js mixes it; others as they are."""
    if color is None or not color.startswith("p") or int(color[1:]) < 16:
        return color
    number = int(color[1:])
    if number >= 232:
        return "#" + f"{8 + (number - 232) * 10:02x}" * 3
    number -= 16
    return "#" + "".join(
        f"{STEPS[part]:02x}" for part in (number // 36, number // 6 % 6, number % 6)
    )


def visible_style(cell: tuple[str, str | None, str | None, str]) -> list[Any]:
    """What can be seen of a style: on an empty cell neither its colour nor its weight."""
    text, fg, bg, attributes = cell
    attributes = "".join(sorted(attributes))
    if not text.strip():
        attributes = "".join(letter for letter in attributes if letter in "urs")
        fg = fg if attributes else None
    return [rgb(fg), rgb(bg), attributes]


def runs_of(checked: CheckedScreen) -> list[list[list[Any]]]:
    """The stretches of equal visible style, row by row, without the default one."""
    rows = []
    for row in checked.cells():
        runs: list[list[Any]] = []
        for col, cell in enumerate(row):
            style = visible_style(cell)
            if runs and runs[-1][2:] == style:
                runs[-1][1] += 1
            else:
                runs.append([col, 1, *style])
        rows.append([run for run in runs if run[2:] != [None, None, ""]])
    return rows


def shown(case: dict[str, Any], chunk: int) -> dict[str, Any]:
    """What we make of a case, cut into chunks."""
    emulator = PyteEmulator(Size(*case["size"]), width="codepoint")
    for step in case["steps"]:
        if isinstance(step, str):
            data = step.encode()
            for at in range(0, len(data), chunk):
                emulator.feed(data[at : at + chunk])
        else:
            emulator.resize(Size(*step))
    screen = emulator.snapshot()
    return {
        "rows": [row.rstrip() for row in screen.rows],
        "cursor": [screen.cursor.row, screen.cursor.col],
        "wrapped": [row.wrapped for row in emulator.terminal.buf.rows],
        "styles": runs_of(CheckedScreen(emulator)),
    }


@pytest.mark.parametrize("part", range(8))
@pytest.mark.parametrize("chunk", [1, 1 << 20], ids=["byte by byte", "whole"])
def test_a_screen_is_what_xterm_js_makes_of_the_same_bytes(chunk: int, part: int) -> None:
    """Text, cursor, wrapping and styles agree after output and resizes."""
    for number in range(part, len(CASES), 8):
        case = CASES[number]
        wanted = {name: case[name] for name in ("rows", "cursor", "wrapped", "styles")}

        assert shown(case, chunk) == wanted, f"case {number}"
