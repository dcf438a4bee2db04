"""Files that appear whole or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ptycassette.errors import StorageError
from ptycassette.host.files.whole_file import write_whole


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


def test_a_missing_directory_is_said(tmp_path: Path) -> None:
    """What, where and what to do."""
    with pytest.raises(StorageError, match="cannot be written: No such file"):
        write_whole(tmp_path / "no" / "out.txt", [b"x"])


def test_a_directory_in_the_way_is_said(tmp_path: Path) -> None:
    """The rename is refused, and nothing is left behind."""
    (tmp_path / "out").mkdir()

    with pytest.raises(StorageError, match="out: cannot be written"):
        write_whole(tmp_path / "out", [b"x"])
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
