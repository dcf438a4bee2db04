"""Lines and records: spelling, strictness, limits."""

from __future__ import annotations

from typing import Any

import pytest

from ptycassette.cassette._lines import LineReader
from ptycassette.cassette._records import (
    FRAME_CODEC,
    INPUT_CODEC,
    OUTPUT_CODEC,
    SERVICE_EVENT_CODEC,
    RecordCodec,
)
from ptycassette.cassette.documents import decode_document, encode_document
from ptycassette.cassette.strict_json import check_keys, check_value, parse_strict
from ptycassette.errors import LimitError, RecordError, TruncatedError
from ptycassette.model import (
    Cursor,
    ExitStatus,
    FinalRecord,
    FrameRecord,
    InputRecord,
    OutputRecord,
    ScrubReport,
    ServiceEventRecord,
    Size,
)
from ptycassette.model.limits import Limits, check_density

LINE = b'{"seq":1,"t_ms":0,"offset":0,"length":1}\n'


def _frame(**changes: Any) -> FrameRecord:
    values: dict[str, Any] = {
        "seq": 1,
        "t_ms": 0,
        "size": Size(rows=1, cols=1),
        "text": ("<",),
        "cursor": Cursor(row=0, col=0),
        "raw_start": 0,
        "raw_end": 1,
        "parser_offset": 1,
    }
    return FrameRecord(**{**values, **changes})


def test_lines_are_written_in_the_order_of_the_format() -> None:
    """Compact, defaults left out, ``<`` as it is."""
    frame = _frame(title="t", cells=[1], t_us=5, alt_screen=True)

    assert FRAME_CODEC.encode(frame) == (
        b'{"seq":1,"t_ms":0,"size":{"Rows":1,"Cols":1},"text":["<"],"cells":[1],'
        b'"cursor":{"Row":0,"Col":0,"Visible":true},"title":"t","raw_start":0,"raw_end":1,'
        b'"parser_offset":1,"t_us":5,"alt_screen":true}\n'
    )


def test_bytes_are_base64_and_empty_ones_are_left_out() -> None:
    """As the reference does with ``omitempty``."""
    record = InputRecord(seq=1, t_ms=0, kind="input", bytes=b"\xff\x00")

    assert b'"bytes":"/wA="' in INPUT_CODEC.encode(record)
    assert b"bytes" not in INPUT_CODEC.encode(InputRecord(seq=1, t_ms=0, kind="input", bytes=b""))


@pytest.mark.parametrize(
    ("codec", "record", "says"),
    [
        (OUTPUT_CODEC, OutputRecord(seq=0, t_ms=0, offset=0, length=0), "seq 0"),
        (OUTPUT_CODEC, OutputRecord(seq=2**63, t_ms=0, offset=0, length=0), "seq 9223"),
        (OUTPUT_CODEC, OutputRecord(seq=1, t_ms=-1, offset=0, length=0), "t_ms -1"),
        (OUTPUT_CODEC, OutputRecord(seq=1, t_ms=0, offset=-1, length=0), "offset -1"),
        (OUTPUT_CODEC, OutputRecord(seq=1, t_ms=0, offset=0, length=-1), "length -1"),
        (OUTPUT_CODEC, OutputRecord(seq=1, t_ms=0, offset=0, length=0, t_us=-1), "t_us -1"),
        (INPUT_CODEC, InputRecord(seq=1, t_ms=0, kind="resize"), "without its size"),
        (INPUT_CODEC, InputRecord(seq=1, t_ms=0, kind="signal", signal=""), "without its name"),
        (
            INPUT_CODEC,
            InputRecord(seq=1, t_ms=0, kind="resize", size=Size(rows=1, cols=65536)),
            "1x65536",
        ),
        (FRAME_CODEC, _frame(raw_start=2), "not a range"),
        (FRAME_CODEC, _frame(parser_offset=-1), "parser_offset"),
        (FRAME_CODEC, _frame(cursor=Cursor(row=2**63, col=0)), "cursor"),
        (FRAME_CODEC, _frame(size=Size(rows=-1, cols=0)), "-1x0"),
        (FRAME_CODEC, _frame(title="\ud800"), "UTF-8"),
        (SERVICE_EVENT_CODEC, ServiceEventRecord(seq=1, t_ms=0, payload=object()), "object"),
    ],
)
def test_what_a_reader_would_refuse_cannot_be_written(
    codec: RecordCodec[Any], record: Any, says: str
) -> None:
    """The same rules both ways, and the record is named."""
    with pytest.raises(RecordError, match=says) as caught:
        codec.encode(record)

    assert caught.value.where == f"{codec.name} seq {record.seq}"


def test_a_fault_in_a_canonical_line_is_found_with_its_number() -> None:
    """Types may be right and values wrong."""
    bad = LINE.replace(b'"offset":0', b'"offset":-1')

    with pytest.raises(RecordError, match="negative") as caught:
        OUTPUT_CODEC.decode(LINE + bad, first_line=5)
    assert caught.value.where == "output.jsonl line 6 (seq 1, t_ms 0)"


def test_a_fault_in_an_odd_line_is_found_too() -> None:
    """Whichever way it was read."""
    bad = LINE.replace(b'"offset":0', b'"offset": -1')

    with pytest.raises(RecordError, match="negative") as caught:
        OUTPUT_CODEC.decode(LINE + bad)
    assert caught.value.where == "output.jsonl line 2 (seq 1, t_ms 0)"


def test_one_odd_line_does_not_spoil_the_others() -> None:
    """A block that is not canonical is read line by line."""
    odd = b' {"t_ms":0, "seq":2, "later":[1], "offset":1, "length":1}\r\n'

    records = OUTPUT_CODEC.decode(LINE + odd + LINE)
    assert [record.seq for record in records] == [1, 2, 1]


def test_cells_are_checked_although_any_json_is_allowed() -> None:
    """Integers that fit, depth in bounds."""
    line = FRAME_CODEC.encode(_frame(cells=[7])).replace(b"[7]", b"[9223372036854775808]")

    with pytest.raises(RecordError, match="64 bits"):
        FRAME_CODEC.decode(line)


def test_lines_may_arrive_in_any_pieces() -> None:
    """Nothing is returned before a line is whole."""
    reader = LineReader(OUTPUT_CODEC)

    assert reader.feed(LINE[:10]).records == []
    assert reader.feed(LINE[10:-1]).records == []
    batch = reader.feed(LINE[-1:] + LINE + LINE[:5])
    assert (batch.first_line, len(batch.records)) == (1, 2)
    assert reader.feed(LINE[5:]).first_line == 3
    assert reader.finish().records == []
    assert reader.size == 3 * len(LINE)


def test_a_cut_off_last_line_is_truncated_and_not_corrupt() -> None:
    """Two errors, told apart."""
    reader = LineReader(OUTPUT_CODEC, place="x/output.jsonl")
    reader.feed(LINE + LINE[:-3])

    with pytest.raises(TruncatedError, match="cut off after 38 bytes") as caught:
        reader.finish()
    assert caught.value.where == "x/output.jsonl line 2"


def test_a_whole_last_line_needs_no_newline() -> None:
    """It is one record more."""
    reader = LineReader(OUTPUT_CODEC)
    reader.feed(LINE + LINE[:-1])

    assert reader.finish().first_line == 2


@pytest.mark.parametrize(
    "pieces", [[b"x" * 200], [b"x" * 60, b"y" * 60], [LINE + b"x" * 200 + b"\n"]]
)
def test_a_line_that_is_too_long_is_refused_before_it_is_whole(pieces: list[bytes]) -> None:
    """Memory stays bounded."""
    reader = LineReader(OUTPUT_CODEC, limits=Limits(max_line_bytes=100))

    def feed() -> None:
        for piece in pieces:
            reader.feed(piece)

    with pytest.raises(LimitError, match="over 100 bytes"):
        feed()


def test_many_short_lines_are_no_long_line() -> None:
    """The limit is on each, not on a block of them."""
    reader = LineReader(OUTPUT_CODEC, limits=Limits(max_line_bytes=100))

    assert len(reader.feed(LINE * 10).records) == 10


def test_json_of_too_many_values_is_refused_before_decoding() -> None:
    """A few megabytes of brackets would become hundreds of megabytes of lists."""
    bomb = b'{"seq":1,"t_ms":0,"payload":[' + b"[]," * 800_000 + b"0]}\n"

    with pytest.raises(LimitError, match="JSON values"):
        SERVICE_EVENT_CODEC.decode(bomb)


def test_punctuation_in_texts_does_not_count() -> None:
    """A long answer with many commas is one value."""
    check_density(b'["' + b',\\"[' * 100 + b'"]', 2, "x")

    with pytest.raises(LimitError, match="about 101 JSON values"):
        check_density(b"[" + b"0," * 100 + b"0]", 100, "x")


def test_the_values_of_many_lines_are_counted_line_by_line() -> None:
    """Together they may be more than one line may hold."""
    record = ServiceEventRecord(seq=1, t_ms=0, payload=[0] * 300_000)
    line = SERVICE_EVENT_CODEC.encode(record)

    assert len(SERVICE_EVENT_CODEC.decode(line * 2)) == 2


def test_a_record_of_too_many_values_is_not_written() -> None:
    """A reader would refuse it."""
    record = ServiceEventRecord(seq=1, t_ms=0, payload=[12345] * 600_000)

    with pytest.raises(LimitError, match="JSON values"):
        SERVICE_EVENT_CODEC.encode(record)


def test_deep_nesting_is_refused_on_either_path() -> None:
    """In a field that is ignored, and in one that is any JSON."""
    deep = b"[" * 5000 + b"]" * 5000
    ignored = LINE.replace(b"}", b',"x":' + deep + b"}")

    with pytest.raises(LimitError, match="nested deeper than 64"):
        OUTPUT_CODEC.decode(ignored)
    with pytest.raises(LimitError, match="nested deeper than 64"):
        SERVICE_EVENT_CODEC.decode(b'{"seq":1,"t_ms":0,"payload":' + deep + b"}\n")


def test_nesting_up_to_the_limit_is_fine_however_it_is_spelled() -> None:
    """63 lists in the object of the line make 64 levels; one more is too many."""
    good, bad = (b"[" * depth + b"]" * depth for depth in (63, 64))
    for start in (b'{"seq":1,"t_ms":0,"payload":', b'{"t_ms":0,"seq":1,"payload":'):
        assert SERVICE_EVENT_CODEC.decode(start + good + b"}\n")

        with pytest.raises(LimitError):
            SERVICE_EVENT_CODEC.decode(start + bad + b"}\n")


# ------------------------------------------------------------------ strict JSON


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (b"\xef\xbb\xbf{}", "byte order mark"),
        (b'{"a":1,"b":{"x":1,"x":2}}', "'x' is there twice"),
        (b"Infinity", "Infinity is no JSON"),
        (b"-Infinity", "no JSON"),
        (b"123456789012345678901234567890", "does not fit 64 bits"),
        (b"-9223372036854775809", "does not fit 64 bits"),
        (b"1e400", "does not fit a double"),
        (b'{"\\udc00":1}', "lone surrogate"),
        (b'"\\ud800\\u0041"', "lone surrogate"),
        (b"01", "no valid JSON"),
        (b"'x'", "no valid JSON"),
        (b"{} {}", "no valid JSON"),
        (b'"\n"', "no valid JSON"),
        (b'"\xed\xa0\x80"', "no valid UTF-8"),
    ],
)
def test_loose_json_is_refused_with_its_reason(text: bytes, says: str) -> None:
    """What readers could read differently."""
    with pytest.raises(RecordError, match=says):
        parse_strict(text, where="x", error=RecordError, limits=Limits())


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (b'"\\ud83d\\ude00"', "\U0001f600"),
        (b"-9223372036854775808", -(2**63)),
        (b"1E5", 1e5),
        (b' {"a": [true, null]}\n', {"a": [True, None]}),
        (b'"\xc3\xa9"', "é"),
    ],
)
def test_strict_json_is_read(text: bytes, value: object) -> None:
    """Surrogate pairs, the smallest integer, exponents, white space."""
    assert parse_strict(text, where="x", error=RecordError, limits=Limits()) == value


def test_a_control_character_in_a_message_is_escaped() -> None:
    """Keys come from strangers."""
    with pytest.raises(RecordError) as caught:
        parse_strict(b'{"\\u001b":1,"\\u001b":2}', where="x", error=RecordError, limits=Limits())

    assert "\x1b" not in str(caught.value)


def test_keys_of_nested_objects_count_too() -> None:
    """``rows`` for ``Rows`` would be read by the reference and not by us."""
    value = {"size": {"Rows": 1, "Cols": 1, "rows": 2}}

    with pytest.raises(RecordError, match="'rows' differs from 'Rows' in case alone"):
        check_keys(value, FrameRecord, where="x", error=RecordError)
    check_keys([1], FrameRecord, where="no object has no keys", error=RecordError)


def test_a_value_may_hold_the_same_list_many_times() -> None:
    """It is no cycle, and each way down is short."""
    leaf = [1, 2.5, "é", None, True]

    check_value([leaf] * 3, where="x", error=RecordError, limits=Limits())
    with pytest.raises(RecordError, match="not finite"):
        check_value([leaf, float("nan")], where="x", error=RecordError, limits=Limits())


# ------------------------------------------------------------------ documents


def test_an_exit_that_is_not_known_is_null() -> None:
    """The reference writes the field always."""
    data = encode_document(FinalRecord(seq=1, t_ms=2, duration_ms=3), where="final.json")

    assert data == b'{\n  "seq": 1,\n  "t_ms": 2,\n  "exit": null,\n  "duration_ms": 3\n}\n'


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"duration_ms": -1}, "duration_ms -1"),
        ({"seq": 0}, "seq 0"),
        ({"exit": ExitStatus(code=2**63, exited=True, signaled=False)}, "64 bits"),
        ({"metadata": {"a": float("inf")}}, "not finite"),
        ({"metadata": {"a": b"bytes"}}, ""),
        ({"metadata": {"a": object()}}, "object"),
    ],
)
def test_a_final_record_that_cannot_be_read_is_not_written(
    changes: dict[str, Any], says: str
) -> None:
    """The same rules both ways."""
    values = {"seq": 1, "t_ms": 0, "duration_ms": 0, **changes}
    if says:
        with pytest.raises(RecordError, match=says):
            encode_document(FinalRecord(**values), where="final.json")
    else:
        assert b'"Ynl0ZXM="' in encode_document(FinalRecord(**values), where="final.json")


def test_a_negative_duration_is_refused() -> None:
    """Reading has the rules of writing."""
    data = b'{"seq":1,"t_ms":0,"exit":null,"duration_ms":-1}'

    with pytest.raises(RecordError, match="duration_ms -1"):
        decode_document(data, FinalRecord, where="final.json")


@pytest.mark.parametrize("data", [b"[]", b"", b'{"status":1}', b'{"rules":[]}'])
def test_what_is_no_document_is_refused(data: bytes) -> None:
    """Types and required fields."""
    with pytest.raises(RecordError):
        decode_document(data, ScrubReport, where="scrub-report.json")
