"""``ptycassette mask CASSETTE -o NEW``: replace text that must not be shown with crosses."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ptycassette.cli._editing import edit_options, edited_lines, stretch_options, stretch_us
from ptycassette.cli._present import write_lines
from ptycassette.errors import UsageError
from ptycassette.model.visible_text import visible

if TYPE_CHECKING:
    from ptycassette.formats.editing.masking import Region

_PLACE = re.compile(r"([0-9]{1,4}),([0-9]{1,4})")


@click.command("mask")
@click.argument("cassette", metavar="CASSETTE", type=click.Path(path_type=Path))
@click.option("--word", "words", multiple=True, metavar="TEXT", help="Mask this text. Repeatable.")
@click.option(
    "--word-file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Mask the text of every line of this file.",
)
@click.option(
    "--region",
    metavar="ROW,COLUMN:COLUMNSxROWS",
    help="Mask a rectangle of the screen between --from and --to. ROW and COLUMN count from 1.",
)
@stretch_options(exchanges=True)
@edit_options
def command(
    cassette: Path,
    words: tuple[str, ...],
    word_file: Path | None,
    region: str | None,
    start: float | None,
    end: float | None,
    exchanges: str | None,
    output: Path,
    overwrite: bool,
) -> None:
    """Make text in CASSETTE unreadable; its length stays.

    --word masks a text wherever it is: output, input, titles, service events, model
    traffic. --region masks what was shown there. --exchanges, or --from and --to,
    mask all that was typed and printed in between, and leave out model traffic.

    Example: ptycassette mask demo.cassette --word jane.roe -o shown.cassette

    Example: ptycassette mask demo.cassette --region 1,60:20x1 -o shown.cassette

    Example: ptycassette mask demo.cassette --exchanges 4 -o shown.cassette
    """
    from ptycassette.formats.editing.io.editing import mask_cassette
    from ptycassette.formats.editing.masking import Mask

    hidden = _words(words, word_file)
    stretch = not (start is None and end is None and exchanges is None)
    if not (hidden or region or stretch):
        raise UsageError(
            "nothing to mask", hint="choose text with --word, --region, --exchanges or --from"
        )
    if hidden and (region or stretch):
        raise UsageError("--word goes everywhere: it takes neither a region nor a stretch of time")
    begin_us, stop_us = stretch_us(cassette, start, end, exchanges)
    part = _region(region) if region else None
    what = Mask(words=hidden, region=part, start_us=begin_us, end_us=stop_us)
    write_lines(edited_lines(mask_cassette(cassette, what, output, overwrite=overwrite)))


def _words(words: tuple[str, ...], file: Path | None) -> tuple[str, ...]:
    from ptycassette.scrub.io.setup import known_lines

    return (*words, *(known_lines(file) if file is not None else ()))


def _region(text: str) -> Region:
    from ptycassette.formats.editing.masking import Region
    from ptycassette.keys.quantities import parse_size

    where, _, extent = text.partition(":")
    place = _PLACE.fullmatch(where)
    try:
        size = parse_size(extent)
        row, column = (int(number) for number in place.groups()) if place else (0, 0)
    except ValueError:
        row = column = 0
    if not (row and column):
        raise UsageError(
            f"--region {visible(text, limit=40)} is not a part of a screen",
            hint="--region takes ROW,COLUMN:COLUMNSxROWS, counted from 1, such as 2,10:30x1",
        )
    return Region(row=row, column=column, rows=size.rows, columns=size.cols)
