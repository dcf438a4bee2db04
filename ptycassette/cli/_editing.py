"""The shared part of the commands that edit."""

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
    from ptycassette.formats.editing.masking import Take

F = TypeVar("F", bound=Callable[..., Any])

_EXCHANGES = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?")


def edit_options(function: F) -> F:
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


def stretch_options(*, exchanges: bool) -> Callable[[F], F]:
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


def stretch_us(
    cassette: Path, start: float | None, end: float | None, exchanges: str | None = None
) -> tuple[int, int | None]:
    """The stretch that the options name, in microseconds, without its end.

    Raises:
        UsageError: times and exchanges are named, or exchanges that there are not.
    """
    if exchanges is None:
        return microseconds(start or 0), None if end is None else microseconds(end)
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


def stretch_command(function: F) -> F:
    """Add the options of a command that edits one stretch of one cassette."""
    for decorator in (
        edit_options,
        stretch_options(exchanges=True),
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


def microseconds(seconds: float) -> int:
    """A time of an option in microseconds."""
    return round(seconds * 1_000_000)


def run_edit(
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
    write_lines(edited_lines(made))


def edited_lines(made: Edited) -> Iterator[str]:
    """The result of an edit, for people."""
    sources = ", ".join(made.sources)
    yield visible(
        f"{made.cassette}: {time_text(made.duration_ms / 1000)}, {made.operation} of {sources}"
    )
    if made.replaced:
        yield f"  {count_text(made.replaced, 'text')} masked"
    if made.without_tape:
        yield "  without the model traffic: it is that of the whole session"
