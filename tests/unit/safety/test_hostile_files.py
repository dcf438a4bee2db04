"""Files that a command is pointed at: pipes, devices, links, bombs. Refused at once, and typed."""

from __future__ import annotations

import os
import struct
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ptycassette.agents.harness.fake.script import Script
from ptycassette.agents.harness.io.fake_provider import read_script
from ptycassette.agents.harness.io.files import load_profile
from ptycassette.agents.harness.io.logs import read_logs
from ptycassette.agents.harness.probe import Probe
from ptycassette.cassette.framing import MARK
from ptycassette.cli import main
from ptycassette.errors import (
    CassetteError,
    JournalError,
    LimitError,
    RefusedError,
    UnreadableError,
    UnsafeFileError,
    UsageError,
)
from ptycassette.model.records import Harness, SessionMeta
from ptycassette.model.screen import Size
from ptycassette.profiles.profile import Profile
from ptycassette.recording.io.finalising import recover
from ptycassette.recording.io.journal_file import JournalDecoder, JournalEncoder, JournalFile
from ptycassette.recording.io.saver import JournalSource
from ptycassette.replaying.io.library import Library
from ptycassette.replaying.io.shims import ShimConfig, make_shims
from ptycassette.replaying.scenario.evaluation import parse_scenario, parse_yaml
from ptycassette.replaying.scenario.io import check_file, find_scenarios, load_scenario
from ptycassette.replaying.standin.io.process import read_reports
from ptycassette.scrub.io.setup import load_config
from ptycassette.scrub.rules.rule_set import parse_config
from ptycassette.system.files.whole_file import read_plain

YAML_BOMBS = {
    "aliases": b"a: &a [x]\nb: [*a, *a]",
    "merge": b"a: {<<: {b: 1}}",
    "wide": b"[" + b"a," * 120_000 + b"a]",
    "deep": b"[" * 250_000,
    "keys": b"\n".join(b"k%d: 1" % number for number in range(25_000)),
    "long": b"a: " + b"x" * 4_000_000,
    "python": b"a: !!python/object/apply:os.system [ls]",
    "binary": b"a: !!binary AAAA",
    "set": b"!!set {a, b}",
    "twice": b"a: 1\na: 2",
    "list-as-key": b"? [a]\n: b",
    "documents": b"a: 1\n---\nb: 2",
    "bytes": b"\xff\xfe\x00",
    "control": b"a: \x1b[31m",
    "nothing-closes": b'"' + b"a" * 500_000,
}
TOML_BOMBS = {
    "deep": "a=" + "[" * 100_000,
    "deep-tables": "a=" + "{a=" * 100_000,
    "digits": "a=" + "9" * 100_000,
    "dotted": ".".join(["a"] * 20_000) + "=1",
    "dotted-header": f"[{'.'.join(['a'] * 20_000)}]",
    "twice": "a=1\na=2",
    "control": "a='\x1b[31m'",
}
TOML_READERS: dict[str, Callable[[str], object]] = {
    "scrub": lambda text: parse_config(text, where="x"),
    "profile": lambda text: Profile.parse(text, where="x"),
    "probe": lambda text: Probe.parse(text, where="x"),
    "script": lambda text: Script.parse(text, where="x", variables={}),
}


@pytest.mark.parametrize("name", YAML_BOMBS)
def test_a_hostile_scenario_is_refused_in_a_second(name: str) -> None:
    """Small files cannot grow, and none may hold more values than a scenario can mean."""
    began = time.process_time()
    with pytest.raises(UsageError):
        parse_scenario(YAML_BOMBS[name], where="x")

    assert time.process_time() - began < 15  # tracing and a busy machine included


@pytest.mark.parametrize("value", ["12:30", "1" + ":1" * 10_000, "9" * 5_000, "1e9_9:1"])
def test_numbers_in_disguise_are_text(value: str) -> None:
    """Base 60, and digits that Python would refuse to print."""
    assert parse_yaml(f"a: {value}".encode(), where="x") == {"a": value}


@pytest.mark.parametrize("name", TOML_BOMBS)
@pytest.mark.parametrize("reader", TOML_READERS)
def test_hostile_toml_is_refused_in_a_second(reader: str, name: str) -> None:
    """Rules, profiles, probes and scripts: nesting, digits, keys of thousands of parts."""
    began = time.process_time()
    with pytest.raises(UsageError):
        TOML_READERS[reader](TOML_BOMBS[name])

    assert time.process_time() - began < 15  # tracing and a busy machine included


def test_surrogates_are_text_in_pairs_alone() -> None:
    """JSON escapes a character of the upper planes as two; half a pair could not be written."""
    assert parse_yaml(rb'{"a": "\ud83d\ude00"}', where="x") == {"a": "\U0001f600"}
    with pytest.raises(UsageError, match="surrogate"):
        parse_scenario(rb'{"name": "\ud83d"}', where="x")


@pytest.fixture(params=["pipe", "directory", "socket"])
def no_file(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Something that is no regular file."""
    path = tmp_path / "x.scenario.yaml"
    if request.param == "pipe":
        os.mkfifo(path)
    elif request.param == "directory":
        path.mkdir()
    else:
        os.mknod(path, 0o140600)
    return path


def test_what_is_no_file_is_never_waited_for(no_file: Path) -> None:
    """Whoever reads a small file refuses a pipe instead of waiting for its other end."""
    readers: list[Callable[[], object]] = [
        lambda: read_plain(no_file, max_bytes=10),
        lambda: load_scenario(no_file),
        lambda: load_config(no_file),
        lambda: load_profile(str(no_file)),
        lambda: JournalSource(no_file),
        lambda: recover(no_file),
        lambda: read_script(no_file),
        lambda: make_shims(no_file.parent, [no_file.name], ShimConfig(library="", state="")),
    ]
    for reader in readers:
        with pytest.raises(CassetteError):
            reader()


def test_a_directory_of_scenarios_with_a_pipe_fails_that_one(tmp_path: Path) -> None:
    """``check .`` does not hang."""
    os.mkfifo(tmp_path / "a.scenario.yaml")
    (found,) = find_scenarios([tmp_path])

    assert not check_file(str(found)).passed


def test_an_input_script_is_a_file_and_of_bounded_size(
    no_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """``rec --input`` waits for no pipe and reads no device; nothing is recorded."""
    huge = tmp_path / "huge"
    huge.touch()
    os.truncate(huge, 1 << 40)
    words = ["rec", "--headless", str(tmp_path / "c"), "--input"]
    statuses = [main([*words, str(path), "--", "true"]) for path in (no_file, huge, "/dev/zero")]

    assert statuses[0] in {3, 4}
    assert statuses[1:] == [4, 4]
    assert not (tmp_path / "c").exists()
    assert "regular file" in capsys.readouterr().err


@pytest.mark.parametrize("kind", ["huge", "deep", "text"])
def test_a_hostile_session_log_is_an_error_of_ours(kind: str, tmp_path: Path) -> None:
    """A CLI's log lies where the recorded program can write."""
    log = tmp_path / "x.jsonl"
    bad = {"huge": b"", "deep": b"[" * 100_000 + b"\n", "text": b'"\xff"\n'}[kind]
    log.write_bytes(bad)
    if kind == "huge":
        os.truncate(log, 1 << 40)
    profile = Profile.parse(
        "version = 1\nname = 'x'\ntitle = 'X'\nbinaries = []\nscreens.ready.stable_ms = 1\n"
        "[[logs]]\nglob = '*.jsonl'\n"
        "[[logs.events]]\ntype = 'message'\nfields = { text = 'text' }\n"
    )

    with pytest.raises(UnreadableError):
        read_logs(profile, home=tmp_path, cwd=tmp_path)
    if kind != "huge":  # beside a line that can be read, a bad one costs itself
        log.write_bytes(bad + b"{}\n")
        facts, found = read_logs(profile, home=tmp_path, cwd=tmp_path)
        assert (found, sum(facts.unread.values())) == ("x.jsonl", 1)


def test_a_device_without_an_end_is_refused() -> None:
    """``/dev/zero`` is not read into memory."""
    with pytest.raises(UnsafeFileError):
        load_scenario("/dev/zero")


def test_a_file_that_is_far_too_large_is_not_read(tmp_path: Path) -> None:
    """A sparse terabyte costs nothing to make."""
    path = tmp_path / "rules.yaml"
    path.touch()
    os.truncate(path, 1 << 40)
    (tmp_path / "library.yaml").symlink_to(path)

    with pytest.raises(LimitError):
        load_scenario(path)
    with pytest.raises(LimitError):
        Library(tmp_path, state=tmp_path)


def test_a_scrub_configuration_that_cannot_be_read_is_no_missing_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It says what is secret: going on without it would let that through."""
    (tmp_path / "ptycassette.toml").mkdir()
    monkeypatch.chdir(tmp_path)

    with pytest.raises(UnsafeFileError):
        load_config()


def _journal(directory: Path, target: Path, **changes: Any) -> Path:
    meta = SessionMeta(
        id="00000000-0000-4000-8000-000000000001",
        argv=("sh",),
        size=Size(24, 80),
        recorded_at="2026-01-01T00:00:00Z",
        harness=Harness(name="sh"),
        target=str(target),
    )
    meta = msgspec.structs.replace(meta, **changes)
    journal = JournalFile(meta, directory=directory)
    journal.on_output(1, b"hello\r\n")
    journal.close()
    return journal.path


def test_a_journal_of_a_stranger_does_not_say_where_to_publish(tmp_path: Path) -> None:
    """One that lies where others can write names no target; the user does."""
    shared = tmp_path / "downloads"
    shared.mkdir(mode=0o755)
    path = _journal(shared, tmp_path / "elsewhere")

    with pytest.raises(RefusedError, match="private"):
        recover(path)
    assert not (tmp_path / "elsewhere").exists()
    assert recover(path, output=tmp_path / "mine").outcome == "published"


def test_a_journal_behind_a_link_is_refused(tmp_path: Path) -> None:
    """A journal directory holds files of its own."""
    path = _journal(tmp_path, tmp_path / "c")
    link = tmp_path / "link.journal"
    link.symlink_to(path)

    with pytest.raises(JournalError):
        recover(link)
    assert path.exists()


def _forged(body: bytes, *, kind: int = 2) -> bytes:
    """A journal whose second record has that body, and a checksum that fits."""
    head = JournalEncoder(7).begin(
        SessionMeta(
            id="x", argv=("sh",), size=Size(4, 20), recorded_at="", harness=Harness(name="x")
        )
    )
    front = struct.pack("<4sIIQB", MARK, 1, len(body), 0, kind)
    return head + front + struct.pack("<I", zlib.crc32(body, zlib.crc32(front, 7))) + body


@pytest.mark.parametrize(
    "change",
    [
        {"resolution_ms": 0},
        {"options": {"frame_policy": "\x1b[2J"}},
        {"home": "a\0b"},
        {"cwd": "\0"},
        {"options": {"meta": {"a": float("nan")}}},
    ],
    ids=str,
)
def test_a_head_that_no_recorder_writes_is_refused(change: dict[str, Any], tmp_path: Path) -> None:
    """By a typed error, and the journal stays."""
    path = _journal(tmp_path, tmp_path / "c", **change)

    with pytest.raises(CassetteError):
        recover(path)
    assert path.exists()
    assert not (tmp_path / "c").exists()


@pytest.mark.parametrize(
    "body",
    [b"\x83\xa4type\xa6signal\xa4t_us\x01\xa6signal\xa1\xff", b"\x91" * 100_000, b"\xc1", b""],
    ids=["no UTF-8", "deep", "no msgpack", "empty"],
)
def test_a_record_that_fits_and_says_nothing_is_refused(body: bytes) -> None:
    """A checksum is no promise: who forges a record forges it too."""
    decoder = JournalDecoder()

    with pytest.raises(JournalError, match="cannot be understood"):
        list(decoder.feed(_forged(body)))


def test_looks_of_records_are_not_hashed_for_ever() -> None:
    """Two megabytes in which each of 80 000 places promises a record of a megabyte."""
    look = struct.pack("<4sIIQB", MARK, 5, 1_000_000, 0, 2) + bytes(4)
    data = _forged(b"\xc0", kind=1)[:-1] + b"x" + look * 80_000
    decoder = JournalDecoder()
    began = time.thread_time()

    with pytest.raises(JournalError, match="made to look like records"):
        list(decoder.feed(data))
    assert time.thread_time() - began < 1


@pytest.mark.parametrize("kind", ["pipe", "link", "huge"])
def test_recovering_does_not_trust_what_stands_at_the_target(tmp_path: Path, kind: str) -> None:
    """A pipe named manifest.json would have been waited for, a link followed."""
    target = tmp_path / "c"
    target.mkdir()
    manifest = target / "manifest.json"
    if kind == "pipe":
        os.mkfifo(manifest)
    elif kind == "link":
        manifest.symlink_to("/dev/zero")
    else:
        manifest.touch()
        os.truncate(manifest, 1 << 40)
    path = _journal(tmp_path, target)

    with pytest.raises(CassetteError):
        recover(path)
    assert path.exists()


@pytest.mark.parametrize("kind", ["pipe", "deep", "list", "digits", "huge", "text"])
def test_a_hostile_report_is_refused(tmp_path: Path, kind: str) -> None:
    """What lies in the directory of reports is not always from a stand-in."""
    path = tmp_path / "x.json"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "huge":
        path.touch()
        os.truncate(path, 1 << 40)
    else:
        texts = {"deep": "[" * 100_000, "list": "[1]", "digits": "9" * 10_000, "text": '"x"'}
        path.write_text(texts[kind])

    with pytest.raises(CassetteError):
        list(read_reports(tmp_path))
