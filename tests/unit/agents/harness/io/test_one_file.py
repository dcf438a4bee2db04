"""A new CLI is one TOML file: everything that knows of CLIs knows of it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from ptycassette.agents.harness.io.files import load_profile
from ptycassette.agents.harness.io.offline import fake_key
from ptycassette.cassette.io.reader import open_cassette
from ptycassette.cli import main
from ptycassette.errors import UsageError
from ptycassette.profiles import io as profiles_io
from ptycassette.profiles.io import credentials_of_clis, version_query_of
from ptycassette.profiles.profile import KnownCli, Profile, clis_without_profile
from ptycassette.recording.io.options import version_arguments
from ptycassette.scrub.io.setup import credential_values

PROFILE = """
version = 1
name = "acme"
title = "Acme Agent"
binaries = ["acme-agent"]
[version_query]
argv = ["version", "--short"]
regex = 'acme (?P<version>\\S+)'
tested = ["3.1"]
[capability]
features = ["quota"]
[credentials]
home = [".acme/login.json"]
cwd = [".acme.local"]
key_prefix = "ak-"
[screens]
ready = { contains = [">"] }
"""
SCRIPT = """#!/bin/sh
asked="${0%/*}/asked"
[ "$1 $2" = "version --short" ] && echo "acme 3.1" && : > "$asked" && exit
echo "welcome $(cut -d'"' -f4 "$HOME/.acme/login.json")"
until [ -e "$asked" ]; do sleep 0.01; done
"""
"""A session that outlasts the question for its version, which is asked beside it."""
SECRET = "vD7" + "kq" * 9 + "Z4x"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with the file, a program of that name on PATH, and a secret where it keeps one."""
    home, programs = tmp_path / "home", tmp_path / "bin"
    for path, text in (
        (home / ".config/ptycassette/harnesses/acme.toml", PROFILE),
        (home / ".acme/login.json", json.dumps({"refresh_token": SECRET})),
        (programs / "acme-agent", SCRIPT),
    ):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (programs / "acme-agent").chmod(0o755)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.chdir(tmp_path)
    return home


@pytest.mark.parametrize("words", [["--harness", "acme"], []])
@pytest.mark.parametrize("moved", [False, True])
def test_rec_asks_its_version_names_what_it_can_do_and_hides_its_secrets(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], *, moved: bool
) -> None:
    """Also where nobody names the harness: its program has that name. XDG_CONFIG_HOME counts."""
    if moved:
        (home / ".config").rename(tmp_path / "config")
        monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    program = [] if words else ["--", "acme-agent"]
    status = main(["rec", "--headless", "-q", *words, str(tmp_path / "c"), *program])
    with open_cassette(tmp_path / "c") as cassette:
        harness, screen = cassette.manifest.harness, b"".join(cassette.raw())

    assert (status, harness.binary_version) == (0, "acme 3.1")
    assert harness.capability is not None
    assert harness.capability["features"] == ["interactive", "quota"]
    assert b"welcome" in screen
    assert SECRET.encode() not in screen


def test_doctor_lists_it_with_its_version(home: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """As it answers when asked as its file says."""
    main(["doctor", "--versions"])

    assert f"acme ({home.parent}/bin/acme-agent, acme 3.1)" in capfd.readouterr().out


def test_offline_runs_get_a_key_as_its_file_says(home: Path) -> None:
    """Some CLIs refuse keys of another form."""
    assert fake_key(load_profile("acme")) == "ak-" + "0" * 40


def test_what_stands_in_its_files_is_known(home: Path, tmp_path: Path) -> None:
    """Below the home and in the work folder."""
    (tmp_path / ".acme.local").write_text(f"api_token={SECRET[::-1]}\n")

    assert {SECRET, SECRET[::-1]} <= {one.text for one in credential_values(home, tmp_path)}


def test_a_profile_of_ones_own_that_is_wrong_is_no_reason_to_miss_secrets(
    home: Path, tmp_path: Path
) -> None:
    """It may name files that hold some; a version, on the other hand, can be done without."""
    (home / ".config/ptycassette/harnesses/other.toml").write_text("version = 2")

    with pytest.raises(UsageError, match="version = 1") as wrong:
        list(credential_values(home, tmp_path))
    assert wrong.value.where is not None
    assert wrong.value.where.endswith("other.toml")
    assert version_query_of("acme-agent") is not None


@pytest.mark.parametrize(
    ("program", "asked"),
    [("goose", True), ("claude", True), ("llm", False), ("grok", False), ("sh", False)],
)
def test_clis_without_a_profile_are_known_by_name(program: str, *, asked: bool) -> None:
    """Each from its one line; names that other programs may have are not run."""
    assert (version_arguments(Path(program), version=None) is not None) == asked


def test_a_file_that_writes_a_name_in_escapes_is_found(tmp_path: Path) -> None:
    """TOML allows it, and files are searched before they are parsed."""
    folder = tmp_path / "ptycassette/harnesses"
    folder.mkdir(parents=True)
    (folder / "odd.toml").write_text(PROFILE.replace('"acme-agent"', '"acm\\u0065"'))

    assert version_query_of("acme", env={"XDG_CONFIG_HOME": str(tmp_path)}) is not None


def test_credential_files_are_those_of_the_profiles(tmp_path: Path) -> None:
    """Their table is read without the rest of a built-in profile."""
    folder = Path(profiles_io.__file__).parent
    read: list[KnownCli] = [
        Profile.parse(path.read_text(), where="x") for path in sorted(folder.glob("*.toml"))
    ]
    read += clis_without_profile((folder / "without_profile" / "clis.toml").read_text())
    files = [(cli.credentials.home, cli.credentials.cwd) for cli in read]

    found = credentials_of_clis({"HOME": str(tmp_path)})
    assert [*found] == [(home, cwd) for home, cwd in files if home or cwd]
    assert len(found) > 10
