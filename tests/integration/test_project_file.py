"""What the project file sets, and what is stronger: option, variable, project file, default."""

from __future__ import annotations

import fcntl
import json
import os
import struct
import subprocess
import sys
import termios
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from ptycassette import Size, open_cassette, record, use
from ptycassette.cli import main
from ptycassette.errors import DivergenceError, UsageError
from ptycassette.replaying.io.shims import read_shim_config

pytestmark = pytest.mark.integration
SAY = ["sh", "-c", "stty size; read line; echo you said $line"]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with a project file, as the current directory."""
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
    using = use(Path.cwd() / "c", SAY)
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


@pytest.mark.slow
def test_record_takes_size_and_idle_limit(project: Path) -> None:
    """So does ``use``; an argument is stronger."""
    with record(SAY, "plain") as session:
        session.submit("x")
        session.wait_exit(timeout_s=60)
    with record(SAY, "sized", size=Size(20, 90), idle_limit_ms=7) as session:
        session.submit("x")
        session.wait_exit(timeout_s=60)
    with use(Path.cwd() / "used", SAY) as session:
        _talk(session, "hello")

    found = [_manifest(name) for name in ("plain", "sized", "used")]
    assert [one.terminal.initial_cols for one in found] == [101, 90, 101]
    assert [one.optional["idle_limit_ms"] for one in found] == [2000, 7, 2000]


@pytest.mark.slow
@pytest.mark.parametrize(("size", "cols"), [((24, 80), 80), ((0, 0), 101)])
def test_a_shim_records_as_the_project_says_wherever_it_starts(
    size: tuple[int, int], cols: int, project: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Rules and idle limit are those of the project; a terminal that has a size keeps it."""
    (project / "real").mkdir()
    (project / "real" / "agent").write_text("#!/bin/sh\nstty size; echo corp_" + "abcdefgh\n")
    (project / "real" / "agent").chmod(0o755)
    assert main(["shim", "--dir", "bin", "agent"]) == 0
    terminal, driver = os.openpty()
    fcntl.ioctl(driver, termios.TIOCSWINSZ, struct.pack("HHHH", *size, 0, 0))
    env = {**os.environ, "PATH": f"{project}/bin:{project}/real:{os.environ['PATH']}"}
    with subprocess.Popen(
        [f"{project}/bin/agent"], stdin=driver, stdout=driver, stderr=driver, env=env,
        start_new_session=True, cwd=tmp_path_factory.mktemp("elsewhere"),
    ) as agent:  # fmt: skip
        os.close(driver)
        reading = threading.Thread(target=_read_all, args=(terminal,))
        reading.start()
        agent.wait(timeout=120)
        reading.join(timeout=60)

    (made,) = (project / "shelf").iterdir()
    assert _manifest(str(made)).terminal.initial_cols == cols
    assert _manifest(str(made)).optional["idle_limit_ms"] == 2000
    assert b"corp_" not in (made / "output.raw").read_bytes()


def _read_all(fd: int) -> None:
    with suppress(OSError):
        while os.read(fd, 4096):
            pass
    os.close(fd)


def test_a_file_may_be_named_by_the_environment(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It counts in every directory; one that is not there is an error."""
    (project / "other.toml").write_text('size = "77x17"')
    monkeypatch.setenv("PTYCASSETTE_PROJECT", str(project / "other.toml"))
    assert main(["rec", "-q", "--headless", "c", "--", "true"]) == 0
    assert _manifest("c").terminal.initial_cols == 77

    monkeypatch.setenv("PTYCASSETTE_PROJECT", str(project / "gone.toml"))
    assert main(["rec", "-q", "--headless", "d", "--", "true"]) == 3
    assert "gone.toml" in capsys.readouterr().err


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
