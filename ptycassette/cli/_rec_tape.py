"""The options of ``ptycassette rec`` about model traffic, and what they agree to."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from ptycassette.tape import Retries
    from ptycassette.tape.consent import Terms

_Command = TypeVar("_Command", bound=Callable[..., object])


def limit_options(when: str) -> tuple[Callable[[_Command], _Command], ...]:
    """The options that say what may be asked, and at most; ``when`` is the option they go with."""
    return (
        click.option(
            "--approval",
            metavar="FILE",
            type=click.Path(),
            help=f"With {when}: a file in which somebody has agreed to it (docs/tape.md).",
        ),
        click.option(
            "--max-requests", type=click.IntRange(0), help=f"With {when}: refuse more requests."
        ),
        click.option(
            "--max-tokens", type=click.IntRange(0), help=f"With {when}: refuse more tokens."
        ),
        click.option(
            "--max-usd", type=click.FloatRange(0), help=f"With {when}: refuse what would cost more."
        ),
        click.option(
            "--forbid",
            metavar="KEY",
            multiple=True,
            help=f"With {when}: send no input under this key of JSON; replaces the usual keys.",
        ),
        click.option("--strip", is_flag=True, help=f"With {when}: send the rest of such an input."),
        click.option(
            "--unsearched",
            is_flag=True,
            help=f"With {when}: also send bodies that cannot be searched for forbidden keys.",
        ),
        click.option(
            "--unknown-models",
            is_flag=True,
            help="With --max-usd: let models without a price pass.",
        ),
    )


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
    *limit_options("--tape"),
    click.option(
        "--retries",
        metavar="N",
        type=click.IntRange(0, 20),
        help="With --tape: ask again after 429, 5xx or no answer; end with 6 if that is no use.",
    ),
    click.option(
        "--answer-timeout",
        metavar="SECONDS",
        type=click.FloatRange(0.1, 3600),
        help="With --retries: how long to wait for an answer to begin (120).",
    ),
    click.option(
        "--fallback",
        metavar="CASSETTE",
        type=click.Path(),
        help="With --retries: in the end, give the answer that this recording has.",
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
    *("forbid", "strip", "unsearched", "unknown_models", "evidence"),
    *("retries", "answer_timeout", "fallback"),
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


def retries_of(given: dict[str, Any]) -> Retries | None:
    """What to do about errors of providers; None to pass them on as they are."""
    from ptycassette.tape import Retries

    if given["retries"] is None:
        for name in ("answer_timeout", "fallback"):
            if given[name] is not None:
                raise click.UsageError(f"--{name.replace('_', '-')} goes with --retries only")
        return None
    return Retries(
        times=given["retries"],
        timeout_s=given["answer_timeout"] or Retries().timeout_s,
        fallback=given["fallback"] or "",
    )


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
        unsearched=given["unsearched"],
        unknown_models=given["unknown_models"],
    )
    path = given["approval"]
    if path is None:
        return terms
    text = read_plain(path, max_bytes=_MAX_APPROVAL_BYTES).decode("utf-8", "replace")
    approval = Approval.parse(text, where=path)
    return approval.terms(terms, today=datetime.now().astimezone().date())
