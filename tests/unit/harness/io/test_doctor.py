"""What the doctor finds."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import locale
import os
import pty
import select
import shutil
import tomllib
from pathlib import Path

import pytest

from ptycassette.errors import UsageError
from ptycassette.harness.io import doctor
from ptycassette.harness.io.doctor import Finding, doctor_findings
from ptycassette.harness.io.files import Installed
from ptycassette.terminal import default_emulator


def _finding(name: str) -> Finding:
    (found,) = [one for one in doctor_findings() if one.name == name]
    return found


def test_on_a_machine_that_runs_the_tests_nothing_fails() -> None:
    """Everything that recording needs is there."""
    assert [one for one in doctor_findings() if one.status == "fail"] == []


def test_an_old_python_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """With what to use instead."""
    monkeypatch.setattr(doctor.sys, "version_info", (3, 10, 0))

    assert _finding("python").status == "fail"


def test_a_missing_library_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """It names the library."""

    def version(name: str) -> str:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", version)

    assert _finding("msgspec").status == "fail"


def test_no_pty_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the system's reason."""

    def openpty() -> tuple[int, int]:
        raise OSError(28, "out of ptys")

    monkeypatch.setattr(pty, "openpty", openpty)

    assert "out of ptys" in _finding("pty").detail


def test_a_pty_that_says_nothing_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """It does not hang."""
    monkeypatch.setattr(select, "select", lambda *_: ([], [], []))

    assert _finding("pty").status == "fail"


def test_a_pty_that_breaks_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """While it is tried."""

    def ttyname(fd: int) -> str:
        raise OSError(5, "input/output error")

    monkeypatch.setattr(os, "ttyname", ttyname)

    assert "input/output error" in _finding("pty").detail


@pytest.mark.parametrize(("on_terminal", "status"), [(True, "ok"), (False, "warn")])
def test_a_terminal_is_wished_for(
    *, on_terminal: bool, status: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without one, it is said what works all the same."""
    monkeypatch.setattr(os, "isatty", lambda fd: on_terminal)
    monkeypatch.setattr(os, "get_terminal_size", lambda fd: os.terminal_size((80, 24)))

    assert _finding("terminal").status == status


@pytest.mark.parametrize(("term", "status"), [("xterm", "ok"), ("dumb", "warn"), ("", "warn")])
def test_term_is_looked_at(term: str, status: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A dumb one is less good."""
    monkeypatch.setenv("TERM", term)

    assert _finding("TERM").status == status


@pytest.mark.parametrize(
    ("encoding", "status"), [("UTF-8", "ok"), ("utf8", "ok"), ("ASCII", "warn")]
)
def test_a_locale_is_to_be_utf8(
    encoding: str, status: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However it is spelled."""
    monkeypatch.setattr(locale, "getpreferredencoding", lambda do_setlocale=True: encoding)

    assert _finding("locale").status == status


def test_a_state_directory_need_not_exist(state_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Looking does not make it."""
    path = state_dir / "not" / "yet"
    monkeypatch.setenv("PTYCASSETTE_STATE_DIR", str(path))

    assert _finding("state directory").status == "ok"
    assert not path.exists()


def test_a_state_directory_that_cannot_be_written_fails(
    state_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file in its place, for example."""
    (state_dir / "file").write_text("x", encoding="ascii")
    monkeypatch.setenv("PTYCASSETTE_STATE_DIR", str(state_dir / "file"))

    assert _finding("state directory").status == "fail"


def test_journals_left_behind_are_counted(state_dir: Path) -> None:
    """With the command that makes cassettes of them."""
    (state_dir / "journals").mkdir()
    (state_dir / "journals" / "a.journal").write_bytes(b"")

    found = _finding("journals")
    assert (found.status, found.detail[:2]) == ("warn", "1 ")
    assert "recover" in (found.hint or "")


def test_extras_are_optional(monkeypatch: pytest.MonkeyPatch) -> None:
    """A missing one is no failure, and says how to get it."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)

    found = _finding("extra ghostty")
    assert found.status == "ok"
    assert found.hint == "optional: pip install 'ptycassette[ghostty]'"


def test_programs_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that are there, and those that are not."""
    monkeypatch.setattr(shutil, "which", lambda name: "/bin/sh" if name == "bash" else None)

    assert _finding("programs").detail == "bash; not here: vim, less, tmux, git"


def test_emulators_are_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    """One whose library is missing is no failure."""

    def backend(name: str) -> object:
        if name == "ghostty":
            raise UsageError("not installed")
        return default_emulator

    monkeypatch.setattr(doctor, "backend", backend)
    monkeypatch.setattr(doctor, "available_backends", lambda: ("pyte", "ghostty"))

    assert _finding("emulators").detail.endswith("; usable: pyte; not installed: ghostty")


def test_agent_clis_are_listed_with_versions_where_they_were_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What is here, what is not, what is newer than what the profile was tried with."""
    known = [
        Installed(name="a", title="A", binary="/bin/a"),
        Installed(name="b", title="B", binary="/bin/b", version="b 2", tested=("1", "1.5")),
        Installed(name="c", title="C", binary="/bin/c", version="c 1", tested=("1",)),
        Installed(name="d", title="D"),
    ]
    monkeypatch.setattr(doctor, "installed", lambda *, versions: known)

    assert _finding("agent CLIs").detail == (
        "known and installed: a (/bin/a), b (/bin/b, b 2, tried with 1 1.5), c (/bin/c, c 1)"
        "; known, not installed: d"
    )


def test_a_broken_profile_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the file that is wrong."""
    broken = Installed(name="x", title="x", problem="x.toml: no TOML")
    monkeypatch.setattr(doctor, "installed", lambda *, versions: [broken])

    found = _finding("agent CLIs")
    assert (found.status, "x.toml: no TOML" in found.detail) == ("warn", True)


def test_every_extra_that_people_install_is_known() -> None:
    """A new one in pyproject.toml is not forgotten; those of our own tools are left out."""
    pyproject = Path(__file__).resolve().parents[4] / "pyproject.toml"
    extras = tomllib.loads(pyproject.read_text())["project"]["optional-dependencies"]

    assert {extra for extra, _, _ in doctor.EXTRAS} == set(extras) - {"dev", "docs", "fuzz"}
