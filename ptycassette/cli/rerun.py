"""``ptycassette rerun CASSETTE [-- ARGV...]``: the real program again, offline, from its tape."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ptycassette.cli._options import (
    follow_links_option,
    json_option,
    opened,
)
from ptycassette.cli._present import json_text, write_lines
from ptycassette.cli._program_words import CommandWithProgram
from ptycassette.cli._running_options import program_options, run_options
from ptycassette.extras import needing_extra
from ptycassette.model.visible_text import visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ptycassette.cassette.io.reader import Cassette
    from ptycassette.cli._rerun_reports import Reruns
    from ptycassette.rerun.io.options import RerunOptions
    from ptycassette.rerun.report import RerunReport

DIFFER_STATUS = 1
DROVE_OTHERWISE = 125
"""With ``--tape-only``: a status of ours beside those of the program, as a stand-in's."""


@click.command("rerun", cls=CommandWithProgram, options_metavar="[OPTIONS]")
@click.argument("cassettes", metavar="CASSETTE... [-- ARGV...]", nargs=-1, required=True)
@program_options
@click.option(
    "--home",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Copy the files of this folder into the temporary home: your settings, hooks, prompts.",
)
@click.option(
    "--strict-order",
    is_flag=True,
    help="Require the requests of each conversation in their recorded order.",
)
@click.option(
    "--tape-only",
    is_flag=True,
    help="Type nothing: your own driver types, and the tape answers the program.",
)
@click.option(
    "--report",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Write the report to FILE, as JSON.",
)
@click.option(
    "--faketime",
    is_flag=True,
    help="Start the program's clock at the time of the recording (needs libfaketime).",
)
@click.option(
    "--shared-network",
    is_flag=True,
    help="Keep the program in this machine's network (docs/tape.md).",
)
@click.option("--junit", metavar="FILE", type=click.Path(), help="Also write JUnit XML to FILE.")
@click.option(
    "--html",
    metavar="FILE",
    type=click.Path(),
    help="Also write a page to FILE that shows recorded and new screens.",
)
@click.option("--overwrite", is_flag=True, help="Replace existing files of --junit and --html.")
@click.option("-q", "--quiet", is_flag=True, help="Print nothing; the exit status has the result.")
@follow_links_option
@json_option
def command(cassettes: tuple[str, ...], quiet: bool, as_json: bool, **given: Any) -> int:
    """Run the recorded program again, offline, and report what differs.

    The real program starts in a temporary home, without network. Its requests are
    answered from the tape of CASSETTE, which `rec --tape` recorded; the recorded
    keys are typed when the screen is the recorded one. With ARGV it runs another
    version or configuration. Several cassettes, and directories of cassettes with a
    tape, run one after the other.

    Without --trust it only prints its plan and ends with 6, because a tape makes an
    agent call tools on this machine. Ends with 0 if nothing differs, with 1 if
    something does.

    With --tape-only the program gets the terminal, streams, signals and folder of
    this command; nothing is typed and no screens are compared. It ends with the
    program's status, or with 125 if requests differ, like a stand-in.

    Example: ptycassette rerun --trust hello.cassette

    Example: ptycassette rerun --trust hello.cassette -- ./codex-next --model gpt-5.2

    Example: ptycassette rerun --trust tests/cassettes --html changes.html --junit changes.xml

    Example: ptycassette rerun --trust --tape-only --report now.json hello.cassette
    """
    from ptycassette.system.files.whole_file import check_replaceable

    options = run_options(
        given,
        home=given["home"],
        strict_order=given["strict_order"],
        shared_network=given["shared_network"],
        faketime=given["faketime"],
    )
    for name in ("junit", "html"):  # before minutes of work
        if given[name] is not None:
            check_replaceable(Path(given[name]), overwrite=given["overwrite"])
    paths = _with_tapes(cassettes)
    if given["tape_only"]:
        if len(paths) != 1:
            raise click.UsageError("--tape-only takes one cassette")
        return _drive(paths[0], options, report=given["report"], quiet=quiet)
    reruns = _all(paths, options, quiet=quiet or as_json)
    if given["report"] is not None or as_json:
        report = _json(reruns)
        if given["report"] is not None:
            _write(given["report"], report)
        if as_json:
            write_lines([report])
    _write_reports(reruns, junit=given["junit"], html=given["html"], overwrite=given["overwrite"])
    return 0 if all(report.passed for _, report in reruns) else DIFFER_STATUS


def _with_tapes(names: Sequence[str]) -> list[str]:
    """The cassettes of that name, and in directories those that can be rerun.

    Raises:
        CassetteError: there is none, or it cannot be read.
    """
    from datetime import UTC, datetime

    from ptycassette.cassette.io.listing import listed_in
    from ptycassette.cassette.io.reader import open_cassette
    from ptycassette.errors import NotFoundError
    from ptycassette.tape.draws import drawn_in

    def has_draws(cassette: Cassette) -> bool:
        return bool(drawn_in(event.payload for event in cassette.service_events()).draws)

    found: list[str] = []
    for name in names:
        inside = listed_in(Path(name), now=datetime.now(UTC), recursive=True)
        paths = [one.path for one in inside if one.state in {"ok", "stale"}]
        if not paths or [Path(path) for path in paths] == [Path(name)]:
            found.append(name)  # its own errors are the best
            continue
        with_tape = []
        for path in paths:
            with open_cassette(path, check="manifest") as cassette:
                if cassette.has_tape or has_draws(cassette):
                    with_tape.append(path)
        if not with_tape:
            raise NotFoundError(
                f"none of {len(paths)} cassettes has a tape or draws", where=name, hint="rec --tape"
            )
        found += with_tape
    return found


def _all(paths: Sequence[str], options: RerunOptions, *, quiet: bool) -> Reruns:
    """Run all of them; what each shows is printed when it is over."""
    from ptycassette.rerun.report import report_lines

    with needing_extra("tape"):
        from ptycassette.rerun.io.rerunning import rerun

    reruns: list[tuple[str, RerunReport]] = []
    for path in paths:
        with opened(path) as recording:
            report = rerun(recording, options)
        reruns.append((path, report))
        if quiet:
            continue
        if len(paths) > 1:
            write_lines([f"{visible(path)}:"])
        write_lines(report_lines(report))
    return reruns


def _drive(path: str, options: RerunOptions, *, report: Path | None, quiet: bool) -> int:
    """``--tape-only``: whoever started us drives the program."""
    from ptycassette.recording.io.rec_session import shell_status
    from ptycassette.rerun.report import report_lines

    with needing_extra("tape"):
        from ptycassette.rerun.io.driving import run_tape_only

    with opened(path) as recording:
        ran = run_tape_only(recording, options)
    if report is not None:
        _write(report, _json([(path, ran.report)]))
    if ran.findings and not quiet and not sys.stderr.isatty():
        with suppress(OSError):  # the terminal may be gone
            for line in report_lines(ran.report):
                click.echo(line, err=True)
    return DROVE_OTHERWISE if ran.findings else shell_status(ran.exit)


def _json(reruns: Reruns) -> str:
    """One report as it is; several with the path of each."""
    from ptycassette.rerun.report import report_json

    if len(reruns) == 1:
        return json_text(report_json(reruns[0][1]))
    return json_text(
        {
            "passed": all(report.passed for _, report in reruns),
            "reruns": [{"cassette": path, **report_json(report)} for path, report in reruns],
        }
    )


def _write_reports(reruns: Reruns, *, junit: str | None, html: str | None, overwrite: bool) -> None:
    from ptycassette.cli._rerun_reports import rerun_html, rerun_junit
    from ptycassette.system.files.whole_file import write_whole

    if junit is not None:
        write_whole(junit, [rerun_junit(reruns)], overwrite=overwrite)
    if html is not None:
        write_whole(html, rerun_html(reruns), overwrite=overwrite)


def _write(path: Path, report: str) -> None:
    from ptycassette.system.files.whole_file import write_whole

    write_whole(path, [f"{report}\n".encode()])
