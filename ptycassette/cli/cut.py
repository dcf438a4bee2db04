"""``ptycassette cut CASSETTE -o NEW``: a stretch of time out."""

from __future__ import annotations

from pathlib import Path

import click

from ptycassette.cli._editing import run_edit, stretch_command, stretch_us


@click.command("cut")
@stretch_command
def command(
    cassette: Path,
    start: float | None,
    end: float | None,
    exchanges: str | None,
    output: Path,
    overwrite: bool,
) -> None:
    """Remove a stretch from CASSETTE; the rest moves up.

    The screen at the end of the stretch is painted at once. The exit stays. Model
    traffic is left out.

    Example: ptycassette cut demo.cassette --from 12 --to 40 -o short.cassette

    Example: ptycassette cut demo.cassette --exchanges 3-5 -o short.cassette
    """
    from ptycassette.formats.editing.masking import cut

    begin_us, stop_us = stretch_us(cassette, start, end, exchanges)
    run_edit(
        [cassette],
        output,
        name="cut",
        of=lambda takes: cut(takes[0], begin_us, stop_us),
        arguments={"start_us": begin_us, "end_us": stop_us},
        overwrite=overwrite,
    )
