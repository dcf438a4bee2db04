"""All streams in one order, and output records against ``output.raw``."""

from __future__ import annotations

from typing import Any

import pytest

from ptycassette.cassette._lines import (
    Batch,
    ChunkCoverage,
    Source,
    check_frame_range,
    check_output_range,
    chunk_fault,
    merge_runs,
)
from ptycassette.cassette.layout import is_sha256, sha256_hex
from ptycassette.errors import ChunkError, LimitError, SequenceError, TimeError
from ptycassette.model.limits import Limits
from ptycassette.model.records import FrameRecord, OutputRecord, ServiceEventRecord
from ptycassette.model.screen import Cursor, Size


def _event(seq: int, t_ms: int = 0, t_us: int | None = None) -> ServiceEventRecord:
    return ServiceEventRecord(seq=seq, t_ms=t_ms, payload=None, t_us=t_us)


def _source(*batches: list[ServiceEventRecord]) -> Source:
    first = 1
    made: list[Batch[Any]] = []
    for records in batches:
        made.append(Batch(first, records))
        first += len(records)
    return Source(f"stream-{len(batches)}", iter(made))


def _merge(*sources: Source, resolution_ms: int = 1) -> list[tuple[int, int, list[int]]]:
    return [
        (run.source, run.first_line, [record.seq for record in run.records])
        for run in merge_runs(sources, resolution_ms=resolution_ms)
    ]


def test_streams_are_merged_by_runs() -> None:
    """Whichever has the next ``seq`` hands over what follows on it, batch by batch."""
    one = _source([], [_event(1), _event(2), _event(5)], [], [_event(6)])
    other = _source([_event(3), _event(4)], [_event(7)])

    assert _merge(one, other) == [
        (0, 1, [1, 2]),
        (1, 1, [3, 4]),
        (0, 3, [5]),
        (0, 4, [6]),
        (1, 3, [7]),
    ]


def test_nothing_merges_to_nothing() -> None:
    """Empty streams are in order."""
    assert _merge(_source(), _source([])) == []


@pytest.mark.parametrize(
    ("batches", "says", "where"),
    [
        ([[_event(2)]], "seq 1 is missing: 2 comes next", "line 1"),
        ([[_event(1), _event(3)]], "seq 2 is missing: 3 comes next", "line 2"),
        ([[_event(1), _event(1)]], "seq 1 occurs twice or out of order", "line 2"),
        ([[_event(1)], [_event(3), _event(2)]], "seq 2 is missing", "line 2"),
    ],
)
def test_seq_must_be_contiguous_from_1(
    batches: list[list[ServiceEventRecord]], says: str, where: str
) -> None:
    """Gaps, repetitions and disorder, with the line."""
    with pytest.raises(SequenceError, match=says) as caught:
        _merge(_source(*batches))

    assert where in str(caught.value.where)


def test_a_seq_that_stands_in_two_streams_is_seen_at_once() -> None:
    """Not after a million records that follow on it."""
    long = _source([_event(seq) for seq in range(1, 100)])
    runs = merge_runs([long, _source([_event(5)])], resolution_ms=1)

    assert [record.seq for record in next(runs).records] == [1, 2, 3, 4]
    assert len(next(runs).records) == 1
    with pytest.raises(SequenceError, match="seq 5 occurs twice"):
        next(runs)


@pytest.mark.parametrize(
    ("records", "says"),
    [
        ([_event(1, 5), _event(2, 4)], "t_ms goes back from 5 to 4"),
        ([_event(1, 5, 5_999), _event(2, 5), _event(3, 5, 5_998)], "t_us goes back from 5999"),
        ([_event(1, 5, 6_000)], "t_ms 5 is not t_us 6000 floored to 1 ms"),
        ([_event(1, 5, 4_999)], "floored to 1 ms"),
    ],
)
def test_time_never_goes_back(records: list[ServiceEventRecord], says: str) -> None:
    """Neither ``t_ms`` nor ``t_us``, and the two fit together."""
    with pytest.raises(TimeError, match=says) as caught:
        _merge(_source(records))

    assert f"(seq {records[-1].seq}" in str(caught.value.where)


def test_time_may_stand_still_and_be_coarse() -> None:
    """``t_us`` is floored to the resolution, not to the millisecond."""
    records = [_event(1, 100, 199_999), _event(2, 100), _event(3, 200, 200_000)]

    assert _merge(_source(records), resolution_ms=100) == [(0, 1, [1, 2, 3])]


def test_time_goes_on_over_all_streams() -> None:
    """Not only within each."""
    with pytest.raises(TimeError, match="from 5 to 4"):
        _merge(_source([_event(1, 5)]), _source([_event(2, 4)]))


# ------------------------------------------------------------------ chunks


def _chunk(offset: int, length: int) -> OutputRecord:
    return OutputRecord(seq=1, t_ms=2, offset=offset, length=length)


def _coverage(size: int, *, pinned: bool = False) -> ChunkCoverage:
    limits = Limits(max_chunk_bytes=100, max_uncovered_bytes=3)
    return ChunkCoverage(size, pinned=pinned, place="output.jsonl", limits=limits)


@pytest.mark.parametrize("pinned", [False, True])
def test_chunks_that_follow_on_each_other_are_right(*, pinned: bool) -> None:
    """Empty ones too."""
    coverage = _coverage(5, pinned=pinned)
    coverage.take([_chunk(0, 2)])
    coverage.take([_chunk(2, 0), _chunk(2, 3)])

    coverage.finish()


def test_a_chunk_must_lie_within_the_file() -> None:
    """To the byte."""
    coverage = _coverage(5)
    coverage.take([_chunk(0, 5)])

    with pytest.raises(ChunkError, match=r"bytes 5 to 6 of an output\.raw that has 5"):
        coverage.take([_chunk(5, 1)])


def test_a_chunk_must_not_go_back() -> None:
    """That bounds the work of checking by the size of the file."""
    coverage = _coverage(5)
    coverage.take([_chunk(0, 3)])

    with pytest.raises(ChunkError, match="starts at 2, and the one before ends at 3"):
        coverage.take([_chunk(2, 3)])


def test_gaps_are_tolerated_only_where_nothing_is_pinned() -> None:
    """The reference format does not forbid them."""
    _coverage(5).take([_chunk(1, 2)])

    with pytest.raises(ChunkError, match="starts at 1"):
        _coverage(5, pinned=True).take([_chunk(1, 2)])


def test_bytes_behind_the_last_chunk_are_tolerated_up_to_a_limit() -> None:
    """And not at all where the cassette is pinned."""
    _coverage(3).finish()

    with pytest.raises(ChunkError, match="the last 4 bytes"):
        _coverage(4).finish()
    with pytest.raises(ChunkError, match="the last 1 bytes"):
        _coverage(1, pinned=True).finish()


def test_a_chunk_that_is_too_large_is_refused() -> None:
    """It would have to be held in memory."""
    with pytest.raises(LimitError, match="a chunk of 101 bytes"):
        _coverage(1000).take([_chunk(0, 101)])
    with pytest.raises(LimitError, match="a chunk of 101 bytes"):
        check_output_range(_chunk(0, 101), 1000, "x", limits=Limits(max_chunk_bytes=100))


@pytest.mark.parametrize(("raw_end", "parser_offset"), [(6, 5), (5, 6)])
def test_a_frame_comes_from_bytes_that_are_there(raw_end: int, parser_offset: int) -> None:
    """Both of its offsets."""
    frame = FrameRecord(
        seq=1,
        t_ms=0,
        size=Size(rows=1, cols=1),
        text=("",),
        cursor=Cursor(row=0, col=0),
        raw_start=0,
        raw_end=raw_end,
        parser_offset=parser_offset,
    )
    check_frame_range(frame, 6, "frames.jsonl")

    with pytest.raises(ChunkError, match=r"behind the end of an output\.raw that has 5"):
        check_frame_range(frame, 5, "frames.jsonl")


def test_a_wrong_digest_is_shown_safely() -> None:
    """The record's text is a stranger's."""
    record = OutputRecord(seq=1, t_ms=0, offset=0, length=1, sha256="\x1b[2J")

    assert "\\e[2J" in str(chunk_fault(record, "00", "x"))


def test_digests_are_lower_case_hexadecimal() -> None:
    """One spelling."""
    assert sha256_hex(b"").startswith("e3b0c44298fc1c14")
    assert is_sha256("a0" * 32)
    assert not any(is_sha256(text) for text in ("A0" * 32, "a0" * 31, "a0" * 32 + "\n", "g" * 64))
