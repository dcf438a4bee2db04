"""``ptycassette edit COMMAND ...``: a new cassette made of existing ones."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ptycassette.cli._options import TIME, follow_links_option
from ptycassette.cli._present import count_text, write_lines
from ptycassette.errors import UsageError
from ptycassette.keys.quantities import time_text
from ptycassette.model.visible_text import visible

if TYPE_CHECKING:
    from ptycassette.formats.editing.io.editing import Edited
    from ptycassette.formats.editing.masking import Region, Take

F = TypeVar("F", bound=Callable[..., Any])

_EXCHANGES = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?")
_PLACE = re.compile(r"([0-9]{1,4}),([0-9]{1,4})")


class _EditGroup(click.Group):
    """Lists its commands in the order in which they are defined."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of the commands."""
        return list(self.commands)


@click.group("edit", cls=_EditGroup)
def command() -> None:
    """Make a new cassette from existing ones, which stay as they are.

    Example: ptycassette edit cut demo.cassette --from 12 --to 40 -o short.cassette
    """


def _edit_options(function: F) -> F:
    """The options ``--output`` and ``--overwrite``."""
    for option in (
        click.option("--overwrite", is_flag=True, help="Replace an existing cassette."),
        click.option(
            "-o",
            "--output",
            required=True,
            metavar="NEW",
            type=click.Path(path_type=Path),
            help="Write the new cassette to NEW; the old one stays as it is.",
        ),
    ):
        function = option(function)
    return follow_links_option(function)


def _stretch_options(*, exchanges: bool) -> Callable[[F], F]:
    """The options ``--from`` and ``--to``, and ``--exchanges``."""

    def added(function: F) -> F:
        if exchanges:
            function = click.option(
                "--exchanges",
                metavar="N[-M]",
                help="Take exchanges N to M, as `ptycassette events` numbers them.",
            )(function)
        function = click.option(
            "--to", "end", type=TIME, metavar="TIME", help="End at TIME. Default: the end."
        )(function)
        return click.option(
            "--from",
            "start",
            type=TIME,
            metavar="TIME",
            help="Start at TIME (12.5, 250ms, 1:02). Default: the beginning.",
        )(function)

    return added


def _stretch_us(
    cassette: Path, start: float | None, end: float | None, exchanges: str | None = None
) -> tuple[int, int | None]:
    """The stretch that the options name, in microseconds, without its end.

    Raises:
        UsageError: times and exchanges are named, or exchanges that there are not.
    """
    if exchanges is None:
        return _microseconds(start or 0), None if end is None else _microseconds(end)
    if start is not None or end is not None:
        raise UsageError("--exchanges does not go with --from and --to")
    found = _EXCHANGES.fullmatch(exchanges)
    if found is None:
        raise UsageError(
            f"--exchanges takes 3 or 3-5, not {visible(exchanges)!r}",
            hint="`ptycassette events` numbers the exchanges",
        )
    first, last = int(found[1]), int(found[2] or found[1])
    return _moments(cassette, first, last)


def _stretch_command(function: F) -> F:
    """Add the options of a command that edits one stretch of one cassette."""
    for decorator in (
        _edit_options,
        _stretch_options(exchanges=True),
        click.argument("cassette", metavar="CASSETTE", type=click.Path(path_type=Path)),
    ):
        function = decorator(function)
    return function


def _moments(path: Path, first: int, last: int) -> tuple[int, int | None]:
    from ptycassette.cassette.io.reader import open_cassette
    from ptycassette.cassette.timeline.exchange_cutting import exchanges as exchanges_of

    with open_cassette(path) as cassette:
        starts = {one.number: one.t_us for one in exchanges_of(cassette.events())}
    if first > last or first not in starts or last not in starts:
        numbers = f"{min(starts)} to {max(starts)}" if starts else "none"
        raise UsageError(
            f"there are no exchanges {first}-{last}", where=str(path), hint=f"it has {numbers}"
        )
    return starts[first], starts.get(last + 1)


def _microseconds(seconds: float) -> int:
    """A time of an option in microseconds."""
    return round(seconds * 1_000_000)


def _run_edit(
    cassettes: Sequence[Path],
    output: Path,
    *,
    name: str,
    of: Callable[[Sequence[Take]], Take],
    arguments: dict[str, Any],
    overwrite: bool,
) -> None:
    """Edit cassettes and report the result."""
    from ptycassette.formats.editing.io.editing import Operation, edit_cassettes

    said = {key: value for key, value in arguments.items() if value is not None}
    operation = Operation(name=name, arguments=said, of=of)
    made = edit_cassettes(cassettes, operation, output, overwrite=overwrite)
    write_lines(_edited_lines(made))


def _edited_lines(made: Edited) -> Iterator[str]:
    """The result of an edit, for people."""
    sources = ", ".join(made.sources)
    yield visible(
        f"{made.cassette}: {time_text(made.duration_ms / 1000)}, {made.operation} of {sources}"
    )
    if made.replaced:
        yield f"  {count_text(made.replaced, 'text')} masked"
    if made.without_tape:
        yield "  without the model traffic: it is that of the whole session"


@command.command("trim")
@_stretch_command
def trim(
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

    Example: ptycassette edit trim demo.cassette --from 2.5 --to 1:10 -o best.cassette
    """
    from ptycassette.formats.editing import masking

    begin_us, stop_us = _stretch_us(cassette, start, end, exchanges)
    last_us = stop_us - 1 if exchanges is not None and stop_us is not None else stop_us
    _run_edit(
        [cassette],
        output,
        name="trim",
        of=lambda takes: masking.trim(takes[0], begin_us, last_us),
        arguments={"start_us": begin_us, "end_us": last_us},
        overwrite=overwrite,
    )


@command.command("cut")
@_stretch_command
def cut(
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

    Example: ptycassette edit cut demo.cassette --from 12 --to 40 -o short.cassette

    Example: ptycassette edit cut demo.cassette --exchanges 3-5 -o short.cassette
    """
    from ptycassette.formats.editing import masking

    begin_us, stop_us = _stretch_us(cassette, start, end, exchanges)
    _run_edit(
        [cassette],
        output,
        name="cut",
        of=lambda takes: masking.cut(takes[0], begin_us, stop_us),
        arguments={"start_us": begin_us, "end_us": stop_us},
        overwrite=overwrite,
    )


@command.command("join")
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
@_edit_options
def join(
    cassettes: tuple[Path, ...],
    gap: float,
    output: Path,
    overwrite: bool,
) -> None:
    """Join recordings, one after the other, each on a fresh screen.

    The program and terminal come from the first recording, the exit from the last.
    Model traffic is left out.

    Example: ptycassette edit join one.cassette two.cassette --gap 1 -o both.cassette
    """
    from ptycassette.formats.editing import masking

    _run_edit(
        cassettes,
        output,
        name="join",
        of=lambda takes: masking.join(takes, gap_us=_microseconds(gap)),
        arguments={"gap_us": _microseconds(gap)},
        overwrite=overwrite,
    )


@command.command("speed", short_help="Make a recording faster or slower.")
@click.argument("cassette", metavar="CASSETTE", type=click.Path(path_type=Path))
@click.argument("factor", type=float)
@_stretch_options(exchanges=True)
@_edit_options
def speed(
    cassette: Path,
    factor: float,
    start: float | None,
    end: float | None,
    exchanges: str | None,
    output: Path,
    overwrite: bool,
) -> None:
    """Make CASSETTE, or a stretch of it, FACTOR times faster; 0.5 is half as fast.

    Example: ptycassette edit speed demo.cassette 2 -o fast.cassette

    Example: ptycassette edit speed demo.cassette 10 --from 12 --to 40 -o fast.cassette
    """
    from ptycassette.formats.editing import masking

    begin_us, stop_us = _stretch_us(cassette, start, end, exchanges)
    _run_edit(
        [cassette],
        output,
        name="speed",
        of=lambda takes: masking.change_speed(takes[0], factor, begin_us, stop_us),
        arguments={"factor": factor, "start_us": begin_us, "end_us": stop_us},
        overwrite=overwrite,
    )


@command.command("idle")
@click.argument("cassette", metavar="CASSETTE", type=click.Path(path_type=Path))
@click.argument("limit", type=TIME)
@_edit_options
def idle(
    cassette: Path,
    limit: float,
    output: Path,
    overwrite: bool,
) -> None:
    """Shorten the pauses of CASSETTE to LIMIT seconds.

    Example: ptycassette edit idle demo.cassette 1 -o brisk.cassette
    """
    from ptycassette.formats.editing import masking

    _run_edit(
        [cassette],
        output,
        name="idle",
        of=lambda takes: masking.limit_pauses(takes[0], _microseconds(limit)),
        arguments={"limit_us": _microseconds(limit)},
        overwrite=overwrite,
    )


@command.command("mask")
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
@_stretch_options(exchanges=True)
@_edit_options
def mask(
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

    Example: ptycassette edit mask demo.cassette --word jane.roe -o shown.cassette

    Example: ptycassette edit mask demo.cassette --region 1,60:20x1 -o shown.cassette

    Example: ptycassette edit mask demo.cassette --exchanges 4 -o shown.cassette
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
    begin_us, stop_us = _stretch_us(cassette, start, end, exchanges)
    part = _region(region) if region else None
    what = Mask(words=hidden, region=part, start_us=begin_us, end_us=stop_us)
    write_lines(_edited_lines(mask_cassette(cassette, what, output, overwrite=overwrite)))


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


@command.command("annotate")
@click.argument("cassette", metavar="CASSETTE", type=click.Path(path_type=Path))
@click.argument("text")
@click.option(
    "--at",
    type=TIME,
    required=True,
    metavar="TIME",
    help="Place the marker at TIME (12.5, 250ms, 1:02).",
)
@_edit_options
def annotate(
    cassette: Path,
    text: str,
    at: float,
    output: Path,
    overwrite: bool,
) -> None:
    """Add a marker with TEXT to CASSETTE, as a service event.

    Exported asciicasts have the marker, too.

    Example: ptycassette edit annotate demo.cassette "the build fails" --at 12.5 -o noted.cassette
    """
    from ptycassette.formats.editing import masking

    _run_edit(
        [cassette],
        output,
        name="annotate",
        of=lambda takes: masking.annotate(takes[0], _microseconds(at), text),
        arguments={"at_us": _microseconds(at)},
        overwrite=overwrite,
    )
