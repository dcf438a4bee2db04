"""Ask git about a work tree, its files and its commit; no answers without git or a repository.

The repository may come from a stranger, and its settings name programs. None of these runs: the
commands here only read the index and attributes, the file system monitor is switched off, and an
object that is missing is not fetched, because a fetch runs the program that the settings name as
ssh.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from ptycassette.errors import CassetteError
from ptycassette.model.re2_engine import lazy_pattern
from ptycassette.system.files.whole_file import read_plain
from ptycassette.system.interpreter import program_of_ours

_TIMEOUT_S: Final = 10.0
_MOST_MEMORY: Final = 512 << 20  # besides files that are mapped: an index has 1 GiB for 10^7 files
_GIT: Final = ("-c", "core.fsmonitor=false", "-c", f"core.hooksPath={os.devnull}")


class IgnoredFile(msgspec.Struct, frozen=True):
    """A file that git ignores, and the rule that ignores it, as ``FILE:LINE: PATTERN``."""

    name: str
    rule: str


def asked_git(
    folder: Path,
    *words: str,
    data: bytes = b"",
    timeout_s: float = _TIMEOUT_S,
    environment: Mapping[str, str] | None = None,
) -> tuple[int, bytes] | None:
    """The exit status and output of git; None if it is missing or takes too long.

    Args:
        folder: the folder in which it starts.
        words: the command, and its arguments.
        data: its input.
        timeout_s: how long it may take.
        environment: the variables for git; this process's when None.
    """
    import subprocess  # noqa: PLC0415 - most commands start no git

    program = program_of_ours("git")
    if program is None:
        return None
    given = os.environ if environment is None else environment
    kept = {name: value for name, value in given.items() if name not in _OTHER_PATHSPECS}
    try:
        with subprocess.Popen(
            [program, *_GIT, *words],
            cwd=folder,
            env={**kept, **_NOTHING_RUNS, **({} if words[0] == "check-ignore" else _LITERAL)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        ) as git:
            _bound_memory(git.pid)
            try:
                said, _ = git.communicate(data, timeout_s)
            except BaseException:
                git.kill()
                raise
    except (OSError, subprocess.TimeoutExpired):
        return None
    return git.returncode, said


def _bound_memory(pid: int) -> None:
    """Limit the memory of a process: settings may name ``/dev/zero`` as attributes."""
    if sys.platform == "linux":
        import resource  # noqa: PLC0415 - as subprocess

        with suppress(OSError):  # it has ended, or its limit is lower
            resource.prlimit(pid, resource.RLIMIT_DATA, (_MOST_MEMORY, _MOST_MEMORY))


# The list of protocols is stronger than settings, and older than GIT_NO_LAZY_FETCH (git 2.45).
_NOTHING_RUNS: Final = {
    "GIT_ALLOW_PROTOCOL": "",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
}
_LITERAL: Final = {"GIT_LITERAL_PATHSPECS": "1"}  # a folder may be called ``*`` or ``:(top)``
_OTHER_PATHSPECS: Final = frozenset(
    ("GIT_LITERAL_PATHSPECS", "GIT_GLOB_PATHSPECS", "GIT_NOGLOB_PATHSPECS", "GIT_ICASE_PATHSPECS")
)
"""Git refuses them beside GIT_LITERAL_PATHSPECS."""


class WorkTree:
    """The work tree of git that holds ``folder``; questions about the files in the folder.

    Each question starts git once, for at most 10 s. Where git is missing or refuses (a repository
    of another user), the answer is empty.

    Args:
        folder: an existing directory.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @staticmethod
    def holds(folder: Path) -> bool:
        """Whether ``folder`` is in a work tree; no process is started."""
        here = Path(os.path.abspath(folder))  # noqa: PTH100 - links above are those of the user
        return any((each / ".git").exists() for each in here.parents)

    def attributes(
        self, names: Sequence[str], attributes: Sequence[str]
    ) -> dict[tuple[str, str], str]:
        """The value of each attribute for each file, by file and attribute (git-check-attr(1))."""
        words = self._asked("check-attr", "-z", "--stdin", *attributes, names=names)
        return {
            (name, attribute): value
            for name, attribute, value in zip(words[::3], words[1::3], words[2::3], strict=False)
        }

    def ignored(self, names: Sequence[str]) -> list[IgnoredFile]:
        """Which of the files are left out of commits, and why (git-check-ignore(1))."""
        # It refuses GIT_LITERAL_PATHSPECS: text after ./ is not magic, and it matches no globs.
        words = self._asked("check-ignore", "-z", "-v", "--stdin", names=[f"./{n}" for n in names])
        found = zip(words[::4], words[1::4], words[2::4], words[3::4], strict=False)
        return [
            IgnoredFile(name.removeprefix("./"), f"{source}:{line}: {pattern}")
            for source, line, pattern, name in found
        ]

    def line_ends(self) -> dict[str, tuple[str, str]]:
        """For each committed file its line ends in the index and here: ``lf``, ``crlf``, ``mixed``.

        ``none`` has no line ends, ``-text`` looks like bytes (git-ls-files(1)). The place of a file
        that is missing here is empty.
        """
        found = {}
        for line in self._asked("ls-files", "-z", "--eol", "--", "."):
            facts, _, name = line.partition("\t")
            index, here, *_ = [*facts.split(), "", ""]
            found[name] = (index.removeprefix("i/"), here.removeprefix("w/"))
        return found

    def committed(self, name: str) -> dict[str, bool] | None:
        """The committed files at or below ``name``, and which a sparse checkout leaves out.

        None if git fails.
        """
        lines = self._answer("ls-files", "-z", "-t", "--", name)
        return None if lines is None else {line[2:]: line[:1] in "Ss" for line in lines}

    def committed_bytes(self, name: str, *, most_bytes: int) -> bytes | None:
        """A file as git stores it, before any filter; None if git has none, or a larger one."""
        environment = _without_git(os.environ)
        size = asked_git(self._folder, "cat-file", "-s", f":./{name}", environment=environment)
        if size is None or size[0] or int(size[1]) > most_bytes:
            return None
        found = asked_git(self._folder, "cat-file", "blob", f":./{name}", environment=environment)
        return None if found is None or found[0] else found[1]

    def is_submodule(self) -> bool:
        """Whether the folder itself is the place of a submodule."""
        above = WorkTree(self._folder.parent)
        lines = above._asked("ls-files", "-z", "--stage", "--", self._folder.name)
        return any(line.startswith("160000 ") for line in lines)

    def _asked(self, *words: str, names: Iterable[str] = ()) -> list[str]:
        return self._answer(*words, names=names) or []

    def _answer(self, *words: str, names: Iterable[str] = ()) -> list[str] | None:
        """The fields that git prints, each ended by NUL; None if it fails."""
        given = b"".join(os.fsencode(name) + b"\0" for name in names)
        answer = asked_git(self._folder, *words, data=given, environment=_without_git(os.environ))
        if answer is None or answer[0] not in {0, 1}:  # 1: check-ignore found nothing
            return None
        return [os.fsdecode(field) for field in answer[1].split(b"\0")[:-1]]


def _without_git(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment without variables that redirect git: a hook of git has another index."""
    leading = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_COMMON_DIR")
    kept = {name: value for name, value in environment.items() if name not in leading}
    return {**kept, "LC_ALL": "C"}


# The commit that is checked out, read from the files of the repository.
#
# Starting git takes longer than all else that precedes a recorded program. So what git keeps since
# it exists is read here (gitrepository-layout(5)): ``.git``, a directory or a file that names one
# (a worktree, a submodule); ``HEAD`` in it, an id or a branch; the branch, a file or a line of
# ``packed-refs``. Whatever else there may be (a variable that leads git elsewhere, a repository of
# another user or without ``.git``, another store of refs) is a question for git itself.


_HEAD_TIMEOUT_S = 5.0
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
    answer = asked_git(cwd, "rev-parse", "--verify", "--quiet", "HEAD", timeout_s=_HEAD_TIMEOUT_S)
    found = answer and _COMMIT.fullmatch(answer[1].decode("ascii", "replace").strip())
    return found.group() if found else None
