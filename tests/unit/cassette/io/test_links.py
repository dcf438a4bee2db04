"""Cassettes whose files are links: Bazel, Nix, DVC, git-annex."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from ptycassette import open_cassette, use
from ptycassette.errors import (
    CassetteError,
    DigestError,
    LimitError,
    MissingFileError,
    UnsafeFileError,
    UsageError,
)
from ptycassette.model.limits import Limits
from ptycassette.model.records import Output
from ptycassette.system.files.directory_handle import FOLLOW_LINKS_VARIABLE
from ptycassette.testing import write_cassette
from tests.unit.cli.conftest import Run, run

__all__ = ["run"]


@pytest.fixture(autouse=True)
def asks_for_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The variable is not set."""
    monkeypatch.delenv(FOLLOW_LINKS_VARIABLE, raising=False)


@pytest.fixture
def real(tmp_path: Path) -> Path:
    """A cassette."""
    write_cassette(tmp_path / "real.cassette", Output(0, b"hello\r\n"))
    return tmp_path / "real.cassette"


def _runfiles(real: Path, place: Path) -> Path:
    """As Bazel: each file is a link to the file of the same name in one directory."""
    place.mkdir()
    for file in real.iterdir():
        (place / file.name).symlink_to(file)
    return place


def _chain(real: Path, place: Path) -> Path:
    """As Bazel's runfiles: links to links, relative ones."""
    return _runfiles(_runfiles(real, place.with_name("between")), place)


def _store(real: Path, place: Path) -> Path:
    """As DVC and git-annex: each file is a link to a file that is named by its digest."""
    place.mkdir()
    for number, file in enumerate(sorted(real.iterdir())):
        stored = place.with_name("store") / f"{number:02}" / "content"
        stored.parent.mkdir(parents=True)
        shutil.copy(file, stored)
        (place / file.name).symlink_to(os.path.relpath(stored, place))
    return place


def _directory(real: Path, place: Path) -> Path:
    """As Nix: the directory is a link."""
    place.symlink_to(real)
    return place


def _one_file(real: Path, place: Path) -> Path:
    """Only the bytes are elsewhere."""
    shutil.copytree(real, place)
    (place / "output.raw").unlink()
    # Relative, because a user's name in an absolute one is found by verify-scrub, rightly.
    (place / "output.raw").symlink_to(os.path.relpath(real / "output.raw", place))
    return place


ASKED: list[Callable[[Path, Path], Path]] = [_store, _directory, _one_file]


@pytest.mark.parametrize("build", [_runfiles, _chain])
def test_links_into_one_directory_by_the_same_names_are_that_directory(
    real: Path, tmp_path: Path, run: Run, build: Callable[[Path, Path], Path]
) -> None:
    """It is opened as if it had been named, so nothing has to be asked."""
    place = build(real, tmp_path / "c.cassette")
    with open_cassette(place, check="full") as cassette:
        assert b"".join(cassette.raw()) == b"hello\r\n"
    assert run("verify", place).status == 0


@pytest.mark.parametrize("build", [_runfiles, _store])
def test_a_directory_of_links_gets_no_file_of_its_own(
    real: Path, tmp_path: Path, run: Run, build: Callable[[Path, Path], Path]
) -> None:
    """It would be another kind of directory then."""
    (real / ".gitattributes").unlink()
    place = build(real, tmp_path / "c.cassette")
    before = sorted(one.name for one in place.iterdir())
    assert run("verify", "--fix", "--follow-links", place).status == 0
    assert sorted(one.name for one in place.iterdir()) == before
    assert run("verify", "--follow-links", place).status == 0


@pytest.mark.parametrize("build", ASKED)
def test_other_links_are_followed_only_if_the_user_asks(
    real: Path,
    tmp_path: Path,
    run: Run,
    monkeypatch: pytest.MonkeyPatch,
    build: Callable[[Path, Path], Path],
) -> None:
    """By option, keyword or variable; the refusal names them."""
    place = build(real, tmp_path / "c.cassette")
    with pytest.raises(UnsafeFileError, match=r"--follow-links .*PTYCASSETTE_FOLLOW_LINKS=1"):
        open_cassette(place)
    assert run("verify", place).status == 4
    for words in (["verify"], ["info"], ["cat"], ["events"], ["verify-scrub"]):
        assert run(*words, "--follow-links", place).status == 0, words
    assert run("diff", "--follow-links", place, real).status == 0
    assert run("verify", place).status == 4, "the option holds for one command"
    with open_cassette(place, follow_links=True, check="full") as cassette:
        assert cassette.output_size == 7
    with use(place, follow_links=True) as session:
        session.wait_for_text("hello")
    monkeypatch.setenv(FOLLOW_LINKS_VARIABLE, "1")
    with use(place) as session:
        session.wait_for_text("hello")
    with pytest.raises(UnsafeFileError):
        open_cassette(place, follow_links=False)


def test_a_link_elsewhere_among_links_into_one_directory_is_refused(
    real: Path, tmp_path: Path
) -> None:
    """And one that has another name there."""
    place = _runfiles(real, tmp_path / "c.cassette")
    secret = tmp_path / "secret"
    secret.write_bytes(b"hello\r\n")
    (place / "output.raw").unlink()
    (place / "output.raw").symlink_to(secret)
    with pytest.raises(UnsafeFileError, match="links are not followed"):
        open_cassette(place)


@pytest.mark.parametrize("kind", ["pipe", "device", "folder"])
def test_what_is_no_file_is_refused_behind_a_link_too(
    real: Path, tmp_path: Path, kind: str
) -> None:
    """And nothing waits for it."""
    place = _store(real, tmp_path / "c.cassette")
    target = tmp_path / "pipe" if kind == "pipe" else Path("/dev/zero")
    if kind == "pipe":
        os.mkfifo(target)
    (place / "output.raw").unlink()
    (place / "output.raw").symlink_to(tmp_path if kind == "folder" else target)
    with pytest.raises(UnsafeFileError, match="not a regular file"):
        open_cassette(place, follow_links=True)


def test_limits_and_digests_hold_behind_links(real: Path, tmp_path: Path) -> None:
    """As for files."""
    place = _store(real, tmp_path / "c.cassette")
    with pytest.raises(LimitError):
        open_cassette(place, follow_links=True, limits=Limits(max_output_bytes=3))
    (place / "output.raw").resolve().write_bytes(b"hellO\r\n")
    with pytest.raises(DigestError):
        open_cassette(place, follow_links=True)


def test_a_link_to_nothing_says_what_to_fetch(real: Path, tmp_path: Path) -> None:
    """As git-annex and DVC leave it before files are fetched."""
    place = _store(real, tmp_path / "c.cassette")
    (place / "output.raw").resolve().unlink()
    with pytest.raises(MissingFileError, match=r"not there\n.*git annex get, dvc pull"):
        open_cassette(place, follow_links=True)


def test_another_value_of_the_variable_is_an_error(
    real: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that nobody believes that it helps."""
    monkeypatch.setenv(FOLLOW_LINKS_VARIABLE, "yes")
    with pytest.raises(UsageError, match="1 or 0"):
        open_cassette(real)
    monkeypatch.setenv(FOLLOW_LINKS_VARIABLE, "0")
    open_cassette(real).close()


def test_links_in_a_circle_are_an_error(real: Path, tmp_path: Path) -> None:
    """Followed or not."""
    place = _store(real, tmp_path / "c.cassette")
    (place / "output.raw").unlink()
    (place / "output.raw").symlink_to("output.raw")
    for follow in (True, False):
        with pytest.raises(CassetteError):
            open_cassette(place, follow_links=follow)


def test_a_secret_in_the_target_of_a_link_is_found_where_it_is(
    real: Path, tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The finding names the link, and no time: nothing happened there."""
    secret = "gh" + "p_" + "k3Jx9" * 7 + "q"
    monkeypatch.setenv("SOME_TOKEN", secret)
    place = tmp_path / "c.cassette"
    shutil.copytree(real, place)
    store = tmp_path / secret / "content"
    store.parent.mkdir()
    (place / "output.raw").rename(store)
    (place / "output.raw").symlink_to(os.path.relpath(store, place))

    done = run("verify-scrub", "--follow-links", place)

    assert done.status == 6
    assert "output.raw: the target of the link: rule " in done.text
    assert " ms" not in done.text
    assert secret not in done.text


def test_what_a_link_leads_to_is_searched(
    real: Path, tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a file; without the user's word no unknown file outside is read."""
    secret = "gh" + "p_" + "k3Jx9" * 7 + "q"
    monkeypatch.setenv("SOME_TOKEN", secret)
    outside = tmp_path / "outside"
    outside.write_text(secret)
    (real / ".notes.txt.swp").symlink_to("../outside")

    found = run("verify-scrub", "--follow-links", real)
    assert (found.status, ".notes.txt.swp: rule" in found.text) == (6, True)
    assert run("verify-scrub", real).status == 0
