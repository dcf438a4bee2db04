"""Laws of the format: what is written is read, and what is no cassette is refused by name."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptycassette import open_cassette
from ptycassette.cassette._lines import LineReader
from ptycassette.cassette.layout import (
    DOCUMENT_TYPES,
    GIT_ATTRIBUTES,
    STREAM_CODECS,
    RecordCodec,
    decode_document,
    encode_document,
)
from ptycassette.cassette.manifest import decode_manifest, encode_manifest
from ptycassette.errors import CassetteError, InvalidCassetteError
from ptycassette.model.limits import DEFAULT_LIMITS
from ptycassette.model.records import (
    SCRUB_STATUSES,
    DiscoveryRecord,
    ExitStatus,
    FinalRecord,
    FrameRecord,
    InputRecord,
    Noted,
    Output,
    OutputRecord,
    QuotaRecord,
    Resized,
    ScrubReport,
    ServiceEventRecord,
    Signalled,
    Typed,
)
from ptycassette.model.screen import Cursor, Size, Style, StyleRun
from ptycassette.testing import manifest_of, write_cassette
from tests.examples import examples

INT64 = st.integers(0, 2**63 - 1)
UINT16 = st.integers(0, 2**16 - 1)
TEXT = st.text(max_size=20)  # no surrogates
STAMP = {"seq": st.integers(1, 2**63 - 1), "t_ms": INT64, "t_us": st.none() | INT64}
VALUE = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=10,
)
OBJECT = st.dictionaries(TEXT, VALUE, max_size=3)
SIZE = st.builds(Size, rows=UINT16, cols=UINT16)
COLOUR = st.none() | st.integers(0, 255) | st.just("#a0b1c2")
RUN = st.builds(
    StyleRun,
    col=UINT16,
    length=st.integers(1, 2**16 - 1),
    style=st.builds(Style, fg=COLOUR, bg=COLOUR, bold=st.booleans(), link=st.none() | TEXT),
)
INPUTS: st.SearchStrategy[InputRecord] = st.one_of(
    st.builds(
        InputRecord,
        **STAMP,  # type: ignore[arg-type]
        kind=st.just("input"),
        bytes=st.none() | st.binary(min_size=1),
        key=st.none() | TEXT,
        source=st.none() | TEXT,
        paste=st.booleans(),
        masked=st.booleans(),
    ),
    st.builds(InputRecord, **STAMP, kind=st.just("resize"), size=SIZE),  # type: ignore[arg-type]
    st.builds(
        InputRecord,
        **STAMP,  # type: ignore[arg-type]
        kind=st.just("signal"),
        signal=st.text(min_size=1),
    ),
)
OUTPUTS = st.builds(
    OutputRecord,
    **STAMP,  # type: ignore[arg-type]
    offset=INT64,
    length=INT64,
    sha256=st.none() | TEXT,
)
RANGE = st.tuples(INT64, INT64).map(sorted)
FRAMES = RANGE.flatmap(
    lambda ends: st.builds(
        FrameRecord,
        **STAMP,  # type: ignore[arg-type]
        size=SIZE,
        text=st.lists(TEXT, max_size=3).map(tuple),
        cells=VALUE,
        cursor=st.builds(Cursor, row=UINT16, col=UINT16, visible=st.booleans()),
        title=TEXT,
        raw_start=st.just(ends[0]),
        raw_end=st.just(ends[1]),
        parser_offset=INT64,
        styles=st.none() | st.lists(st.lists(RUN, max_size=2).map(tuple), max_size=2).map(tuple),
        alt_screen=st.booleans(),
        hash=st.none() | TEXT,
    )
)
SERVICE_EVENTS = st.builds(ServiceEventRecord, **STAMP, payload=VALUE)  # type: ignore[arg-type]
BY_NAME: dict[str, st.SearchStrategy[Any]] = dict(
    zip(
        (codec.name for codec in STREAM_CODECS),
        (INPUTS, OUTPUTS, FRAMES, SERVICE_EVENTS),
        strict=True,
    )
)
NAMES = st.none() | st.lists(TEXT, max_size=3).map(tuple)
DOCUMENTS: dict[str, st.SearchStrategy[Any]] = {
    "final.json": st.builds(
        FinalRecord,
        **STAMP,  # type: ignore[arg-type]
        duration_ms=INT64,
        exit=st.none()
        | st.builds(
            ExitStatus,
            code=st.integers(-1, 255),
            signal=TEXT,
            exited=st.booleans(),
            signaled=st.booleans(),
        ),
        metadata=st.none() | OBJECT,
        usage=st.none() | OBJECT,
        cost_usd=st.none() | st.floats(0, 1e9),
        final_text=st.none() | TEXT,
    ),
    "scrub-report.json": st.builds(
        ScrubReport,
        status=st.sampled_from(SCRUB_STATUSES),
        rules=NAMES,
        hit_counts=st.none() | st.dictionaries(TEXT, st.integers(0, 1000), max_size=3),
        env_allowlist=st.just(msgspec.UNSET) | st.lists(TEXT, max_size=2).map(tuple),
    ),
    "quota.json": st.builds(
        QuotaRecord,
        source=TEXT,
        status=TEXT,
        windows=st.none() | st.lists(OBJECT, max_size=2).map(tuple),
        metadata=st.none() | OBJECT,
    ),
    "discovery.json": st.builds(DiscoveryRecord, source=TEXT, status=TEXT, models=NAMES),
}


@pytest.mark.parametrize("codec", STREAM_CODECS, ids=lambda codec: codec.name)
@given(data=st.data())
@examples(150)
def test_records_come_back_as_written(codec: RecordCodec[Any], data: st.DataObject) -> None:
    """decode(encode(x)) = x, however the bytes are cut into blocks."""
    records = data.draw(st.lists(BY_NAME[codec.name], max_size=5))
    stream = b"".join(codec.encode(record) for record in records)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=4)))

    reader = LineReader(codec)
    read: list[Any] = []
    for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
        read += reader.feed(stream[start:end]).records
    read += reader.finish().records

    assert read == records


@pytest.mark.parametrize("codec", STREAM_CODECS, ids=lambda codec: codec.name)
@given(data=st.data())
@examples(100)
def test_the_fast_way_and_the_strict_way_agree(
    codec: RecordCodec[Any], data: st.DataObject
) -> None:
    """A block read at once holds what its lines hold one by one."""
    record = data.draw(BY_NAME[codec.name])
    line = codec.encode(record)

    strict = codec.decode_line(line[:-1], number=1, place="x", limits=DEFAULT_LIMITS)
    assert [strict] == codec.decode(line) == [record]


@pytest.mark.parametrize("codec", STREAM_CODECS, ids=lambda codec: codec.name)
@given(data=st.data())
@examples(100)
def test_another_spelling_means_the_same(codec: RecordCodec[Any], data: st.DataObject) -> None:
    """Escapes, white space, the order of keys and unknown keys change nothing."""
    record = data.draw(BY_NAME[codec.name])
    value = json.loads(codec.encode(record))
    pairs = data.draw(st.permutations([*value.items(), ("unknown", data.draw(VALUE))]))
    respelled = json.dumps(dict(pairs), ensure_ascii=True).encode() + b"\n"

    assert codec.decode(respelled) == [record]


@pytest.mark.parametrize("name", DOCUMENT_TYPES)
@given(data=st.data())
@examples(100)
def test_documents_come_back_as_written(name: str, data: st.DataObject) -> None:
    """decode(encode(x)) = x."""
    record = data.draw(DOCUMENTS[name])
    struct: Any = DOCUMENT_TYPES[name]

    assert decode_document(encode_document(record, where=name), struct, where=name) == record


@given(optional=st.none() | OBJECT.filter(lambda value: "artifacts" not in value), argv=NAMES)
@examples(100)
def test_manifests_come_back_as_written(
    optional: dict[str, Any] | None, argv: tuple[str, ...] | None
) -> None:
    """decode(encode(x)) = x."""
    base = manifest_of()
    manifest = msgspec.structs.replace(
        base, optional=optional, command=msgspec.structs.replace(base.command, argv=argv)
    )

    assert decode_manifest(encode_manifest(manifest)).manifest == manifest


PIECES = st.sampled_from(
    [
        b"{",
        b"}",
        b"[",
        b"]",
        b":",
        b",",
        b'"',
        b"\n",
        b"\\",
        b"\\ud800",
        b"null",
        b"NaN",
        b"-",
        b"1e999",
        b"1.0",
        b"9223372036854775808",
        b"0" * 30,
        b"\xff",
        b"\xef\xbb\xbf",
        b'"seq":1',
        b'"t_ms":0',
        b'"Seq":1',
        b'"kind":"input"',
        b'"bytes":"QQ=="',
        b'{"seq":1,"t_ms":0,"offset":0,"length":1}\n',
        b'{"seq":1,"t_ms":0,"payload":[1,{"a":2}]}\n',
        b'{"seq":1,"t_ms":0,"kind":"resize","size":{"Rows":1,"Cols":70000}}\n',
        b'{"version":1,"id":"x"}',
        b"[" * 200,
        b'{"a":' * 200,
    ]
)
ANYTHING = st.binary(max_size=60) | st.lists(PIECES, max_size=12).map(b"".join)


def _read_stream(codec: RecordCodec[Any], data: bytes, cut: int) -> None:
    reader = LineReader(codec)
    reader.feed(data[:cut])
    reader.feed(data[cut:])
    reader.finish()


def _refusals(data: bytes, cut: int) -> Iterator[InvalidCassetteError]:
    """Read ``data`` as everything that it could be; give the declared errors."""
    readings: list[Callable[[], object]] = [partial(decode_manifest, data)]
    readings += [partial(_read_stream, codec, data, cut) for codec in STREAM_CODECS]
    for name, struct in DOCUMENT_TYPES.items():
        typed: Any = struct
        readings.append(partial(decode_document, data, typed, where=name))
    for read in readings:
        try:
            read()
        except InvalidCassetteError as exc:
            yield exc


@given(data=ANYTHING, cut=st.integers(0, 60))
@examples(1500)
def test_arbitrary_bytes_raise_only_declared_errors(data: bytes, cut: int) -> None:
    """Whatever the bytes: records, or an ``InvalidCassetteError`` that says where."""
    assert all(refusal.where for refusal in _refusals(data, cut))


@pytest.fixture(scope="module")
def pinned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small cassette with something in every file."""
    path = tmp_path_factory.mktemp("pinned") / "cassette"
    frame = FrameRecord(
        seq=0,
        t_ms=0,
        size=Size(rows=1, cols=4),
        text=("hi",),
        cursor=Cursor(row=0, col=2),
        raw_start=0,
        raw_end=2,
        parser_offset=2,
    )
    items = (
        Output(0, b"hi"),
        Output(900, b"!\xe2"),
        Typed(1_000, b"\r"),
        Resized(2_000, Size(rows=2, cols=4)),
        Signalled(3_000, "int"),
        Noted(4_000, {"a": 1}),
    )
    write_cassette(path, frame, *items)
    return path


def _broken(path: Path) -> bool:
    """Whether opening ``path`` is refused; any other exception fails the test."""
    try:
        open_cassette(path).close()
    except CassetteError:
        return True
    return False


def _each_file(path: Path) -> Iterator[tuple[Path, bytes]]:
    for file in sorted(path.iterdir()):
        if file.name != GIT_ATTRIBUTES:  # nothing pins it, so that it can be added
            yield file, file.read_bytes()


@pytest.mark.parametrize("bits", [1, pytest.param(8, marks=pytest.mark.slow)])
def test_every_flipped_byte_is_noticed(pinned: Path, tmp_path: Path, bits: int) -> None:
    """Each bit of each byte of each file, or one of each byte, the manifest included."""
    copy = Path(shutil.copytree(pinned, tmp_path / "copy"))
    unnoticed = []
    for file, data in _each_file(copy):
        with file.open("r+b", buffering=0) as stream:
            for position, byte in enumerate(data):
                for bit in range(position % 8, position % 8 + bits):
                    stream.seek(position)
                    stream.write(bytes([byte ^ (1 << bit % 8)]))
                    if not _broken(copy):
                        unnoticed.append((file.name, position, bit))
                stream.seek(position)
                stream.write(bytes([byte]))

    assert unnoticed == []
    assert not _broken(copy)


def test_every_truncation_is_noticed(pinned: Path, tmp_path: Path) -> None:
    """Each file at each length."""
    copy = Path(shutil.copytree(pinned, tmp_path / "copy"))
    unnoticed = []
    for file, data in _each_file(copy):
        for length in reversed(range(len(data))):
            os.truncate(file, length)
            if not _broken(copy):
                unnoticed.append((file.name, length))
        file.write_bytes(data)

    assert unnoticed == []


def test_every_swap_of_two_files_is_noticed(pinned: Path, tmp_path: Path) -> None:
    """Any two files that exchange their names."""
    copy = Path(shutil.copytree(pinned, tmp_path / "copy"))
    files = list(_each_file(copy))
    unnoticed = []
    for number, (one, data) in enumerate(files):
        for other, other_data in files[number + 1 :]:
            one.write_bytes(other_data)
            other.write_bytes(data)
            if data != other_data and not _broken(copy):
                unnoticed.append((one.name, other.name))
            one.write_bytes(data)
            other.write_bytes(other_data)

    assert unnoticed == []


@pytest.mark.parametrize(
    "name", ["x", ".hidden", "quota.json", "manifest.json.bak", "output.raw.gz"]
)
def test_every_extra_file_is_noticed(pinned: Path, tmp_path: Path, name: str) -> None:
    """Also one whose name the format knows, and also a directory."""
    copy = Path(shutil.copytree(pinned, tmp_path / "copy"))
    (copy / name).write_bytes(b"{}")
    assert _broken(copy)

    (copy / name).unlink()
    (copy / name).mkdir()
    assert _broken(copy)


@given(first=st.binary(max_size=8), at=st.integers(0, 400), name=st.integers(0, 8))
@examples(200)
def test_inserted_bytes_raise_only_declared_errors(
    first: bytes, at: int, name: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Of an unpinned cassette too: it is accepted, or refused by name."""
    source = Path(__file__).resolve().parents[2] / "fixtures" / "v1" / "unpinned"
    path = tmp_path_factory.getbasetemp() / "inserted"
    shutil.copytree(source, path, dirs_exist_ok=True)
    file = sorted(path.iterdir())[name % 8]
    data = file.read_bytes()
    file.write_bytes(data[:at] + first + data[at:])

    assert _broken(path) in {True, False}
    file.write_bytes(data)
