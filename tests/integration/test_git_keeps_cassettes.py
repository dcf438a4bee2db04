"""Cassettes go through git and come back byte for byte, whatever the repository is set to."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from ptycassette import use
from ptycassette.cassette import GIT_ATTRIBUTES
from ptycassette.cli import main
from ptycassette.model import Finished, Noted, Output, Typed
from ptycassette.testing import write_cassette

GIT = shutil.which("git")
pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(GIT is None, reason="git is not installed"),
]

ROOT = Path(__file__).parents[2]
OUTPUT = b"one\r\ntwo\nthree\r\r\nfour\r$Id$ $Format:%H$ trailing \r\n\r\n"
"""Every kind of line end, and what git expands if it is told to."""


def git(folder: Path, *words: str, data: bytes | None = None) -> bytes:
    """What git prints, without any setting of this machine."""
    environment = {name: value for name, value in os.environ.items() if name[:4] != "GIT_"}
    environment |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    for role in ("AUTHOR", "COMMITTER"):
        environment |= {f"GIT_{role}_NAME": "n", f"GIT_{role}_EMAIL": "n@example.invalid"}
    done = subprocess.run(
        [str(GIT), "-C", str(folder), *words],
        input=data,
        env=environment,
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


def files_of(folder: Path) -> dict[str, bytes]:
    """The bytes of all files of a directory."""
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def repository(folder: Path, attributes: str = "") -> Path:
    """A repository with one commit: its attributes."""
    folder.mkdir()
    git(folder, "init", "-q")
    (folder / GIT_ATTRIBUTES).write_text(f"{attributes}\n")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "attributes")
    return folder


def ran(*words: object) -> None:
    """Run a command of ours to its end."""
    assert main([str(word) for word in words]) == 0


def _recorded(target: Path) -> None:
    ran("rec", "-q", "--headless", target, "--", "printf", "one\ntwo\n")


def _used(target: Path) -> None:
    command = [sys.executable, "-c", "print('one')"]
    with use(target, command, mode="record") as session:
        session.wait_exit()


def _edited(target: Path) -> None:
    write_cassette(target.with_name("source"), Output(0, OUTPUT), Output(2_000_000, b"\r\nend"))
    ran("idle", target.with_name("source"), "1", "-o", target)


def _imported(target: Path) -> None:
    cast = target.with_name("some.cast")
    cast.write_text('{"version":2,"width":80,"height":24}\n[0.1,"o","one\\r\\ntwo\\n"]\n')
    ran("import", cast, "-o", target)


def _migrated(target: Path) -> None:
    ran("migrate", ROOT / "fixtures" / "v1" / "unpinned", "-o", target)


def _scrubbed(target: Path) -> None:
    write_cassette(target.with_name("source"), Output(0, OUTPUT))
    ran("scrub", target.with_name("source"), "--output", target)


def _written(target: Path) -> None:
    write_cassette(target, Output(0, OUTPUT), Typed(1, b"hi\r"), Noted(2, {"a": "$Id$ \r\n"}))


MAKERS: dict[str, Callable[[Path], None]] = {
    "rec": _recorded,
    "use": _used,
    "edit": _edited,
    "import": _imported,
    "migrate": _migrated,
    "scrub": _scrubbed,
    "write": _written,
}
ATTRIBUTES = [
    "",
    "* text=auto",
    "* text eol=crlf",
    "*.jsonl text eol=crlf",
    "* text=auto eol=crlf ident",
    "* export-subst",
    "*.json working-tree-encoding=UTF-16LE",
    "*.jsonl merge=union",
]
SETTINGS = ["core.autocrlf=false", "core.autocrlf=true", "core.autocrlf=input", "core.eol=crlf"]


@pytest.mark.parametrize("maker", MAKERS)
def test_a_cassette_of_every_maker_comes_back_byte_for_byte(tmp_path: Path, maker: str) -> None:
    """It is committed and cloned where every line end is converted, in a folder below the top."""
    place = repository(tmp_path / "origin", "* text eol=crlf")
    target = place / "tests" / "deep" / "c.cassette"
    target.parent.mkdir(parents=True)
    MAKERS[maker](target)
    git(place, "add", str(target))
    git(place, "commit", "-qm", "cassette")
    git(tmp_path, "-c", "core.autocrlf=true", "clone", "-q", "origin", "clone")

    assert files_of(tmp_path / "clone" / "tests" / "deep" / "c.cassette") == files_of(target)


def test_every_place_that_publishes_a_cassette_is_known() -> None:
    """Each adds the file for git; a new one belongs into this list, and into the makers above."""
    modules = {
        str(path.relative_to(ROOT / "ptycassette"))
        for path in (ROOT / "ptycassette").rglob("*.py")
        if re.search(r"(?<!class )\bStaging\(", path.read_text(encoding="utf-8"))
    }
    assert modules == {
        "cassette/io/migrating.py",
        "cassette/io/writer.py",
        "cli/_promoting.py",
    }


@pytest.mark.sampled(4)
@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("attributes", ATTRIBUTES)
def test_no_setting_of_git_changes_a_cassette(
    tmp_path: Path, attributes: str, setting: str
) -> None:
    """A clone, an archive, a stash and a switch of branches give back what was committed."""
    place = repository(tmp_path / "origin", attributes)
    target = place / "c.cassette"
    _written(target)
    made = files_of(target)
    git(place, "-c", setting, "add", "c.cassette")
    git(place, "-c", setting, "stash")
    assert not target.exists()
    git(place, "-c", setting, "stash", "pop")
    assert files_of(target) == made

    git(place, "-c", setting, "commit", "-qm", "cassette")
    git(tmp_path, "-c", setting, "clone", "-q", "origin", "clone")
    assert files_of(tmp_path / "clone" / "c.cassette") == made
    git(place, "-c", setting, "archive", "-o", str(tmp_path / "a.tar"), "HEAD")
    shutil.unpack_archive(tmp_path / "a.tar", tmp_path / "archive", filter="data")
    assert files_of(tmp_path / "archive" / "c.cassette") == made
    git(place, "-c", setting, "switch", "-q", "--detach", "HEAD~1")
    git(place, "-c", setting, "switch", "-q", "-")
    assert files_of(target) == made


@pytest.mark.parametrize("how", ["am", "apply"])
def test_a_patch_brings_a_cassette_byte_for_byte(tmp_path: Path, how: str) -> None:
    """``git am`` removes CRs from patches of text, so files of bytes have none."""
    place = repository(tmp_path / "origin")
    git(tmp_path, "clone", "-q", "origin", "clone")
    _written(place / "c.cassette")
    git(place, "add", "-A")
    git(place, "commit", "-qm", "cassette")
    clone = tmp_path / "clone"
    if how == "am":
        git(clone, "am", "-q", data=git(place, "format-patch", "-1", "--stdout"))
    else:
        patch = git(place, "diff", "--binary", "HEAD~1", "HEAD")
        git(clone, "apply", "--whitespace=fix", data=patch)

    assert files_of(clone / "c.cassette") == files_of(place / "c.cassette")


def test_two_recordings_are_never_mixed_line_by_line(tmp_path: Path) -> None:
    """A conflict leaves the files of one side, without markers."""
    place = repository(tmp_path / "origin")
    _written(place / "c.cassette")
    git(place, "add", "-A")
    git(place, "commit", "-qm", "first")
    for branch, text in (("one", b"one\r\n"), ("other", b"other\r\n")):
        git(place, "switch", "-q", "-C", branch, "HEAD" if branch == "one" else "one~1")
        write_cassette(place / "c.cassette", Output(0, text), Finished(t_us=5), overwrite=True)
        git(place, "commit", "-qam", branch)
    kept = files_of(place / "c.cassette")
    with pytest.raises(AssertionError):
        git(place, "merge", "one")

    assert files_of(place / "c.cassette") == kept
