"""The options of ``ptycassette rec`` about model traffic."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import click

PROVIDER_VARIABLE = "PTYCASSETTE_PROVIDER"
"""Environment variable: the default of ``--provider``. ``ptycassette offline`` sets it."""

_Command = TypeVar("_Command", bound=Callable[..., object])


def tape_options(command: _Command) -> _Command:
    """Add them to a command."""
    for option in reversed(
        (
            click.option(
                "--tape",
                is_flag=True,
                help="Record the program's model traffic, too, through a proxy on 127.0.0.1"
                " (docs/tape.md).",
            ),
            click.option(
                "--provider",
                metavar="NAME",
                envvar=PROVIDER_VARIABLE,
                help="With --tape: anthropic, openai, gemini, or a base URL; else what the harness"
                " uses.",
            ),
            click.option(
                "--proxy-env",
                is_flag=True,
                help="With --tape: by the variables for HTTP proxies, and a certificate of this"
                " recording.",
            ),
        )
    ):
        command = option(command)
    return command
