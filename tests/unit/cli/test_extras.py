"""What a command says in an install without extras."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from ptycassette import record
from tests.conftest import ROOT

TAPE = str(ROOT / "fixtures" / "tapes" / "client-tape")
_BARE = """
import sys
for name in ("aiohttp", "backports", "brotli", "h11", "trustme", "wsproto", "cryptography",
             "securesystemslib", "sigstore", "PIL", "textual_serve", "pyghostty"):
    sys.modules[name] = None
from ptycassette.cli import main
sys.exit(main())
"""


def bare(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run a command where nothing that only an extra brings can be imported."""
    return subprocess.run(
        [sys.executable, "-c", _BARE, *words],
        cwd=cwd, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL,
    )  # fmt: skip


_GREETING = """
import sys
sys.modules["re2"] = None
from ptycassette import record, use
from ptycassette.errors import DivergenceError, UsageError
from ptycassette.cli import main
for words in ("info c", "verify c", "play c --speed 100", "cat c", "frames c", "events c",
              "diff c c", "ls", "export c c.svg", "export c c.html", "man"):
    assert main(words.split()) == 0, words
assert main(["rec", "-q", "--headless", "d", "--", "true"]) == 2
for typed in ("Ada", "Bob"):
    try:
        with use("c") as session:
            session.wait_for_text("name?")
            session.submit(typed)
            session.wait_exit()
    except DivergenceError as differs:
        print(differs, file=sys.stderr)
"""


def test_what_is_recorded_is_replayed_without_re2(tmp_path: Path) -> None:
    """There is no wheel of it everywhere. What was typed cannot be scrubbed then, so is masked."""
    with record(["sh", "-c", 'printf "name? "; read name'], tmp_path / "c") as session:
        session.wait_for_text("name?")
        session.submit("Ada")
        session.wait_exit()
    ran = subprocess.run(
        [sys.executable, "-c", _GREETING],
        cwd=tmp_path, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL,
    )  # fmt: skip

    assert ran.returncode == 0, ran.stderr
    assert "need the package google-re2" in ran.stderr
    assert ran.stderr.count("input-changed") == 1
    assert "Bob" not in ran.stderr
    assert {path.name for path in tmp_path.iterdir()} == {"c", "c.svg", "c.html"}


@pytest.mark.parametrize(
    ("extra", "command"),
    [
        ("tape", ("rec", "--tape", "--headless", "new", "--", "true")),
        ("tape", ("rerun", "--trust", TAPE)),
        ("tape", ("rerun", "--trust", "--tape-only", TAPE)),
        ("tape", ("fork", "--trust", TAPE, "--fault", "empty@2", "-o", "new")),
        ("tape", ("blame", "--trust", TAPE, "--oracle", "exit", "--budget", "3")),
        ("tape", ("blame", "--validate")),
        ("provider", ("offline", "codex", "--", "true")),
        ("provider", ("fake-provider", "codex")),
        ("seal", ("seal", TAPE, "--key", "key.pem")),
        ("seal", ("verify", "--sealed", TAPE)),
        ("pictures", ("export", TAPE, "new.png")),
        ("pictures", ("frames", TAPE, "--last", "--format", "png")),
        ("serve", ("view", "--serve", TAPE)),
        ("ghostty", ("rec", "--emulator", "ghostty", "--headless", "new", "--", "true")),
    ],
)
def test_the_extra_is_named(extra: str, command: tuple[str, ...], tmp_path: Path) -> None:
    """With the command that installs it; nothing is made."""
    ran = bare(*command, cwd=tmp_path)

    assert f"pip install 'ptycassette[{extra}]'" in ran.stderr
    assert extra == "ghostty" or "needs the package '" in ran.stderr
    assert ran.returncode == 2
    assert list(tmp_path.iterdir()) == []


_EVERY_NAME = (
    _BARE.rpartition("from ptycassette.cli")[0]
    + """
import ptycassette
from ptycassette import toolkit, viewing
from ptycassette.errors import UsageError
for module in ptycassette, toolkit, viewing:
    for name in module.__all__:
        try:
            getattr(module, name)
        except UsageError as missing:
            print(name, missing.hint)
"""
)


def test_a_public_name_that_needs_an_extra_names_it(tmp_path: Path) -> None:
    """Also a missing package is reported as a `CassetteError`, as docs/api.md promises."""
    ran = subprocess.run(
        [sys.executable, "-c", _EVERY_NAME],
        cwd=tmp_path, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL,
    )  # fmt: skip

    assert ran.returncode == 0, ran.stderr
    assert sorted(ran.stdout.splitlines()) == sorted(
        f"{name} pip install 'ptycassette[{extra}]'"
        for extra, names in {
            "provider": "FakeProviderServer offline_run",
            "seal": "Demands apply_bundle capture_bundle verify_bundle",
            "tape": "rerun_cassette",
        }.items()
        for name in names.split()
    )


@pytest.mark.parametrize(
    "command",
    [
        ("tape", TAPE),
        ("tape", TAPE, "--entry", "1"),
        ("fork", "--places", TAPE),
        ("fork", "--list-faults"),
        ("lineage", TAPE),
        ("verify", TAPE),
        ("verify-scrub", TAPE),
        ("doctor", "--json"),
    ],
)
def test_reading_needs_none(command: tuple[str, ...], tmp_path: Path) -> None:
    """What is recorded can be looked at and verified by anybody."""
    ran = bare(*command, cwd=tmp_path)

    assert (ran.returncode, ran.stderr) == (0, "")
