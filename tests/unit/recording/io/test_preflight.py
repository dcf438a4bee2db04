"""What must hold before a recording begins."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from ptycassette.errors import ExistsError, PreflightError, SpawnError
from ptycassette.recording.io import recorder as preflight
from ptycassette.recording.io.recorder import check_place, find_program


def program(folder: Path, name: str, *, mode: int = 0o755) -> Path:
    """A file that looks like a program."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(mode)
    return path


def test_a_name_is_looked_up_on_the_path_of_the_program(tmp_path: Path) -> None:
    """Not on that of the recorder; the first that can run wins."""
    program(tmp_path / "a", "tool", mode=0o644)
    second = program(tmp_path / "b", "tool")

    assert find_program(["tool"], env={"PATH": f"{tmp_path}/a:{tmp_path}/b"}) == second


def test_a_directory_on_the_path_that_is_closed_to_us_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a shell does; root may enter everything, so the refusal is made up."""
    closed = tmp_path / "closed"

    def stat(path: Any, **more: Any) -> os.stat_result:
        if str(path).startswith(str(closed)):
            raise PermissionError(13, "Permission denied", str(path))
        return original(path, **more)

    original = os.stat
    monkeypatch.setattr(os, "stat", stat)
    found = find_program(["sh"], env={"PATH": f"{closed}:/bin"}, cwd=None)

    assert found == Path("/bin/sh")
    with pytest.raises(SpawnError):
        find_program(["no-such-program"], env={"PATH": str(closed)}, cwd=None)


def test_a_path_is_seen_from_the_working_directory(tmp_path: Path) -> None:
    """As exec does after chdir."""
    path = program(tmp_path / "bin", "tool")

    assert find_program(["bin/tool"], env={}, cwd=tmp_path) == path


@pytest.mark.parametrize(("mode", "status"), [(0o644, 126), (None, 127)])
@pytest.mark.parametrize("name", ["./tool", "tool"])
def test_a_program_that_cannot_run_has_the_status_of_a_shell(
    tmp_path: Path, name: str, mode: int | None, status: int
) -> None:
    """126 when it is there, 127 when it is not."""
    if mode is not None:
        program(tmp_path, "tool", mode=mode)
    with pytest.raises(SpawnError) as caught:
        find_program([name], env={"PATH": str(tmp_path)}, cwd=tmp_path)

    assert caught.value.exit_status == status


def test_an_empty_name_is_no_program(tmp_path: Path) -> None:
    """And not the first folder on the PATH, to which an empty name leads."""
    with pytest.raises(SpawnError, match="'': no such program") as caught:
        find_program([""], env={"PATH": str(tmp_path)})

    assert caught.value.exit_status == 127


def test_nothing_outside_of_the_path_is_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What else is on the machine makes no difference."""
    exists = os.path.exists
    monkeypatch.setattr(
        os.path, "exists", lambda path: not Path(path).is_relative_to(tmp_path) or exists(path)
    )
    with pytest.raises(SpawnError) as caught:
        find_program(["tool"], env={"PATH": str(tmp_path)}, cwd=tmp_path)

    assert caught.value.exit_status == 127


def test_a_directory_is_no_program(tmp_path: Path) -> None:
    """Though it is executable by its mode."""
    (tmp_path / "tool").mkdir()
    with pytest.raises(SpawnError) as caught:
        find_program(["./tool"], env={}, cwd=tmp_path)

    assert caught.value.exit_status == 126
    assert "chmod" not in str(caught.value)


def test_a_missing_working_directory_is_refused(tmp_path: Path) -> None:
    """Before the program is looked for."""
    with pytest.raises(PreflightError, match="working directory"):
        find_program(["sh"], env={}, cwd=tmp_path / "no")


def test_a_free_place_is_fine(tmp_path: Path) -> None:
    """Also an empty directory is one."""
    (tmp_path / "empty").mkdir()
    check_place(tmp_path / "new", overwrite=False)
    check_place(tmp_path / "empty", overwrite=False)

    assert not (tmp_path / "new").exists()


def test_a_place_that_holds_something_else_is_refused(tmp_path: Path) -> None:
    """Even with ``overwrite``: only cassettes are replaced."""
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "mine.txt").write_text("mine")

    with pytest.raises(ExistsError):
        check_place(tmp_path / "c", overwrite=True)


def test_a_missing_parent_is_refused_with_the_command_that_makes_it(tmp_path: Path) -> None:
    """Quoted for a shell."""
    with pytest.raises(PreflightError, match=r"mkdir -p '.*a b'"):
        check_place(tmp_path / "a b" / "c", overwrite=False)


def test_a_parent_that_cannot_be_written_to_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The session would be recorded for nothing."""
    monkeypatch.setattr(preflight.os, "access", lambda path, mode: mode & os.W_OK == 0)

    with pytest.raises(PreflightError, match="cannot be written"):
        check_place(tmp_path / "c", overwrite=False)
