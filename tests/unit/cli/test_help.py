"""The help of every command, held by golden files, and completion."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import click
import pytest
from click.shell_completion import ShellComplete

from ptycassette.cli.entry import COMMANDS, cli

WITH_EXAMPLE = sorted(set(COMMANDS) - {"fake-provider", "stand-in"})


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_help_is_as_published(
    name: str,
    run: Callable[..., Any],
    golden: Callable[[str, str], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Name, flags, units, defaults: what users read, and what must not change unnoticed."""
    monkeypatch.setenv("COLUMNS", "80")

    golden(f"help-{name}.txt", run(name, "--help").text)


@pytest.mark.parametrize("name", WITH_EXAMPLE)
def test_every_help_has_an_example(name: str, run: Callable[..., Any]) -> None:
    """One line that can be typed, beginning with the command."""
    assert re.search(rf"^  Example: ptycassette {name}\b", run(name, "--help").text, re.MULTILINE)


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_option_is_explained(name: str) -> None:
    """No option without a sentence."""
    command = cli.get_command(click.Context(cli), name)
    assert command is not None

    options = [option for option in command.params if isinstance(option, click.Option)]
    assert [option.name for option in options if not option.help] == []


def test_the_list_of_commands_tells_what_each_is_for(run: Callable[..., Any]) -> None:
    """Each command of the table is listed with its line."""
    text = " ".join(run("--help").text.split())

    assert [name for name, (_, line) in COMMANDS.items() if f"{name} {line}" not in text] == []


def test_commands_and_options_complete() -> None:
    """Shells that click knows can complete names of commands and options."""
    complete = ShellComplete(cli, {}, "ptycassette", "_PTYCASSETTE_COMPLETE")

    assert {item.value for item in complete.get_completions([], "inf")} == {"info"}
    assert "--speed" in {item.value for item in complete.get_completions(["play"], "--s")}
