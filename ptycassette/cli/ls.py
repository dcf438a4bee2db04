"""``ptycassette ls [DIR]``: the cassettes of a directory, one a line."""

from __future__ import annotations

import fnmatch
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ptycassette.cli._options import TIME, json_option, project
from ptycassette.cli._present import json_text, table_lines, time_text, write_lines
from ptycassette.keys.quantities import bytes_text
from ptycassette.model.visible_text import visible

if TYPE_CHECKING:
    from ptycassette.cassette.io.listing import ListedCassette

COLUMNS = ("NAME", "HARNESS", "VERSION", "LENGTH", "SIZE", "AGE", "STATE")
SPARE = ("VERSION", "SIZE", "LENGTH", "HARNESS")
TEXT_LIMIT = 40
PATH_LIMIT = 200
STATES = ("ok", "stale", "unscrubbed", "failed", "invalid")

SORTS: dict[str, Callable[[ListedCassette], Any]] = {
    "name": lambda one: one.path,
    "harness": lambda one: (one.harness or "", one.harness_version or ""),
    "length": lambda one: -1 if one.duration_us is None else one.duration_us,
    "size": lambda one: one.bytes,
    "age": lambda one: float("inf") if one.age_s is None else one.age_s,
    "state": lambda one: STATES.index(one.state),
}


@click.command("ls")
@click.argument("directory", metavar="[DIR]", type=click.Path(), required=False)
@click.option("-R", "--recursive", is_flag=True, help="Also list cassettes in directories below.")
@click.option(
    "-s",
    "--sort",
    type=click.Choice(list(SORTS)),
    default="name",
    show_default=True,
    help="Sort by this.",
)
@click.option("-r", "--reverse", is_flag=True, help="Reverse the order.")
@click.option(
    "--harness",
    metavar="PATTERN",
    help="List only cassettes whose harness matches PATTERN, such as claude or 'c*'.",
)
@click.option(
    "--state",
    "states",
    type=click.Choice(STATES),
    multiple=True,
    help="List only cassettes in this state. Repeatable.",
)
@click.option(
    "--newer",
    metavar="TIME",
    type=TIME,
    help="List only cassettes that are younger than TIME (90m, 12h, 7d, 2w).",
)
@click.option(
    "--older", metavar="TIME", type=TIME, help="List only cassettes that are at least TIME old."
)
@json_option
def command(
    directory: str | None,
    recursive: bool,
    sort: str,
    reverse: bool,
    harness: str | None,
    states: tuple[str, ...],
    newer: float | None,
    older: float | None,
    as_json: bool,
) -> None:
    """List the cassettes in DIR.

    Default for DIR: the library of the project file, or the current directory. Only
    manifests are read: `ok` means that the cassette can be opened; `ptycassette
    verify` checks every byte. `stale` is older than the freshness window in its
    manifest, `unscrubbed` was recorded without scrubbing, `failed` is the
    diagnostic of a failed run, `invalid` cannot be opened.

    Example: ptycassette ls tests/cassettes --sort age --harness claude
    """
    from ptycassette.cassette.io.listing import listed_in
    from ptycassette.cli._reports import ListReport

    if directory is None:
        directory = _default_directory()
    place = Path(directory)
    found = [
        one
        for one in listed_in(place, now=datetime.now(UTC), recursive=recursive)
        if _wanted(one, harness=harness, states=states, newer=newer, older=older)
    ]
    found.sort(key=SORTS[sort], reverse=reverse)
    if as_json:
        write_lines([json_text(ListReport(path=directory, cassettes=tuple(found)))])
    elif found:
        write_lines(_lines(found, place))
    else:
        below = "" if recursive else "; -R looks into directories below"
        click.echo(f"no cassettes in {visible(directory, limit=PATH_LIMIT)}{below}", err=True)


def _default_directory() -> str:
    """The library of the project file as a relative path, else the current directory."""
    from ptycassette.system.files.state_dirs import current_dir

    library = project().library
    if library is None:
        return "."
    here = current_dir()
    return str(library.relative_to(here) if library.is_relative_to(here) else library)


def _wanted(
    one: ListedCassette,
    *,
    harness: str | None,
    states: Sequence[str],
    newer: float | None,
    older: float | None,
) -> bool:
    if harness is not None and not fnmatch.fnmatchcase(one.harness or "", harness):
        return False
    if states and one.state not in states:
        return False
    if newer is None and older is None:
        return True
    if one.age_s is None:
        return False
    return (newer is None or one.age_s < newer) and (older is None or one.age_s >= older)


def _lines(found: Sequence[ListedCassette], place: Path) -> Iterator[str]:
    width = os.get_terminal_size(1).columns if sys.stdout.isatty() else None
    yield from table_lines(COLUMNS, [_row(one, place) for one in found], width=width, spare=SPARE)
    for one in found:
        if one.state == "invalid":
            yield f"{_name(one, place)}: {visible(one.problem or '', limit=PATH_LIMIT)}"


def _row(one: ListedCassette, place: Path) -> tuple[str, ...]:
    from ptycassette.cassette.freshness import age_text

    return (
        _name(one, place),
        visible(one.harness or "-", limit=TEXT_LIMIT),
        visible(one.harness_version or "-", limit=TEXT_LIMIT),
        "-" if one.duration_us is None else time_text(one.duration_us),
        bytes_text(one.bytes),
        "-" if one.age_s is None else age_text(timedelta(seconds=one.age_s)),
        one.state,
    )


def _name(one: ListedCassette, place: Path) -> str:
    path = Path(one.path)
    shown = path.name if path == place else str(path.relative_to(place))
    return visible(shown or ".", limit=PATH_LIMIT)
