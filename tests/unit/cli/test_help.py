"""The help of every command, held by golden files, and completion."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import click
import pytest
from click.shell_completion import ShellComplete

from ptycassette.cli.entry import COMMANDS, cli


def _found(words: str) -> click.Command:
    """A command, by its name, or by the names of its group and its own."""
    found: click.Command = cli
    for word in words.split():
        assert isinstance(found, click.Group)
        inner = found.get_command(click.Context(found), word)
        assert inner is not None
        found = inner
    return found


def _with_those_of_groups(name: str) -> list[str]:
    command = _found(name)
    inner = command.commands if isinstance(command, click.Group) else ()
    return [name, *(f"{name} {one}" for one in inner)]


NAMES = sorted(words for name in COMMANDS for words in _with_those_of_groups(name))
WITH_EXAMPLE = sorted(set(NAMES) - {"fake-provider", "stand-in"})


@pytest.mark.parametrize("name", NAMES)
def test_help_is_as_published(
    name: str,
    run: Callable[..., Any],
    golden: Callable[[str, str], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Name, flags, units, defaults: what users read, and what must not change unnoticed."""
    monkeypatch.setenv("COLUMNS", "80")

    golden(f"help-{name.replace(' ', '-')}.txt", run(*name.split(), "--help").text)


@pytest.mark.parametrize("name", WITH_EXAMPLE)
def test_every_help_has_an_example(name: str, run: Callable[..., Any]) -> None:
    """One line that can be typed, beginning with the command."""
    assert re.search(
        rf"^  Example: ptycassette {name}\b", run(*name.split(), "--help").text, re.MULTILINE
    )


@pytest.mark.parametrize("name", NAMES)
def test_every_option_is_explained(name: str) -> None:
    """No option without a sentence."""
    options = [option for option in _found(name).params if isinstance(option, click.Option)]
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
