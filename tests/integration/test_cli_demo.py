"""The tour, with a real program under a real PTY."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.integration


def _run(*args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "ptycassette", *args],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


@pytest.mark.slow
def test_the_demo_holds_everything_it_shows(tmp_path: Path) -> None:
    """Every step is ok, and the kept cassette is valid."""
    kept = tmp_path / "kept.cassette"
    ran = _run("demo", "--keep", str(kept), "--json")
    report = json.loads(ran.stdout)

    assert (ran.returncode, report["ok"]) == (0, True)
    assert [step["name"] for step in report["steps"]] == [
        "record",
        "verify",
        "secrets",
        "replay",
        "replay in time",
    ]
    assert _run("verify", "--rederive", str(kept)).returncode == 0


def test_the_demo_tells_its_steps() -> None:
    """To people, with the screen at the end; nothing acts where stdout is no terminal."""
    ran = _run("demo")

    assert ran.returncode == 0
    assert "1. record this Python" in ran.stdout
    assert ran.stdout.endswith("Everything holds.\n")
    assert "\x1b" not in ran.stdout


@pytest.mark.parametrize("on_path", [True, False])
def test_what_the_demo_advises_works_as_typed(tmp_path: Path, on_path: bool) -> None:
    """In the folder where it was started, whether the command is on PATH or not."""
    ours = Path(sys.executable).parent
    folders = [str(ours)] if on_path else []
    environment = {**os.environ, "PATH": ":".join([*folders, "/usr/bin:/bin"])}
    (tmp_path / "env").symlink_to(ours.parent)
    command = [tmp_path / "env" / "bin" / "ptycassette", "demo"]
    words = {"cwd": tmp_path, "env": environment, "text": True, "timeout": 120}
    printed = subprocess.run(command, check=True, stdout=subprocess.PIPE, **words).stdout
    advised = re.findall(r"^  (\S*ptycassette .*)", printed, re.MULTILINE)
    for line in advised:
        subprocess.run(["/bin/sh", "-c", line], check=True, stdout=subprocess.DEVNULL, **words)

    assert len(advised) == 2
    assert (tmp_path / "hello.cassette").is_dir()


def test_the_demo_replaces_nothing(tmp_path: Path) -> None:
    """What stands in the way is refused before anything is recorded."""
    ran = _run("demo", "--keep", str(tmp_path))

    assert ran.returncode == 6
    assert "exists already" in ran.stderr
