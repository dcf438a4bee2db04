"""The options of ``ptycassette rec`` about model traffic, and what they agree to."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from ptycassette.tape.consent import Terms

_Command = TypeVar("_Command", bound=Callable[..., object])

_OPTIONS = (
    click.option(
        "--tape",
        is_flag=True,
        help="Record its model traffic, too, through a proxy on 127.0.0.1 (docs/tape.md).",
    ),
    click.option(
        "--provider",
        metavar="NAME",
        help="With --tape: anthropic, openai, gemini, or a base URL; else what the harness uses.",
    ),
    click.option(
        "--proxy-env",
        is_flag=True,
        help="With --tape: by the variables for HTTP proxies, and a certificate of this recording.",
    ),
    click.option(
        "--yes", is_flag=True, help="With --tape: agree to what the program sends to its provider."
    ),
    click.option(
        "--approval",
        metavar="FILE",
        type=click.Path(),
        help="With --tape: a file in which somebody has agreed to it (docs/tape.md).",
    ),
    click.option(
        "--max-requests", type=click.IntRange(0), help="With --tape: refuse more requests."
    ),
    click.option("--max-tokens", type=click.IntRange(0), help="With --tape: refuse more tokens."),
    click.option(
        "--max-usd", type=click.FloatRange(0), help="With --tape: refuse what would cost more."
    ),
    click.option(
        "--forbid",
        metavar="KEY",
        multiple=True,
        help="With --tape: send no input under this key of JSON; replaces the usual keys.",
    ),
    click.option("--strip", is_flag=True, help="With --tape: send the rest of such an input."),
    click.option(
        "--unknown-models", is_flag=True, help="With --max-usd: let models without a price pass."
    ),
    click.option(
        "--evidence",
        metavar="DIR",
        type=click.Path(),
        help="With --tape: write what a reviewer wants to see into a new directory.",
    ),
)
_ONLY_WITH_TAPE = (
    *("provider", "proxy_env", "yes", "approval", "max_requests", "max_tokens", "max_usd"),
    *("forbid", "strip", "unknown_models", "evidence"),
)
_MAX_APPROVAL_BYTES = 1 << 20


def tape_options(command: _Command) -> _Command:
    """Add them to a command."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def refuse_without_tape(given: dict[str, Any]) -> None:
    """Refuse options that say nothing without ``--tape``."""
    for name in _ONLY_WITH_TAPE:
        if given[name] not in {None, False, ()}:
            raise click.UsageError(f"--{name.replace('_', '-')} goes with --tape only")


def terms_of(given: dict[str, Any]) -> Terms:
    """What may leave the machine.

    Raises:
        CassetteError: the approval cannot be read, or is over.
    """
    from datetime import datetime

    from ptycassette.system.files import read_plain
    from ptycassette.tape.consent import ANYWHERE, Approval, Limit, Terms

    terms = Terms(
        upstreams=(ANYWHERE,) if given["yes"] else (),
        limit=Limit(
            requests=given["max_requests"], tokens=given["max_tokens"], usd=given["max_usd"]
        ),
        forbidden=given["forbid"] or None,
        strip=given["strip"],
        unknown_models=given["unknown_models"],
    )
    path = given["approval"]
    if path is None:
        return terms
    text = read_plain(path, max_bytes=_MAX_APPROVAL_BYTES).decode("utf-8", "replace")
    approval = Approval.parse(text, where=path)
    return approval.terms(terms, today=datetime.now().astimezone().date())
