"""Writing cassettes: whole or not at all."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import shutil
import stat
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ptycassette import errors, open_cassette
from ptycassette.cassette.io import staging as cassette_staging
from ptycassette.cassette.layout import GIT_ATTRIBUTES
from ptycassette.model.limits import Limits
from ptycassette.model.records import (
    DiscoveryRecord,
    EmulatorId,
    Event,
    ExitStatus,
    FinalRecord,
    Finished,
    InputRecord,
    Manifest,
    Noted,
    Output,
    OutputRecord,
    QuotaRecord,
    ScrubReport,
    ServiceEventRecord,
    Typed,
)
from ptycassette.system.files.directory_handle import DirectoryHandle
from ptycassette.testing import events_of, manifest_of, write_cassette
from ptycassette.viewing import CassetteWriter

V1 = Path(__file__).resolve().parents[4] / "fixtures" / "v1"


def _fill(writer: CassetteWriter) -> CassetteWriter:
    for event in events_of(Output(0, b"hi"), Finished(t_us=1_000)):
        writer.add(event.record, event.data)
    writer.put(ScrubReport(status="clean"))
    return writer


def _names(path: Path) -> list[str]:
    return sorted(each.name for each in path.iterdir())


def test_nothing_is_at_the_target_before_publishing(tmp_path: Path) -> None:
    """What is staged beside it is hidden and private."""
    with _fill(CassetteWriter(tmp_path / "c")) as writer:
        (staging,) = tmp_path.iterdir()

        assert staging.name.startswith(".c.")
        assert stat.S_IMODE(staging.stat().st_mode) == 0o700
        assert (staging / ".gitignore").read_text(encoding="ascii") == "*\n"
        writer.publish(manifest_of())
    assert _names(tmp_path) == ["c"]


@pytest.mark.parametrize("mask", [0o022, 0o002, 0o027, 0o077])
def test_published_files_have_the_modes_of_ordinary_files(tmp_path: Path, mask: int) -> None:
    """The umask decides who may read them."""
    before = os.umask(mask)
    try:
        write_cassette(tmp_path / "c")
    finally:
        os.umask(before)

    assert stat.S_IMODE((tmp_path / "c").stat().st_mode) == 0o777 & ~mask
    modes = {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "c").iterdir()}
    assert modes == {0o666 & ~mask}


def test_publish_fills_in_every_digest(tmp_path: Path) -> None:
    """The manifest as written names the digest of the output and pins the other files."""
    manifest = write_cassette(tmp_path / "c", Output(0, b"hi"))

    with open_cassette(tmp_path / "c", check="manifest") as cassette:
        assert cassette.manifest == manifest
    assert manifest.content_digest.sha256.startswith("8f434346648f6b96")
    assert manifest.optional is not None
    assert sorted(manifest.optional["artifacts"]) == [
        "final.json",
        "frames.jsonl",
        "input.jsonl",
        "output.jsonl",
        "scrub-report.json",
        "service-events.jsonl",
    ]


def test_what_the_manifest_has_in_optional_stays(tmp_path: Path) -> None:
    """Only the artifacts are ours to fill in."""
    manifest = msgspec.structs.replace(
        manifest_of(), optional={"title": "x", "artifacts": {"old": 1}}
    )
    written = write_cassette(tmp_path / "c", manifest=manifest)

    assert written.optional is not None
    assert written.optional["title"] == "x"
    assert "old" not in written.optional["artifacts"]


def test_quota_and_discovery_are_written_when_probed(tmp_path: Path) -> None:
    """The last of each kind counts."""
    with _fill(CassetteWriter(tmp_path / "c")) as writer:
        writer.put(QuotaRecord(source="pty", status="old"))
        writer.put(QuotaRecord(source="pty", status="new"))
        writer.put(DiscoveryRecord(source="pty", status="captured"))
        writer.publish(manifest_of())

    with open_cassette(tmp_path / "c") as cassette:
        assert cassette.quota == QuotaRecord(source="pty", status="new")
        assert cassette.discovery == DiscoveryRecord(source="pty", status="captured")


WRITTEN_AGAIN = ["awkward", "empty-output", "microseconds", "minimal", "go-written-1"]


@pytest.mark.parametrize("name", WRITTEN_AGAIN)
def test_a_cassette_written_again_is_the_same_byte_for_byte(
    tmp_path: Path, request: pytest.FixtureRequest, name: str
) -> None:
    """Of the reference's own, what Go escapes is equal as JSON, and ``optional`` is ours."""
    source = V1 / name
    if name == "go-written-1":
        source = request.getfixturevalue("reference") / "cassettes" / name
    with open_cassette(source) as cassette, CassetteWriter(tmp_path / name) as writer:
        for event in cassette.events():
            writer.add(event.record, event.data)
        for document in (cassette.scrub_report, cassette.quota, cassette.discovery):
            if document is not None:
                writer.put(document)
        writer.publish(cassette.manifest)

    assert _names(tmp_path / name) == sorted({*_names(source), GIT_ATTRIBUTES})
    for path in source.iterdir():
        ours, theirs = (tmp_path / name / path.name).read_bytes(), path.read_bytes()
        if ours != theirs:
            document = json.loads(ours)
            document.pop("optional", None)
            assert (name, document) == ("go-written-1", json.loads(theirs)), path.name
            assert path.name in {"manifest.json", "frames.jsonl"}


def test_the_same_events_give_the_same_bytes(tmp_path: Path) -> None:
    """No clock, no random number, no directory order gets in."""
    items = (Output(0, b"a"), Typed(1_000, b"b"), Noted(2_000, {"z": 1, "a": 2}))
    for name in ("one", "two"):
        write_cassette(tmp_path / name, *items)

    for path in (tmp_path / "one").iterdir():
        assert path.read_bytes() == (tmp_path / "two" / path.name).read_bytes()


@pytest.mark.parametrize("how", ["aborted", "published", "raised"])
def test_what_ends_a_writer_leaves_nothing_but_a_whole_cassette(tmp_path: Path, how: str) -> None:
    """Neither staging nor the parents that were made for it; aborting comes in any number."""
    writer = _fill(CassetteWriter(tmp_path / "deep" / "c"))
    if how == "raised":
        with pytest.raises(RuntimeError), writer:
            raise RuntimeError
    elif how == "published":
        writer.publish(manifest_of())
    writer.abort()
    writer.abort()

    left = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.glob("*/*"))
    assert left == (["deep/c"] if how == "published" else [])
    assert _names(tmp_path) == (["deep"] if how == "published" else [])
    with pytest.raises(ValueError, match="published or aborted"):
        writer.publish(manifest_of())
    with pytest.raises(ValueError, match="complete or aborted"):
        writer.add(FINAL)


FINAL = FinalRecord(seq=1, t_ms=0, duration_ms=0)
CLEAN = ScrubReport(status="clean")


def _note(seq: int, t_ms: int = 0, payload: object = 1) -> ServiceEventRecord:
    return ServiceEventRecord(seq=seq, t_ms=t_ms, payload=payload)


def _key(seq: int, t_ms: int = 0, data: bytes = b"") -> InputRecord:
    return InputRecord(seq=seq, t_ms=t_ms, kind="input", bytes=data)


def _chunk(offset: int, length: int, data: bytes) -> tuple[OutputRecord, bytes]:
    return OutputRecord(seq=1, t_ms=0, offset=offset, length=length), data


def _give(writer: CassetteWriter, item: Any) -> None:
    match item:
        case range():
            writer.reserve(item.start, item.stop)
        case (record, data):
            writer.add(record, data)
        case ScrubReport():
            writer.put(item)
        case Manifest():
            writer.publish(item)
        case _:
            writer.add(item)


CYCLE: dict[str, object] = {}
CYCLE["again"] = [CYCLE]
NO_EMULATOR = msgspec.structs.replace(
    manifest_of(),
    terminal=msgspec.structs.replace(manifest_of().terminal, emulator=EmulatorId("", "")),
)
REFUSED: list[tuple[str, type[Exception], str, list[Any]]] = [
    ("not the next", ValueError, "seq 2, t_ms 0 after seq 0", [_key(2)]),
    ("too far", ValueError, "1 bytes at 1 for 1 bytes at 0", [_chunk(1, 1, b"x")]),
    ("too short", ValueError, "2 bytes at 0 for 1 bytes at 0", [_chunk(0, 2, b"x")]),
    ("time goes back", ValueError, "t_ms 4 after seq 1, t_ms 5", [_note(1, 5), _note(2, 4)]),
    ("behind the end", ValueError, "complete", [FINAL, _note(2, 4)]),
    ("no end", ValueError, "final.json", [CLEAN, manifest_of()]),
    ("no report", ValueError, "scrub-report.json", [FINAL, manifest_of()]),
    ("kept for another time", ValueError, "kept for|after seq",
     [range(1, 1), range(2, 1), _key(1, 2, b"x")]),
    ("kept for another kind", ValueError, "kept for|after seq",
     [range(1, 1), range(2, 1), OutputRecord(seq=1, t_ms=1, offset=0, length=0)]),
    ("kept for later", ValueError, "kept for|after seq",
     [range(1, 1), range(2, 1), _key(2, 1, b"x")]),
    ("kept and not used", ValueError, "seq 1 was reserved",
     [range(1, 0), msgspec.structs.replace(FINAL, seq=2), CLEAN, manifest_of()]),
    *(("not JSON", errors.RecordError, ".", [_note(1, payload=payload)]) for payload in (
        float("nan"), 2**63, "\ud800", {1: 2}, [float("inf")], {"a": {"\udfff": 1}})),
    ("a cycle", errors.LimitError, "deeper", [_note(1, payload=CYCLE)]),
    ("a cycle in a document", errors.LimitError, "deeper",
     [msgspec.structs.replace(FINAL, metadata=CYCLE)]),
    ("a large document", errors.LimitError, ".",
     [msgspec.structs.replace(FINAL, final_text="x" * (5 << 20))]),
    ("no emulator", errors.ManifestError, ".", [FINAL, CLEAN, NO_EMULATOR]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("error", "says", "items"), [case[1:] for case in REFUSED], ids=[case[0] for case in REFUSED]
)
def test_what_a_reader_would_refuse_is_not_written(
    tmp_path: Path, error: type[Exception], says: str, items: list[Any]
) -> None:
    """The last of these, and nothing is left of those before it."""
    with CassetteWriter(tmp_path / "c") as writer:
        for item in items[:-1]:
            _give(writer, item)

        with pytest.raises(error, match=says):
            _give(writer, items[-1])
    assert _names(tmp_path) == []


def test_records_may_come_late_in_numbers_that_were_kept(tmp_path: Path) -> None:
    """What must be masked when everything is known; the cassette is in order all the same."""
    note = ServiceEventRecord(seq=2, t_ms=3, payload="late")
    typed = InputRecord(seq=1, t_ms=1, kind="input", bytes=b"x")
    with CassetteWriter(tmp_path / "c") as writer:
        writer.reserve(1, 1)
        writer.reserve(2, 3)
        writer.add(OutputRecord(seq=3, t_ms=4, offset=0, length=2), b"hi")
        writer.add(typed)
        writer.add(note)
        writer.add(msgspec.structs.replace(FINAL, seq=4, t_ms=4))
        writer.put(ScrubReport(status="clean"))
        writer.publish(manifest_of())

    with open_cassette(tmp_path / "c") as cassette:
        assert [event.kind for event in cassette.events()] == [
            "input",
            "service-event",
            "output",
            "final",
        ]


@pytest.mark.parametrize(
    ("limits", "data"),
    [
        (Limits(max_line_bytes=50), b""),
        (Limits(max_chunk_bytes=5), b"xxxxxx"),
        (Limits(max_output_bytes=5), b"xxxxxx"),
    ],
    ids=["a line", "a chunk", "the output"],
)
def test_what_is_too_long_is_not_written(tmp_path: Path, limits: Limits, data: bytes) -> None:
    """Lines, chunks and files."""
    items = [Output(0, data)] if data else [Typed(0, b"x" * 50)]

    def write() -> None:
        with CassetteWriter(tmp_path / "c", limits=limits) as writer:
            for event in events_of(*items, Finished(t_us=1)):
                writer.add(event.record, event.data)
            writer.put(CLEAN)
            writer.publish(manifest_of())

    with pytest.raises(errors.LimitError):
        write()
    assert _names(tmp_path) == []


# ------------------------------------------------------------------ the target


def test_an_existing_cassette_is_replaced_only_when_asked(tmp_path: Path) -> None:
    """Refused before anything is written, which says how to; what is aborted changes nothing."""
    write_cassette(tmp_path / "c", Output(0, b"old"))
    with pytest.raises(errors.ExistsError, match="--overwrite"):
        CassetteWriter(tmp_path / "c")
    with _fill(CassetteWriter(tmp_path / "c", overwrite=True)):
        pass
    before = (tmp_path / "c" / "output.raw").read_bytes()
    write_cassette(tmp_path / "c", Output(0, b"newer"), overwrite=True)

    assert (before, (tmp_path / "c" / "output.raw").read_bytes()) == (b"old", b"newer")
    assert _names(tmp_path) == ["c"]


def test_without_an_exchange_of_names_the_old_one_is_moved_aside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On systems that have no such call the result is the same."""
    monkeypatch.setattr(cassette_staging, "exchange", lambda *_: False)
    write_cassette(tmp_path / "c", Output(0, b"old"))
    write_cassette(tmp_path / "c", Output(0, b"new"), overwrite=True)

    assert (tmp_path / "c" / "output.raw").read_bytes() == b"new"
    assert _names(tmp_path) == ["c"]


def test_a_newer_cassette_is_never_replaced(tmp_path: Path) -> None:
    """Not even with overwrite."""
    shutil.copytree(V1.parent / "corrupt" / "version-higher", tmp_path / "c")

    with pytest.raises(errors.NewerCassetteError, match="format version 2"):
        CassetteWriter(tmp_path / "c", overwrite=True)


@pytest.mark.parametrize("there", ["", "diagnostic", "id-missing"])
def test_what_is_no_loss_may_be_replaced(tmp_path: Path, there: str) -> None:
    """A directory that is empty, a diagnostic, and what recording again repairs."""
    if there:
        shutil.copytree(V1.parent / "corrupt" / there, tmp_path / "c")
    else:
        (tmp_path / "c").mkdir()
    write_cassette(tmp_path / "c", overwrite=bool(there))

    with open_cassette(tmp_path / "c") as cassette:
        assert (cassette.pinned, cassette.output_size) == (True, 0)


def _filled(path: Path, name: str, data: bytes) -> None:
    path.mkdir()
    (path / name).write_bytes(data)


def _cassette_and_notes(path: Path) -> None:
    shutil.copytree(V1 / "unpinned", path)
    (path / "notes.txt").write_bytes(b"precious")


PRECIOUS: dict[str, Callable[[Path], object]] = {
    "a file": lambda path: path.write_bytes(b"precious"),
    "a link": lambda path: path.symlink_to(V1 / "minimal"),
    "a link to nothing": lambda path: path.symlink_to(path.with_name("nowhere")),
    "a project": lambda path: _filled(path, "thesis.txt", b"precious"),
    "an extension": lambda path: _filled(
        path, "manifest.json", b'{"manifest_version": 3, "version": "1.0"}'
    ),
    "another manifest": lambda path: _filled(path, "manifest.json", b'{"version": 1, "files": []}'),
    "a cassette and notes": _cassette_and_notes,
}


@pytest.mark.parametrize("make", PRECIOUS.values(), ids=PRECIOUS)
@pytest.mark.parametrize("overwrite", [False, True])
def test_what_is_no_cassette_is_never_replaced(
    tmp_path: Path, make: Callable[[Path], object], *, overwrite: bool
) -> None:
    """Files, links, other people's directories, and cassettes with something else inside."""
    make(tmp_path / "c")

    with pytest.raises(errors.ExistsError):
        CassetteWriter(tmp_path / "c", overwrite=overwrite)
    assert _names(tmp_path) == ["c"]


# ------------------------------------------------------------------ others at work


@pytest.mark.parametrize(
    ("there", "overwrite"), [(False, False), (False, True), (True, True)], ids=str
)
def test_of_many_writers_exactly_one_wins(tmp_path: Path, *, overwrite: bool, there: bool) -> None:
    """All that started before the first one published lose, whatever they were allowed."""
    if there:
        write_cassette(tmp_path / "c", Output(0, b"old"))
    writers = [_fill(CassetteWriter(tmp_path / "c", overwrite=overwrite)) for _ in range(8)]
    gate = threading.Barrier(len(writers))
    won: list[bool] = []

    def publish(writer: CassetteWriter) -> None:
        gate.wait()
        try:
            writer.publish(manifest_of())
        except errors.ExistsError:
            won.append(False)
        else:
            won.append(True)
        finally:
            writer.abort()

    threads = [threading.Thread(target=publish, args=(writer,)) for writer in writers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(won) == [False] * 7 + [True]
    assert _names(tmp_path) == ["c"]


@pytest.mark.parametrize("left", ["nothing", "no manifest", "a stranger"])
def test_what_is_replaced_while_it_is_looked_at_is_looked_at_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, left: str
) -> None:
    """The old cassette loses its files while a slower writer still reads it: that one has lost."""
    write_cassette(tmp_path / "c", Output(0, b"old"))
    writer = _fill(CassetteWriter(tmp_path / "c", overwrite=True))
    entries = DirectoryHandle.entries

    def replaced_meanwhile(handle: DirectoryHandle) -> frozenset[str]:
        monkeypatch.setattr(DirectoryHandle, "entries", entries)
        (tmp_path / "c").rename(tmp_path / "old")
        write_cassette(tmp_path / "c", Output(0, b"winner"))
        if left == "nothing":
            shutil.rmtree(tmp_path / "old")
        elif left == "no manifest":
            (tmp_path / "old" / "manifest.json").unlink()
        else:
            (tmp_path / "old" / "notes.txt").write_text("mine")
        return entries(handle)

    monkeypatch.setattr(DirectoryHandle, "entries", replaced_meanwhile)
    with writer, pytest.raises(errors.ExistsError, match="in the meantime"):
        writer.publish(manifest_of())
    assert (tmp_path / "c" / "output.raw").read_bytes() == b"winner"


def test_a_writer_whose_target_was_replaced_loses(tmp_path: Path) -> None:
    """What it was allowed to replace is gone; what stands there now is not its to replace."""
    write_cassette(tmp_path / "c", Output(0, b"old"))
    before = (tmp_path / "c").stat()
    (tmp_path / "c").rename(tmp_path / "gone")
    write_cassette(tmp_path / "c", Output(0, b"winner"))
    staging = cassette_staging.Staging(tmp_path / "c")

    with pytest.raises(errors.ExistsError, match="in the meantime"):
        staging.publish(before)
    staging.remove()
    assert (tmp_path / "c" / "output.raw").read_bytes() == b"winner"


@pytest.mark.parametrize("parents", [False, True])
def test_a_staging_directory_that_another_writer_removes_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, parents: bool
) -> None:
    """Others remove what nobody holds before it is locked, and empty parents that they made."""
    opened = os.open
    removed: list[Path] = []

    def after_the_other(path: Any, *args: Any, **kwargs: Any) -> int:
        if str(path).endswith(".staging") and not removed:
            removed.append(Path(path))
            Path(path).rmdir()
            if parents:
                Path(path).parent.rmdir()
        return opened(path, *args, **kwargs)

    monkeypatch.setattr(os, "open", after_the_other)
    staging = cassette_staging.Staging(tmp_path / "parent" / "c")

    assert staging.content.is_dir()
    assert removed
    assert removed != [staging.path]
    staging.remove()


def test_a_target_below_a_link_to_nothing_is_refused(tmp_path: Path) -> None:
    """However often the parent is made."""
    (tmp_path / "parent").symlink_to(tmp_path / "gone")

    with pytest.raises(errors.StorageError, match="No such file"):
        cassette_staging.Staging(tmp_path / "parent" / "c")


def test_a_cassette_that_is_being_replaced_is_left_to_who_does_it(tmp_path: Path) -> None:
    """The lock on it decides."""
    write_cassette(tmp_path / "c", Output(0, b"old"))
    writer = _fill(CassetteWriter(tmp_path / "c", overwrite=True))
    fd = os.open(tmp_path / "c", os.O_RDONLY)
    fcntl.flock(fd, fcntl.LOCK_EX)

    with writer, pytest.raises(errors.ExistsError, match="in the meantime"):
        writer.publish(manifest_of())
    os.close(fd)
    assert _names(tmp_path) == ["c"]


@pytest.mark.parametrize("can_exchange", [True, False])
def test_who_replaces_the_target_at_the_last_moment_is_put_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, can_exchange: bool
) -> None:
    """Somebody who takes no locks: what was swapped out is looked at once more."""
    write_cassette(tmp_path / "c", Output(0, b"old"))
    before = (tmp_path / "c").stat()
    write_cassette(tmp_path / "other", Output(0, b"winner"))
    staging = cassette_staging.Staging(tmp_path / "c")
    moved: list[bool] = []

    def swap(one: Path, other: Path) -> bool:
        if not moved:
            moved.append(True)
            (tmp_path / "c").rename(tmp_path / "gone")
            (tmp_path / "other").rename(tmp_path / "c")
        if not can_exchange:
            return False
        one.rename(tmp_path / "between")
        other.rename(one)
        (tmp_path / "between").rename(other)
        return True

    monkeypatch.setattr(cassette_staging, "exchange", swap)
    with pytest.raises(errors.ExistsError, match="in the meantime"):
        staging.publish(before)
    staging.remove()
    assert (tmp_path / "c" / "output.raw").read_bytes() == b"winner"
    assert _names(tmp_path) == ["c", "gone"]


def test_what_a_dead_writer_left_is_removed_by_the_next(tmp_path: Path) -> None:
    """Its lock is gone with it; a live one's is not."""
    dead = CassetteWriter(tmp_path / "c[1]")
    os.close(dead._staging.fd)
    with CassetteWriter(tmp_path / "c[1]") as live:
        left = _names(tmp_path)

        assert left == [live._staging.path.name]
        with CassetteWriter(tmp_path / "c[1]"):
            assert live._staging.path.name in _names(tmp_path)
    dead._staging.fd = -1


@pytest.mark.parametrize("meanwhile", ["cleans up", "holds the lock"])
def test_staging_is_made_anew_when_somebody_cleans_it_up_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, meanwhile: str
) -> None:
    """Between making and locking it, another writer may take it for abandoned; it goes then."""
    real, first = fcntl.flock, []

    def flock(fd: int, how: int) -> None:
        if not first:
            first.append(fd)
            if meanwhile == "holds the lock":
                raise BlockingIOError(errno.EWOULDBLOCK, "held")
            (staging,) = tmp_path.iterdir()
            staging.rmdir()
        real(fd, how)

    monkeypatch.setattr(fcntl, "flock", flock)
    write_cassette(tmp_path / "c")

    assert _names(tmp_path)[-1:] == ["c"]


# ------------------------------------------------------------------ the disk


@pytest.mark.parametrize("call", ["write", "fsync", "open", "mkdir", "rename"])
@pytest.mark.parametrize(("code", "hint"), [(errno.ENOSPC, "disk is full"), (errno.EIO, "failing")])
def test_a_disk_that_refuses_is_told_and_nothing_is_published(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str, code: int, hint: str
) -> None:
    """Whichever call it is that fails."""

    def fail(*_: object, **__: object) -> int:
        raise OSError(code, os.strerror(code))

    with monkeypatch.context() as patch:
        patch.setattr(os, call, fail)
        with pytest.raises(errors.StorageError, match=hint):
            write_cassette(tmp_path / "c", Output(0, b"hi"))

    assert "c" not in _names(tmp_path)


def test_a_long_name_can_be_published(tmp_path: Path) -> None:
    """The hidden name beside it is not longer than the file system allows."""
    name = "\u20ac" * 80
    write_cassette(tmp_path / name, Output(0, b"hi"))

    assert _names(tmp_path) == [name]


def test_an_unpublished_writer_can_fail_at_its_first_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was made until then is removed."""
    real, left = os.open, [6]

    def fail(*args: Any, **named: Any) -> int:
        left[0] -= 1
        if not left[0]:
            raise OSError(errno.EMFILE, "Too many open files")
        return real(*args, **named)

    monkeypatch.setattr(os, "open", fail)
    with pytest.raises(errors.StorageError, match="Too many open files"):
        CassetteWriter(tmp_path / "c")
    assert _names(tmp_path) == []


def test_what_only_looks_abandoned_is_left_alone(tmp_path: Path) -> None:
    """Files and links of that name, and names that only look alike."""
    (tmp_path / ".c.000000000000.staging").write_bytes(b"mine")
    (tmp_path / ".c.x.staging").mkdir()
    (tmp_path / "c.000000000000.staging").mkdir()
    write_cassette(tmp_path / "c")

    assert _names(tmp_path) == [
        ".c.000000000000.staging",
        ".c.x.staging",
        "c",
        "c.000000000000.staging",
    ]


def test_what_writers_of_other_cassettes_left_in_the_folder_is_removed(tmp_path: Path) -> None:
    """Their targets may never be written again."""
    (tmp_path / ".c.d.000000000000.staging" / "content").mkdir(parents=True)
    write_cassette(tmp_path / "c")

    assert _names(tmp_path) == ["c"]


@pytest.mark.parametrize("code", [errno.ENOLCK, errno.ENOTSUP])
def test_a_file_system_without_locks_will_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    """Then litter stays, and nothing else changes."""

    def flock(*_: object) -> None:
        raise OSError(code, os.strerror(code))

    (tmp_path / ".c.000000000000.staging").mkdir()
    monkeypatch.setattr(fcntl, "flock", flock)
    write_cassette(tmp_path / "c")

    assert _names(tmp_path) == [".c.000000000000.staging", "c"]


def test_what_was_replaced_never_stands_where_git_looks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may hold secrets; a kill may come before it is deleted, and the next writer deletes it."""
    write_cassette(tmp_path / "c", Output(0, b"old and secret"))
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "rmtree", lambda *_, **__: None)
        write_cassette(tmp_path / "c", Output(0, b"new"), overwrite=True)
    (left,) = tmp_path.glob(".c.*.staging")

    assert stat.S_IMODE(left.stat().st_mode) == 0o700
    assert (left / ".gitignore").read_text(encoding="ascii") == "*\n"
    assert (left / "content" / "output.raw").read_bytes() == b"old and secret"
    write_cassette(tmp_path / "c", Output(0, b"newer"), overwrite=True)
    assert _names(tmp_path) == ["c"]


def test_moving_aside_is_undone_when_the_new_one_cannot_be_renamed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The old cassette stands there again."""
    write_cassette(tmp_path / "c", Output(0, b"old"))
    monkeypatch.setattr(cassette_staging, "exchange", lambda *_: False)
    real, failed = os.rename, []

    def rename(source: Any, target: Any) -> None:
        if str(source).endswith("content") and not failed:
            failed.append(source)
            raise OSError(errno.EIO, "Input/output error")
        real(source, target)

    monkeypatch.setattr(os, "rename", rename)
    with pytest.raises(errors.StorageError, match="publishing the cassette failed"):
        write_cassette(tmp_path / "c", Output(0, b"new"), overwrite=True)
    assert (tmp_path / "c" / "output.raw").read_bytes() == b"old"
    assert _names(tmp_path) == ["c"]


def test_a_short_write_is_continued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """``write`` may take less than it was given."""
    real = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: real(fd, data[:7]))
    write_cassette(tmp_path / "c", Output(0, b"0123456789" * 5))
    monkeypatch.undo()

    with open_cassette(tmp_path / "c") as cassette:
        assert cassette.output_size == 50


def test_a_parent_that_is_a_file_is_a_storage_error(tmp_path: Path) -> None:
    """What, where, and what to do."""
    (tmp_path / "file").write_bytes(b"")

    with pytest.raises(errors.StorageError, match="file/c") as caught:
        CassetteWriter(tmp_path / "file" / "c")
    assert caught.value.hint is not None


def test_large_streams_are_written_in_blocks(tmp_path: Path) -> None:
    """Memory does not grow with the length."""
    with CassetteWriter(tmp_path / "c") as writer:
        for number in range(40):
            record = OutputRecord(seq=number + 1, t_ms=0, offset=number * 65536, length=65536)
            writer.add(record, bytes(65536))
        assert sum(map(len, writer._raw._parts)) < 1 << 20
        done = ExitStatus(code=0, exited=True, signaled=False)
        writer.add(FinalRecord(seq=41, t_ms=0, duration_ms=0, exit=done))
        writer.put(ScrubReport(status="clean"))
        writer.publish(manifest_of())

    with open_cassette(tmp_path / "c") as cassette:
        events: list[Event] = list(cassette.events())
    assert len(events) == 41


def test_an_aborted_writer_closes_the_bodies_that_were_not_finished(tmp_path: Path) -> None:
    """Of an exchange that had no end."""
    writer = CassetteWriter(tmp_path / "new")
    body = writer.tape().body()
    body.write(b"half of it")
    writer.abort()

    with pytest.raises(ValueError, match="closed"):
        body.write(b"more")
