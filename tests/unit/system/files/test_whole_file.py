"""Files that appear whole or not at all."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ptycassette.errors import ExistsError, StorageError, UsageError
from ptycassette.system.files import whole_file
from ptycassette.system.files.whole_file import copy_tree, make_durable, write_whole


def test_the_parts_become_the_file(tmp_path: Path) -> None:
    """In order, with the mode asked for, and nothing else is left."""
    target = tmp_path / "out.txt"
    write_whole(target, [b"one ", b"two"], mode=0o640)

    assert target.read_bytes() == b"one two"
    assert target.stat().st_mode & 0o777 == 0o640
    assert [path.name for path in tmp_path.iterdir()] == ["out.txt"]


def test_a_failure_in_the_middle_leaves_what_was_there(tmp_path: Path) -> None:
    """The old file stays, and no temporary one."""
    target = tmp_path / "out.txt"
    target.write_bytes(b"old")

    def parts() -> Iterator[bytes]:
        yield b"half"
        raise KeyError("broken")

    with pytest.raises(KeyError):
        write_whole(target, parts())
    assert target.read_bytes() == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["out.txt"]


def test_an_interruption_just_after_the_file_is_made_leaves_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its name is known before it is there."""
    real = os.open

    def interrupted(path: str, *args: int, **options: int) -> int:
        os.close(real(path, *args, **options))
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "open", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_whole(tmp_path / "out.txt", [b"x"])
    assert list(tmp_path.iterdir()) == []


def test_a_missing_directory_is_said(tmp_path: Path) -> None:
    """What, where and what to do."""
    with pytest.raises(StorageError, match="cannot be written: No such file"):
        write_whole(tmp_path / "no" / "out.txt", [b"x"])


def test_a_file_in_place_of_the_directory_is_said(tmp_path: Path) -> None:
    """Nothing can be made there, and nothing be removed."""
    (tmp_path / "file").touch()
    with pytest.raises(StorageError, match="cannot be written: Not a directory"):
        write_whole(tmp_path / "file" / "out.txt", [b"x"])


def test_a_directory_in_the_way_is_said(tmp_path: Path) -> None:
    """Nothing is left behind."""
    (tmp_path / "out").mkdir()

    with pytest.raises(ExistsError, match="out: exists, and is not a regular file"):
        write_whole(tmp_path / "out", [b"x"])
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def _link(path: Path) -> None:
    (path.parent / "kept").write_bytes(b"kept")
    path.symlink_to("kept")


@pytest.mark.parametrize("make", [_link, os.mkfifo, lambda path: path.symlink_to("/dev/null")])
def test_what_is_no_file_is_never_replaced(tmp_path: Path, make: Callable[[Path], None]) -> None:
    """A link stays a link and its target what it was, a pipe stays a pipe."""
    target = tmp_path / "out"
    make(target)
    before = target.lstat()

    with pytest.raises(ExistsError, match="not a regular file"):
        write_whole(target, [b"x"])
    assert (target.lstat().st_ino, target.lstat().st_mode) == (before.st_ino, before.st_mode)
    assert {path.read_bytes() for path in tmp_path.glob("kept")} <= {b"kept"}


def test_what_is_there_stays_unless_told(tmp_path: Path) -> None:
    """Also what came there while the file was made."""
    target = tmp_path / "out.txt"

    def parts() -> Iterator[bytes]:
        yield b"new"
        target.write_bytes(b"theirs")

    with pytest.raises(ExistsError, match="exists already"):
        write_whole(target, parts(), overwrite=False)
    with pytest.raises(ExistsError, match="--overwrite"):
        write_whole(target, [b"new"], overwrite=False)
    assert target.read_bytes() == b"theirs"
    assert [path.name for path in tmp_path.iterdir()] == ["out.txt"]
    write_whole(target, [b"new"], overwrite=True)
    assert target.read_bytes() == b"new"


def test_a_folder_is_copied_where_modes_cannot_be_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All files are there; a file that cannot be read is an error all the same."""
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "file").write_bytes(b"text")
    (tmp_path / "a" / "link").symlink_to("b/file")

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(shutil, "copystat", refuse)
    copy_tree(tmp_path / "a", tmp_path / "c")
    assert (tmp_path / "c" / "b" / "file").read_bytes() == b"text"
    assert (tmp_path / "c" / "link").is_symlink()

    monkeypatch.setattr(shutil, "copyfile", refuse)
    with pytest.raises(OSError, match="not permitted"):
        copy_tree(tmp_path / "a", tmp_path / "d")


@pytest.mark.parametrize(
    ("code", "fails"), [(errno.EINVAL, False), (errno.ENOSYS, False), (errno.EIO, True)]
)
def test_a_file_system_that_cannot_sync_is_no_error(
    code: int, fails: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk that fails is one."""

    def refuse(_: int) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "fsync", refuse)
    if fails:
        with pytest.raises(StorageError):
            write_whole(tmp_path / "x", [b"data"])
        assert list(tmp_path.iterdir()) == []
    else:
        make_durable(0)
        write_whole(tmp_path / "x", [b"data"])


def test_what_we_make_is_never_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """State, cache and temporary folders, the copy itself, cassettes in the making, and links."""
    home = tmp_path / "home"
    cache, state = home / ".cache", home / ".local" / "state"
    monkeypatch.setenv("HOME", str(home))
    for name in ("XDG_CACHE_HOME", "XDG_STATE_HOME", "PTYCASSETTE_STATE_DIR", "XDG_RUNTIME_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TMPDIR", str(home / "tmp"))
    for place in (
        cache / "ptycassette" / "runs" / "run-x",
        cache / "other",
        state / "ptycassette" / "journals",
        home / "tmp" / f"ptycassette-{os.getuid()}" / "runs",
        home / ".c.0123456789ab.staging" / "content",
        home / ".ptycassette-pending-x",
        home / "made.cassette",
        home / "work",
    ):
        place.mkdir(parents=True)
        (place / "file").write_text("x")
    (home / "link").symlink_to(cache)
    target = home / "deep" / "copy"
    target.mkdir(parents=True)

    copy_tree(home, target, exists=True, without=[home / "work" / ".." / "made.cassette"])

    copied = {str(one.relative_to(target)) for one in target.rglob("*") if not one.is_dir()}
    assert copied == {".cache/other/file", "work/file"}
    assert (target / "link").is_symlink()


@pytest.mark.parametrize(("entries", "size"), [(3, 1 << 30), (1 << 30, 20)])
def test_a_folder_that_is_too_large_is_not_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, entries: int, size: int
) -> None:
    """By its number of files, or by their size; the error names the folder."""
    monkeypatch.setattr(whole_file, "MAX_COPIED_ENTRIES", entries)
    monkeypatch.setattr(whole_file, "MAX_COPIED_BYTES", size)
    for number in range(5):
        (tmp_path / "a" / str(number)).mkdir(parents=True)
        (tmp_path / "a" / str(number) / "file").write_text("ten bytes.")

    with pytest.raises(UsageError, match=f"{tmp_path / 'a'}: is too large"):
        copy_tree(tmp_path / "a", tmp_path / "b")


@pytest.mark.skipif(not hasattr(os, "O_TMPFILE"), reason="needs files without a name")
def test_a_file_has_no_name_until_it_is_whole(tmp_path: Path) -> None:
    """So that nothing is left if the process is killed, whatever was there before."""
    for old in ([], ["out.txt"]):
        seen: list[list[str]] = []

        def parts(seen: list[list[str]] = seen) -> Iterator[bytes]:
            yield b"half"
            seen.append([one.name for one in tmp_path.iterdir()])

        write_whole(tmp_path / "out.txt", parts())
        assert seen == [old]
