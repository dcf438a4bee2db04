"""``ptycassette import FILE -o CASSETTE``: a recording or traffic of another tool."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ptycassette.cli._options import json_option
from ptycassette.cli._present import count_text, json_text, write_lines
from ptycassette.importing import IMPORTS, import_named
from ptycassette.model import visible

if TYPE_CHECKING:
    from ptycassette.importing.io import Imported

_FILE = click.Path(path_type=Path)


@click.command("import")
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    required=True,
    metavar="CASSETTE",
    type=click.Path(path_type=Path),
    help="The cassette to make.",
)
@click.option(
    "-f",
    "--format",
    "kind",
    type=click.Choice([one.name for one in IMPORTS]),
    help="What FILE is; by default its ending decides"
    f" ({', '.join(ending for one in IMPORTS for ending in one.endings)}), or its content.",
)
@click.option("--timing", type=_FILE, help="The timing of a typescript.")
@click.option("--input-log", type=_FILE, help="The log of what was typed, of a typescript.")
@click.option("--partial", is_flag=True, help="Take what stands before a fault in FILE.")
@click.option("--overwrite", is_flag=True, help="Replace the cassette that is there.")
@json_option
def command(
    file: Path,
    output: Path,
    kind: str | None,
    timing: Path | None,
    input_log: Path | None,
    partial: bool,
    overwrite: bool,
    as_json: bool,
) -> None:
    """Make a cassette of FILE, which another tool has written.

    What it holds is scrubbed and checked as a recording is. What cannot be taken is
    counted, with the reason.

    Example: ptycassette import traffic.har -o traffic.cassette

    Example: ptycassette import demo.cast -o demo.cassette
    """
    from ptycassette.importing.io import import_file, import_of

    by = import_of(file) if kind is None else import_named(kind)
    named = {"timing": timing, "input_log": input_log}
    beside = {name: other for name, other in named.items() if other is not None}
    made = import_file(file, output, by=by, overwrite=overwrite, partial=partial, beside=beside)
    write_lines([json_text(made)] if as_json else _lines(made))


def _lines(made: Imported) -> Iterator[str]:
    what = (
        count_text(made.entries, "question", "questions")
        if made.entries
        else f"{made.duration_ms / 1000:g} s"
    )
    yield visible(f"{made.cassette}: {what} from {made.source} ({made.format})")
    if made.rebuilt:
        yield "  rebuilt: the file tells of requests and answers, but does not hold them"
    for reason, count in made.skipped.items():
        yield visible(f"  skipped {count}: {reason}")
