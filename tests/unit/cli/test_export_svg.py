"""``export`` to pictures."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

from ptycassette.model.records import FrameRecord, Output
from ptycassette.model.screen import Cursor, Size
from ptycassette.model.stored_screen import MAX_SIDE
from ptycassette.testing import write_cassette


def test_a_frame_of_an_impossible_size_makes_no_picture_of_it(
    run: Callable[..., Any], tmp_path: Path
) -> None:
    """What a stranger's frame claims is cut, here as in every other command."""
    path = tmp_path / "large"
    frame = FrameRecord(
        seq=0,
        t_ms=0,
        size=Size(rows=60_000, cols=60_000),
        text=("x",),
        cursor=Cursor(row=0, col=0),
        raw_start=0,
        raw_end=1,
        parser_offset=1,
    )
    write_cassette(path, Output(0, b"x"), frame)

    picture = ET.fromstring(run("export", path, "-", "-f", "svg").text)

    (screen,) = picture.findall("{*}svg")
    assert float(screen.attrib["height"]) == MAX_SIDE * 18
