"""``ptycassette trim CASSETTE -o NEW``: one stretch of time and nothing else."""

from __future__ import annotations

from pathlib import Path

import click

from ptycassette.cli._editing import run_edit, stretch_command, stretch_us


@click.command("trim")
@stretch_command
def command(
    cassette: Path,
    start: float | None,
    end: float | None,
    exchanges: str | None,
    output: Path,
    overwrite: bool,
) -> None:
    """Keep one stretch of CASSETTE and leave out the rest.

    The new recording begins with the screen as it was then and keeps the exit.
    Model traffic is left out.

    Example: ptycassette trim demo.cassette --from 2.5 --to 1:10 -o best.cassette
    """
    from ptycassette.formats.editing.masking import trim

    begin_us, stop_us = stretch_us(cassette, start, end, exchanges)
    last_us = stop_us - 1 if exchanges is not None and stop_us is not None else stop_us
    run_edit(
        [cassette],
        output,
        name="trim",
        of=lambda takes: trim(takes[0], begin_us, last_us),
        arguments={"start_us": begin_us, "end_us": last_us},
        overwrite=overwrite,
    )
