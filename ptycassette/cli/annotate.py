"""``ptycassette annotate CASSETTE TEXT --at TIME -o NEW``: a marker with a text."""

from __future__ import annotations

from pathlib import Path

import click

from ptycassette.cli._editing import edit_options, microseconds, run_edit
from ptycassette.cli._options import TIME


@click.command("annotate")
@click.argument("cassette", metavar="CASSETTE", type=click.Path(path_type=Path))
@click.argument("text")
@click.option(
    "--at",
    type=TIME,
    required=True,
    metavar="TIME",
    help="Place the marker at TIME (12.5, 250ms, 1:02).",
)
@edit_options
def command(
    cassette: Path,
    text: str,
    at: float,
    output: Path,
    overwrite: bool,
) -> None:
    """Add a marker with TEXT to CASSETTE, as a service event.

    Exported asciicasts have the marker, too.

    Example: ptycassette annotate demo.cassette "the build fails" --at 12.5 -o noted.cassette
    """
    from ptycassette.formats.editing.masking import annotate

    run_edit(
        [cassette],
        output,
        name="annotate",
        of=lambda takes: annotate(takes[0], microseconds(at), text),
        arguments={"at_us": microseconds(at)},
        overwrite=overwrite,
    )
