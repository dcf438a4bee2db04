"""Directories whose makers have died are removed; whatever else has such a name stays."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

import pytest

from ptycassette.system.files.locks import remove_unheld, temporary_folder


def test_what_nobody_holds_is_removed(tmp_path: Path) -> None:
    """With all that is in it."""
    place = tmp_path / "left"
    (place / "below").mkdir(parents=True)
    (place / "below" / "file").write_text("x")

    remove_unheld([place, tmp_path / "never-was"])

    assert not place.exists()


def test_what_somebody_holds_stays(tmp_path: Path) -> None:
    """Its maker lives; the kernel drops the lock when it does not."""
    place = tmp_path / "held"
    place.mkdir()
    lock = os.open(place, os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)

    remove_unheld([place])

    os.close(lock)
    assert place.is_dir()


def test_what_is_no_directory_stays(tmp_path: Path) -> None:
    """A link is not followed, and a pipe is not waited for."""
    target = tmp_path / "target"
    target.mkdir()
    (tmp_path / "link").symlink_to(target)
    (tmp_path / "file").write_text("x")
    os.mkfifo(tmp_path / "pipe")

    remove_unheld([tmp_path / "link", tmp_path / "file", tmp_path / "pipe"])

    assert {path.name for path in tmp_path.iterdir()} == {"target", "link", "file", "pipe"}


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The cache folder of a user, with a spare one beside it."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    return tmp_path / "cache" / "ptycassette"


def test_a_temporary_folder_is_private_and_removed(cache: Path) -> None:
    """So is its place. What a killed process left there is removed with the next one."""
    left = cache / "runs" / "run-left"
    left.mkdir(parents=True)
    (cache / "runs" / "kept-by-wish").mkdir()
    with temporary_folder() as folder, temporary_folder() as other:
        assert {folder.parent, other.parent} == {cache / "runs"}
        assert not left.exists()
        for place in (folder, folder.parent):
            assert place.stat().st_mode & 0o777 == 0o700
        (folder / "file").write_text("x")
        with temporary_folder():
            assert (folder / "file").exists()

    assert [one.name for one in (cache / "runs").iterdir() if one.is_dir()] == ["kept-by-wish"]


def test_a_place_that_somebody_else_could_change_is_not_used(cache: Path, tmp_path: Path) -> None:
    """A link there leads to what is not ours; the spare place is taken."""
    (tmp_path / "theirs" / "run-x").mkdir(parents=True)
    cache.mkdir(parents=True)
    (cache / "runs").symlink_to(tmp_path / "theirs")
    with temporary_folder() as folder:
        assert folder.is_relative_to(tmp_path / "tmp")

    assert [one.name for one in (tmp_path / "theirs").iterdir()] == ["run-x"]
