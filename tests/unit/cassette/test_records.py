"""Lines and records: spelling, strictness, limits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from ptycassette.cassette._lines import LineReader
from ptycassette.cassette.layout import (
    FRAME_CODEC,
    INPUT_CODEC,
    OUTPUT_CODEC,
    SERVICE_EVENT_CODEC,
    RecordCodec,
    decode_document,
    encode_document,
)
from ptycassette.cassette.strict_json import check_keys, check_value, parse_strict
from ptycassette.errors import LimitError, RecordError, TruncatedError
from ptycassette.model.limits import Limits, check_density
from ptycassette.model.records import (
    ExitStatus,
    FinalRecord,
    FrameRecord,
    InputRecord,
    OutputRecord,
    ScrubReport,
    ServiceEventRecord,
)
from ptycassette.model.screen import Cursor, Size

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


def _decode(data: bytes, codec: RecordCodec[Any] = OUTPUT_CODEC) -> Callable[[], object]:
    return lambda: codec.decode(data, first_line=5)


def _nested(depth: int) -> bytes:
    return b"[" * depth + b"]" * depth


def _event(payload: bytes, start: bytes = b'"seq":1,"t_ms":0') -> Callable[[], object]:
    return _decode(b"{" + start + b',"payload":' + payload + b"}\n", SERVICE_EVENT_CODEC)


CELLS = FRAME_CODEC.encode(_frame(cells=[7])).replace(b"[7]", b"[9223372036854775808]")
MANY = ServiceEventRecord(seq=1, t_ms=0, payload=[12345] * 600_000)
REFUSED_LINES: dict[str, tuple[Callable[[], object], type[Exception], str]] = {
    # Types may be right and values wrong.
    "a fault in a canonical line": (
        _decode(LINE + LINE.replace(b'"offset":0', b'"offset":-1')), RecordError,
        r"output\.jsonl line 6 \(seq 1, t_ms 0\).*negative"),
    "a fault in an odd line": (
        _decode(LINE + LINE.replace(b'"offset":0', b'"offset": -1')), RecordError,
        r"output\.jsonl line 6 \(seq 1, t_ms 0\).*negative"),
    # Although any JSON is allowed there.
    "cells that do not fit": (_decode(CELLS, FRAME_CODEC), RecordError, "64 bits"),
    # A few megabytes of brackets would become hundreds of megabytes of lists.
    "too many values": (_event(b"[" + b"[]," * 800_000 + b"0]"), LimitError, "JSON values"),
    "too many values to write": (
        lambda: SERVICE_EVENT_CODEC.encode(MANY), LimitError, "JSON values"),
    "deep nesting in a field that is ignored": (
        _decode(LINE.replace(b"}", b',"x":' + _nested(5000) + b"}")), LimitError,
        "nested deeper than 64"),
    "deep nesting in any JSON": (_event(_nested(5000)), LimitError, "nested deeper than 64"),
    # 63 lists in the object of the line make 64 levels.
    "a level too many": (_event(_nested(64)), LimitError, "."),
    "a level too many, spelled oddly": (
        _event(_nested(64), b'"t_ms":0,"seq":1'), LimitError, "."),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED_LINES)
def test_a_line_that_is_wrong_or_too_much_is_refused(case: str) -> None:
    """Whichever way it is read; its place is said."""
    act, error, says = REFUSED_LINES[case]

    with pytest.raises(error, match=says):
        act()


@pytest.mark.parametrize("start", [b'"seq":1,"t_ms":0', b'"t_ms":0,"seq":1'])
def test_nesting_up_to_the_limit_is_fine_however_it_is_spelled(start: bytes) -> None:
    """63 lists in the object of the line."""
    assert _event(_nested(63), start)()


def test_one_odd_line_does_not_spoil_the_others() -> None:
    """A block that is not canonical is read line by line."""
    odd = b' {"t_ms":0, "seq":2, "later":[1], "offset":1, "length":1}\r\n'

    records = OUTPUT_CODEC.decode(LINE + odd + LINE)
    assert [record.seq for record in records] == [1, 2, 1]


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


# ------------------------------------------------------------------ strict JSON


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (b"\xef\xbb\xbf{}", "byte order mark"),
        (b'{"a":1,"b":{"x":1,"x":2}}', "'x' occurs twice"),
        (b"Infinity", "Infinity is not JSON"),
        (b"-Infinity", "not JSON"),
        (b"123456789012345678901234567890", "does not fit 64 bits"),
        (b"-9223372036854775809", "does not fit 64 bits"),
        (b"1e400", "does not fit a double"),
        (b'{"\\udc00":1}', "lone surrogate"),
        (b'"\\ud800\\u0041"', "lone surrogate"),
        (b"01", "not valid JSON"),
        (b"'x'", "not valid JSON"),
        (b"{} {}", "not valid JSON"),
        (b'"\n"', "not valid JSON"),
        (b'"\xed\xa0\x80"', "not valid UTF-8"),
    ],
)
def test_loose_json_is_refused_with_its_reason(text: bytes, says: str) -> None:
    """What readers could read differently; also in documents as they are written."""
    for spelt in (text, text + b"\n", b"[\n  1,\n  " + text + b"\n]\n"):
        within = "not valid JSON" if says == "byte order mark" and spelt[:1] == b"[" else says
        with pytest.raises(RecordError, match=within):
            parse_strict(spelt, where="x", error=RecordError, limits=Limits())


@pytest.mark.parametrize("leaf", [b"[]", b"{}", b"[1]", b"1"])
def test_depth_is_counted_in_every_spelling(leaf: bytes) -> None:
    """A document as it is written, whose depth shows in its indentation, and a compact one."""
    outcomes = []
    for depth in range(1, 7):
        compact = b'{"a":' * depth + leaf + b"}" * depth
        for text in (compact, msgspec.json.format(compact, indent=2) + b"\n"):
            try:
                value = parse_strict(text, where="x", error=RecordError, limits=Limits(max_depth=4))
                outcomes.append(value == msgspec.json.decode(compact))
            except LimitError:
                outcomes.append(False)

    deepest = 4 if leaf == b"1" else 3
    assert outcomes == [True] * 2 * deepest + [False] * 2 * (6 - deepest)


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
    ("read", "says"),
    [
        *((lambda changes=changes: encode_document(
            FinalRecord(**{"seq": 1, "t_ms": 0, "duration_ms": 0, **changes}),
            where="final.json"), says)
          for changes, says in (
              ({"duration_ms": -1}, "duration_ms -1"), ({"seq": 0}, "seq 0"),
              ({"exit": ExitStatus(code=2**63, exited=True, signaled=False)}, "64 bits"),
              ({"metadata": {"a": float("inf")}}, "not finite"),
              ({"metadata": {"a": object()}}, "object"))),
        (lambda: decode_document(b'{"seq":1,"t_ms":0,"exit":null,"duration_ms":-1}', FinalRecord,
                                 where="final.json"), "duration_ms -1"),
        *((lambda data=data: decode_document(data, ScrubReport, where="scrub-report.json"),
           r"scrub-report\.json")
          for data in (b"[]", b"", b'{"status":1}', b'{"rules":[]}')),
    ],
)  # fmt: skip
def test_a_document_that_is_wrong_is_neither_written_nor_read(
    read: Callable[[], object], says: str
) -> None:
    """The same rules both ways: values, types and required fields."""
    with pytest.raises(RecordError, match=says):
        read()


def test_bytes_in_a_document_are_base64() -> None:
    """As in records."""
    final = FinalRecord(seq=1, t_ms=0, duration_ms=0, metadata={"a": b"bytes"})

    assert b'"Ynl0ZXM="' in encode_document(final, where="final.json")
