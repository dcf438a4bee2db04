"""The project file: where it is found, what it may say, and what its errors say."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, get_args

import pytest

from ptycassette import use
from ptycassette.cassette.timeline.match import Strategy
from ptycassette.errors import UsageError
from ptycassette.model.records import Output, Typed
from ptycassette.model.screen import Size
from ptycassette.replaying.io.modes import RUN_MODES as REPLAY_MODES
from ptycassette.system.files import project_file
from ptycassette.system.files import whole_file as plain_file
from ptycassette.system.files.project_file import KEYS, MODES, STRATEGIES, Project, find_project
from ptycassette.testing import write_cassette

ALL = """
size = "100x30"
mode = "auto"
library = "tests/cassettes"
idle_limit = "500ms"
compare = "normalised"

[scrub]
volatile = true
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home directory, above which nothing is looked at."""
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def test_all_keys(home: Path) -> None:
    """Each with its meaning."""
    (home / "ptycassette.toml").write_text(ALL)

    assert find_project(home) == Project(
        where=home / "ptycassette.toml",
        size=Size(rows=30, cols=100),
        mode="auto",
        library=home / "tests" / "cassettes",
        idle_limit_s=0.5,
        compare="normalised",
        scrub={"volatile": True},
    )


def test_where_there_is_none_no_other_names_are_compared(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each command looks in several folders, and what somebody may have meant takes long."""
    asked: list[object] = []
    monkeypatch.setattr(plain_file, "hint_for_missing", asked.append)

    assert find_project(home) == Project()
    assert asked == []


def test_the_same_in_pyproject(home: Path) -> None:
    """Below its heading; of other tools nothing is looked at."""
    text = ALL.replace("\nsize", "\n[tool.other]\nx = 1\n[tool.ptycassette]\nsize", 1)
    (home / "pyproject.toml").write_text(text.replace("[scrub]", "[tool.ptycassette.scrub]"))

    found = find_project(home)
    assert (found.mode, found.scrub) == ("auto", {"volatile": True})


def test_the_nearest_file_counts(home: Path) -> None:
    """Of one directory our own, and none above the repository."""
    inner = home / "repository" / "tests" / "inner"
    inner.mkdir(parents=True)
    (home / "ptycassette.toml").write_text('mode = "live"')
    (home / "repository" / "pyproject.toml").write_text('[tool.ptycassette]\nmode = "auto"')
    assert find_project(inner).mode == "auto"

    (home / "repository" / "ptycassette.toml").write_text('mode = "record"')
    assert find_project(inner).mode == "record"
    (home / "repository" / "tests" / ".git").mkdir()
    assert find_project(inner) == Project()


def test_a_pyproject_of_somebody_else_is_passed_over(home: Path) -> None:
    """Broken or not: it says nothing of ours."""
    (home / "ptycassette.toml").write_text('mode = "live"')
    (home / "inner").mkdir()
    (home / "inner" / "pyproject.toml").write_text("[project]\nname = 'x'\n[tool.ruff]\n")

    assert find_project(home / "inner").mode == "live"


def test_nothing_above_the_home_directory_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Others can write there."""
    (tmp_path / "ptycassette.toml").write_text('mode = "live"')
    (tmp_path / "home" / "x").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))

    assert find_project(tmp_path / "home" / "x") == Project()


def test_a_file_of_another_user_above_does_not_count(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It could switch rules of the scrubber off. In the directory itself it is what one sees."""
    (home / "inner").mkdir()
    (home / "ptycassette.toml").write_text('mode = "live"')
    if os.geteuid() == 0:
        os.chown(home / "ptycassette.toml", 12345, -1)
    else:
        monkeypatch.setattr(project_file.os, "geteuid", lambda: 12345)

    assert find_project(home / "inner") == Project()
    assert find_project(home).mode == "live"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('size = "big"', "size is 'big', and must be COLSxROWS, such as \"100x30\""),
        ('size = "0x5"', "size is"),
        ("size = 5", "size is 5"),
        ('mode = "recrod"', "mode is 'recrod', and must be one of replay, auto, record"),
        ("library = 5", "library is 5, and must be a directory"),
        ("idle_limit = true", "idle_limit is True, and must be a time"),
        ('idle_limit = "soon"', "idle_limit is 'soon', and must be a time: .* 1.5s, 250ms"),
        ("idle_limit = -1", "idle_limit is -1"),
        ("idle_limit = nan", "idle_limit is nan"),
        ('compare = "alike"', "compare is 'alike', and must be one of exact, prompt"),
        ("scrub = 5", "scrub is 5, and must be a table"),
        ("seal = 5", "seal is 5, and must be a table"),
        ("seal = {required = 'yes'}", "seal.required is 'yes', and must be true or false"),
        ("seal = {trust = 5}", "seal.trust is 5, and must be a file"),
        ("seal = {trsut = 'x'}", "seal.trsut is not a key of the project file"),
        ("seal = {trsut = 'x'}", "did you mean trust[?] allowed: required, trust"),
        ("mood = 1", "mood is not a key of the project file"),
        ("mood = 1", "did you mean mode[?] allowed: size, mode, library, idle_limit, compare"),
        ("mode = ", "not TOML"),
        ("'\\u001b[31m' = 1", r"not a key of the project file"),
    ],
)
def test_an_error_says_file_key_and_what_is_allowed(home: Path, text: str, said: str) -> None:
    """In our own file and in pyproject.toml."""
    (home / "ptycassette.toml").write_text(text)
    with pytest.raises(UsageError, match=said) as caught:
        find_project(home)
    assert str(home / "ptycassette.toml") in str(caught.value)
    assert "\x1b" not in str(caught.value)

    (home / "ptycassette.toml").unlink()
    (home / "pyproject.toml").write_text(f"[tool.ptycassette]\n{text}")
    with pytest.raises(UsageError, match=said.replace("mood is", "tool.ptycassette.mood is")):
        find_project(home)


def test_what_is_allowed_is_what_there_is() -> None:
    """A new mode or strategy is not forgotten."""
    assert set(MODES) == set(REPLAY_MODES)
    assert set(STRATEGIES) == set(get_args(Strategy)) - {"custom"}
    assert {field for field, _, _ in KEYS.values()} == set(Project.__struct_fields__) - {"where"}


def test_a_file_that_is_not_there_costs_no_look_at_its_neighbours(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each command looks in each folder above it; "did you mean" reads all names of a folder."""
    monkeypatch.setattr("ptycassette.system.files.near_names.did_you_mean", pytest.fail)

    assert find_project(home) == Project(where=None)


def test_a_process_reads_a_file_once(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From every folder below it, too. A file that has changed is read again."""
    path = home / "ptycassette.toml"
    (home / "inner").mkdir()
    path.write_text('mode = "live"')
    os.utime(path, (1_000, 1_000))
    found = find_project(home)
    with monkeypatch.context() as patch:
        patch.setattr(project_file, "read_plain", pytest.fail)

        assert find_project(home) is found
        assert find_project(home / "inner") is found
    path.write_text('mode = "auto"')
    assert find_project(home).mode == "auto"
    path.write_text('mode = "live"')
    assert find_project(home).mode == "live"
    path.unlink()
    assert find_project(home).mode is None


def test_one_command_reads_the_file_once(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where several parts of it ask: the mode, the comparison, the size, the seals."""
    path = home / "ptycassette.toml"
    path.write_text('mode = "replay"\ncompare = "exact"\nsize = "100x30"\n')
    os.utime(path, (1_000, 1_000))
    write_cassette(home / "c", Typed(1, b"x"), Output(2, b"y"))
    monkeypatch.chdir(home)
    reads: list[Path] = []

    def counted(found: Path, **options: Any) -> bytes:
        reads.append(found)
        return plain_file.read_plain(found, **options)

    monkeypatch.setattr(project_file, "read_plain", counted)
    with use("c", argv=["true"]) as session:
        session.send(b"x")

    assert reads == [path]
