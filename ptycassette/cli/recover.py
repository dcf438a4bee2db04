"""``ptycassette recover``: make cassettes from journals that a crash left behind."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from ptycassette.cli._options import json_option
from ptycassette.cli._present import error_lines, json_text, write_lines
from ptycassette.keys.quantities import bytes_text

if TYPE_CHECKING:
    from ptycassette.errors import CassetteError
    from ptycassette.recording.io.finalising import LeftJournal, Recovered


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """A journal that could not be recovered, and why."""

    path: str
    error: str
    message: str


@click.command("recover")
@click.argument("journals", metavar="[JOURNAL]...", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "--all", "everything", is_flag=True, help="Recover every journal that a crashed recorder left."
)
@click.option(
    "--list", "listing", is_flag=True, help="List the journals. Default if there is no JOURNAL."
)
@click.option(
    "-o",
    "--output",
    metavar="CASSETTE",
    type=click.Path(path_type=Path),
    help="Write the cassette to CASSETTE. Default: the place that the recorder was given.",
)
@click.option("--overwrite", is_flag=True, help="Replace an existing cassette.")
@click.option(
    "--salvage", is_flag=True, help="Recover the events before the damage in a damaged journal."
)
@click.option(
    "--unproved",
    is_flag=True,
    help="Publish a tape that could answer wrongly, too. The manifest marks it as not checked.",
)
@click.option("--discard", "discarding", is_flag=True, help="Delete each JOURNAL for good.")
@json_option
def command(
    journals: tuple[Path, ...],
    everything: bool,
    listing: bool,
    output: Path | None,
    overwrite: bool,
    salvage: bool,
    unproved: bool,
    discarding: bool,
    as_json: bool,
) -> int:
    """Turn journals that a crash left behind into cassettes.

    They are scrubbed first, as in a normal recording. A journal is deleted when its
    cassette is safely on disk. Recordings in progress are not touched.

    Example: ptycassette recover --all
    """
    from ptycassette.recording.io.finalising import left_journals
    from ptycassette.system.files.state_dirs import journal_dirs

    if listing and (journals or everything):
        raise click.UsageError("--list takes neither JOURNAL nor --all")
    if journals and everything:
        raise click.UsageError("give JOURNAL or --all, not both")
    if discarding and not journals:
        raise click.UsageError("--discard needs JOURNAL: name each journal that is to be deleted")
    if discarding and (output is not None or overwrite or salvage or unproved):
        raise click.UsageError("--discard goes with no other option than --json")
    if output is not None and len(journals) != 1:
        raise click.UsageError("--output goes with one JOURNAL")
    if not journals and not everything:
        _list([left for place in journal_dirs() for left in left_journals(place)], as_json=as_json)
        return 0
    if everything:
        journals = tuple(
            Path(left.path)
            for place in journal_dirs()
            for left in left_journals(place)
            if left.state != "live"
        )
    from ptycassette.recording.io.finalising import discard, recover

    done, failed, status = _each(
        journals,
        discard
        if discarding
        else lambda path: recover(
            path, output=output, overwrite=overwrite, salvage=salvage, unproved=unproved
        ),
    )
    if as_json:
        write_lines([json_text({"recovered": done, "failed": [_failure(*one) for one in failed]})])
        return status
    write_lines(line for one in done for line in _lines(one))
    for _, error in failed:
        for line in error_lines(error):
            click.echo(line, err=True)
    if not done and not failed:
        click.echo("nothing to recover")
    return status


def _each(
    journals: tuple[Path, ...], work: Callable[[Path], Recovered]
) -> tuple[list[Recovered], list[tuple[Path, CassetteError]], int]:
    """Recover or delete journals one by one; an error in one does not stop the others."""
    from ptycassette.errors import CassetteError

    done: list[Recovered] = []
    failed: list[tuple[Path, CassetteError]] = []
    status = 0
    for path in journals:
        try:
            done.append(work(path))
        except CassetteError as exc:
            failed.append((path, exc))
            status = status or exc.exit_status
    return done, failed, status


def _failure(path: Path, error: CassetteError) -> Failure:
    return Failure(path=str(path), error=type(error).__name__, message=error.message)


def _lines(one: Recovered) -> Iterator[str]:
    from ptycassette.model.visible_text import printable, visible

    target, path = visible(one.target), visible(one.path)
    match one.outcome:
        case "published":
            size = bytes_text(one.output_bytes)
            end = "" if one.ended else ", its end is not recorded"
            yield f"{target}: recovered, {size} of output{end}"
        case "already":
            yield f"{target}: was published before the crash"
        case "diagnostic":
            yield f"{target}: the run failed; diagnostic.json there has the reason"
        case "discarded":
            yield f"{path}: deleted"
        case "empty":
            yield f"{path}: nothing had been recorded; deleted"
    if one.damage is not None:
        yield f"  damaged: {printable(one.damage)}"
    if one.torn_bytes:
        yield f"  {bytes_text(one.torn_bytes)} at the end were cut off by the crash"


def _list(found: list[LeftJournal], *, as_json: bool) -> None:
    if as_json:
        write_lines([json_text({"journals": found})])
        return
    if not found:
        click.echo("no journals: nothing to recover")
        return
    write_lines(line for left in found for line in _described(left))
    if sys.stdout.isatty() and any(left.state == "crashed" for left in found):
        click.echo("recover them with: ptycassette recover --all")


def _described(left: LeftJournal) -> Iterator[str]:
    import shlex

    from ptycassette.model.visible_text import printable, visible

    yield f"{visible(left.path)}"
    yield f"  {left.state}, {bytes_text(left.bytes)}, {_age(left.recorded_at)}".rstrip(", ")
    if left.argv:
        yield f"  {visible(shlex.join(left.argv), limit=200)} -> {visible(left.target)}"
    if left.problem:
        yield f"  {printable(left.problem)}"


def _age(recorded_at: str) -> str:
    """How long ago, in words; text that is not a time is unchanged."""
    from datetime import UTC, datetime

    from ptycassette.cassette.freshness import age_text
    from ptycassette.model.visible_text import visible

    try:
        return age_text(datetime.now(UTC) - datetime.fromisoformat(recorded_at))
    except (TypeError, ValueError):  # without a time zone, or no time at all
        return visible(recorded_at)
