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
    help="The directory of fixtures; each run gets one of its own in it.",
)
@click.option("--reviewed-by", required=True, metavar="NAME", help="Who has read the run.")
@click.option(
    "--evidence",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="The evidence of the one RUN; by default RUN's name with .evidence for its ending.",
)
@click.option("--overwrite", is_flag=True, help="Replace fixtures that are there.")
@json_option
def command(
    runs: tuple[Path, ...],
    output: Path,
    reviewed_by: str,
    evidence: Path | None,
    overwrite: bool,
    as_json: bool,
) -> None:
    """Make a fixture of each RUN, a cassette that somebody has reviewed.

    DIR/NAME gets the cassette, a scenario of what it showed (screens, exit, final text,
    requests, tools), and review.json: who reviewed what, and when. A run whose guard
    says FAIL, or whose evidence is another run's, is refused; nothing is written then.

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
