"""Cassettes under git: diffs as text, hooks, the action, the page of a CI job."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest
import yaml
from markdown_it import MarkdownIt

from ptycassette.cassette.layout import MANIFEST, OPTIONAL_FILES, REQUIRED_FILES
from ptycassette.cli.entry import cli
from ptycassette.model.records import Finished, Output, Typed
from ptycassette.model.tape import TAPE, TAPE_BODIES
from ptycassette.testing import write_cassette
from tests.unit.cli.conftest import FIXTURES, Run

ROOT = FIXTURES.parent
HOOKS: list[dict[str, Any]] = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text())


def options_of(words: list[str]) -> set[str]:
    """The options among the words of a command, of which each must be one of it."""
    command = cli.get_command(click.Context(cli), words[1])
    assert command is not None
    known = {name for option in command.params for name in option.opts}
    used = {word for word in words if word.startswith("--")}
    assert used <= known
    return used


@pytest.mark.parametrize("hook", HOOKS, ids=lambda hook: str(hook["id"]))
def test_a_hook_looks_at_the_cassettes_that_were_changed(
    run: Run, tmp_path: Path, hook: dict[str, Any]
) -> None:
    """Every file of a cassette calls it, each cassette is looked at once, other files never."""
    words = [*shlex.split(hook["entry"]), *hook["args"]]
    assert words[-1] == "--files"
    assert options_of(words) == {"--files"}
    names = {MANIFEST, *REQUIRED_FILES, *OPTIONAL_FILES, TAPE, TAPE_BODIES}
    assert all(re.search(hook["files"], f"tests/a.cassette/{name}") for name in names)
    assert not re.search(hook["files"], "package.json")
    assert not re.search(hook["files"], "src/final.py")

    write_cassette(tmp_path / "a", Output(0, b"hi"), Finished(t_us=1))
    named = [tmp_path / "a" / name for name in ("manifest.json", "output.raw")]
    made = run(*words[1:], *named, tmp_path / "gone" / "manifest.json", ROOT / "README.md")
    assert (made.status, made.text.count(str(tmp_path / "a"))) == (0, 1)
    (tmp_path / "a" / "output.raw").write_bytes(b"ho")
    assert run("verify", "--files", named[1]).status == 4


def test_a_commit_without_cassettes_has_nothing_to_check(run: Run) -> None:
    """It passes."""
    assert run("verify", "--files", ROOT / "README.md").status == 0
    assert run("verify-scrub", "--files", ROOT / "README.md").status == 0


def test_the_action_runs_commands_that_there_are() -> None:
    """And takes from the workflow only what is expanded as names of files."""
    scripts = [step["run"] for step in ACTION["runs"]["steps"] if "run" in step]
    lines = [line for script in scripts for line in script.splitlines()]
    ours = [shlex.split(line) for line in lines if line.startswith("ptycassette")]

    assert [words[1] for words in ours] == ["verify", "verify-scrub"]
    assert options_of(ours[0][: ours[0].index("--")]) == {"--summary"}
    assert all(words[words.index("--") + 1] == "$CASSETTES" for words in ours)
    assert not any("${{" in script for script in scripts)


def test_the_runner_takes_no_command_from_what_is_printed() -> None:
    """A name may be ``##[add-mask]``, which the runner of GitHub would do."""
    scripts = [step["run"].splitlines() for step in ACTION["runs"]["steps"] if "run" in step]
    for lines in scripts:
        at = [number for number, line in enumerate(lines) if line.startswith("ptycassette")]
        if at:
            assert lines[at[0] - 1] == 'echo "::stop-commands::$stop"'
            assert lines[at[0] + 1 :] == ['echo "::$stop::"', 'exit "$status"']


@pytest.mark.parametrize("command", ["verify", "verify-scrub"])
def test_a_name_of_a_pull_request_is_no_option(
    command: str, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Behind ``--files`` and ``--``, a folder that is called like an option is looked at."""
    monkeypatch.chdir(tmp_path)
    names = [f"--{name}=x" for name in ("config", "known-file", "summary", "trust", "auditor")]
    for name in [*names, "--fix", "--json", "-h"]:
        write_cassette(Path(name), Output(0, b"hi"), Finished(t_us=1))
        made = run(command, "--files", f"{name}/manifest.json")
        assert (made.status, made.text.count(name)) == (0, 1), made
        assert run(command, "--", name).text.count(name) == 1
        Path(name, "output.raw").write_bytes(b"ho")
    (tmp_path / "x").mkdir()
    made = run("verify", "--files", "--fix/output.raw")

    assert made.status == 4
    assert not list((tmp_path / "x").iterdir())
    assert Path("--fix", "output.raw").read_bytes() == b"ho"


@pytest.mark.parametrize("words", [["--json"], ["--config=there.toml"], ["--files", "--sealed"]])
def test_an_option_behind_files_is_refused(
    words: list[str], run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Taken as a file, which is in no cassette, it would be left out, and nobody would know."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "--json").touch()
    made = run("verify", "--files", *words, "a/manifest.json")

    assert made.status == 2
    assert "put options before it" in made.err


def test_a_summary_is_a_table_and_nothing_in_it_is_markup(run: Run, tmp_path: Path) -> None:
    """Those that are not valid first; it is appended."""
    good, bad = tmp_path / "good", tmp_path / "a|<b>`*[x](y) @all www.example.com ![x]"
    write_cassette(good, Output(0, b"hi"), Finished(t_us=1))
    bad.mkdir()
    summary = tmp_path / "summary.md"
    summary.write_text("before\n")
    made = run("verify", "--summary", summary, good, bad)
    text = summary.read_text()
    rows = [line for line in text.splitlines() if line.startswith("| ")][1:]

    assert made.status == 4
    assert text.startswith("before\n\n| cassette")
    assert ["**not valid**" in row for row in rows] == [True, False]
    assert "MissingFileError" in rows[0]
    parsed = MarkdownIt("commonmark").enable("table").parse(text)
    inside = [child for token in parsed for child in token.children or []]
    plain = " ".join(token.content for token in inside if token.type == "text")
    assert {token.type for token in inside} <= {
        "text",
        "code_inline",
        "strong_open",
        "strong_close",
    }
    assert not {"@", "www", "<", "["} & set(re.findall(r"www|.", plain))
    assert sum(token.type == "td_open" for token in parsed) == 2 * 3
    assert run("verify", "--summary", tmp_path / "no" / "x", good).status == 125


def test_git_shows_what_people_see(tmp_path: Path) -> None:
    """And nothing where only times changed."""
    program = shutil.which("git")
    if program is None:
        pytest.skip("git is not installed")
    ours = f"{shlex.quote(sys.executable)} -m ptycassette textconv"
    environment = {
        **os.environ, "HOME": str(tmp_path), "GIT_CONFIG_NOSYSTEM": "1", "GIT_PAGER": "cat",
    }  # fmt: skip

    def git(*words: str) -> str:
        done = subprocess.run(
            [program, "-C", str(tmp_path), *words],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout

    def record(word: bytes, late_us: int) -> None:
        write_cassette(
            tmp_path / "a.cassette",
            Typed(late_us, b"hello " + word),
            Finished(t_us=late_us),
            overwrite=True,
        )

    git("init", "-q")
    git("config", "diff.cassette.textconv", ours)
    (tmp_path / ".gitattributes").write_text("*.json* diff=cassette\n*.raw binary\n")
    record(b"world", 1_000)
    git("add", ".")
    record(b"world", 5_000)
    assert not re.findall(r"^[-+](?![-+])", git("diff", "--", "a.cassette/*.json*"), re.MULTILINE)
    record(b"moon", 5_000)
    changed = git("diff", "--", "a.cassette/input.jsonl")
    found = re.findall(r"^[-+](?![-+]).*", changed, re.MULTILINE)
    assert found == ["-input hello world", "+input hello moon"]


def test_a_conversion_loads_nothing_that_takes_long() -> None:
    """Git starts one for each version of each file of a diff."""
    code = (
        "import sys; before = set(sys.modules); from ptycassette.cli import main;"
        "status = main(['textconv', sys.argv[1]]);"
        "print(status, sorted({'click', 'msgspec', 'inspect'} & set(sys.modules) - before))"
    )
    path = FIXTURES / "v1" / "minimal" / "frames.jsonl"
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True
    )

    assert done.stdout.splitlines() == ["screen", "  hello", "0 []"]


def test_a_conversion_that_fails_says_why(run: Run, tmp_path: Path) -> None:
    """As every command; help is there, too."""
    assert run("textconv", tmp_path / "nothing").status == 3
    assert "there is no such file" in run("textconv", tmp_path / "nothing").err
    assert run("textconv", tmp_path).status == 4
    assert "Usage" in run("textconv", "--help").text
    assert run("textconv").status == 2
