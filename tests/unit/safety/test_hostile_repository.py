"""A repository of a stranger: what its settings name is not run, and its pipes are not waited for.

A clone brings no settings; an archive with a folder ``.git`` in it does.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import ptycassette
from ptycassette.cassette.io.reader import open_cassette
from ptycassette.cassette.io.repair import git_risks
from ptycassette.errors import CassetteError, NotFoundError
from ptycassette.model.records import ExitStatus, Finished, Output
from ptycassette.scrub.io.auditors import audit
from ptycassette.system import git_questions as git_head
from ptycassette.system.git_questions import WorkTree, asked_git, git_commit
from ptycassette.system.interpreter import program_of_ours
from ptycassette.testing import write_cassette
from tests.commands import COMMAND

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")

OWN = ("-c", "user.name=n", "-c", "user.email=e@example.invalid", "-c", "commit.gpgsign=false")


class Repository:
    """One with a cassette, and what shows that a program of its settings ran."""

    def __init__(self, place: Path) -> None:
        self.place = place / "repository"
        self.ran = place / "ran"
        self.cassette = self.place / "c"
        self.program = place / "program"
        self.program.write_text(f"#!/bin/sh\n: > '{self.ran}'\nexit 1\n")
        self.program.chmod(0o755)
        self.place.mkdir()
        done = Finished(t_us=2, exit=ExitStatus(code=0, exited=True, signaled=False))
        write_cassette(self.cassette, Output(1, b"hello\r\n"), done)
        self.git("init", "-q", "-b", "main")
        (self.place / ".gitattributes").write_text("*.nothing text\n")
        (self.place / ".gitignore").write_text("nothing\n")
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "x")

    def git(self, *words: str) -> str:
        """What git prints, as a user would start it."""
        done = subprocess.run(
            ["git", *OWN, *words],  # noqa: S607 - the one on the PATH
            cwd=self.place,
            env={
                "PATH": os.environ["PATH"],
                "HOME": str(self.place.parent),
                "GIT_CONFIG_NOSYSTEM": "1",
            },
            capture_output=True,
            text=True,
            check=False,
        )
        return done.stdout.strip()

    def set(self, **settings: str) -> None:
        """Settings of the repository; ``__`` is a dot in their names."""
        for name, value in settings.items():
            self.git("config", name.replace("__", "."), value)

    def lose(self, name: str) -> None:
        """Remove a committed file here and in the store: git asks the promisor for it."""
        blob = self.git("rev-parse", f"HEAD:{name}")
        (self.place / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
        (self.place / name).unlink()

    def promises(self, url: str, **settings: str) -> None:
        """A partial clone of ``url`` that lacks its attributes."""
        self.lose(".gitattributes")
        self.lose(".gitignore")
        self.set(core__repositoryformatversion="1", extensions__partialClone="origin")
        self.set(remote__origin__promisor="true", remote__origin__url=url, **settings)


def ssh(one: Repository) -> None:
    """A missing object is fetched by what the settings call ssh."""
    one.promises("ssh://host/x", core__sshCommand=str(one.program))


def ext(one: Repository) -> None:
    """A transport that is a command, allowed by the settings."""
    one.promises(f"ext::{one.program}", protocol__ext__allow="always")


def upload_pack(one: Repository) -> None:
    """A repository beside it, whose server is a command."""
    one.promises(str(one.place), remote__origin__uploadpack=str(one.program))


def monitor(one: Repository) -> None:
    """A monitor of files."""
    one.set(core__fsmonitor=str(one.program))


def hooks(one: Repository) -> None:
    """A hook that runs when the index is written."""
    folder = one.place / ".git" / "hooks"
    folder.mkdir(exist_ok=True)
    for name in ("post-index-change", "fsmonitor-watchman", "post-checkout"):
        shutil.copy(one.program, folder / name)


def filters(one: Repository) -> None:
    """A filter of the cassette's files."""
    (one.place / ".git" / "info" / "attributes").write_text("* filter=x diff=x\n")
    one.set(filter__x__clean=str(one.program), diff__x__textconv=str(one.program))


VECTORS: tuple[Callable[[Repository], None], ...] = (ssh, ext, upload_pack, monitor, hooks, filters)


@pytest.mark.parametrize("vector", VECTORS)
def test_no_program_of_a_repository_is_run(
    vector: Callable[[Repository], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cassette in it is verified, and one that lacks a file; its commit is asked for."""
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    one = Repository(tmp_path)
    vector(one)
    for name in ("output.raw", "manifest.json"):
        os.utime(one.cassette / name, (1, 1))  # the index has to look at them again

    git_risks(one.cassette)
    git_commit(one.place)
    git_head._asked(one.place)
    (one.cassette / "frames.jsonl").unlink()
    with pytest.raises(CassetteError):
        open_cassette(one.cassette)

    assert not one.ran.exists()


def test_git_itself_would_run_it(tmp_path: Path) -> None:
    """The test above would hold for ever if git did not do this."""
    one = Repository(tmp_path)
    ssh(one)
    one.git("check-attr", "text", "x")

    if not one.ran.exists():
        pytest.skip("this git does not fetch attributes that are missing")
    one.ran.unlink()


@pytest.mark.parametrize("name", [".git", ".git/HEAD", ".git/commondir", ".git/packed-refs"])
def test_a_pipe_in_place_of_a_file_of_git_is_not_waited_for(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Git is asked then, which has a time limit."""
    monkeypatch.setattr(git_head, "_asked", lambda _: "asked")
    pipe = tmp_path / name
    pipe.parent.mkdir(exist_ok=True)
    if name.startswith(".git/") and name != ".git/HEAD":
        (pipe.parent / "HEAD").write_text("ref: refs/heads/main\n")
    os.mkfifo(pipe)

    assert git_commit(tmp_path) == "asked"


def test_a_device_in_place_of_a_file_of_git_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A link to ``/dev/zero`` has no end."""
    monkeypatch.setattr(git_head, "_asked", lambda _: "asked")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").symlink_to("/dev/zero")

    assert git_commit(tmp_path) == "asked"


@pytest.mark.skipif(sys.platform != "linux", reason="other kernels cannot limit another process")
def test_git_has_bounded_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Settings may name ``/dev/zero`` as a file of attributes, which git reads without end."""
    git = tmp_path / "git"
    git.write_text("#!/bin/sh\ncat > /dev/null\nulimit -d\n")  # after its input: it has begun
    git.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")

    assert asked_git(tmp_path, "check-attr") == (0, b"524288\n")


@pytest.mark.parametrize("folder", ["", ".", "node_modules/.bin"])
def test_no_program_is_taken_from_a_relative_folder_of_the_path(
    folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would be the folder that the repository wants."""
    place = tmp_path / folder
    place.mkdir(parents=True, exist_ok=True)
    for name in ("git", "ffmpeg", "fc-match", "cat", "gitleaks"):
        (place / name).write_text(f"#!/bin/sh\n: > '{tmp_path}/ran'\n")
        (place / name).chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", folder)

    assert [program_of_ours(name) for name in ("git", "ffmpeg", "fc-match", "cat")] == [None] * 4
    assert asked_git(tmp_path, "version") is None
    with pytest.raises(NotFoundError):
        audit("gitleaks", tmp_path)
    assert not (tmp_path / "ran").exists()


def test_every_program_that_we_look_for_by_name_is_an_installed_one() -> None:
    """``shutil.which`` is for programs that a user names, and for what is only shown."""
    shown = {"cli/demo.py", "system/pty/process.py", "agents/inprocess/commands.py"}
    package = Path(ptycassette.__file__).parent
    found = {
        str(path.relative_to(package))
        for path in package.rglob("*.py")
        if re.search(r"which\(\s*[\"']", path.read_text(encoding="utf-8"))
    }

    assert found - shown == set()


PATTERNS = ("*", "[a]", ":(top)x", ":!x", "-f", "a?")
"""Names that git takes for patterns or options."""


@pytest.mark.parametrize("name", PATTERNS)
def test_the_name_of_a_folder_is_no_pattern_of_git(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only what has that name is looked at, and restored by the command of the hint."""
    for other in [other for other in os.environ if other.startswith("GIT_")]:
        monkeypatch.delenv(other)
    monkeypatch.setenv("GIT_ICASE_PATHSPECS", "1")
    one = Repository(tmp_path)
    shutil.copytree(one.cassette, one.place / name)
    one.git("add", "-A")
    one.git("commit", "-q", "-m", "x")
    lost = (one.place / name / "output.raw", one.cassette / "output.raw")
    for path in lost:
        path.unlink()
    monkeypatch.chdir(one.place)

    files = WorkTree(one.place).committed(name)
    assert files is not None
    assert {Path(file).parent.name for file in files} == {name}
    with pytest.raises(CassetteError) as missing:
        open_cassette(Path(name))
    commands = re.findall(r"run '(git restore .*)'", missing.value.hint or "")
    assert len(commands) == 1
    monkeypatch.delenv("GIT_ICASE_PATHSPECS")
    subprocess.run(commands[0], shell=True, check=True)  # noqa: S602 - as a user would
    assert [path.exists() for path in lost] == [True, False]


def test_a_file_that_looks_like_an_option_breaks_no_diff(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The attributes of a pull request may name the driver for any file."""
    one = Repository(tmp_path)
    monkeypatch.setenv("PATH", f"{Path(COMMAND).parent}:{os.environ['PATH']}")
    names = ("--help", "-h", "--x.jsonl", "-x=y")
    (one.place / ".gitattributes").write_text("* diff=cassette\n")
    for name in names:
        (one.place / name).write_text('{"a": 1}\n')
    one.git("add", "-A")
    one.git("commit", "-q", "-m", "x")
    for name in names:
        (one.place / name).write_text('{"a": "changed"}\n')
    one.set(diff__cassette__textconv="ptycassette textconv --")

    shown = one.git("diff")

    assert shown.count("changed") == len(names)
    assert "Usage" not in shown
