"""``ptycassette import FILE -o NEW``: a recording, traffic, log or script of another tool."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ptycassette.cli._options import json_option
from ptycassette.cli._present import count_text, json_text, write_lines
from ptycassette.importing import IMPORTS, import_named
from ptycassette.model import visible

if TYPE_CHECKING:
    from ptycassette.importing.io import Imported, ImportedSteps

_FILE = click.Path(path_type=Path)


@click.command("import")
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    required=True,
    metavar="NEW",
    type=click.Path(path_type=Path),
    help="The cassette to make; of a tape of VHS, the input script.",
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
@click.option("--harness", metavar="NAME", help="Whose session log FILE is, where that is unclear.")
@click.option(
    "--to", metavar="CASSETTE", type=_FILE, help="Add a session log to this recording of it."
)
@click.option("--partial", is_flag=True, help="Take what stands before a fault in FILE.")
@click.option("--overwrite", is_flag=True, help="Replace what is there.")
@json_option
def command(
    file: Path,
    output: Path,
    kind: str | None,
    timing: Path | None,
    input_log: Path | None,
    harness: str | None,
    to: Path | None,
    partial: bool,
    overwrite: bool,
    as_json: bool,
) -> None:
    """Make a cassette of FILE, which another tool has written.

    What it holds is scrubbed and checked as a recording is. What cannot be taken is
    counted, with the reason. Nothing in FILE is run.

    Example: ptycassette import traffic.har -o traffic.cassette

    Example: ptycassette import demo.cast -o demo.cassette

    Example: ptycassette import session.jsonl --to codex.cassette -o whole.cassette
    """
    from ptycassette.errors import UsageError
    from ptycassette.importing.io import add_log, import_file, import_of, import_script

    said = kind or ("session-log" if harness or to else None)
    by = import_of(file) if said is None else import_named(said)
    if not by.whose and (harness or to):
        raise UsageError(f"{by.name} is no session log", hint="leave out --harness and --to")
    named = {"timing": timing, "input_log": input_log}
    beside = {name: other for name, other in named.items() if other is not None}
    if by.makes == "script":
        by.check_options(partial=partial, beside=beside)
        steps = import_script(file, output, by=by, overwrite=overwrite)
        write_lines([json_text(steps)] if as_json else _script_lines(steps))
        return
    if to is not None:
        by.check_options(partial=partial, beside=beside)
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
        what = f"{made.duration_ms / 1000:g} s"
    yield visible(f"{made.cassette}: {what} from {made.source} ({made.format})")
    if made.rebuilt:
        yield "  rebuilt: the file tells of requests and answers, but does not hold them"
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
