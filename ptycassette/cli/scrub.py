"""``ptycassette scrub CASSETTE``: remove secrets from a cassette that exists."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ptycassette.cli._options import cassette_argument, json_option
from ptycassette.cli._present import count_text, field_lines, json_text, write_lines
from ptycassette.model.visible_text import visible

if TYPE_CHECKING:
    from ptycassette.model.records import ScrubReport
    from ptycassette.scrub.placeholders import Replacement
    from ptycassette.scrub.session import SessionScrubber

F = TypeVar("F", bound=Callable[..., Any])
SHOWN = 200


def known_options(function: F) -> F:
    """The options for known secrets. Values are never given on the command line."""
    for option in (
        click.option(
            "--known-env",
            multiple=True,
            metavar="NAME",
            help="Treat the value of the environment variable NAME as a secret. Repeatable.",
        ),
        click.option(
            "--known-file",
            multiple=True,
            type=click.Path(exists=True, dir_okay=False),
            help="Treat every line of this file as a secret. Repeatable.",
        ),
        click.option(
            "--config",
            type=click.Path(exists=True, dir_okay=False),
            help="Read rules, secrets and exceptions from this TOML file. Default:"
            " ptycassette.toml if it exists.",
        ),
        click.option(
            "--scrub",
            "also",
            type=click.Choice(["volatile"]),
            help="Also scrub clocks, PIDs, durations, sockets and temporary files.",
        ),
    ):
        function = option(function)
    return function


def scrubber_of(
    *, known_env: tuple[str, ...], known_file: tuple[str, ...], config: str | None, also: str | None
) -> SessionScrubber:
    """The scrubber for the options."""
    import os

    from ptycassette.errors import UsageError
    from ptycassette.scrub.io.setup import known_lines, load_config, session_scrubber

    known = []
    for name in known_env:
        if not os.environ.get(name):
            raise UsageError(f"--known-env {visible(name)}: there is no such variable")
        known.append(os.environ[name])
    for path in known_file:
        known.extend(known_lines(Path(path)))
    try:
        return session_scrubber(
            known=known,
            volatile=also == "volatile",
            config=load_config(Path(config)) if config else None,
        )
    except ValueError as exc:
        raise UsageError(str(exc)) from exc


@click.command("scrub")
@cassette_argument
@click.option(
    "--output", type=click.Path(), help="Write the result here; the cassette stays as it is."
)
@click.option("--explain", is_flag=True, help="List what was replaced and why, without the values.")
@known_options
@json_option
def command(
    cassette: str,
    output: str | None,
    explain: bool,
    as_json: bool,
    **options: Any,
) -> int:
    """Remove secrets from CASSETTE, in place or into --output.

    Output and input keep their lengths, frames their cells, records their numbers
    and times. Ends with 6 and writes nothing if a secret would be left.

    Example: ptycassette scrub old.cassette --explain
    """
    from ptycassette.recording.io.rescrub import scrub_cassette

    scrubber = scrubber_of(**options)
    report = scrub_cassette(Path(cassette), scrubber, target=Path(output) if output else None)
    if as_json:
        replaced = [
            {
                "channel": one.channel,
                "rule": one.rule,
                "form": one.form,
                "offset": one.offset,
                "length": one.length,
            }
            for one in scrubber.replacements
        ]
        write_lines([json_text({"cassette": cassette, "report": report, "replaced": replaced})])
        return 0
    write_lines(_lines(output or cassette, report, scrubber))
    if explain:
        write_lines(_explained(scrubber.replacements))
    return 0


def _lines(path: str, report: ScrubReport, scrubber: SessionScrubber) -> Iterator[str]:
    done = scrubber.report()
    replaced = sum((done.hit_counts or {}).values())
    yield f"{visible(path)}: {visible(report.status)}, {count_text(replaced, 'replacement')} now"
    channels = done.channels if isinstance(done.channels, dict) else {}
    yield from field_lines(
        (channel, ", ".join(f"{visible(rule)} {number}" for rule, number in rules.items()))
        for channel, rules in channels.items()
    )


def _explained(replacements: tuple[Replacement, ...]) -> Iterator[str]:
    for one in replacements[:SHOWN]:
        where = "" if one.offset is None else f" at byte {one.offset}"
        what = "" if one.length is None else f", {count_text(one.length, 'character')}"
        form = "" if one.form == "text" else f", as {one.form}"
        yield f"  {one.channel}{where}: rule {visible(one.rule)}{what}{form}"
    left = len(replacements) - SHOWN
    if left > 0:
        yield f"  and {count_text(left, 'more replacement')} (--json lists all)"
