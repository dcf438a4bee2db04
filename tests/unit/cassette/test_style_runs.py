"""Style runs that fit no terminal."""

from __future__ import annotations

import json

import pytest

from ptycassette.cassette._records import FRAME_CODEC
from ptycassette.errors import RecordError
from ptycassette.model import FrameRecord
from ptycassette.model.limits import DEFAULT_LIMITS


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
