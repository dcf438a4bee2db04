"""The commit that is checked out, read from the files of the repository.

Starting git takes longer than all else that precedes a recorded program. So what git keeps since it
exists is read here (gitrepository-layout(5)): ``.git``, a directory or a file that names one (a
worktree, a submodule); ``HEAD`` in it, an id or a branch; the branch, a file or a line of
``packed-refs``. Whatever else there may be (a variable that leads git elsewhere, a repository of
another user or without ``.git``, another store of refs) is a question for git itself.
"""

from __future__ import annotations

import os
from pathlib import Path

from ptycassette.errors import CassetteError
from ptycassette.model.re2_engine import lazy_pattern
from ptycassette.system.files.plain_file import read_plain
from ptycassette.system.git_questions import asked_git

_TIMEOUT_S = 5.0
_MAX_BYTES = 64 << 20  # of ``packed-refs``; git must answer if there are more
_COMMIT = lazy_pattern(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_LEADING_ELSEWHERE = (
    "GIT_DIR",
    "GIT_COMMON_DIR",
    "GIT_CEILING_DIRECTORIES",
    "GIT_DISCOVERY_ACROSS_FILESYSTEM",
    "GIT_NAMESPACE",
)


class _AskGitError(Exception):
    """The files do not give the answer; ask git."""


def git_commit(cwd: Path) -> str | None:
    """The commit that is checked out in ``cwd``; None without one, or without a repository."""
    if any(name in os.environ for name in _LEADING_ELSEWHERE):
        return _asked(cwd)
    try:
        git_dir = _git_dir(Path(os.path.realpath(cwd)))
        return None if git_dir is None else _head(git_dir)
    except (OSError, ValueError, _AskGitError):
        return _asked(cwd)


def _git_dir(cwd: Path) -> Path | None:
    """The git directory for ``cwd``; None outside of a repository."""
    device = cwd.stat().st_dev
    for folder in (cwd, *cwd.parents):
        if folder.stat().st_dev != device:  # git does not look there
            raise _AskGitError
        found = folder / ".git"
        try:
            status = found.lstat()
        except FileNotFoundError:
            if (folder / "HEAD").exists():  # perhaps a repository without ``.git``
                raise _AskGitError from None
            continue
        if status.st_uid != os.geteuid() or folder.stat().st_uid != os.geteuid():
            raise _AskGitError  # git trusts some of them
        if found.is_dir():
            return found
        kind, _, place = _text(found).partition(": ")
        if kind != "gitdir" or not place:
            raise _AskGitError
        return folder / place
    return None


def _head(git_dir: Path) -> str:
    head = _text(git_dir / "HEAD")
    if _COMMIT.fullmatch(head):
        return head
    branch = head.removeprefix("ref: ")
    if not branch.startswith("refs/heads/") or ".." in branch:
        raise _AskGitError
    common = git_dir
    if (git_dir / "commondir").exists():
        common = git_dir / _text(git_dir / "commondir")
    commit = _text(common / branch) if (common / branch).exists() else _packed(common, branch)
    if not _COMMIT.fullmatch(commit):
        raise _AskGitError
    return commit


def _packed(common: Path, branch: str) -> str:
    for line in _text(common / "packed-refs").splitlines():
        commit, _, name = line.partition(" ")
        if name == branch:
            return commit
    raise _AskGitError


def _text(path: Path) -> str:
    """The text of a file. A pipe or a device is not read: git must answer then."""
    try:
        return read_plain(path, max_bytes=_MAX_BYTES).decode("utf-8").rstrip("\n")
    except CassetteError as exc:
        raise _AskGitError from exc


def _asked(cwd: Path) -> str | None:
    """Git's answer; None without one."""
    answer = asked_git(cwd, "rev-parse", "--verify", "--quiet", "HEAD", timeout_s=_TIMEOUT_S)
    found = answer and _COMMIT.fullmatch(answer[1].decode("ascii", "replace").strip())
    return found.group() if found else None
