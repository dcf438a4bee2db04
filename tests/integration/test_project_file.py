"""What the project file sets, and what is stronger: option, variable, project file, default."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from ptycassette import open_cassette, use
from ptycassette.cli import main
from ptycassette.errors import DivergenceError, UsageError
from ptycassette.replaying.io.shims import read_shim_config

pytestmark = pytest.mark.integration
SAY = ["sh", "-c", "stty size; read line; echo you said $line"]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with a project file, as the current directory."""
    for name in ("PTYCASSETTE_MODE", "PTYCASSETTE_SCRUB_CONFIG", "CI"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / ".git").mkdir()
    (tmp_path / "ptycassette.toml").write_text(
        'size = "101x31"\nidle_limit = 2\nlibrary = "shelf"\nmode = "record"\ncompare = "any"\n'
        '[scrub]\npreserve = []\n[[scrub.rules]]\nname = "corp"\npattern = "corp_[a-z]{8}"\n'
    )
    (tmp_path / "shelf").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _manifest(path: str) -> Any:
    with open_cassette(path) as cassette:
        return cassette.manifest


def test_rec_takes_size_idle_limit_and_rules(project: Path) -> None:
    """The directory below the file's own counts, too."""
    (project / "below").mkdir()
    assert main(["rec", "-q", "--headless", "shelf/c", "--", "echo", "corp_" + "abcdefgh"]) == 0

    terminal = _manifest("shelf/c").terminal
    assert (terminal.initial_cols, terminal.initial_rows) == (101, 31)
    assert _manifest("shelf/c").optional["idle_limit_ms"] == 2000
    assert b"corp_" not in (project / "shelf" / "c" / "output.raw").read_bytes()


@pytest.mark.parametrize(
    ("words", "size"),
    [(("--size", "90x20"), (90, 20)), (("--cols", "70"), (70, 24)), ((), (101, 31))],
)
def test_an_option_is_stronger(
    words: tuple[str, ...], size: tuple[int, int], project: Path
) -> None:
    """One half of a size makes the whole the option's."""
    assert main(["rec", "-q", "--headless", *words, "-i", "5", "c", "--", "true"]) == 0

    terminal = _manifest("c").terminal
    assert (terminal.initial_cols, terminal.initial_rows) == size
    assert _manifest("c").optional["idle_limit_ms"] == 5000


def _talk(session: Any, line: str) -> None:
    session.wait_for_text(" ")
    session.submit(line)
    session.wait_for_text("you said")


def test_use_takes_mode_size_and_comparison(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Variable and argument are stronger, in this order."""
    using = use("c", SAY)
    with using as session:
        _talk(session, "hello")
    assert using.result.action == "record"
    assert _manifest("c").terminal.initial_cols == 101

    monkeypatch.setenv("PTYCASSETTE_MODE", "replay")
    using = use("c")
    with using as session:
        _talk(session, "something else")
    assert using.result.action == "replay"
    with pytest.raises(DivergenceError), use("c", match="prompt") as session:
        _talk(session, "something else")
    assert use("c", SAY, mode="live")._plan.mode == "live"


def test_shim_takes_library_mode_and_comparison(project: Path) -> None:
    """Which it writes down: a shim itself reads no project file."""
    assert main(["shim", "--dir", "bin", "agent"]) == 0
    config = read_shim_config(project / "bin")
    assert (config.library, config.mode) == (str(project / "shelf"), "record")
    assert config.options == ("--match", "any")

    words = ["--library", "other", "--mode", "live", "--option=--match=exact"]
    assert main(["shim", "--dir", "bin", *words, "agent"]) == 0
    config = read_shim_config(project / "bin")
    assert (config.library, config.mode) == (str(project / "other"), "live")
    assert config.options == ("--match=exact",)


def test_ls_lists_the_library(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Unless a directory is named."""
    assert main(["rec", "-q", "--headless", "shelf/one", "--", "echo", "x"]) == 0
    capsys.readouterr()
    assert main(["ls", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)

    assert [one["path"] for one in listed["cassettes"]] == ["shelf/one"]
    assert main(["ls", "."]) == 0
    assert "one" not in capsys.readouterr().out


def test_a_file_that_is_wrong_is_an_error_where_it_counts(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With its name, and nothing is recorded."""
    (project / "ptycassette.toml").write_text('mode = "recrod"')

    assert main(["rec", "-q", "--headless", "c", "--", "true"]) == 2
    assert "ptycassette.toml: mode is 'recrod', and must be one of" in capsys.readouterr().err
    assert not (project / "c").exists()
    with pytest.raises(UsageError, match="recrod"):
        use("c", [sys.executable])
