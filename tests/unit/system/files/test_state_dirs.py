"""Where unscrubbed things may lie."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from ptycassette.errors import RefusedError, StorageError
from ptycassette.system.files import state_dirs


@pytest.mark.parametrize(
    ("env", "expected"),
    [
        ({"PTYCASSETTE_STATE_DIR": "/a/b", "XDG_STATE_HOME": "/x"}, "/a/b"),
        ({"XDG_STATE_HOME": "/x"}, "/x/ptycassette"),
        ({"XDG_STATE_HOME": "relative"}, str(Path.home() / ".local/state/ptycassette")),
        ({}, str(Path.home() / ".local/state/ptycassette")),
    ],
)
def test_the_state_directory_follows_the_environment(env: dict[str, str], expected: str) -> None:
    """Ours first, then XDG's if absolute, then its default."""
    assert str(state_dirs.state_dir(env)) == expected


def test_journals_lie_in_a_private_directory_that_git_ignores(tmp_path: Path) -> None:
    """Mode 0700 for both levels, and a ``.gitignore`` of everything."""
    top = tmp_path / "deep" / "state"
    made = state_dirs.journal_dir({"PTYCASSETTE_STATE_DIR": str(top)})

    assert [stat.S_IMODE(folder.stat().st_mode) for folder in (top, made)] == [0o700, 0o700]
    assert (top / ".gitignore").read_text(encoding="ascii") == "*\n"


def test_a_directory_that_others_can_read_is_closed(tmp_path: Path) -> None:
    """An old umask does not leave journals open."""
    (tmp_path / "state").mkdir(mode=0o755)
    state_dirs.lock_dir({"PTYCASSETTE_STATE_DIR": str(tmp_path / "state")})

    assert stat.S_IMODE((tmp_path / "state").stat().st_mode) == 0o700


def test_a_link_instead_of_the_directory_is_refused(tmp_path: Path) -> None:
    """A link could lead to a place that others read."""
    (tmp_path / "real").mkdir()
    (tmp_path / "state").symlink_to(tmp_path / "real")

    with pytest.raises(RefusedError, match="is not a directory"):
        state_dirs.journal_dir({"PTYCASSETTE_STATE_DIR": str(tmp_path / "state")})


def test_a_file_instead_of_the_directory_is_refused(tmp_path: Path) -> None:
    """The message says what stands where."""
    (tmp_path / "state").write_text("x", encoding="ascii")

    with pytest.raises(RefusedError, match="is not a directory, and must be one"):
        state_dirs.journal_dir({"PTYCASSETTE_STATE_DIR": str(tmp_path / "state")})


def test_the_directory_of_another_user_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its owner could read what we write."""
    monkeypatch.setattr(state_dirs.os, "geteuid", lambda: 12345)

    with pytest.raises(RefusedError, match="another user"):
        state_dirs.journal_dir({"PTYCASSETTE_STATE_DIR": str(tmp_path / "state")})


def test_a_refusing_disk_is_a_storage_error(tmp_path: Path) -> None:
    """Where nothing can be made the message says so."""
    with pytest.raises(StorageError, match="state directory"):
        state_dirs.journal_dir({"PTYCASSETTE_STATE_DIR": "/proc/nowhere/state"})
