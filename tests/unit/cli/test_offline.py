"""What ``ptycassette offline`` prints without running anything, and the pages that show it."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ptycassette.agents.harness.fake.script import Script
from ptycassette.agents.harness.io.files import builtin_profiles, load_profile
from ptycassette.profiles.profile import Profile

DOCS = Path(__file__).resolve().parents[3] / "docs"
AGENTS = [name for name in builtin_profiles() if load_profile(name, env={}).binaries]
Run = Callable[..., Any]


def part(page: str, what: str, text: str | None) -> str:
    """A generated part of a page; ``text`` replaces it where somebody asked for that."""
    path = DOCS / page
    begin, end = rf"<!-- begin: {what}[^\n]*-->\n", rf"<!-- end: {what} -->"
    whole = path.read_text(encoding="utf-8")
    found = re.search(f"({begin})(.*?)({end})", whole, re.DOTALL)
    assert found is not None
    if os.environ.get("PTYCASSETTE_UPDATE_GOLDEN") == "1" and text is not None:
        path.write_text(whole[: found.end(1)] + text + whole[found.start(3) :], encoding="utf-8")
        return text
    return found[2]


def shown(run: Run, name: str) -> str:
    """The chapter on one CLI: what the command prints, in each mode."""
    profile = load_profile(name, env={})
    blocks = []
    for mode in profile.modes:
        words = ["offline", name, "--print", *([] if mode == "key" else ["--mode", mode])]
        printed = run(*words).text.rstrip()
        blocks.append(f"```console\n$ ptycassette {' '.join(words)}\n{printed}\n```\n")
    return f"### {profile.title}\n\n" + "\n".join(blocks)


def test_the_page_shows_what_is_written_for_each_cli(run: Run) -> None:
    """In every mode, as the command prints it."""
    text = "\n" + "\n".join(shown(run, name) for name in AGENTS) + "\n"

    assert part("offline.md", "offline --print", text) == text


def call(profile: Profile, does: str) -> str:
    """How a script makes the CLI act, for the table."""
    tool = profile.tools.get(does)
    if tool is None:
        return "-"
    if tool.name is None:
        return "a block in its answer (`--example` shows it)"
    pairs = (tool.arguments or {}).items()
    options = f" with `{' '.join(tool.options)}`" if tool.options else ""
    return f"`{tool.name}`: {', '.join(f'`{key}`' for key, _ in pairs) or 'nothing'}{options}"


def test_the_page_names_the_tools_that_each_cli_has() -> None:
    """As the profiles know them, with their arguments."""
    columns = ("read", "run", "edit")
    rows = [f"| CLI | {' | '.join(columns)} |", "|---|" + "---|" * len(columns)]
    for name in AGENTS:
        profile = load_profile(name, env={})
        cells = " | ".join(call(profile, does) for does in columns)
        rows.append(f"| {profile.title} | {cells} |")
    text = "\n" + "\n".join(rows) + "\n\n"

    assert {does for name in AGENTS for does in load_profile(name, env={}).tools} <= set(columns)
    assert part("fake-provider.md", "tools", text) == text


@pytest.mark.parametrize("name", builtin_profiles())
def test_the_example_of_each_cli_is_a_script_that_calls_its_tool(run: Run, name: str) -> None:
    """With the name and the arguments that its profile knows."""
    script = Script.parse(run("offline", name, "--example").text, variables={"cwd": "/w"})
    called = [part.tool for reply in script.replies for part in reply.parts if part.tool]
    tools = load_profile(name, env={}).tools.values()

    assert set(called) <= {tool.name for tool in tools}
    assert bool(called) == any(tool.name for tool in list(tools)[:1])
    assert script.replies[-1].times == 0


def test_the_example_of_the_guide_is_that_of_a_cli(run: Run) -> None:
    """A reader can start it as it is shown."""
    guide = (DOCS / "fake-provider.md").read_text(encoding="utf-8")

    assert run("offline", "gemini", "--example").text in guide


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["nope", "--print"], "no profile is named 'nope'"),
        (["codex", "--print", "--mode", "nope"], "it has: account, key, logged-out"),
        (["codex", "-p", "hi", "--", "codex"], "give ARGV or --prompt, not both"),
        (["codex", "-e", "PTYCASSETTE_NOT_SET", "--", "true"], "--env takes NAME=VALUE, or the"),
        (["codex", "--set", "x", "--", "true"], "--set takes NAME=VALUE, not 'x'"),
        (["codex", "--script", "/dev/null/script.toml", "--", "true"], "the script cannot be read"),
        (["generic"], "names no program"),
    ],
)
def test_what_is_wrong_is_said(run: Run, words: list[str], told: str) -> None:
    """Before anything is started."""
    done = run("offline", *words)

    assert done.status in {2, 3}
    assert told in done.err
