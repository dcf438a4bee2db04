"""The hooks by pre-commit, and the steps of the action, from a clone of this repository.

Both install the package, so they need a registry of packages, and minutes.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

pytestmark = [pytest.mark.integration, pytest.mark.slow]

ROOT = Path(__file__).parents[2]
PRE_COMMIT = shutil.which("pre-commit") or shutil.which(
    "pre-commit", path=str(Path(sys.executable).parent)
)
Ran = subprocess.CompletedProcess[str]


def ran(*argv: object, cwd: Path, **environment: str) -> Ran:
    """A program that has ended."""
    return subprocess.run(
        [str(word) for word in argv],
        cwd=cwd,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """This repository as others fetch it: what is committed."""
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("there is no git, or this is no clone")
    folder = tmp_path_factory.mktemp("clone")
    made = ran("git", "clone", "-q", "--no-hardlinks", ROOT, folder / "ptycassette", cwd=folder)
    assert made.returncode == 0, made.stderr
    return folder / "ptycassette"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A repository with two cassettes."""
    folder = tmp_path / "project"
    for source, name in (("v1/minimal", "small"), ("agents/codex-tui", "agent")):
        shutil.copytree(ROOT / "fixtures" / source, folder / "cassettes" / name)
    return folder


def spoil(project: Path) -> None:
    """Change a byte of a cassette."""
    with (project / "cassettes" / "small" / "output.raw").open("ab") as file:
        file.write(b"x")


@pytest.mark.skipif(PRE_COMMIT is None, reason="pre-commit is not installed")
def test_the_hooks_let_a_commit_pass_or_not(clone: Path, project: Path, tmp_path: Path) -> None:
    """``pre-commit install``, and ``git commit``."""
    head = ran("git", "rev-parse", "HEAD", cwd=clone).stdout.strip()
    ids = [hook["id"] for hook in yaml.safe_load((clone / ".pre-commit-hooks.yaml").read_text())]
    config = {"repos": [{"repo": str(clone), "rev": head, "hooks": [{"id": one} for one in ids]}]}
    (project / ".pre-commit-config.yaml").write_text(yaml.safe_dump(config))
    more = {"PRE_COMMIT_HOME": str(tmp_path / "cache"), "GIT_CONFIG_GLOBAL": os.devnull}
    author = ("-c", "user.name=n", "-c", "user.email=n@example.invalid")

    def git(*words: str) -> Ran:
        return ran("git", *author, *words, cwd=project, **more)

    assert git("init", "-q").returncode == 0
    assert ran(PRE_COMMIT, "install", cwd=project, **more).returncode == 0
    git("add", ".")
    passed = git("commit", "-m", "two cassettes")
    assert passed.returncode == 0, passed.stdout + passed.stderr
    assert passed.stderr.count("Passed") == len(ids)
    spoil(project)
    git("add", ".")
    refused = git("commit", "-m", "a byte more")
    assert refused.returncode == 1
    assert "small: NOT VALID" in refused.stderr
    assert git("log", "--format=%s").stdout == "two cassettes\n"


def test_the_steps_of_the_action_run(clone: Path, project: Path, tmp_path: Path) -> None:
    """As GitHub's runner runs them, but for ``setup-python``, in whose place is a new venv."""
    action = yaml.safe_load((clone / "action.yml").read_text())
    assert ran(sys.executable, "-m", "venv", tmp_path / "python", cwd=tmp_path).returncode == 0
    inputs = {"cassettes": "cassettes/*"}
    more = {
        "PATH": f"{tmp_path / 'python' / 'bin'}:{os.environ['PATH']}",
        "GITHUB_ACTION_PATH": str(clone),
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"),
    }

    def step(one: dict[str, Any]) -> Ran:
        script = tmp_path / "step.sh"
        script.write_text(one["run"])
        said = {
            name: value.replace("${{ inputs.cassettes }}", inputs["cassettes"])
            for name, value in one.get("env", {}).items()
        }
        shell = ("bash", "--noprofile", "--norc", "-eo", "pipefail", script)
        return ran(*shell, cwd=project, **more, **said)

    steps = [one for one in action["runs"]["steps"] if "run" in one]
    for one in steps:
        done = step(one)
        assert done.returncode == 0, (one["name"], done.stdout, done.stderr)
    assert "| `cassettes/small` | valid |" in (tmp_path / "summary.md").read_text()
    spoil(project)
    verify = next(one for one in steps if one["name"] == "Verify")
    assert step(verify).returncode == 4
    assert "**not valid**" in (tmp_path / "summary.md").read_text()
