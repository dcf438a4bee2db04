"""``ptycassette blame CASSETTE --oracle ... --budget N [-- ARGV...]``, and ``blame --validate``."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ptycassette.cli._fork_live import live_options, live_terms_of
from ptycassette.cli._options import TIME, json_option
from ptycassette.cli._present import json_text, write_lines
from ptycassette.cli._program_words import CommandWithProgram
from ptycassette.cli._running_options import copied_program_options, is_of_code, run_options
from ptycassette.extras import needing_extra
from ptycassette.model.visible_text import printable

if TYPE_CHECKING:
    from ptycassette.blame.io.blaming import BlameOptions
    from ptycassette.blame.report import BlameReport
    from ptycassette.blame.steps import Intervention
    from ptycassette.fork.io.options import ForkOptions

STOPPED_STATUS = 6
"""The budget ended before all was run, as where a limit refuses what a program asks."""
_ORDER: tuple[Intervention, ...] = ("neutral", "drop", "tool-result", "swap")


@click.command("blame", cls=CommandWithProgram, options_metavar="[OPTIONS]")
@click.argument(
    "cassette", metavar="[CASSETTE] [-- ARGV...]", type=click.Path(path_type=Path), required=False
)
@click.option(
    "--oracle",
    metavar="ORACLE",
    help="Judge each run by its exit, text:PATTERN, scenario:FILE, or the status of command:WORDS.",
)
@click.option(
    "--budget", type=click.IntRange(1), metavar="N", help="Run the program at most N times."
)
@click.option(
    "--at",
    "places",
    multiple=True,
    metavar="PLACE",
    help="Change only the step at PLACE, written as for `fork --at`.",
)
@click.option(
    "--intervention",
    "interventions",
    multiple=True,
    type=click.Choice(_ORDER),
    help="Change each step in this way only. Default: try all of them.",
)
@click.option(
    "--neutral",
    metavar="TEXT",
    default="OK.",
    show_default=True,
    help="Replace the changed step with TEXT.",
)
@click.option(
    "--runs",
    type=click.IntRange(2),
    metavar="N",
    help="Treat the program as random and run each change N times. Default: 10 if repeated runs"
    " differ, else 1.",
)
@click.option(
    "--tail",
    type=click.Choice(["held", "scripted", "fake", "live"]),
    default="held",
    show_default=True,
    help="Choose who answers after a change; held: give the recorded answers, whatever is asked.",
)
@click.option(
    "--script",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="With --tail scripted: answer from FILE (docs/fake-provider.md) instead of the recording.",
)
@live_options
@click.option(
    "--oracle-timeout",
    type=TIME,
    default=60.0,
    show_default=True,
    help="Stop command:WORDS after this time.",
)
@click.option(
    "-j",
    "--jobs",
    type=click.IntRange(1),
    metavar="N",
    help="Run N programs at the same time. Default: 4 for each CPU, at most 8.",
)
@click.option(
    "--keep",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="Keep the cassettes of all runs in DIR.",
)
@click.option(
    "--html",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Also write a page to FILE: steps, intervals, controls.",
)
@click.option("--overwrite", is_flag=True, help="Replace an existing file of --html.")
@click.option(
    "--validate",
    is_flag=True,
    help="Test the method on sessions with planted causes; end with 1 if it fails.",
)
@copied_program_options
@click.option("-q", "--quiet", is_flag=True, help="Print nothing; the exit status has the result.")
@json_option
def command(cassette: Path | None, quiet: bool, as_json: bool, **given: Any) -> int:
    """Find the exchange that caused the outcome of a recording, by changing one at a time.

    A step is an input, or a request to the model with its answer. At each step the
    run is forked (docs/fork.md) with one change: a neutral text instead of the
    answer or input (neutral), no answer or input (drop), that of the next step
    (swap), or a neutral tool result (tool-result, if the tail reads it).

    The oracle decides whether the outcome changed: FLIP or NO_FLIP. A run is
    UNDEFINED and not counted if it crashes, does not end, asks an unanswered
    question, or differs from the recording before the step. If the unmodified run
    repeats itself, each change is made once, otherwise 10 times. A step counts as a
    cause, or as having no effect, only if the confidence interval supports it. See
    docs/blame.md.

    Example: ptycassette blame --trust a.cassette --oracle exit --budget 50

    Example: ptycassette blame --trust a.cassette --oracle 'text:2 failed' --budget 50 --copy work

    Example: ptycassette blame --trust a.cassette --oracle exit --budget 50 --html blame.html

    Example: ptycassette blame run.cassette --oracle exit --budget 30 -- pytest test_x.py::test_y

    Example: ptycassette blame --validate
    """
    jobs = given["jobs"] or min(8, 4 * (os.cpu_count() or 1))
    with needing_extra("tape"):
        from ptycassette.blame.io.validating import validate
    from ptycassette.blame.report import blame_json, blame_lines
    from ptycassette.blame.validation import validation_json, validation_lines

    if given["validate"]:
        if cassette is not None:
            raise click.UsageError("--validate takes no CASSETTE: it makes its own")
        checked = validate(jobs=jobs)
        if as_json:
            write_lines([json_text(validation_json(checked))])
        elif not quiet:
            write_lines(validation_lines(checked))
        return 0 if checked.passed else 1
    for value, name in (
        (cassette, "CASSETTE"), (given["oracle"], "--oracle"), (given["budget"], "--budget")
    ):  # fmt: skip
        if value is None:
            raise click.UsageError(f"{name} is missing (or --validate)")
    assert cassette is not None  # noqa: S101 - narrows the type
    page: Path | None = given["html"]
    if page is not None:  # before minutes of work
        from ptycassette.system.files.whole_file import check_replaceable

        check_replaceable(page, overwrite=given["overwrite"])
    report = _blamed(cassette, _options(given, jobs))
    if page is not None:
        from ptycassette.cli._run_pages import blame_page
        from ptycassette.system.files.whole_file import write_whole

        kept = "" if given["keep"] is None else str(given["keep"])
        write_whole(page, blame_page(report, kept), overwrite=given["overwrite"])
    if as_json:
        write_lines([json_text({**blame_json(report), "page": page and str(page)})])
    elif not quiet:
        write_lines(blame_lines(report))
        if page is not None:
            write_lines([f"page: {printable(str(page))}"])
    return STOPPED_STATUS if report.stopped else 0


def _blamed(cassette: Path, options: BlameOptions) -> BlameReport:
    """The report of a recording of a program, or of code in ``use_tape``."""
    from ptycassette.blame.io.blaming import blame
    from ptycassette.cassette.io.reader import open_cassette

    with open_cassette(cassette, check="manifest") as source:
        of_code = is_of_code(source.manifest)
    if not of_code:
        return blame(cassette, options)
    from ptycassette.inprocess.commands import blame_command

    return blame_command(cassette, options)


def _options(given: dict[str, Any], jobs: int) -> BlameOptions:
    from ptycassette.blame.io.blaming import BlameOptions
    from ptycassette.blame.oracle import Oracle
    from ptycassette.fork.places import ForkPlace

    kept = given["keep"]
    if kept is not None:
        kept.mkdir(parents=True, exist_ok=True)
    defaults = {"runs": given["runs"]} if given["runs"] else {}
    return BlameOptions(
        oracle=Oracle.parse(given["oracle"]),
        budget=given["budget"],
        fork=_fork(given),
        at=tuple(map(ForkPlace.parse, given["places"])),
        interventions=tuple(one for one in _ORDER if one in (given["interventions"] or _ORDER)),
        neutral=given["neutral"],
        random=bool(given["runs"]),
        jobs=jobs,
        oracle_s=given["oracle_timeout"],
        kept=kept and kept.resolve(),
        **defaults,
    )


def _fork(given: dict[str, Any]) -> ForkOptions:
    """How each run is forked, but for where and with what."""
    from ptycassette.fork.io.options import ForkOptions

    if given["script"] and given["tail"] != "scripted":
        raise click.UsageError("--script goes with --tail scripted only")
    return ForkOptions(
        tail=given["tail"],
        script=given["script"] and given["script"].resolve(),
        live=live_terms_of(given),
        run=run_options(given),
    )
