"""The tutorial does what it says: its own commands, run as they stand there, in one shell."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.integration
ROOT = Path(__file__).resolve().parents[2]
TUTORIAL = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
SHELLS = {"bash": ["--noprofile", "--norc"], "zsh": ["--no-rcs"]}


def commands() -> str:
    """The console blocks as one script: what follows a prompt, with its here-documents."""
    lines: list[str] = []
    until = ""
    for block in re.findall(r"^```console\n(.*?)^```$", TUTORIAL, re.MULTILINE | re.DOTALL):
        for line in block.splitlines():
            if until:
                until = "" if line == until else until
            else:
                assert line.startswith("$ "), line
                begun = re.search(r"<<'(\w+)'$", line)
                until = begun[1] if begun else ""
            lines.append(line.removeprefix("$ "))
    return "\n".join(lines)


@pytest.mark.slow
@pytest.mark.parametrize("shell", SHELLS)
def test_the_tutorial_runs_to_its_end(
    shell: str, tmp_path: Path, program: Callable[[str], str]
) -> None:
    """With every command's status 0, the failure that it shows, and no token left."""
    environment = {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "HOME": str(tmp_path),
        "PTYCASSETTE_STATE_DIR": str(tmp_path / "state"),
    }
    done = subprocess.run(
        [program(shell), *SHELLS[shell], "-e", "-c", commands()],
        cwd=tmp_path,
        env=environment,
        text=True,
        capture_output=True,
        check=False,
        timeout=300,
        stdin=subprocess.DEVNULL,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("1 passed") == 4
    assert "failed, as it should" in done.stdout
    (shown,) = re.findall(r"^```text\n(.*?)^```$", TUTORIAL, re.MULTILINE | re.DOTALL)
    printed = _without_times(re.sub(r"^E +", "", done.stdout, flags=re.MULTILINE))
    assert [
        line for line in _without_times(shown).splitlines() if line.strip() not in printed
    ] == []
    cassette = tmp_path / "assistant-tests" / "cassettes" / "capitals.cassette"
    token = "4fK9xQ2m7ZtR" * 3
    files = [file for file in cassette.rglob("*") if file.is_file()]
    assert files
    assert [file for file in files if token.encode() in file.read_bytes()] == []


def _without_times(text: str) -> str:
    """Nor numbers of events: they depend on how the output came in."""
    return re.sub(r"seq \d+, \d+ ms", "seq N, N ms", text)
