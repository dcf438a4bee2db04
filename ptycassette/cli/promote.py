"""``ptycassette promote RUN... -o DIR``: reviewed runs become fixtures, with what is expected."""

from __future__ import annotations

from pathlib import Path

import click

from ptycassette.cli._options import json_option
from ptycassette.cli._present import count_text, json_text, write_lines
from ptycassette.model import visible


@click.command("promote")
@click.argument("runs", metavar="RUN...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    required=True,
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Write the fixtures into DIR, one directory per run.",
)
@click.option(
    "--reviewed-by", required=True, metavar="NAME", help="Name the person who reviewed the run."
)
@click.option(
    "--evidence",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Read the evidence of a single RUN from DIR. Default: the name of RUN with the ending"
    " .evidence.",
)
@click.option("--overwrite", is_flag=True, help="Replace existing fixtures.")
@json_option
def command(
    runs: tuple[Path, ...],
    output: Path,
    reviewed_by: str,
    evidence: Path | None,
    overwrite: bool,
    as_json: bool,
) -> None:
    """Make a fixture from each RUN, a cassette that a person has reviewed.

    DIR/NAME gets the cassette, a scenario of its screens, exit, final text,
    requests and tools, and review.json with the name of the reviewer and the date.
    A run that failed its guard, or has the evidence of another run, is refused, and
    nothing is written.

    Example: ptycassette promote codex.cassette -o fixtures --reviewed-by "A. Reader"
    """
    from ptycassette.cli._promoting import fixture_of, publish

    if evidence is not None and len(runs) != 1:
        raise click.UsageError("--evidence goes with one RUN")
    if not reviewed_by.strip():
        raise click.UsageError("--reviewed-by: who?")
    fixtures = [fixture_of(run, evidence, output, reviewed_by=reviewed_by) for run in runs]
    if len({one.target for one in fixtures}) != len(fixtures):
        raise click.UsageError("two RUNs have one name")
    for one in fixtures:
        publish(one, overwrite=overwrite)
    if as_json:
        write_lines([json_text({"fixtures": [one.review for one in fixtures]})])
        return
    for one in fixtures:
        checks = count_text(one.checks, "expectation", "expectations")
        click.echo(visible(f"{one.target}: {checks}, reviewed by {one.review.reviewed_by}"))
