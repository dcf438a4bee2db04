"""``ptycassette speed CASSETTE FACTOR -o NEW``: faster or slower."""

from __future__ import annotations

from pathlib import Path

import click

from ptycassette.cli._editing import edit_options, run_edit, stretch_options, stretch_us


@click.command("speed")
@click.argument("cassette", metavar="CASSETTE", type=click.Path(path_type=Path))
@click.argument("factor", type=float)
@stretch_options(exchanges=True)
@edit_options
def command(
    cassette: Path,
    factor: float,
    start: float | None,
    end: float | None,
    exchanges: str | None,
    output: Path,
    overwrite: bool,
) -> None:
    """Make CASSETTE, or a stretch of it, FACTOR times faster; 0.5 is half as fast.

    Example: ptycassette speed demo.cassette 2 -o fast.cassette

    Example: ptycassette speed demo.cassette 10 --from 12 --to 40 -o fast.cassette
    """
    from ptycassette.formats.editing.masking import change_speed

    begin_us, stop_us = stretch_us(cassette, start, end, exchanges)
    run_edit(
        [cassette],
        output,
        name="speed",
        of=lambda takes: change_speed(takes[0], factor, begin_us, stop_us),
        arguments={"factor": factor, "start_us": begin_us, "end_us": stop_us},
        overwrite=overwrite,
    )
