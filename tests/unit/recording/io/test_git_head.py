"""The commit that is checked out is what git says, and read without it where that is possible."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from ptycassette.system import git_questions as git_head
from ptycassette.system.git_questions import git_commit

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")

OWN = ("-c", "user.name=n", "-c", "user.email=e@example.invalid", "-c", "commit.gpgsign=false")


def git(folder: Path, *words: str) -> str:
    """What git prints there, without anybody's settings."""
    env = {"PATH": os.environ["PATH"], "GIT_CONFIG_NOSYSTEM": "1", "HOME": str(folder)}
    done = subprocess.run(
        ["git", *OWN, *words],  # noqa: S607 - the one on the PATH
        cwd=folder,
        env=env,
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """One with two commits on a branch."""
    for name in list(os.environ):
        if name.startswith("GIT_"):
            monkeypatch.delenv(name)
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    for number in range(2):
        git(folder, "commit", "-q", "--allow-empty", "-m", str(number))
    return folder


def a_branch(folder: Path) -> Path:
    """A file for the branch."""
    return folder


def a_packed_branch(folder: Path) -> Path:
    """A line for the branch."""
    git(folder, "pack-refs", "--all")
    return folder


def a_commit(folder: Path) -> Path:
    """No branch at all."""
    git(folder, "checkout", "-q", "--detach", "HEAD~1")
    return folder


def a_worktree(folder: Path) -> Path:
    """A second place with a branch of its own, whose ref is in the first place."""
    git(folder, "worktree", "add", "-q", "-b", "other", "../second", "HEAD~1")
    return folder.parent / "second"


def a_folder_below(folder: Path) -> Path:
    """Not the top of the repository, and entered through a link."""
    (folder / "a/b").mkdir(parents=True)
    (folder.parent / "link").symlink_to(folder / "a/b")
    return folder.parent / "link"


@pytest.mark.parametrize("place", [a_branch, a_packed_branch, a_commit, a_worktree, a_folder_below])
def test_the_commit_is_read_from_files(
    repository: Path, place: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No process is started for what every repository has."""
    assert callable(place)
    folder = place(repository)
    expected = git(folder, "rev-parse", "HEAD")
    monkeypatch.setattr(git_head, "_asked", lambda _: "asked")

    assert git_commit(folder) == expected


def a_symbolic_branch(folder: Path) -> Path:
    """A branch that is another one."""
    git(folder, "symbolic-ref", "refs/heads/alias", "refs/heads/main")
    git(folder, "symbolic-ref", "HEAD", "refs/heads/alias")
    return folder


def a_bare_repository(folder: Path) -> Path:
    """Without ``.git``."""
    git(folder, "clone", "-q", "--bare", ".", "../bare")
    return folder.parent / "bare"


@pytest.mark.parametrize("place", [a_symbolic_branch, a_bare_repository])
def test_git_is_asked_about_the_rest(repository: Path, place: object) -> None:
    """The answer is its own."""
    assert callable(place)
    folder = place(repository)

    assert git_commit(folder) == git(folder, "rev-parse", "HEAD")


def test_a_variable_leads_git_elsewhere(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As for every command of git that the user starts there."""
    monkeypatch.setenv("GIT_DIR", str(repository / ".git"))

    assert git_commit(tmp_path) == git(repository, "rev-parse", "HEAD")


def test_there_may_be_no_commit(repository: Path, tmp_path: Path) -> None:
    """On a branch that was just begun, and where no repository is."""
    git(repository, "checkout", "-q", "--orphan", "new")

    assert git_commit(repository) is None
    assert git_commit(tmp_path) is None


def test_without_a_repository_nothing_is_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Up to the root, as far as the file system goes."""
    if tmp_path.stat().st_dev != Path("/").stat().st_dev:
        pytest.skip("the folder for tests is on a file system of its own")
    monkeypatch.setattr(git_head, "_asked", lambda _: "asked")

    assert git_commit(tmp_path) is None
