"""The stored frame of a moment: the same as reading all frames would find."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptycassette import open_cassette
from ptycassette.cassette.io import reader as cassette_frame_at
from ptycassette.errors import InvalidCassetteError, LimitError
from ptycassette.model.limits import Limits
from ptycassette.model.screen import Cursor, Size
from ptycassette.testing import write_cassette
from ptycassette.viewing import FrameRecord
from tests.examples import examples


def frame(t_us: int, width: int) -> FrameRecord:
    """A frame whose line is about ``width`` bytes longer than it has to be."""
    return FrameRecord(
        seq=1,
        t_ms=t_us // 1000,
        t_us=t_us,
        size=Size(1, 5),
        text=("x" * width,),
        cursor=Cursor(0, 0),
        raw_start=0,
        raw_end=0,
        parser_offset=0,
    )


@examples(60)
@given(
    steps=st.lists(st.tuples(st.integers(0, 3_000), st.integers(0, 900)), max_size=30),
    near=st.integers(1, 400),
    asked=st.lists(st.integers(0, 60_000), min_size=1, max_size=10),
)
def test_it_is_the_last_at_or_before_the_moment(
    tmp_path_factory: pytest.TempPathFactory,
    steps: list[tuple[int, int]],
    near: int,
    asked: list[int],
) -> None:
    """Whatever the times, the lengths of the lines, and the size at which halving ends."""
    path = tmp_path_factory.mktemp("frames") / "made"
    frames, t_us = [], 0
    for step_us, width in steps:
        t_us += step_us
        frames.append(frame(t_us, width))
    write_cassette(path, *frames)
    with pytest.MonkeyPatch.context() as patch, open_cassette(path) as cassette:
        patch.setattr(cassette_frame_at, "_NEAR_BYTES", near)
        for moment in [*asked, *(f.t_us or 0 for f in frames)]:
            found = cassette.frame_at(moment)
            wanted = [seq for seq, f in enumerate(frames, 1) if (f.t_us or 0) <= moment]

            assert (found.seq if found else None) == (wanted[-1] if wanted else None)


def test_a_line_that_is_too_long_or_no_frame_is_an_error(tmp_path: Path) -> None:
    """As when reading all of them."""
    path = tmp_path / "made"
    write_cassette(path, frame(0, 10))
    file = path / "frames.jsonl"
    file.write_bytes(b"x" * 300_000)
    with (
        open_cassette(path, check="manifest") as cassette,
        pytest.raises(InvalidCassetteError),
    ):
        cassette.frame_at(0)
    limits = Limits(max_line_bytes=1_000)
    with (
        open_cassette(path, check="manifest", limits=limits) as cassette,
        pytest.raises(LimitError),
    ):
        cassette.frame_at(0)
