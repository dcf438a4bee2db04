"""The README does what it says: its own commands and its own test, run as they stand there."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from ptycassette.cli.entry import COMMANDS

pytestmark = pytest.mark.integration
ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()


def block(language: str, containing: str) -> str:
    """The first fenced block of a language that contains a text."""
    for body in re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL):
        if containing in body:
            return str(body)
    raise AssertionError(f"no {language} block with {containing!r} in the README")


def run(*argv: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """A command, bounded in time, with nothing to read from."""
    return subprocess.run(
        argv,
        cwd=cwd,
        text=True,
        capture_output=True,
        check=False,
        timeout=120,
        stdin=subprocess.DEVNULL,
    )


@pytest.fixture
def recorded(tmp_path: Path, program: Callable[[str], str]) -> Path:
    """A directory with the script and the cassette of the README's own commands."""
    program("bash")
    commands = block("console", "greet.sh")
    script = re.search(r"<<'END'\n(.*?)^END$", commands, re.DOTALL | re.MULTILINE)
    assert script is not None
    (tmp_path / "greet.sh").write_text(script[1])
    (tmp_path / "keys").write_text("wait-text name?\nsubmit Ada\nwait-exit\n")
    command = re.search(r"ptycassette (rec .*?) +#", commands)
    assert command is not None
    done = run(
        sys.executable,
        "-m",
        "ptycassette",
        *command[1].replace("rec ", "rec --headless --input keys ").split(),
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    return tmp_path


def test_the_test_of_the_readme_passes(recorded: Path) -> None:
    """What a newcomer copies works against what a newcomer recorded."""
    (recorded / "test_greet.py").write_text(block("python", "test_greets"))
    done = run(sys.executable, "-m", "pytest", "-q", "test_greet.py", cwd=recorded)

    assert done.returncode == 0, done.stdout
    assert "1 passed" in done.stdout


def test_a_failing_replay_prints_what_the_readme_shows(recorded: Path) -> None:
    """The divergence in the README is the one that users get, but for the time."""
    (recorded / "test_greet.py").write_text(
        block("python", "test_greets").replace('submit("Ada")', 'submit("Bob")')
    )
    done = run(sys.executable, "-m", "pytest", "-q", "test_greet.py", cwd=recorded)
    shown = block("text", "input-changed")

    assert done.returncode == 1
    printed = re.sub(r"^E +", "", done.stdout, flags=re.MULTILINE)
    for line in shown.splitlines():
        assert re.sub(r"\d+ ms", "N ms", line.strip()) in re.sub(r"\d+ ms", "N ms", printed)


def test_the_cassette_of_the_readme_verifies(recorded: Path) -> None:
    """The third command of the README."""
    done = run(
        sys.executable, "-m", "ptycassette", "verify", "--rederive", "greet.cassette", cwd=recorded
    )

    assert done.returncode == 0, done.stdout + done.stderr


def test_the_readme_names_only_commands_that_exist() -> None:
    """Every ``ptycassette NAME`` in the README is a command."""
    named = set(re.findall(r"(?:`|\$ )ptycassette ([a-z][a-z-]+)", README))

    assert named <= set(COMMANDS)


def test_the_links_of_the_readme_lead_somewhere() -> None:
    """Every relative link and picture is a file or a folder of the repository."""
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        assert (ROOT / target).exists(), target
