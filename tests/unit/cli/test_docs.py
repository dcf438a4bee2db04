"""The pages of the guide name every option and every command."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest

from ptycassette.cli.entry import COMMANDS, cli
from ptycassette.replaying.standin.io.options import STANDIN_OPTIONS as STAND_IN_OPTIONS

DOCS = Path(__file__).resolve().parents[3] / "docs"


def _options(name: str) -> list[str]:
    """The options of a command, by their longest names."""
    if name == "stand-in":  # its parser is its own
        return [option.name for option in STAND_IN_OPTIONS]
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    inner = command.commands.values() if isinstance(command, click.Group) else ()
    params = [param for one in (command, *inner) for param in one.params]
    return [max(option.opts, key=len) for option in params if option.opts[0][0] == "-"]


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_option_stands_in_the_guide(name: str) -> None:
    """Options that nobody can find are of no use."""
    text = (DOCS / "cli.md").read_text(encoding="utf-8")

    assert [o for o in _options(name) if re.search(rf"{o}(?![\w-])", text) is None] == []


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_stands_in_the_list_of_the_guide(name: str) -> None:
    """With a page that there is."""
    text = (DOCS / "cli.md").read_text(encoding="utf-8")
    row = re.search(rf"^\| `{name}[ `].*\|$", text, flags=re.MULTILINE)

    assert row is not None, f"docs/cli.md has no row | `{name} ...` | ... | [page](page.md) |"
    linked = re.findall(r"\((\w[\w-]*\.md)\)", row[0])
    assert "below" in row[0] or [(DOCS / page).exists() for page in linked] == [True]
