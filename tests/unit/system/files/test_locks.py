"""Locks: one holder, told to whoever comes second, gone with the holder."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ptycassette.errors import LockedError, StorageError
from ptycassette.system.files import locks
from ptycassette.system.files.locks import Lock, LockHolder, account_lock, target_lock

HOLDER = LockHolder(pid=4711, what="agent", since="2026-01-01T00:00:00Z")


def test_the_second_is_told_who_holds_it(tmp_path: Path) -> None:
    """Process, program and since when."""
    with (
        account_lock(tmp_path, harness="agent", account="a", holder=HOLDER),
        pytest.raises(LockedError, match=r"process 4711 \(agent, since 2026") as caught,
        account_lock(tmp_path, harness="agent", account="a", holder=HOLDER),
    ):
        pass

    assert "account a" in str(caught.value)


def test_an_account_is_one_whatever_program_uses_it(tmp_path: Path) -> None:
    """Only the one that nobody named is another one for each program."""
    with (
        account_lock(tmp_path, harness="agent", account="work", holder=HOLDER),
        account_lock(tmp_path, harness="agent", account="default", holder=HOLDER),
        account_lock(tmp_path, harness="other", account="default", holder=HOLDER),
        pytest.raises(LockedError, match="account work"),
        account_lock(tmp_path, harness="other", account="work", holder=HOLDER),
    ):
        pass


def test_a_released_lock_can_be_taken_and_leaves_nothing(tmp_path: Path) -> None:
    """One after the other is fine, and no lock files pile up."""
    for _ in range(2):
        with target_lock(tmp_path, target=tmp_path / "c", holder=HOLDER):
            assert len(list(tmp_path.iterdir())) == 1

    assert list(tmp_path.iterdir()) == []


def test_different_things_are_different_locks(tmp_path: Path) -> None:
    """Accounts and targets do not get in each other's way."""
    with (
        account_lock(tmp_path, harness="agent", account="a", holder=HOLDER),
        account_lock(tmp_path, harness="agent", account="b", holder=HOLDER),
        target_lock(tmp_path, target=tmp_path / "a", holder=HOLDER),
    ):
        assert len(list(tmp_path.iterdir())) == 3


def test_two_names_of_one_target_are_one_lock(tmp_path: Path) -> None:
    """A link on the way there changes nothing."""
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with (
        target_lock(tmp_path, target=tmp_path / "real" / "c", holder=HOLDER),
        pytest.raises(LockedError),
        target_lock(tmp_path, target=tmp_path / "link" / "c", holder=HOLDER),
    ):
        pass


def test_a_file_that_a_dead_holder_left_is_no_lock(tmp_path: Path) -> None:
    """The kernel has let go; what the file says does not matter."""
    lock = Lock(tmp_path, name="x", key="k", holder=HOLDER)
    lock.path.write_bytes(b'{"pid":1,"what":"gone"}')

    with lock:
        assert lock.path.read_bytes().startswith(b'{"pid":4711')


def test_a_holder_that_has_not_written_yet_is_another_process(tmp_path: Path) -> None:
    """Between taking and writing there is a moment."""
    lock = Lock(tmp_path, name="x", key="k", holder=HOLDER)
    with lock:
        lock.path.write_bytes(b"")
        with pytest.raises(LockedError, match="another process"):
            Lock(tmp_path, name="x", key="k", holder=HOLDER).__enter__()


def test_a_lock_file_that_was_deleted_meanwhile_is_not_taken_for_the_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever opened the file just before its holder deleted it starts again."""
    answers = iter([False, True])
    monkeypatch.setattr(locks, "_same_file", lambda fd, path: next(answers))
    closed: list[int] = []
    close = os.close
    monkeypatch.setattr(locks.os, "close", lambda fd: (closed.append(fd), close(fd)))

    with Lock(tmp_path, name="x", key="k", holder=HOLDER) as lock:
        assert lock.path.exists()

    assert len(closed) == 2


def test_a_file_under_the_name_is_compared_with_what_was_opened(tmp_path: Path) -> None:
    """Same file, another file, no file."""
    fd = os.open(tmp_path / "a", os.O_CREAT | os.O_RDWR)
    (tmp_path / "b").touch()
    found = [locks._same_file(fd, tmp_path / name) for name in ("a", "b", "c")]
    os.close(fd)

    assert found == [True, False, False]


def test_a_directory_that_is_missing_is_a_storage_error(tmp_path: Path) -> None:
    """The message names the file."""
    with pytest.raises(StorageError, match="cannot lock"):
        Lock(tmp_path / "no", name="x", key="k", holder=HOLDER).__enter__()
