"""The styles of frames: how lines spell them, and runs that fit no terminal."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from ptycassette.cassette.layout import FRAME_CODEC
from ptycassette.errors import RecordError
from ptycassette.model.limits import DEFAULT_LIMITS, Limits
from ptycassette.model.records import FrameRecord
from ptycassette.model.screen import Cursor, Size, Style, StyleRun
from tests.examples import examples


def line(col: int, length: int) -> bytes:
    """A frame whose only row has one run."""
    return json.dumps(
        {
            "seq": 1,
            "t_ms": 0,
            "size": {"Rows": 1, "Cols": 2},
            "text": ["ab"],
            "cursor": {"Row": 0, "Col": 0, "Visible": True},
            "raw_start": 0,
            "raw_end": 0,
            "parser_offset": 0,
            "styles": [[{"col": col, "length": length, "style": {"bold": True}}]],
        }
    ).encode()


def read(data: bytes) -> FrameRecord:
    """The frame of a line."""
    return FRAME_CODEC.decode_line(data, number=1, place="frames.jsonl", limits=DEFAULT_LIMITS)


@pytest.mark.parametrize(("col", "length"), [(-1, 1), (0, 0), (0, 10**12), (65536, 1)])
def test_a_run_that_fits_no_terminal_is_refused(col: int, length: int) -> None:
    """Whoever draws it would have to make room for it first."""
    with pytest.raises(RecordError, match="styles"):
        read(line(col, length))


def test_a_run_that_fits_is_read() -> None:
    """The limits are those of a terminal size."""
    record = read(line(0, 65535))

    assert record.styles is not None
    assert record.styles[0][0].length == 65535


STYLES = st.builds(
    Style,
    fg=st.one_of(st.none(), st.integers(0, 255), st.just("#102030")),
    bg=st.one_of(st.none(), st.integers(0, 3)),
    bold=st.booleans(),
)
RUNS = st.builds(StyleRun, st.integers(0, 300), st.integers(1, 300), STYLES)
ROWS = st.lists(st.lists(RUNS, max_size=5).map(tuple), max_size=12).map(tuple)
BARE = FrameRecord(
    seq=1,
    t_ms=0,
    size=Size(rows=1, cols=2),
    text=("ab",),
    cursor=Cursor(row=0, col=0),
    raw_start=0,
    raw_end=0,
    parser_offset=0,
)


@given(st.one_of(st.none(), ROWS))
@examples(200)
def test_any_styles_come_back(styles: tuple[tuple[StyleRun, ...], ...] | None) -> None:
    """However they are spelt, alone and among other lines."""
    frame = replace(BARE, styles=styles)
    written = FRAME_CODEC.encode(frame)

    assert read(written[:-1]) == frame
    assert FRAME_CODEC.decode(written + written) == [frame, frame]


def test_a_screen_in_many_styles_names_each_style_once() -> None:
    """Rows that look the same are written once, too; a screen of few runs is spelt out."""
    row = tuple(StyleRun(4 * at, 4, Style(fg=at % 2, bold=True)) for at in range(20))
    written = json.loads(FRAME_CODEC.encode(replace(BARE, styles=(row, (), row, row))))
    few = json.loads(FRAME_CODEC.encode(replace(BARE, styles=(row[:2],))))

    assert written["style_table"] == [{"fg": 0, "bold": True}, {"fg": 1, "bold": True}]
    assert written["style_rows"][0][:6] == [0, 4, 0, 4, 4, 1]
    assert written["style_rows"][1:] == [[], 0, 0]
    assert "styles" not in written
    assert few["styles"][0][1] == {"col": 4, "length": 4, "style": {"fg": 1, "bold": True}}
    assert "style_rows" not in few


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"style_rows": [[0, 1, 0]]}, "style 0 is not in style_table"),
        ({"style_rows": [[0, 1]], "style_table": [{}]}, "column, length and style"),
        ({"style_rows": [[-1, 1, 0]], "style_table": [{}]}, "not a run of a row"),
        ({"style_rows": [[0, 0, 0]], "style_table": [{}]}, "not a run of a row"),
        ({"style_rows": [0]}, "no earlier row"),
        ({"style_rows": [[], 2]}, "no earlier row"),
        ({"style_rows": [[], -1]}, "no earlier row"),
        ({"style_table": [{}]}, "without style_rows"),
        ({"style_rows": [[]], "styles": []}, "both"),
        ({"style_rows": [[0, 1, 0]] + [0] * 500_000, "style_table": [{}]}, "values|runs"),
    ],
)
def test_rows_that_give_no_styles_are_refused(fields: dict[str, object], reason: str) -> None:
    """Each with its reason, and before it costs memory."""
    data = json.loads(FRAME_CODEC.encode(BARE)) | fields

    with pytest.raises(RecordError, match=reason):
        read(json.dumps(data).encode())


def test_a_short_line_cannot_name_a_huge_screen() -> None:
    """Rows that refer to a long one count with all of its runs."""
    row = [number for col in range(100) for number in (col, 1, 0)]
    data = json.loads(FRAME_CODEC.encode(BARE))
    data |= {"style_rows": [row] + [0] * 20, "style_table": [{}]}
    limits = Limits(max_line_values=1000)

    with pytest.raises(RecordError, match="more than 1000 runs"):
        FRAME_CODEC.decode_line(json.dumps(data).encode(), number=1, place="f", limits=limits)
