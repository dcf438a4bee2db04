"""Painting what real programs drew: the painted terminal shows what the recorded one did."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path

import msgspec
import pytest

from ptycassette.model.screen import Screen, Size, Style, StyleRun
from ptycassette.replaying.paint import paint
from ptycassette.terminal.emulator import default_emulator

pytestmark = pytest.mark.integration
STEPS = 8


def _paintable(screen: Screen) -> tuple[object, ...]:
    """What painting promises: text, colours, cursor; no links, no shapes of underlines."""

    def plain(style: Style) -> Style:
        line = style.underline if style.underline in {"", "double"} else "single"
        return msgspec.structs.replace(style, link=None, underline=line, underline_color=None)

    styles: list[list[StyleRun]] = []
    for row in screen.styles:
        runs: list[StyleRun] = []
        for run in row:
            style = plain(run.style)
            if style == Style():
                continue
            if runs and runs[-1].style == style and runs[-1].col + runs[-1].length == run.col:
                run = StyleRun(runs[-1].col, runs[-1].length + run.length, style)  # noqa: PLW2901
                runs.pop()
            runs.append(StyleRun(run.col, run.length, style))
        styles.append(runs)
    cursor = screen.cursor if screen.cursor.visible else None
    rows = ["".join(c for c in row if unicodedata.category(c) != "Cf") for row in screen.rows]
    return rows, styles, cursor


def test_painted_screens_are_those_of_the_recording(reference: Path) -> None:
    """For every stream of the reference data, at several moments of it."""
    wrong: list[str] = []
    streams = sorted((reference / "screens").glob("*.raw"))
    for raw in streams:
        facts = json.loads(raw.with_suffix(".json").read_text(encoding="utf-8"))
        size = Size(rows=facts["rows"], cols=facts["cols"])
        source, shown = default_emulator(size), default_emulator(size)
        data = raw.read_bytes()[:200_000]
        before: Screen | None = None
        step = len(data) // STEPS + 1
        for start in range(0, len(data), step):
            source.feed(data[start : start + step])
            after = source.snapshot()
            shown.feed(paint(before, after))
            before = after
            if _paintable(shown.snapshot()) != _paintable(after):
                wrong.append(raw.stem)
                break

    assert len(streams) > 100
    assert wrong == []
