"""The request log of the fake provider: what it never holds, and what a failing disk does to it."""

from __future__ import annotations

import errno
import json
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ptycassette.agents.harness.fake.script import PlannedAnswer, Script
from ptycassette.agents.harness.io.fake_provider import FakeProviderServer, RequestLog
from ptycassette.errors import StorageError
from ptycassette.testing import ManualClock

RANDOM = "Zx9Kq7Lm3Pw8" + "Rt5Vb2Nc6Hd4"
ROOM = 300


def exchange(**entry: Any) -> PlannedAnswer:
    """A request that is over."""
    return PlannedAnswer(status=200, headers={}, steps=(), entry={"n": 1, **entry})


def add(log: RequestLog, **entry: Any) -> None:
    """Log a request, and wait until it is written."""
    done = log.add(exchange(**entry), began_us=0, sent=0, outcome="complete")
    if done is not None:
        done.result(timeout=90)


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the log is, in a work tree without anything else."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return tmp_path / "log.jsonl"


@pytest.fixture
def log(path: Path) -> RequestLog:
    """An open one."""
    return RequestLog(ManualClock(), path)


def lines(path: Path) -> list[dict[str, Any]]:
    """What the file holds."""
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_a_body_that_is_too_long_to_be_scrubbed_while_clients_wait_is_left_out(
    log: RequestLog, path: Path
) -> None:
    """The line says how long it was; in memory it is whole."""
    add(log, body="a" * 390_000)
    add(log, body="a" * 410_000, path="/x")
    log.close()

    first, second = lines(path)
    assert first["body"] == "a" * 390_000
    assert second["body"].startswith("(left out: 4100")
    assert (second["path"], log.entries[1]["body"]) == ("/x", "a" * 410_000)


def test_secrets_in_a_body_are_not_in_the_file(log: RequestLog, path: Path) -> None:
    """By their shape in text, by the name of their key, and told by nothing but a placeholder."""
    token = "sk-" + "ant-api03-" + RANDOM * 4
    add(log, body={"text": f"use {token} now", "api_key": RANDOM})
    log.close()

    assert RANDOM not in path.read_text()
    assert lines(path)[0]["body"]["text"] == "use <anthropic-token> now"
    assert log.entries[0]["body"]["api_key"] == RANDOM


def test_a_key_that_a_client_brings_is_found_in_bodies_too(log: RequestLog, path: Path) -> None:
    """Though the log itself withholds it."""
    log.learn([RANDOM, RANDOM[::-1], "test"])
    add(log, body=["an " + RANDOM + " in text", RANDOM[::-1], "a test"])
    log.close()

    assert RANDOM not in path.read_text()
    assert RANDOM[::-1] not in path.read_text()
    assert lines(path)[0]["body"][2] == "a test"


@pytest.mark.parametrize("where", ["environment", "accepted keys", "home"])
def test_what_the_machine_knows_is_removed(
    where: str, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Values of variables, the keys that are let in, and the user's home."""
    value = RANDOM.lower() if where != "home" else str(path.parent / "home")
    if where == "environment":
        monkeypatch.setenv("SOME_TOKEN", value)
    log = RequestLog(ManualClock(), path, known=[value] if where == "accepted keys" else [])
    add(log, body=f"it is {value}, is it not")
    log.close()

    assert value not in path.read_text()


def test_what_a_later_request_gives_away_leaves_the_earlier_lines(
    log: RequestLog, path: Path
) -> None:
    """At the end, in place: nothing else moves, and what was there before is not touched."""
    add(log, body=["a", RANDOM, "b"])
    written = path.read_bytes()
    add(log, body={"password": RANDOM})
    log.close()

    assert RANDOM.encode() in written
    assert RANDOM not in path.read_text()
    assert lines(path)[0]["body"] == ["a", "x" * len(RANDOM), "b"]


def test_lines_of_others_are_not_touched(path: Path) -> None:
    """What was in the file stays, whatever it is."""
    path.write_text(f"{RANDOM}\n")
    log = RequestLog(ManualClock(), path)
    add(log, body={"password": RANDOM})
    log.close()

    assert path.read_text().splitlines()[0] == RANDOM


def test_a_secret_with_quotes_and_backslashes_leaves_a_line_of_json(path: Path) -> None:
    """Byte for byte it would be masked to what is no JSON any more."""
    value = RANDOM[:9] + '"' + RANDOM[9:15] + "\\" + RANDOM[15:]
    log = RequestLog(ManualClock(), path, known=[value])
    add(log, body=["it is", value])
    log.close()

    assert RANDOM[15:] not in path.read_text()
    assert lines(path)[0]["body"] == ["it is", "<secret>"]


class Breaking:
    """A scrubber that replaces a value and the quote behind it, from its second call on."""

    def __init__(self, spared: int) -> None:
        self._spared = spared

    def traffic(self, chunks: list[bytes]) -> list[bytes]:
        """As long as before, and no JSON."""
        self._spared -= 1
        if self._spared >= 0:
            return chunks
        return [chunk.replace(f'{RANDOM}"'.encode(), b"x" * (len(RANDOM) + 1)) for chunk in chunks]

    def value(self, value: Any, *, channel: str) -> Any:
        """Finds nothing."""
        return value


@pytest.mark.parametrize("spared", [0, 1])
@pytest.mark.parametrize("filling", [0, 100])
def test_what_cannot_be_scrubbed_is_withheld(
    spared: int, filling: int, log: RequestLog, path: Path
) -> None:
    """Whether that is found out at once, or at the end, where the line keeps its length."""
    log._file._scrubber = Breaking(spared)  # type: ignore[union-attr]
    add(log, body=[RANDOM, "a" * filling], problem=RANDOM)
    log.close()

    assert RANDOM not in path.read_text()
    assert lines(path)[0].get("body", "(withheld").startswith("(withheld")


def test_only_its_owner_may_read_a_new_log(log: RequestLog, path: Path) -> None:
    """Whatever the umask."""
    log.close()

    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_log_without_a_file_writes_nothing(tmp_path: Path) -> None:
    """Entries are there all the same."""
    log = RequestLog(ManualClock(), None)
    log.learn([RANDOM])
    add(log, body="b")
    log.close()

    assert [entry["body"] for entry in log.entries] == ["b"]


def test_a_pipe_that_nobody_reads_is_an_error(path: Path) -> None:
    """At once, without waiting for a reader."""
    os.mkfifo(path)
    with pytest.raises(StorageError, match="request log cannot be written"):
        RequestLog(ManualClock(), path)


def test_a_pipe_that_somebody_reads_gets_the_lines(path: Path) -> None:
    """Nothing can be looked through again there."""
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    log = RequestLog(ManualClock(), path)
    add(log, body="b")
    told = os.read(reader, 4096)
    os.close(reader)
    with pytest.raises(BrokenPipeError) as broken:
        os.write(log._file._fd, b"x")  # type: ignore[union-attr]
    add(log, body="nobody is there")
    with pytest.raises(StorageError) as caught:
        log.close()

    assert json.loads(told)["body"] == "b"
    assert str(broken.value.strerror) in caught.value.message
    assert str(caught.value.hint) == "the provider continued to answer"


class Disk:
    """Stands before ``os.write``: so many bytes fit, at most ``at_once`` in one call."""

    def __init__(self, room: int, at_once: int = 1 << 20) -> None:
        self.room = room
        self.at_once = at_once
        self._write = os.write

    def write(self, fd: int, data: bytes) -> int:
        """As a disk that becomes full."""
        size = min(self.room, self.at_once, len(data))
        if not size:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self.room -= size
        return self._write(fd, data[:size])


@pytest.fixture
def full(monkeypatch: pytest.MonkeyPatch) -> Callable[[int, int], Disk]:
    """Makes the disk small."""

    def make(room: int, at_once: int) -> Disk:
        disk = Disk(room, at_once)
        monkeypatch.setattr(os, "write", disk.write)
        return disk

    return make


def test_short_writes_are_gone_on_with(
    log: RequestLog, path: Path, full: Callable[[int, int], Disk]
) -> None:
    """A line is whole, in however many calls."""
    full(1 << 20, 7)
    add(log, body="whole")
    log.close()

    assert lines(path)[0]["body"] == "whole"


def test_a_full_disk_ends_the_log_and_is_told(path: Path, full: Callable[[int, int], Disk]) -> None:
    """Whole lines stay, half a line does not, nothing follows; told once, and raised at the end."""
    told: list[StorageError] = []
    log = RequestLog(ManualClock(), path, tell=told.append)
    disk = full(ROOM, 50)
    add(log, body="a" * 100)
    add(log, body="b" * 200)
    disk.room = 1 << 20
    add(log, body="c")
    with pytest.raises(StorageError) as caught:
        log.close()
    log.close()

    assert [line["body"] for line in lines(path)] == ["a" * 100]
    assert told == [caught.value]
    assert caught.value.message == (
        "the request log cannot be written any more: No space left on device"
    )
    assert str(caught.value.hint) == "it holds 1 whole request; the provider continued to answer"
    assert len(log.entries) == 3


def test_half_a_line_stays_when_somebody_wrote_behind_it(
    log: RequestLog, path: Path, full: Callable[[int, int], Disk], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their bytes are not ours to remove."""
    disk = full(50, 50)
    fails = disk.write

    def also(fd: int, data: bytes) -> int:
        if not disk.room:
            with path.open("ab") as other:
                other.write(b"\nother\n")
        return fails(fd, data)

    monkeypatch.setattr(os, "write", also)
    add(log, body="a" * 100)
    with pytest.raises(StorageError):
        log.close()

    assert path.read_text().endswith("\nother\n")


def test_a_log_that_cannot_be_looked_through_again_is_told(
    log: RequestLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The user must know that earlier lines were not cleaned."""

    def fails(*args: Any) -> bytes:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    add(log, body="b")
    monkeypatch.setattr(os, "pread", fails)
    with pytest.raises(StorageError, match="could not be looked through again") as caught:
        log.close()

    assert "do not commit it" in str(caught.value.hint)


def test_a_disk_that_fails_at_the_end_is_told(
    log: RequestLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some tell that they are full no earlier."""
    close = os.close

    def fails(fd: int) -> None:
        close(fd)
        if fd == log_fd:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    log_fd = log._file._fd  # type: ignore[union-attr]
    monkeypatch.setattr(os, "close", fails)
    with pytest.raises(StorageError, match="cannot be written any more"):
        log.close()


def test_a_log_that_was_put_away_is_left_alone(log: RequestLog, path: Path) -> None:
    """And so is what has its name now."""
    add(log, body=RANDOM)
    path.rename(path.with_suffix(".old"))
    path.write_text(f"{RANDOM} of somebody else, long enough to be written into: " + "-" * 200)
    add(log, body={"password": RANDOM})
    log.close()

    assert path.read_text().startswith(RANDOM)


def test_an_error_of_the_test_comes_before_that_of_the_log(
    path: Path, full: Callable[[int, int], Disk]
) -> None:
    """What the log could not do is a note on it."""
    server = FakeProviderServer(Script.parse("version = 1"), log=path)
    server._log._file._fail("the log is full", hint="h")  # type: ignore[union-attr]
    with pytest.raises(KeyError) as caught, server:
        raise KeyError("x")

    assert "the log is full" in str(caught.value.__notes__)


def test_a_log_that_is_a_link_is_refused(path: Path) -> None:
    """Whoever made the folder could send the lines elsewhere. ``/dev/stdout`` is the system's."""
    path.symlink_to(path.with_name("elsewhere"))
    with pytest.raises(StorageError, match="it is a link"):
        RequestLog(ManualClock(), path)

    assert not path.with_name("elsewhere").exists()
    if Path("/dev/stdout").exists():
        RequestLog(ManualClock(), Path("/dev/stdout")).close()
