"""Directories whose makers have died are removed; whatever else has such a name stays."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from ptycassette.system.files.abandoned import remove_unheld


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
