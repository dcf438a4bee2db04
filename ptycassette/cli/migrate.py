"""``ptycassette migrate CASSETTE -o NEW``: the same recording in another form of the format."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ptycassette.cassette.ladder import LADDER, NEWEST
from ptycassette.cli._options import follow_links_option, json_option
from ptycassette.cli._present import count_text, json_text, write_lines
from ptycassette.model.visible_text import visible

if TYPE_CHECKING:
    from ptycassette.cassette.io.migrating import Migrated


@click.command("migrate")
@click.argument("cassette", metavar="CASSETTE", type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    metavar="NEW",
    type=click.Path(path_type=Path),
    help="Write the new cassette to NEW. Default: only print the form of CASSETTE.",
)
@click.option(
    "--to",
    type=click.Choice([rung.name for rung in LADDER]),
    default=NEWEST,
    show_default=True,
    help="Convert to this form. Default: the newest.",
)
@click.option(
    "--allow-unscrubbed", is_flag=True, help="Also convert a recording that was not scrubbed."
)
@click.option("--overwrite", is_flag=True, help="Replace an existing cassette.")
@follow_links_option
@json_option
def command(
    cassette: Path,
    output: Path | None,
    to: str,
    allow_unscrubbed: bool,
    overwrite: bool,
    as_json: bool,
) -> None:
    """Convert a cassette to another form of the format, newer or older.

    CASSETTE stays as it is. Only the manifest changes, and converting back gives
    the same manifest.

    Example: ptycassette migrate old.cassette -o new.cassette

    Example: ptycassette migrate new.cassette --to reference -o old-again.cassette
    """
    from ptycassette.cassette.io.migrating import migrate_cassette
    from ptycassette.version import __version__

    made = migrate_cassette(
        cassette,
        output,
        to=to,
        by=f"ptycassette/{__version__}",
        allow_unscrubbed=allow_unscrubbed,
        overwrite=overwrite,
    )
    write_lines([json_text(made)] if as_json else _lines(made))


def _lines(made: Migrated) -> Iterator[str]:
    if made.cassette is None:
        newest = ", the newest" if made.was == NEWEST else f"; the newest is {NEWEST}"
        yield visible(f"{made.source}: {made.was}{newest}; nothing was written")
        return
    same = f"{count_text(made.files, 'file', 'files')}, {made.bytes} bytes, are the same"
    yield visible(f"{made.cassette}: {made.now}, made of {made.source}, which is {made.was}")
    yield f"  {same}; " + ("the way back was tried" if made.reversible else "there is no way back")
