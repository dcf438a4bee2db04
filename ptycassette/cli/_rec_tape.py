"""The options of ``ptycassette rec`` about model traffic, and what they agree to."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ptycassette.cli._options import TimeType

if TYPE_CHECKING:
    from ptycassette.tape.consent.terms import Terms
    from ptycassette.tape.retries import Retries

_Command = TypeVar("_Command", bound=Callable[..., object])


def limit_options(when: str) -> tuple[Callable[[_Command], _Command], ...]:
    """The options that say what may be asked, and at most; ``when`` is the option they go with."""
    return (
        click.option(
            "--approval",
            metavar="FILE",
            type=click.Path(),
            help=f"With {when}: read the agreement of a reviewer from FILE (docs/tape.md).",
        ),
        click.option(
            "--max-requests",
            type=click.IntRange(0),
            metavar="N",
            help=f"With {when}: send at most N requests.",
        ),
        click.option(
            "--max-tokens",
            type=click.IntRange(0),
            metavar="N",
            help=f"With {when}: use at most N tokens.",
        ),
        click.option(
            "--max-usd",
            type=click.FloatRange(0),
            metavar="USD",
            help=f"With {when}: spend at most USD dollars.",
        ),
        click.option(
            "--forbid",
            metavar="KEY",
            multiple=True,
            help=f"With {when}: refuse input with this JSON key, instead of the usual keys.",
        ),
        click.option(
            "--strip",
            is_flag=True,
            help=f"With {when}: remove forbidden keys and send the rest, instead of refusing.",
        ),
        click.option(
            "--unsearched",
            is_flag=True,
            help=f"With {when}: also send bodies that cannot be searched for forbidden keys.",
        ),
        click.option(
            "--unknown-models",
            is_flag=True,
            help="With --max-usd: allow models without a known price.",
        ),
    )


_OPTIONS = (
    click.option(
        "--tape",
        is_flag=True,
        help="Also record the model traffic, through a proxy on 127.0.0.1 (docs/tape.md).",
    ),
    click.option(
        "--provider",
        metavar="NAME",
        help="With --tape: send requests to anthropic, openai, gemini, or a base URL. Default: the"
        " provider of the harness.",
    ),
    click.option(
        "--proxy-env",
        is_flag=True,
        help="With --tape: redirect the program with HTTPS_PROXY and a certificate made for this"
        " recording.",
    ),
    click.option(
        "--yes",
        is_flag=True,
        help="With --tape: agree that the program sends data to its provider.",
    ),
    *limit_options("--tape"),
    click.option(
        "--retries",
        metavar="N",
        type=click.IntRange(0, 20),
        help="With --tape: retry up to N times after 429, 5xx or no answer; end with 6 if all"
        " fail.",
    ),
    click.option(
        "--answer-timeout",
        metavar="TIME",
        type=TimeType(least=0.1, longest_s=3600),
        help="With --retries: wait this long for an answer to begin. Default: 120 s.",
    ),
    click.option(
        "--fallback",
        metavar="CASSETTE",
        type=click.Path(),
        help="With --retries: if all retries fail, answer from this recording.",
    ),
    click.option(
        "--shared-network",
        is_flag=True,
        help="With --tape: let the program also reach other hosts. What it sends there is not"
        " recorded.",
    ),
    click.option(
        "--evidence",
        metavar="DIR",
        type=click.Path(),
        help="With --tape: write evidence for a reviewer into the new directory DIR.",
    ),
)
_ONLY_WITH_TAPE = (
    *("provider", "proxy_env", "yes", "approval", "max_requests", "max_tokens", "max_usd"),
    *("forbid", "strip", "unsearched", "unknown_models", "evidence"),
    *("retries", "answer_timeout", "fallback", "shared_network"),
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
    from ptycassette.tape.retries import Retries

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

    from ptycassette.system.files.plain_file import read_plain
    from ptycassette.tape.consent.terms import ANYWHERE, Approval, Limit, Terms

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
