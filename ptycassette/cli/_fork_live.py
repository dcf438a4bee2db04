"""The options of ``ptycassette fork`` about a live tail: whom it asks, and what was agreed to."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ptycassette.cli._rec_tape import limit_options, terms_of

if TYPE_CHECKING:
    from ptycassette.fork.io.live import LiveTerms

_Command = TypeVar("_Command", bound=Callable[..., object])
_OPTIONS = (
    click.option(
        "--provider",
        metavar="NAME",
        help="With --tail live: ask this provider: anthropic, openai, gemini, or a base URL."
        " Default: the recorded one.",
    ),
    click.option(
        "--key-env",
        metavar="NAME",
        help="With --tail live: read your key from the variable NAME. Default: the usual one of"
        " the API.",
    ),
    click.option(
        "--yes", is_flag=True, help="With --tail live: agree that data is sent to the provider."
    ),
    *limit_options("--tail live"),
)
_NAMES = ("provider", "key_env", "yes", "approval", "max_requests", "max_tokens", "max_usd",
          "forbid", "strip", "unsearched", "unknown_models")  # fmt: skip


def live_options(command: _Command) -> _Command:
    """Add them to a command."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def live_terms_of(given: dict[str, Any]) -> LiveTerms:
    """What may be asked of whom.

    Raises:
        UsageError: an option says nothing without a live tail.
        CassetteError: the approval cannot be read, or is over.
    """
    from ptycassette.fork.io.live import LiveTerms

    if given["tail"] != "live":
        for name in _NAMES:
            if given[name] not in {None, False, ()}:
                raise click.UsageError(f"--{name.replace('_', '-')} goes with --tail live only")
        return LiveTerms()
    return LiveTerms(
        provider=given["provider"] or "",
        terms=terms_of(given),
        key_variable=given["key_env"] or "",
    )
