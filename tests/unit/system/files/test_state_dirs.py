"""Where unscrubbed things may lie."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from ptycassette.errors import NotFoundError, RefusedError, StorageError
from ptycassette.system.files import state_dirs


@pytest.mark.parametrize(
    ("env", "expected"),
    [
        ({"PTYCASSETTE_STATE_DIR": "{at}/a/b", "XDG_STATE_HOME": "{at}/x"}, "{at}/a/b"),
        ({"XDG_STATE_HOME": "{at}/x", "HOME": "{at}"}, "{at}/x/ptycassette"),
        (
            {"XDG_STATE_HOME": "relative", "HOME": "{at}"},
            "{at}/.local/state/ptycassette",
        ),
        ({"HOME": "{at}"}, "{at}/.local/state/ptycassette"),
        # A home that cannot be used: the next place.
        ({"HOME": "{at}/gone/x", "XDG_RUNTIME_DIR": "{at}", "TMPDIR": "{at}"}, "{at}/ptycassette"),
        ({"HOME": "{at}/gone/x", "TMPDIR": "{at}"}, "{at}/ptycassette-{uid}"),
        (
            {"HOME": "{at}/gone", "XDG_STATE_HOME": "{at}/gone/state", "TMPDIR": "{at}"},
            "{at}/ptycassette-{uid}",
        ),
        ({"HOME": "{at}/file", "XDG_RUNTIME_DIR": "{at}"}, "{at}/ptycassette"),
        ({"HOME": "{at}/open", "TMPDIR": "{at}"}, "{at}/ptycassette-{uid}"),
    ],
)
def test_the_state_directory_follows_the_environment(
    env: dict[str, str], expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ours first, then XDG's if absolute, then its default, then another place that is private.

    Nothing is made below a home that does not exist.
    """

    def filled(text: str) -> str:
        return text.format(at=tmp_path, uid=os.getuid())

    (tmp_path / "file").write_text("", encoding="ascii")
    (tmp_path / "open" / ".local" / "state" / "ptycassette").mkdir(parents=True)
    change = Path.chmod

    def chmod(path: Path, mode: int) -> None:  # below open, it does nothing
        if not path.is_relative_to(tmp_path / "open"):
            change(path, mode)

    monkeypatch.setattr(Path, "chmod", chmod)
    found = state_dirs.state_dir({name: filled(value) for name, value in env.items()})

    assert str(found) == filled(expected)
    assert stat.S_IMODE(found.stat().st_mode) == 0o700
    assert not (tmp_path / "gone").exists()


def test_a_state_directory_of_ones_own_that_others_can_read_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error names the variable; no other place is taken in silence."""
    (tmp_path / "state").mkdir(mode=0o755)
    monkeypatch.setattr(Path, "chmod", lambda *_: None)

    with pytest.raises(RefusedError, match="others can read") as caught:
        state_dirs.state_dir({"PTYCASSETTE_STATE_DIR": str(tmp_path / "state")})

    assert "PTYCASSETTE_STATE_DIR" in (caught.value.hint or "")


def test_journals_are_looked_for_in_every_place(tmp_path: Path) -> None:
    """Also where they were kept while the home could not be used; nothing is made."""
    spare = tmp_path / f"ptycassette-{os.getuid()}" / "journals"
    spare.mkdir(parents=True)
    env = {"HOME": str(tmp_path), "TMPDIR": str(tmp_path)}

    assert spare in state_dirs.journal_dirs(env)
    assert not (tmp_path / ".local").exists()


def test_a_deleted_current_directory_keeps_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The shell or the kernel knows it; else there is an error, and not for absolute paths."""
    place = tmp_path / "gone"
    place.mkdir()
    monkeypatch.chdir(place)
    place.rmdir()
    monkeypatch.setenv("PWD", str(place))
    assert state_dirs.absolute("x") == place / "x"

    monkeypatch.delenv("PWD")
    monkeypatch.setattr(os, "readlink", lambda _: f"{place} (deleted)")  # as Linux has it
    assert state_dirs.absolute("x") == place / "x"
    monkeypatch.setattr(os, "readlink", lambda _: Path("/dev/null/x").stat())  # no /proc
    assert state_dirs.absolute("/x") == Path("/x")
    with pytest.raises(NotFoundError, match="current directory") as caught:
        state_dirs.absolute("x")
    assert "cd to" in (caught.value.hint or "")


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
