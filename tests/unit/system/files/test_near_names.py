"""A path at which nothing is gets a suggestion of what was meant, in every command and error."""

from __future__ import annotations

from pathlib import Path

import pytest

from ptycassette import open_cassette, use
from ptycassette.errors import NotFoundError
from ptycassette.model.records import Output
from ptycassette.system.files.near_names import did_you_mean
from ptycassette.testing import write_cassette


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with a cassette in it and one below."""
    monkeypatch.chdir(tmp_path)
    write_cassette(tmp_path / "my.cassette", Output(0, b"hi"))
    write_cassette(tmp_path / "tests" / "cassettes" / "Greet.cassette", Output(0, b"hi"))
    (tmp_path / ".hidden").touch()
    return tmp_path


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("my.cassete", "my.cassette"),
        ("my", "my.cassette"),
        ("MY.cassette", "my.cassette"),
        ("my.casette/", "my.cassette"),
        ("./mycassette", "my.cassette"),
        ("test/casettes/greet.cassette", "tests/cassettes/Greet.cassette"),
        ("tests/cassettes/greet", "tests/cassettes/Greet.cassette"),
        ("tests/../my.cassett", "tests/../my.cassette"),
        ("entirely-other", None),
        ("tests/entirely-other", None),
        ("at.cassette", None),
        ("forked.cassette", None),
        ("tests/cassettes/login.cassette", None),
        ("my.cassette", None),
        ("hidden", None),
        ("a\0b", None),
        ("", None),
    ],
)
def test_the_path_that_looks_like_it_is_found(place: Path, given: str, meant: str | None) -> None:
    """Part for part; nothing is suggested where the path is right or nothing is like it."""
    del place
    assert did_you_mean(given) == meant


def test_an_absolute_path_stays_absolute(place: Path) -> None:
    """As the user wrote it."""
    assert did_you_mean(place / "my.cassete") == str(place / "my.cassette")


def test_errors_of_the_library_say_it(place: Path) -> None:
    """An error that a test shows, too."""
    del place
    with pytest.raises(NotFoundError, match=r"did you mean my\.cassette\?"):
        open_cassette("my.cassete")
    with (
        pytest.raises(NotFoundError, match=r"did you mean my\.cassette\?.*record it"),
        use("my.casette"),
    ):
        pass


def test_a_relative_path_with_nothing_like_it_says_where_it_starts(place: Path) -> None:
    """So that a wrong current folder shows."""
    with pytest.raises(NotFoundError, match=str(place)):
        open_cassette("entirely-other")
