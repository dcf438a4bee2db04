"""Opening and streaming cassettes."""

from __future__ import annotations

import errno
import json
import os
import shutil
import socket
import threading
from collections.abc import Callable
from contextlib import chdir
from pathlib import Path
from typing import Any

import pytest

from ptycassette import Cassette, errors, open_cassette
from ptycassette.model.limits import Limits
from ptycassette.model.records import (
    FrameRecord,
    Noted,
    Output,
    OutputRecord,
    Resized,
    Signalled,
    Typed,
)
from ptycassette.model.screen import Cursor, Size
from ptycassette.testing import manifest_of, write_cassette
from tests.unreadable import unreadable

V1 = Path(__file__).resolve().parents[4] / "fixtures" / "v1"


@pytest.fixture
def copy(tmp_path: Path) -> Callable[[str], Path]:
    """A copy of a fixture that a test may break."""

    def make(name: str) -> Path:
        return Path(shutil.copytree(V1 / name, tmp_path / name))

    return make


def test_events_come_in_the_order_of_seq_with_their_bytes() -> None:
    """Four streams and the final record, merged; a split character stays split."""
    with open_cassette(V1 / "awkward") as cassette:
        events = list(cassette.events())

    assert [event.seq for event in events] == list(range(1, 12))
    assert [event.kind for event in events[:3]] == ["input", "output", "output"]
    assert [event.data for event in events[:3]] == [
        b"prompt\xff\x00",
        b"caf\xc3\xa9 <&>\r\n\xe2\x82",
        b"\xac \xff\xfe\x00\x1b[31mred\x1b[0m\r\n",
    ]
    assert events[-1].kind == "final"


def test_the_streams_can_be_read_one_by_one() -> None:
    """Inputs, outputs, frames and service events, each as records."""
    with open_cassette(V1 / "awkward") as cassette:
        counts = [
            len(list(stream()))
            for stream in (
                cassette.inputs,
                cassette.outputs,
                cassette.frames,
                cassette.service_events,
            )
        ]
        texts = [frame.text[0] for frame in cassette.frames()]

    assert counts == [6, 2, 1, 1]
    assert texts == ["café <&>"]


def test_documents_are_read() -> None:
    """Final, scrub report, quota and discovery; the latter two only when they are there."""
    with open_cassette(V1 / "awkward") as cassette:
        assert cassette.final.exit is not None
        assert cassette.final.exit.signal == "killed"
        assert cassette.quota is not None
        assert cassette.discovery is not None
        assert cassette.discovery.models == ("m1", "m2")
    with open_cassette(V1 / "minimal") as cassette:
        assert (cassette.quota, cassette.discovery) == (None, None)


def test_go_spelling_means_the_same() -> None:
    r"""``\u003c`` is ``<``, ``null`` lists are none, left out bytes are empty."""
    with open_cassette(V1 / "go-spelling") as cassette:
        events = list(cassette.events())

        assert [event.data for event in events[:2]] == [b"", b"<&>\r\n"]
        assert next(cassette.frames()).text[0] == "<&>"
        assert cassette.scrub_report.rules is None
        assert not cassette.pinned


def test_time_is_in_microseconds_where_recorded_and_from_t_ms_elsewhere() -> None:
    """``t_us`` when there, ``t_ms * 1000`` when not."""
    with open_cassette(V1 / "microseconds") as live, open_cassette(V1 / "unpinned") as coarse:
        assert [event.t_us for event in live.events()][:2] == [35, 19_999]
        assert [event.t_us for event in coarse.events()][:2] == [100_000, 200_000]


@pytest.mark.parametrize(
    ("offset", "length", "expected"),
    [(0, None, b"hello\r\n"), (2, 3, b"llo"), (5, 100, b"\r\n"), (100, None, b""), (3, 0, b"")],
)
def test_raw_gives_any_stretch_of_the_output(
    offset: int, length: int | None, expected: bytes
) -> None:
    """Cut at the end of the file."""
    with open_cassette(V1 / "minimal") as cassette:
        assert b"".join(cassette.raw(offset, length)) == expected


def _in_place_of(name: str, make: Callable[[Path], None]) -> Callable[[Path], None]:
    def change(path: Path) -> None:
        (path / name).unlink()
        make(path / name)

    return change


def _socket(path: Path) -> None:
    # From inside, because the limit on such paths is short.
    with socket.socket(socket.AF_UNIX) as sock, chdir(path.parent):
        sock.bind(path.name)


def _grown(name: str) -> Callable[[Path], None]:
    return lambda path: os.truncate(path / name, 1 << 40)  # sparse, so it costs nothing


def _crowded(path: Path) -> None:
    for number in range(300):
        (path / f"x{number}").touch()


def _moved(make: Callable[[Path, Path], None]) -> Callable[[Path], None]:
    def change(path: Path) -> None:
        make(path, path.rename(path.with_name("moved")))

    return change


def _nothing(_: Path) -> None:
    """Leave it as it is."""


NAMES = sorted(path.name for path in (V1 / "minimal").iterdir())
ODD = {
    "pipe": os.mkfifo, "socket": _socket, "link": lambda path: path.symlink_to("/dev/zero"),
    "directory": Path.mkdir,
}  # fmt: skip
REFUSED: dict[str, tuple[Callable[[Path], object], type[Exception], str]] = {
    # What is done to a cassette, and how opening it fails.
    "nothing there": (
        _moved(lambda *_: None), errors.NotFoundError, "unpinned: there is no cassette"),
    "a file": (
        _moved(lambda path, _: path.touch()), errors.InvalidCassetteError, "is a directory"),
    "a link to a cassette": (
        _moved(Path.symlink_to), errors.UnsafeFileError, "links are not followed"),
    "too many entries": (_crowded, errors.LimitError, "256 entries"),
    **{f"{kind} for {name}": (_in_place_of(name, make), errors.UnsafeFileError, "regular|a link")
       for kind, make in ODD.items() for name in NAMES},
    **{f"without {name}": (_in_place_of(name, _nothing), errors.MissingFileError, name)
       for name in NAMES},
    **{f"a terabyte of {name}": (_grown(name), errors.LimitError, "1099511627776 bytes")
       for name in NAMES if name.startswith(("manifest", "final", "scrub", "output"))},
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_no_cassette_is_refused(copy: Callable[[str], Path], case: str) -> None:
    """Before anything large is read."""
    change, error, says = REFUSED[case]
    path = copy("unpinned")
    change(path)

    for end in ("", "/") if path.is_dir() else ("",):
        with pytest.raises(error, match=says):
            open_cassette(f"{path}{end}")


@pytest.mark.parametrize("path", ["a\0b", "x" * 5000])
def test_an_impossible_path_is_refused(path: str) -> None:
    """As not found or unreadable, never as a traceback."""
    with pytest.raises((errors.NotFoundError, errors.UnreadableError)):
        open_cassette(path)


def _closed(cassette: Cassette, act: Callable[[Cassette], Any]) -> None:
    reading = act(cassette)
    cassette.close()
    cassette.close()
    next(reading)


MISUSED: dict[str, tuple[Callable[[Cassette], object], type[Exception], str]] = {
    "before the output": (lambda one: one.raw(-1), ValueError, "negative"),
    "less than nothing": (lambda one: one.raw(0, -1), ValueError, "negative"),
    "an artifact elsewhere": (
        lambda one: one.artifact("../minimal/manifest.json"), errors.MissingFileError,
        "not a file of this cassette"),
    "an unknown check": (
        lambda _: open_cassette(V1 / "minimal", check="quick"),  # type: ignore[arg-type]
        ValueError, "'full' or 'manifest'"),
    "bytes behind the end": (
        lambda one: one.output_bytes(OutputRecord(seq=1, t_ms=0, offset=11, length=1)),
        errors.ChunkError, r"of an output\.raw that has 7"),
    "closed": (lambda one: _closed(one, lambda it: it.raw()), ValueError, "closed"),
    "closed twice": (lambda one: (one.close(), list(one.raw())), ValueError, "closed"),
}  # fmt: skip


@pytest.mark.parametrize("case", MISUSED)
def test_misuse_says_what_it_is(case: str) -> None:
    """Closing ends iterators too: who closes means it."""
    act, error, says = MISUSED[case]
    with open_cassette(V1 / "minimal") as cassette, pytest.raises(error, match=says):
        act(cassette)


def test_the_bytes_of_a_record_can_be_asked_for() -> None:
    """By position."""
    with open_cassette(V1 / "unpinned") as cassette:
        last = list(cassette.outputs())[-1]

        assert cassette.output_bytes(last) == b"ls\r\na b\r\n"


def test_large_output_is_streamed_in_blocks(tmp_path: Path) -> None:
    """Chunks across block borders, one chunk larger than a block, and frames between."""
    big = os.urandom(1024) * 3000
    chunks = [b"a" * 700_000, b"b" * 700_000, big, b"", b"c"]
    write_cassette(tmp_path / "c", *(Output(n, data) for n, data in enumerate(chunks)))

    with open_cassette(tmp_path / "c") as cassette:
        events = [event.data for event in cassette.events() if event.kind == "output"]
        blocks = list(cassette.raw())

    assert events == chunks
    assert b"".join(blocks) == b"".join(chunks)
    assert max(map(len, blocks)) == 1 << 20


def test_every_kind_of_event_comes_back_as_written(tmp_path: Path) -> None:
    """What the writer took is what the reader gives."""
    items = (
        Typed(1_000, b"ls", source="driver", key="x", paste=True),
        Output(2_500, b"\xff\x00"),
        Resized(3_000, Size(rows=5, cols=6)),
        Signalled(4_000, "int"),
        Noted(5_000, {"a": [1, 2.5, None, "<\u2028>"]}),
    )
    write_cassette(tmp_path / "c", *items)

    with open_cassette(tmp_path / "c") as cassette:
        events = list(cassette.events())
    assert [event.t_us for event in events] == [1_000, 2_500, 3_000, 4_000, 5_000, 5_000]
    assert events[0].record.source == "driver"  # type: ignore[union-attr]
    assert events[2].record.size == Size(rows=5, cols=6)  # type: ignore[union-attr]
    assert events[4].record.payload == {"a": [1, 2.5, None, "<\u2028>"]}  # type: ignore[union-attr]


def test_many_threads_read_one_cassette_at_once(tmp_path: Path) -> None:
    """Iterators are independent: each sees everything."""
    write_cassette(tmp_path / "c", *(Output(n, b"%05d" % n * 200) for n in range(2000)))
    found: list[bytes] = []

    with open_cassette(tmp_path / "c", check="manifest") as cassette:

        def read() -> None:
            found.append(b"".join(event.data for event in cassette.events()))

        threads = [threading.Thread(target=read) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        whole = b"".join(cassette.raw())

    assert found == [whole] * 6


def _open_files() -> int:
    return sum(1 for _ in Path("/dev/fd").iterdir())


def test_a_forgotten_cassette_gives_its_files_back() -> None:
    """No descriptor leaks when nobody closes it."""
    before = _open_files()
    for _ in range(20):
        open_cassette(V1 / "minimal", check="manifest")

    assert _open_files() <= before + 10


@pytest.mark.parametrize("stream", ["raw", "events", "outputs", "frames", "inputs"])
def test_an_iterator_keeps_what_it_reads_open(stream: str) -> None:
    """Who opens a cassette only to go over it once need not hold it; then nothing stays open."""
    before = _open_files()
    with open_cassette(V1 / "awkward") as cassette:
        expected = list(getattr(cassette, stream)())
    found = list(getattr(open_cassette(V1 / "awkward"), stream)())

    assert found == expected
    assert _open_files() == before


def test_an_artifact_is_read_to_its_end_without_its_cassette() -> None:
    """As the output is."""
    tape = b"".join(open_cassette(V1 / "later").artifact("provider-tape.jsonl"))

    assert tape.startswith(b"{")


def test_a_refused_cassette_leaves_no_file_open() -> None:
    """Neither on the first check nor on the last."""
    before = _open_files()
    for name in ("unscrubbed", "chunk-digest", "file-link", "id-missing"):
        with pytest.raises(errors.InvalidCassetteError):
            open_cassette(V1.parent / "corrupt" / name)

    assert _open_files() == before


def test_the_manifest_check_does_not_read_the_streams(copy: Callable[[str], Path]) -> None:
    """It is cheap; what is read later is checked then."""
    path = copy("minimal")
    (path / "output.jsonl").write_bytes(b"broken\n")

    with (
        open_cassette(path, check="manifest") as cassette,
        pytest.raises(errors.RecordError, match="line 1"),
    ):
        list(cassette.events())


def test_progress_is_told() -> None:
    """Up to the whole output."""
    told: list[tuple[int, int]] = []
    with open_cassette(V1 / "minimal", check="manifest") as cassette:
        cassette.verify(progress=lambda done, total: told.append((done, total)))

    assert told[-1] == (7, 7)


def test_a_file_that_may_not_be_read_is_unreadable(copy: Callable[[str], Path]) -> None:
    """Status 3, not 4."""
    path = copy("minimal")

    with unreadable(path / "output.raw"), pytest.raises(errors.UnreadableError):
        open_cassette(path)


def test_a_chunk_that_is_too_large_is_refused(tmp_path: Path) -> None:
    """The limits are the caller's to set."""
    write_cassette(tmp_path / "c", Output(0, b"x" * 100))

    with pytest.raises(errors.LimitError, match="a chunk of 100 bytes"):
        open_cassette(tmp_path / "c", limits=Limits(max_chunk_bytes=99))


def test_bytes_behind_the_last_record_are_tolerated_where_nothing_pins_them(
    copy: Callable[[str], Path],
) -> None:
    """Up to a limit: the reference format does not forbid them."""
    path = copy("unpinned")
    lines = (path / "output.jsonl").read_bytes().splitlines(keepends=True)
    (path / "output.jsonl").write_bytes(lines[0])
    (path / "input.jsonl").write_bytes(b"")
    frame = (path / "frames.jsonl").read_bytes().replace(b'"seq":4', b'"seq":2')
    (path / "frames.jsonl").write_bytes(frame)
    event = (path / "service-events.jsonl").read_bytes().replace(b'"seq":5', b'"seq":3')
    (path / "service-events.jsonl").write_bytes(event)
    final = (path / "final.json").read_bytes().replace(b'"seq": 6', b'"seq": 4')
    (path / "final.json").write_bytes(final)

    with open_cassette(path) as cassette:
        assert cassette.output_size == 11
    with pytest.raises(errors.ChunkError, match="the last 9 bytes"):
        open_cassette(path, limits=Limits(max_uncovered_bytes=8))


def _unpin(path: Path) -> None:
    """Make a cassette one of the reference format alone."""
    document = json.loads((path / "manifest.json").read_bytes())
    del document["optional"], document["provenance"]["contract_version"]
    (path / "manifest.json").write_text(json.dumps(document), encoding="utf-8")


def _edit_outputs(path: Path, change: Callable[[int, dict[str, Any]], None]) -> None:
    """Let ``change`` edit each output record; it is given its number and its fields."""
    records = [json.loads(line) for line in (path / "output.jsonl").read_bytes().splitlines()]
    for number, record in enumerate(records):
        change(number, record)
    text = "".join(json.dumps(record) + "\n" for record in records)
    (path / "output.jsonl").write_text(text, encoding="utf-8")


@pytest.fixture
def large(tmp_path: Path) -> Path:
    """Two chunks that are larger than a block, and two small ones; not pinned."""
    chunks = (b"a" * 2_500_000, b"b" * 2_500_000, b"c" * 10, b"d" * 10)
    write_cassette(tmp_path / "c", *(Output(n, data) for n, data in enumerate(chunks)))
    _unpin(tmp_path / "c")
    return tmp_path / "c"


@pytest.mark.parametrize("which", [0, 1, 2, 3])
def test_each_chunk_is_compared_with_its_digest(large: Path, which: int) -> None:
    """Also one that is larger than what is read at once; the first that is wrong is named."""
    with open_cassette(large) as cassette:
        assert cassette.output_size == 5_000_020

    def change(number: int, record: dict[str, Any]) -> None:
        if number >= which:
            record["sha256"] = "0" * 64

    _edit_outputs(large, change)
    with pytest.raises(errors.ChunkError, match="the sha256 of the chunk at") as caught:
        open_cassette(large)
    assert f"seq {which + 1}," in str(caught.value.where)


def test_chunks_need_no_digest(large: Path) -> None:
    """It is optional in the format."""
    _edit_outputs(large, lambda _, record: record.pop("sha256"))

    with open_cassette(large) as cassette:
        assert cassette.verify().outputs == 4


def test_gaps_between_chunks_count_for_the_digest_of_the_whole(large: Path) -> None:
    """Bytes that no record covers are pinned by ``content_digest`` all the same."""

    def change(number: int, record: dict[str, Any]) -> None:
        if number == 1:
            record |= {"offset": 4_999_000, "length": 1_000}
            del record["sha256"]

    _edit_outputs(large, change)
    with open_cassette(large) as cassette:
        assert b"".join(e.data for e in cassette.events())[-21:] == b"b" + b"c" * 10 + b"d" * 10

    with (large / "output.raw").open("r+b") as stream:
        stream.seek(3_000_000)
        stream.write(b"x")
    with pytest.raises(errors.DigestError, match="the manifest pins"):
        open_cassette(large)


def test_the_first_bad_chunk_is_named_with_the_digest_of_the_whole(large: Path) -> None:
    """So that one knows where to look."""
    with (large / "output.raw").open("r+b") as stream:
        stream.seek(3_000_000)
        stream.write(b"x")

    with pytest.raises(errors.DigestError, match=r"first seen at .* seq 2"):
        open_cassette(large)


REFUSALS: dict[str, tuple[str, str | None, OSError, type[Exception], str]] = {
    # A call, the file at which it fails (None: at once), how, and what is made of it.
    "the directory": ("open", None, PermissionError(errno.EACCES, "Permission denied"),
                      errors.UnreadableError, "Permission denied"),
    "its listing": ("scandir", None, PermissionError(errno.EACCES, "Permission denied"),
                    errors.UnreadableError, "Permission denied"),
    "a file": ("open", "frames.jsonl", PermissionError(errno.EACCES, "Permission denied"),
               errors.UnreadableError, r"minimal/frames\.jsonl: Permission denied"),
    "a file that vanishes": ("open", "frames.jsonl", FileNotFoundError(errno.ENOENT, "No such"),
                             errors.MissingFileError, r"frames\.jsonl is missing"),
    "the disk": ("pread", None, OSError(errno.EIO, "Input/output error"),
                 errors.UnreadableError, "Input/output error"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSALS)
def test_what_the_system_refuses_is_no_fault_of_the_cassette(
    monkeypatch: pytest.MonkeyPatch, case: str
) -> None:
    """Status 3, not 4, and the file is named; one that vanished after the listing is missing."""
    call, name, failure, error, says = REFUSALS[case]
    real = getattr(os, call)

    def refuse(what: Any, *args: Any, **named: Any) -> Any:
        if name is None or what == name:
            raise failure
        return real(what, *args, **named)

    monkeypatch.setattr(os, call, refuse)
    with pytest.raises(error, match=says):
        open_cassette(V1 / "minimal")


@pytest.mark.parametrize("length", [7, 8])
def test_the_output_may_be_pinned_twice(copy: Callable[[str], Path], length: int) -> None:
    """By ``content_digest`` and among the artifacts; then both must be right."""
    path = copy("minimal")
    document = json.loads((path / "manifest.json").read_bytes())
    pin = {"sha256": document["content_digest"]["sha256"], "bytes": length}
    document["optional"]["artifacts"]["output.raw"] = pin
    (path / "manifest.json").write_text(json.dumps(document) + "\n", encoding="utf-8")

    if length == 7:
        with open_cassette(path) as cassette:
            assert cassette.pinned
    else:
        with pytest.raises(errors.DigestError, match="7 bytes, and the manifest pins 8"):
            open_cassette(path)


def test_a_cassette_can_be_told_from_another() -> None:
    """In a debugger and in a test report."""
    with open_cassette(V1 / "minimal", check="manifest") as cassette:
        assert repr(cassette).endswith("minimal' id='00000000-0000-4000-8000-000000000001'>")


def test_a_last_line_without_its_newline_is_whole_when_it_parses(
    copy: Callable[[str], Path],
) -> None:
    """An editor that strips the last newline breaks nothing in an unpinned cassette."""
    path = copy("unpinned")
    data = (path / "output.jsonl").read_bytes()
    (path / "output.jsonl").write_bytes(data[:-1])

    with open_cassette(path) as cassette:
        assert len(list(cassette.outputs())) == 2


def test_a_file_that_shrinks_while_open_is_truncated(copy: Callable[[str], Path]) -> None:
    """It ends before the size that it had."""
    path = copy("minimal")
    with open_cassette(path) as cassette:
        os.truncate(path / "output.raw", 3)

        with pytest.raises(errors.TruncatedError, match="the file ends at 3"):
            list(cassette.raw())


def test_a_frame_may_carry_styles_and_cells(tmp_path: Path) -> None:
    """The fields that are ours, and those of the reference."""
    frame = FrameRecord(
        seq=0,
        t_ms=0,
        size=Size(rows=1, cols=2),
        text=("x",),
        cursor=Cursor(row=0, col=1, visible=False),
        raw_start=0,
        raw_end=1,
        parser_offset=1,
        cells=[[{"Char": 120}]],
        alt_screen=True,
        hash="abc",
    )
    write_cassette(tmp_path / "c", Output(0, b"x"), frame, manifest=manifest_of())

    with open_cassette(tmp_path / "c") as cassette:
        read = next(cassette.frames())
    assert (read.cells, read.alt_screen, read.hash) == ([[{"Char": 120}]], True, "abc")


def test_control_bytes_of_a_cassette_reach_no_message(copy: Callable[[str], Path]) -> None:
    """Names and values from it are shown escaped."""
    path = copy("minimal")
    (path / "\x1b]0;x\x07.txt").touch()

    with pytest.raises(errors.UnexpectedFileError, match=r"\\e\]0;x") as caught:
        open_cassette(path)
    assert "\x1b" not in str(caught.value)
