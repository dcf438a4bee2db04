"""``ptycassette idle CASSETTE LIMIT -o NEW``: shorter pauses."""

from __future__ import annotations

from pathlib import Path

import click

from ptycassette.cli._editing import edit_options, microseconds, run_edit
from ptycassette.cli._options import TIME


@click.command("idle")
@click.argument("cassette", metavar="CASSETTE", type=click.Path(path_type=Path))
@click.argument("limit", type=TIME)
@edit_options
def command(
    cassette: Path,
    limit: float,
    output: Path,
    overwrite: bool,
) -> None:
    """Shorten the pauses of CASSETTE to LIMIT seconds.

    Example: ptycassette idle demo.cassette 1 -o brisk.cassette
    """
    from ptycassette.formats.editing.masking import limit_pauses

    run_edit(
        [cassette],
        output,
        name="idle",
        of=lambda takes: limit_pauses(takes[0], microseconds(limit)),
        arguments={"limit_us": microseconds(limit)},
        overwrite=overwrite,
    )
