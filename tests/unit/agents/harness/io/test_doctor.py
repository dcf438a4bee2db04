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
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ptycassette.agents.harness.io import probe as doctor
from ptycassette.agents.harness.io.files import Installed
from ptycassette.agents.harness.io.probe import Finding, doctor_findings
from ptycassette.errors import UsageError
from ptycassette.terminal.emulator import default_emulator


def _finding(name: str) -> Finding:
    (found,) = [one for one in doctor_findings() if one.name == name]
    return found


def test_on_a_machine_that_runs_the_tests_nothing_fails() -> None:
    """Everything that recording needs is there."""
    assert [one for one in doctor_findings() if one.status == "fail"] == []


def refusing(error: Exception) -> Callable[..., object]:
    """A function that raises."""

    def call(*_: object, **__: object) -> object:
        raise error

    return call


def _backend(name: str) -> object:
    if name == "ghostty":
        raise UsageError("not installed")
    return default_emulator


CLIS = [
    Installed(name="a", title="A", binary="/bin/a"),
    Installed(name="b", title="B", binary="/bin/b", version="b 2", tested=("1", "1.5")),
    Installed(name="c", title="C", binary="/bin/c", version="c 1", tested=("1",)),
    Installed(name="d", title="D"),
]
BROKEN = Installed(name="x", title="x", problem="x.toml: no TOML")
LISTED = (
    "known and installed: a (/bin/a), b (/bin/b, b 2, tried with 1 1.5), c (/bin/c, c 1)"
    "; known, not installed: d"
)
METADATA, UTIL = importlib.metadata, importlib.util
NO_PTY, BREAKS = OSError(28, "out of ptys"), OSError(5, "input/output error")
SIZE = os.terminal_size((80, 24))
LOOKED_AT: dict[str, tuple[str, list[tuple[Any, str, Any]], str, str]] = {
    # What is looked at, what the machine is made to be, and what is said of it.
    "an old Python": ("python", [(doctor.sys, "version_info", (3, 10, 0))], "fail", ""),
    "a missing library": (
        "msgspec", [(METADATA, "version", refusing(METADATA.PackageNotFoundError("x")))],
        "fail", ""),
    "no PTY": ("pty", [(pty, "openpty", refusing(NO_PTY))], "fail", "out of ptys"),
    "a PTY that says nothing, without hanging": (
        "pty", [(select, "select", lambda *_: ([], [], []))], "fail", ""),
    "a PTY that breaks": ("pty", [(os, "ttyname", refusing(BREAKS))], "fail", BREAKS.strerror),
    **{f"on a terminal: {there}": (
        "terminal",
        [(os, "isatty", lambda _, there=there: there), (os, "get_terminal_size", lambda _: SIZE)],
        status, "") for there, status in ((True, "ok"), (False, "warn"))},
    **{f"TERM={term}": ("TERM", [(os.environ, "TERM", term)], status, "")
       for term, status in (("xterm", "ok"), ("dumb", "warn"), ("", "warn"))},
    **{f"in {coding}": (
        "locale",
        [(locale, "getpreferredencoding", lambda do_setlocale=True, coding=coding: coding)],
        status, "") for coding, status in (("UTF-8", "ok"), ("utf8", "ok"), ("ASCII", "warn"))},
    "an extra that is missing": (
        "extra ghostty", [(UTIL, "find_spec", lambda name: None)],
        "ok", "optional: pip install 'ptycassette[ghostty]'"),
    "programs": (
        "programs", [(shutil, "which", lambda name: "/bin/sh" if name == "bash" else None)],
        "ok", "bash; not here: vim, less, tmux, git"),
    "an emulator whose library is missing": (
        "emulators",
        [(doctor, "backend", _backend),
         (doctor, "available_backends", lambda: ("pyte", "ghostty"))],
        "ok", "; usable: pyte; not installed: ghostty"),
    "agent CLIs, with versions where they were asked": (
        "agent CLIs", [(doctor, "installed", lambda *, versions: CLIS)], "ok", LISTED),
    "a broken profile": (
        "agent CLIs", [(doctor, "installed", lambda *, versions: [BROKEN])],
        "warn", "x.toml: no TOML"),
}  # fmt: skip


@pytest.mark.parametrize("case", LOOKED_AT)
def test_what_is_looked_at_has_its_status(monkeypatch: pytest.MonkeyPatch, case: str) -> None:
    """What recording needs fails, what it would be better with warns, the rest is told."""
    name, machine, status, says = LOOKED_AT[case]
    for where, what, value in machine:
        (monkeypatch.setitem if where is os.environ else monkeypatch.setattr)(where, what, value)
    found = _finding(name)

    assert found.status == status
    assert says in f"{found.detail}\n{found.hint}"


def test_the_state_directory_need_not_exist_and_must_be_one(
    state_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Looking does not make it; a file in its place fails."""
    (state_dir / "file").write_text("x", encoding="ascii")
    statuses = []
    for path in (state_dir / "not" / "yet", state_dir / "file"):
        monkeypatch.setenv("PTYCASSETTE_STATE_DIR", str(path))
        statuses.append(_finding("state directory").status)

    assert statuses == ["ok", "fail"]
    assert not (state_dir / "not").exists()


def test_journals_left_behind_are_counted(state_dir: Path) -> None:
    """With the command that makes cassettes of them."""
    (state_dir / "journals").mkdir()
    (state_dir / "journals" / "a.journal").write_bytes(b"")

    found = _finding("journals")
    assert (found.status, found.detail[:2]) == ("warn", "1 ")
    assert "recover" in (found.hint or "")


def test_every_extra_that_people_install_is_known() -> None:
    """A new one in pyproject.toml is not forgotten; those of our own tools are left out."""
    pyproject = Path(__file__).resolve().parents[5] / "pyproject.toml"
    extras = tomllib.loads(pyproject.read_text())["project"]["optional-dependencies"]

    assert {extra for extra, _, _ in doctor.EXTRAS} == set(extras) - {"dev", "docs", "fuzz"}
