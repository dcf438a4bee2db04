"""``ptycassette import FILE -o NEW``: a recording, traffic, log or script of another tool."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ptycassette.cli._options import SIZE, json_option
from ptycassette.cli._present import count_text, json_text, write_lines
from ptycassette.formats.importing.registry import IMPORTS, import_named
from ptycassette.keys.quantities import time_text
from ptycassette.model.visible_text import visible

if TYPE_CHECKING:
    from ptycassette.formats.importing.io.importer import Imported
    from ptycassette.formats.importing.io.scripts import ImportedSteps
    from ptycassette.model.screen import Size

_FILE = click.Path(path_type=Path)


def _limited(_: click.Context, __: click.Parameter, size: Size | None) -> Size | None:
    """The size; an emulator of a larger terminal takes too much memory."""
    from ptycassette.model.stored_screen import MAX_SIDE

    if size is not None and max(size.rows, size.cols) > MAX_SIDE:
        raise click.BadParameter(f"the largest terminal is {MAX_SIDE}x{MAX_SIDE}, not {size}")
    return size


@click.command("import")
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    required=True,
    metavar="NEW",
    type=click.Path(path_type=Path),
    help="Write the cassette to NEW; for a tape of VHS, write the input script to NEW.",
)
@click.option(
    "-f",
    "--format",
    "kind",
    type=click.Choice([one.name for one in IMPORTS]),
    help="Read FILE as this format. By default its ending decides"
    f" ({', '.join(ending for one in IMPORTS for ending in one.endings)}), or its content.",
)
@click.option(
    "--size",
    metavar="COLSxROWS",
    type=SIZE,
    callback=_limited,
    help="Set the size of the terminal at the start, for a recording of a terminal. Default: the"
    " size in FILE, or 80x24.",
)
@click.option(
    "--charset",
    metavar="NAME",
    help="Convert the output of a ttyrec or typescript from the charset NAME, such as cp437 or"
    " latin-1. Default: UTF-8.",
)
@click.option("--timing", metavar="FILE", type=_FILE, help="Read the times of a typescript here.")
@click.option(
    "--input-log",
    metavar="FILE",
    type=_FILE,
    help="Read what was typed here, for a typescript.",
)
@click.option(
    "--harness",
    metavar="NAME",
    help="Read a session log as one of this CLI (claude, codex, ...). Default: its name or content"
    " decides.",
)
@click.option(
    "--to",
    metavar="CASSETTE",
    type=_FILE,
    help="Add the events of a session log to a copy of this recording of the session.",
)
@click.option("--partial", is_flag=True, help="Keep the part of a broken FILE before the fault.")
@click.option("--overwrite", is_flag=True, help="Replace NEW if it exists.")
@json_option
def command(
    file: Path,
    output: Path,
    kind: str | None,
    size: Size | None,
    charset: str | None,
    timing: Path | None,
    input_log: Path | None,
    harness: str | None,
    to: Path | None,
    partial: bool,
    overwrite: bool,
    as_json: bool,
) -> None:
    """Make a cassette from FILE, which another tool wrote.

    The content is scrubbed and checked like a recording. Anything that cannot be
    imported is counted, with the reason. Nothing in FILE is run. FILE may be
    compressed with gzip, bzip2, xz or zstd.

    Example: ptycassette import traffic.har -o traffic.cassette

    Example: ptycassette import demo.cast -o demo.cassette

    Example: ptycassette import session.jsonl --to codex.cassette -o whole.cassette
    """
    from ptycassette.errors import UsageError
    from ptycassette.formats.importing.io.importer import add_log, import_file, import_of
    from ptycassette.formats.importing.io.scripts import import_script

    said = kind or ("session-log" if harness or to else None)
    by = import_of(file) if said is None else import_named(said)
    if not by.whose and (harness or to):
        raise UsageError(
            f"--harness and --to are for session logs; this is read as {by.name}",
            hint="leave them out, or add --format session-log",
        )
    named = {"timing": timing, "input_log": input_log}
    beside = {name: other for name, other in named.items() if other is not None}
    by.check_options(
        partial=partial, beside=beside, size=size is not None, charset=charset is not None
    )
    if by.makes == "script":
        steps = import_script(file, output, by=by, overwrite=overwrite)
        write_lines([json_text(steps)] if as_json else _script_lines(steps))
        return
    if to is not None:
        made = add_log(file, to, output, harness=harness, overwrite=overwrite)
    else:
        made = import_file(
            file,
            output,
            by=by,
            overwrite=overwrite,
            partial=partial,
            beside=beside,
            harness=harness,
            size=size,
            charset=charset,
        )
    write_lines([json_text(made)] if as_json else _lines(made))


def _script_lines(made: ImportedSteps) -> Iterator[str]:
    steps = count_text(made.steps, "step", "steps")
    yield visible(f"{made.script}: {steps} from {made.source} ({made.format})")
    yield visible(f"  record it: {shlex.join(made.command)}")
    yield from _skipped(made.skipped)


def _lines(made: Imported) -> Iterator[str]:
    if made.entries:
        what = count_text(made.entries, "question", "questions")
    elif made.events:
        what = count_text(made.events, "service event", "service events")
    else:
        what = f"{time_text(made.duration_ms / 1000)}"
    yield visible(f"{made.cassette}: {what} from {made.source} ({made.kind})")
    if made.rebuilt:
        yield "  rebuilt: the file describes requests and answers, but does not hold their bytes"
    if made.assumed_size is not None:
        yield f"  size: the file has none, {made.assumed_size} is assumed; set it with --size"
    if made.log is not None:
        yield from _log_lines(made)
    yield from _skipped(made.skipped)


def _log_lines(made: Imported) -> Iterator[str]:
    log = made.log
    if log is None:
        return
    if log.there:
        yield f"  {count_text(log.there, 'event was', 'events were')} there already"
    if log.moved:
        happened = count_text(log.moved, "event", "events")
        yield f"  {happened} from before its start or after its end, put there"
    if log.usage:
        counted = ", ".join(f"{name} {count}" for name, count in log.usage.items())
        agrees = {None: "", True: "; the tape agrees", False: "; the tape counts others"}
        yield visible(f"  tokens: {counted}{agrees[log.agrees]}")


def _skipped(skipped: dict[str, int]) -> Iterator[str]:
    for reason, count in skipped.items():
        yield visible(f"  skipped {count}: {reason}")
