"""``ptycassette man``: the manual page, made from the commands themselves."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from ptycassette.cli._present import write_lines
from ptycassette.version import __version__

if TYPE_CHECKING:
    from ptycassette.cli.entry import LazyGroup


@click.command("man")
def command() -> None:
    """Print the manual page, in the format of man(7).

    To read it: ptycassette man | man -l -

    To install it: ptycassette man > ~/.local/share/man/man1/ptycassette.1

    Example: ptycassette man | man -l -
    """
    from ptycassette.cli.entry import cli

    write_lines(manual_lines(cli))


def manual_lines(group: LazyGroup) -> Iterator[str]:
    """The page: every command with its options, then statuses, variables and files."""
    from ptycassette.cli.reference import EXIT_STATUSES, FILES, VARIABLES

    yield f'.TH PTYCASSETTE 1 "" "ptycassette {__version__}" "User Commands"'
    yield ".SH NAME"
    yield "ptycassette \\- record terminal programs once, replay them in tests"
    yield ".SH SYNOPSIS"
    yield ".B ptycassette"
    yield "COMMAND [OPTIONS] [ARGUMENTS]"
    yield ".SH COMMANDS"
    context = click.Context(group, info_name="ptycassette", **group.context_settings)
    for name in group.list_commands(context):
        found = group.get_command(context, name)
        if found is not None:
            yield from _command_lines(found, click.Context(found, info_name=name, parent=context))
    for title, rows in (
        ("EXIT STATUS", EXIT_STATUSES), ("ENVIRONMENT", VARIABLES), ("FILES", FILES),
    ):  # fmt: skip
        yield f".SH {title}"
        for term, text in rows:
            yield from _entry(term, text)


def _command_lines(found: click.Command, context: click.Context) -> Iterator[str]:
    yield f".SS {_roff(context.command_path)}"
    usage = found.get_usage(context).removeprefix("Usage: ")
    yield f".B {_roff(' '.join(usage.split()))}"
    yield ".PP"
    for paragraph in (found.help or "").split("\n\n"):
        if paragraph.lstrip().startswith("\b"):  # click's mark for lines that stay as they are
            yield ".nf"
            yield from (_roff(line) for line in paragraph.split("\n")[1:])
            yield ".fi"
        else:
            yield _roff(" ".join(paragraph.split()))
        yield ".PP"
    if found.epilog:
        yield _roff(found.epilog)
    formatter = click.HelpFormatter(width=10_000)
    found.format_options(context, formatter)
    for line in formatter.getvalue().splitlines():
        term, _, text = line.strip().partition("  ")
        if line.startswith("  ") and text:
            yield from _entry(term, text.strip())


def _entry(term: str, text: str) -> Iterator[str]:
    yield ".TP"
    yield f".B {_roff(term)}"
    yield _roff(text)


def _roff(text: str) -> str:
    """Text escaped for roff: no line is a request, and hyphens can be copied."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"^([.'])", r"\\&\1", escaped) or "\\&"
