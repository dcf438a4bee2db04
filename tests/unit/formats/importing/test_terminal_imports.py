"""Terminal recordings of other tools: read as they are meant, or refused with the place."""

from __future__ import annotations

import bz2
import gzip
import lzma
import struct
import zlib
from collections.abc import Mapping
from pathlib import Path

import pytest

from ptycassette import open_cassette
from ptycassette.errors import LimitError, UnreadableError, UsageError
from ptycassette.formats.export.asciicast import left_out
from ptycassette.formats.export.registry import export_named
from ptycassette.formats.importing.io import packed_files
from ptycassette.formats.importing.io.importer import Imported, import_file, import_of
from ptycassette.formats.importing.registry import import_named, import_of_file
from ptycassette.formats.importing.session import BadImportError
from ptycassette.model.screen import Size

ROOT = Path(__file__).resolve().parents[4]
DIALOG = ROOT / "fixtures" / "programs" / "dialog.cassette"
V2 = b'{"version":2,"width":80,"height":24}\n'
V3 = b'{"version":3,"term":{"cols":80,"rows":24}}\n'
HI = b'[0.5,"o","hi"]\n'


def imported(
    at: Path,
    data: bytes,
    name: str,
    *,
    beside: Mapping[str, bytes] | None = None,
    partial: bool = False,
) -> Imported:
    """Write the files into a folder, and import them to ``at / made``."""
    file = at / "file"
    file.write_bytes(data)
    others = {}
    for other, content in (beside or {}).items():
        others[other] = at / other
        others[other].write_bytes(content)
    made = at / "made"
    return import_file(file, made, by=import_named(name), beside=others, partial=partial)


def exported(path: Path, name: str, **options: bool) -> bytes:
    """A cassette in a format."""
    with open_cassette(path) as source:
        return b"".join(export_named(name).recording(source, **options))


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("asciicast-v1", {}),
        ("asciicast", {"with_input": True}),
        ("asciicast-v3", {"with_input": True}),
        ("ttyrec", {}),
        ("typescript", {"with_input": True}),
    ],
)
def test_what_was_exported_comes_back(name: str, options: dict[str, bool], tmp_path: Path) -> None:
    """Exported again it is the same file, byte for byte; nothing is reported as skipped."""
    data = exported(DIALOG, name, **options)
    timing = {"timing": exported(DIALOG, "timing", **options)} if name == "typescript" else {}
    by = "asciicast" if name.startswith("asciicast") else name
    made = imported(tmp_path, data, by, beside=timing)

    assert exported(tmp_path / "made", name, **options) == data
    assert made.skipped == {}
    if timing:
        assert exported(tmp_path / "made", "timing", **options) == timing["timing"]


def test_a_header_comes_back(tmp_path: Path) -> None:
    """What a cassette has no field for is kept for the export."""
    header = (
        b'{"version":3,"term":{"cols":70,"rows":20,"type":"vt100","theme":{"fg":"#fff"}},'
        b'"env":{"SHELL":"/bin/zsh"},"idle_time_limit":2.0,"tags":["demo"],'
        b'"timestamp":100,"command":"make \\"a b\\"","title":"A title"}\n'
    )
    data = header + b'[0.5,"o","hi"]\n[0.25,"m","here"]\n[0.0,"r","80x24"]\n[0.0,"x","3"]\n'
    imported(tmp_path, data, "asciicast")

    assert exported(tmp_path / "made", "asciicast-v3") == data


def test_secrets_in_it_are_scrubbed(tmp_path: Path) -> None:
    """In the output and in the header, as when recording."""
    secret = "ghp_" + "aB3dE5fG7h" * 3 + "J9kLmN"
    header = V2.replace(b"}", b',"title":"%s"}' % secret.encode())
    imported(tmp_path, header + b'[0.5,"o","token: %s\\r\\n"]\n' % secret.encode(), "asciicast")

    for file in (tmp_path / "made").iterdir():
        assert secret.encode() not in file.read_bytes(), file.name


def test_script_with_input_and_resizes(tmp_path: Path) -> None:
    """The advanced timing of ``script -m advanced -I in -O out``; CRs stay."""
    made = imported(
        tmp_path,
        b'Script started on 2026-11-24 [COMMAND="cat"]\nhi\r\nho\n\nScript done on x\n',
        "typescript",
        beside={
            "timing": b"H 0.0 START_TIME 2026-11-24 15:05:17+00:00\n"
            b"H 0.0 COLUMNS 90\nH 0.0 LINES 30\n"
            b"I 0.5 3\nO 0.25 4\nS 0.0 SIGWINCH ROWS=40 COLS=100\nS 0.0 SIGINT\nO 0.0 3\n"
            b"H 0.0 DURATION 2.0\nH 0.0 EXIT_CODE 3\n",
            "input_log": b"Script started on x\nhi\n",
        },
    )

    with open_cassette(tmp_path / "made") as cassette:
        assert b"".join(event.data for event in cassette.events() if event.kind == "output") == (
            b"hi\r\nho\n"
        )
        assert next(event.data for event in cassette.events() if event.kind == "input") == b"hi\n"
        assert cassette.final.exit is not None
        assert cassette.final.exit.code == 3
        assert (made.duration_ms, made.skipped) == (2000, {})


def test_classic_timing_and_missing_input(tmp_path: Path) -> None:
    """Two numbers a line; input without its log is counted."""
    made = imported(tmp_path, b"hi\nho\n", "typescript", beside={"timing": b"0.5 3\nI 0 4\n1 3\n"})

    assert made.duration_ms == 1500
    assert made.skipped == {"input, whose log was not given: --input-log FILE": 1}


def record(seconds: int, micros: int, data: bytes, length: int | None = None) -> bytes:
    """A record of a ttyrec."""
    return struct.pack("<III", seconds, micros, len(data) if length is None else length) + data


A = record(10, 0, b"hi")
BROKEN = [
    ("asciicast", b"", "line 1"),
    ("asciicast", b"\n\n", "line 1"),
    ("asciicast", b"\xff\xfe\x00", "line 1"),
    ("asciicast", b"[1,2]\n", "line 1"),
    ("asciicast", b'{"version":4,"width":80,"height":24}\n' + HI, "version 4"),
    ("asciicast", b'{"version":"2"}\n' + HI, "line 1"),
    ("asciicast", b'{"version":2}\n' + HI, "line 1: Object missing required field `width`"),
    ("asciicast", b'{"version":2,"width":1000000000,"height":24}\n' + HI, "size 1000000000x24"),
    ("asciicast", b'{"version":2,"width":0,"height":24}\n' + HI, "size 0x24"),
    ("asciicast", b'{"version":2,"width":-1,"height":24}\n' + HI, "size -1x24"),
    ("asciicast", b'{"version":2,"width":"80","height":24}\n' + HI, "Expected `int`, got `str`"),
    ("asciicast", V2.replace(b"}", b',"timestamp":-1}') + HI, "timestamp"),
    ("asciicast", V2.replace(b"}", b',"timestamp":1e300}') + HI, "timestamp"),
    ("asciicast", V2.replace(b"}", b',"env":[1]}') + HI, "line 1"),
    ("asciicast", V2, "no output"),
    ("asciicast", V2 + b'[1,"i","x"]\n', "no output"),
    ("asciicast", V2 + HI + b'[NaN,"o","x"]\n', "line 3"),
    ("asciicast", V2 + HI + b'[Infinity,"o","x"]\n', "line 3"),
    ("asciicast", V2 + HI + b'[-1,"o","x"]\n', "line 3: the time -1 s"),
    ("asciicast", V2 + HI + b'[1e300,"o","x"]\n', "line 3: the time 1e+300 s"),
    ("asciicast", V2 + HI + b'[1e999,"o","x"]\n', "line 3"),
    ("asciicast", V2 + HI + b'[0.4,"o","x"]\n', "line 3: the time goes back, from 0.5 s to 0.4"),
    ("asciicast", V2 + HI + b'["1","o","x"]\n', "line 3: Expected `float`, got `str`"),
    ("asciicast", V2 + HI + b'[1,"o",5]\n', "line 3: the data of o is not a text"),
    ("asciicast", V2 + HI + b'[1,"o"]\n', "line 3: Expected `array` of length 3"),
    ("asciicast", V2 + HI + b'[1,"o","x"', "line 3: Input data was truncated"),
    ("asciicast", V2 + HI + b'[1,"o","\xff"]\n', "line 3: it is not UTF-8"),
    ("asciicast", V2 + HI + b"[" * 100_000 + b"\n", "line 3"),
    (
        "asciicast",
        V2 + HI + b'[1,"z",' + b"[" * 50_000 + b"]" * 50_000 + b"]\n",
        "line 3: it nests",
    ),
    ("asciicast", V2 + HI + b'[1,"z",[' + b"1," * 600_000 + b"1]]\n", "line 3: about"),
    ("asciicast", V2 + HI + b'[1,"o","' + b"x" * (17 << 20) + b'"]\n', "line 3: it is longer"),
    ("asciicast", V2 + HI + b'[1,"r","0x0"]\n', "line 3: the resize '0x0' is not a size"),
    (
        "asciicast",
        V2 + HI + b'[1,"r","99999x99999"]\n',
        "line 3: the resize '99999x9",
    ),
    (
        "asciicast",
        V2 + HI + b'[1,"r","wide"]\n',
        "line 3: the resize 'wide' is not",
    ),
    ("asciicast", V3 + HI + b'[1,"x","one"]\n', "line 3: the exit status"),
    ("asciicast", V3 + HI + b'[0,"x","0"]\n' + HI, "line 4: an event after the exit"),
    ("asciicast", V3 + b'[9e8,"o","x"]\n' * 3, "line 3"),
    ("asciicast", b'{"version":1,"width":80,"height":24}', "`stdout`"),
    ("asciicast", b'{"version":1,"width":80,"height":24,"stdout":[[-1,"x"]]}', "stdout[0]"),
    ("asciicast", b'{"version":1,"width":80,"height":24,"stdout":[[1,"x"]', "truncated"),
    ("asciicast", b'{"version":1,"width":8,"height":2,"stdout":[[1,2]]}', "stdout[0][1]"),
    ("ttyrec", b"", "byte 0"),
    ("ttyrec", A[:7], "byte 0: it ends within the head"),
    ("ttyrec", A + A[:7], "byte 14: it ends within the head"),
    ("ttyrec", A + record(11, 0, b"x", 9), "byte 14: 8 of the 9 bytes"),
    ("ttyrec", A + record(11, 1_000_000, b"x"), "byte 14: 1000000 microseconds"),
    ("ttyrec", A + record(11, 0, b"x", 0xFFFFFFFF), "byte 14: a record of 4294967295"),
    ("ttyrec", A + record(9, 0, b"x"), "byte 14: the time goes back by 1000000 us"),
    ("ttyrec", record(10, 0, b""), "no output"),
    ("ttyrec", b"plain text, which is no ttyrec", "byte 0"),
]
BROKEN_TIMINGS = [
    (b"", "no output"),
    (b"0.5 3\nnonsense\n", "timing line 2"),
    (b"0.5 3\n-1 3\n", "timing line 2: the interval"),
    (b"0.5 3\nnan 3\n", "timing line 2: the interval"),
    (b"0.5 3\n1 -3\n", "timing line 2: the length"),
    (b"0.5 3\n1 99\n", "timing line 2: 99 bytes are announced, and the typescript has 3 more"),
    (b"0.5 3\n9999999999 3\n", "timing line 2: the time"),
    (b"0.5 3\nS 0 SIGWINCH ROWS=0 COLS=0\n", "timing line 2: the size 0x0"),
    (b"0.5 3\nS 0 hm\n", "timing line 2: not a signal"),
    (b"0.5 3\n" + b"1" * 70_000, "timing line 2: it is longer"),
    (b"H 0 LINES 99999\n0.5 3\n", "the size 80x99999"),
]


@pytest.mark.parametrize(
    ("name", "data", "said", "timing"),
    [
        *((*case, None) for case in BROKEN),
        *(("typescript", b"hi\nho\n", said, timing) for timing, said in BROKEN_TIMINGS),
        ("typescript", b"hi\n", "--timing FILE", None),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_a_broken_file_is_refused(
    name: str, data: bytes, said: str, timing: bytes | None, tmp_path: Path
) -> None:
    """The message has the file and the place, and nothing is written."""
    beside = {} if timing is None else {"timing": timing}
    with pytest.raises(UnreadableError) as refused:
        imported(tmp_path, data, name, beside=beside)

    assert said in str(refused.value)
    assert str(tmp_path / "file") in str(refused.value)
    assert {path.name for path in tmp_path.iterdir()} <= {"file", "timing"}


@pytest.mark.parametrize(
    ("name", "data", "timing", "place"),
    [
        ("asciicast", V2 + HI + b'[1,"o","ho"]\n[1,', None, "line 4"),
        ("asciicast", V3 + HI + b'[1,"o","ho"]\n[-1,"o",""]\n', None, "line 4"),
        ("ttyrec", A + record(11, 0, b"ho") + b"x", None, "byte 28"),
        ("typescript", b"hiho", b"0 2\n1 2\n1 2\n", "timing line 3"),
    ],
)
def test_partial_reads_up_to_the_fault(
    name: str, data: bytes, timing: bytes | None, place: str, tmp_path: Path
) -> None:
    """What stands before it is a valid cassette, and the fault is said."""
    beside = {} if timing is None else {"timing": timing}
    made = imported(tmp_path, data, name, beside=beside, partial=True)

    assert (tmp_path / "made" / "output.raw").read_bytes() == b"hiho"
    assert [place in reason for reason in made.skipped] == [True]


def test_unknown_codes_are_counted(tmp_path: Path) -> None:
    """The format asks readers to pass over them."""
    made = imported(tmp_path, V2 + HI + b'[1,"x","0"]\n[1,"q",{}]\n', "asciicast")

    assert made.skipped == {"events of a code that version 2 does not name": 2}


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (V2, "asciicast"),
        (V3, "asciicast"),
        (b'{\n "version": 1,\n "width": 80, "stdout": []}', "asciicast"),
        (A, "ttyrec"),
        (b"Script started on 2026", "typescript"),
    ],
)
def test_the_content_tells_the_format(data: bytes, name: str, tmp_path: Path) -> None:
    """Where the ending of the name does not."""
    file = tmp_path / "file"
    file.write_bytes(data)

    assert import_of(file).name == name


def test_options_of_another_format_are_refused() -> None:
    """Rather than passed over."""
    with pytest.raises(UsageError, match="har takes no --partial"):
        import_named("har").read(b"", partial=True)
    with pytest.raises(UsageError, match="ttyrec takes no --input-log"):
        import_named("ttyrec").read(A, beside={"input_log": b""})
    with pytest.raises(UsageError, match="the format is not clear"):
        import_of_file("notes", b"plain text")


def test_an_export_says_what_it_leaves_out() -> None:
    """By kind; input counts unless it is asked for."""
    with open_cassette(DIALOG) as source:
        for name, with_input, lost in (
            ("ttyrec", False, {"exit": 1, "input": 3}),
            ("asciicast-v3", False, {"input": 3}),
            ("asciicast-v3", True, {}),
            ("svg", False, {}),
        ):
            found = left_out(source, export_named(name), with_input=with_input)
            found.pop("service-event", None)
            assert found == lost, name


def sized(*frames: bytes) -> bytes:
    """A ttyrec of these outputs, a second apart."""
    return b"".join(record(10 + second, 0, frame) for second, frame in enumerate(frames))


RESIZE = "\x1b[8;{};{}t"


@pytest.mark.parametrize(
    ("frames", "sizes"),
    [
        ((b"hi",), ["80x24"]),
        ((b"\x1b[8;56;120t\x1b[2J", b"hi"), ["120x56"]),
        ((b"", b"\x1b[H\x1b[8;56;120thi"), ["120x56"]),
        ((b"\x1b[8;56;120t", b"\x1b[8;56;120t", b"\x1b[8;10;40thi"), ["120x56", "40x10"]),
        ((b"hi", b"\x1b[8;10;40t"), ["80x24", "40x10"]),
        ((b"\x1b[8;0;0t\x1b[8;99999;1tx",), ["80x24"]),
        ((b"\x1b[18tx",), ["80x24"]),
    ],
)
def test_a_ttyrec_has_its_size_in_its_output(
    frames: tuple[bytes, ...], sizes: list[str], tmp_path: Path
) -> None:
    """In the first frame, and at each change."""
    made = imported(tmp_path, sized(*frames), "ttyrec")

    with open_cassette(tmp_path / "made") as cassette:
        terminal = cassette.manifest.terminal
        later = [one.size for one in cassette.inputs() if one.kind == "resize"]
    found = [f"{terminal.initial_cols}x{terminal.initial_rows}"]
    assert found + [f"{size.cols}x{size.rows}" for size in later if size] == sizes
    in_first = frames[0] != b"hi" and sizes[0] != "80x24"
    assert made.assumed_size == (None if in_first else "80x24")


@pytest.mark.parametrize("name", ["asciicast", "ttyrec", "typescript", "tui-test"])
def test_the_size_may_be_given(name: str, tmp_path: Path) -> None:
    """For every recording of a terminal; for traffic it means nothing."""
    data = {
        "asciicast": V2 + HI,
        "ttyrec": A,
        "typescript": b"hi",
        "tui-test": zlib.compress(b'{"tracePoints":[{"data":"hi","time":5}]}'),
    }[name]
    file = tmp_path / "file"
    file.write_bytes(data)
    beside = {}
    if name == "typescript":
        beside["timing"] = tmp_path / "timing"
        beside["timing"].write_bytes(b"0.1 2\n")
    size = Size(50, 132)
    import_file(file, tmp_path / "made", by=import_named(name), beside=beside, size=size)

    with open_cassette(tmp_path / "made") as cassette:
        terminal = cassette.manifest.terminal
        assert (terminal.initial_rows, terminal.initial_cols) == (50, 132)
    with pytest.raises(UsageError, match="har takes no --size"):
        import_file(file, tmp_path / "no", by=import_named("har"), size=size)


@pytest.mark.parametrize(
    ("charset", "data", "text"),
    [
        ("cp437", b"\xda\xc4\xbf \x8e", "┌─┐ Ä"),
        ("latin-1", b"caf\xe9", "café"),
        ("koi8-r", b"\xd0\xd2\xc9", "при"),
        ("euc-jp", b"\xc6\xfc\xcb\xdc", "日本"),
        ("shift_jis", b"\x93\xfa\x96\x7b", "日本"),
    ],
)
def test_output_in_another_charset(charset: str, data: bytes, text: str, tmp_path: Path) -> None:
    """It is converted when the charset is given, wherever the file cuts a character."""
    file = tmp_path / "file"
    file.write_bytes(sized(*(bytes([byte]) for byte in data)))
    plain = import_file(file, tmp_path / "plain", by=import_named("ttyrec"))
    made = import_file(file, tmp_path / "made", by=import_named("ttyrec"), charset=charset)

    assert (tmp_path / "made" / "output.raw").read_text() == text
    with open_cassette(tmp_path / "made") as cassette:
        assert list(cassette.frames())[-1].text[0] == text
    assert [reason.partition(";")[0] for reason in plain.skipped] == ["outputs that are not UTF-8"]
    assert made.skipped == {}


@pytest.mark.parametrize("charset", ["klingon", "rot13", "base64", "utf-16", "cp037", ""])
def test_a_charset_that_no_terminal_has_is_refused(charset: str, tmp_path: Path) -> None:
    """Unknown to Python, no charset, or one that has no ASCII."""
    (tmp_path / "file").write_bytes(A)
    with pytest.raises(UsageError, match="not a charset of terminals"):
        import_file(tmp_path / "file", tmp_path / "no", by=import_named("ttyrec"), charset=charset)
    with pytest.raises(UsageError, match="asciicast takes no --charset"):
        import_file(tmp_path / "file", tmp_path / "no", by=import_named("asciicast"), charset="x")


PACKERS = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": getattr(pytest.importorskip("backports.zstd"), "compress", None),
}


@pytest.mark.parametrize("ending", PACKERS)
@pytest.mark.parametrize("named", [True, False])
def test_a_compressed_file_is_unpacked(ending: str, named: bool, tmp_path: Path) -> None:
    """Known by its first bytes, with the ending of its tool or without; timings are, too."""
    pack = PACKERS[ending]
    for name, data in (("demo.cast", V2 + HI), ("demo.ttyrec", A)):
        path = tmp_path / (name + ending if named else name)
        path.write_bytes(pack(data))
        made = tmp_path / f"{name}.made"
        import_file(path, made, by=import_of(path))
        assert (made / "output.raw").read_bytes() == b"hi"
    (tmp_path / "t").write_bytes(pack(b"hi"))
    (tmp_path / "timing").write_bytes(pack(b"0.1 2\n"))
    by, beside = import_named("typescript"), {"timing": tmp_path / "timing"}
    import_file(tmp_path / "t", tmp_path / "made", by=by, beside=beside)
    assert (tmp_path / "made" / "output.raw").read_bytes() == b"hi"


@pytest.mark.parametrize("ending", PACKERS)
def test_a_damaged_compressed_file_is_refused(ending: str, tmp_path: Path) -> None:
    """Cut, or with a byte changed: never an error of ours."""
    data = PACKERS[ending](V2 + HI * 100)
    path = tmp_path / f"demo.cast{ending}"
    for broken in (data[:-9], data[: len(data) // 2] + b"\0\xff\0" + data[len(data) // 2 :]):
        path.write_bytes(broken)
        with pytest.raises(UnreadableError, match="the compressed file is damaged"):
            import_file(path, tmp_path / "made", by=import_named("asciicast"))


def test_a_bomb_is_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is larger than a file may be ends the import, for each packer."""
    monkeypatch.setattr(packed_files, "MAX_FILE_BYTES", 1 << 16)
    for ending, pack in PACKERS.items():
        path = tmp_path / f"demo.cast{ending}"
        path.write_bytes(pack(b"\0" * (1 << 20)))
        with pytest.raises(LimitError, match="unpacked it is larger"):
            packed_files.read_unpacked(path)


_TINY = 60_000


@pytest.mark.parametrize(
    ("name", "data", "beside"),
    [
        ("asciicast", b'{"version":2,"width":9,"height":2}\n' + b'[1,"o","a"]\n' * _TINY, {}),
        (
            "asciicast",
            b'{"version":2,"width":9,"height":2}\n[0,"o","a"]\n' + b'[1,"m","a"]\n' * 20_000,
            {},
        ),
        (
            "asciicast",
            b'{"version":1,"width":9,"height":2,"stdout":[%s[1,"a"]]}' % (b'[0,"a"],' * _TINY),
            {},
        ),
        ("ttyrec", (struct.pack("<III", 1, 0, 1) + b"a") * _TINY, {}),
        ("typescript", b"a" * _TINY, {"timing": b"0.1 1\n" * _TINY}),
        (
            "tui-test",
            zlib.compress(
                b'{"tracePoints":[%s{"data":"a","time":1}]}' % (b'{"data":"a","time":1},' * _TINY)
            ),
            {},
        ),
    ],
    ids=["outputs", "markers", "one-document", "ttyrec", "typescript", "tui-test"],
)
def test_more_events_than_the_size_allows_are_refused(
    name: str, data: bytes, beside: dict[str, bytes]
) -> None:
    """The message has the limit and what to do; nothing is saved, each of which takes 25 us."""
    with pytest.raises(BadImportError, match=r"more than \d+ events in \d+ bytes .*--partial"):
        import_named(name).read(data, beside=beside or None)

    if name == "asciicast" and b'"version":1' in data:
        return
    begun = import_named(name).read(data, beside=beside or None, partial=True)
    assert sum(1 for _ in begun.events) > 5_000
    assert any("more than" in reason for reason in begun.skipped)
