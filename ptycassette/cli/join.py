"""``ptycassette join CASSETTE CASSETTE ... -o NEW``: several recordings as one."""

from __future__ import annotations

from pathlib import Path

import click

from ptycassette.cli._editing import edit_options, microseconds, run_edit
from ptycassette.cli._options import TIME


@click.command("join")
@click.argument(
    "cassettes", metavar="CASSETTE...", nargs=-1, required=True, type=click.Path(path_type=Path)
)
@click.option(
    "--gap",
    type=TIME,
    default=0.0,
    metavar="TIME",
    help="Leave a pause of TIME between two recordings. Default: none.",
)
@edit_options
def command(
    cassettes: tuple[Path, ...],
    gap: float,
    output: Path,
    overwrite: bool,
) -> None:
    """Join recordings, one after the other, each on a fresh screen.

    The program and terminal come from the first recording, the exit from the last.
    Model traffic is left out.

    Example: ptycassette join one.cassette two.cassette --gap 1 -o both.cassette
    """
    from ptycassette.formats.editing.masking import join

    run_edit(
        cassettes,
        output,
        name="join",
        of=lambda takes: join(takes, gap_us=microseconds(gap)),
        arguments={"gap_us": microseconds(gap)},
        overwrite=overwrite,
    )
