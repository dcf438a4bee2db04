"""``ptycassette rerun CASSETTE [-- ARGV...]``: the real program again, offline, from its tape."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ptycassette.cli._options import (
    TIME,
    cassette_argument,
    json_option,
    needing_provider,
    opened,
)
from ptycassette.cli._present import json_text, write_lines

if TYPE_CHECKING:
    from ptycassette.rerun import RerunReport

DIFFER_STATUS = 1
DROVE_OTHERWISE = 125
"""With ``--tape-only``: a status of ours beside those of the program, as a stand-in's."""


@click.command("rerun")
@cassette_argument
@click.argument("argv", metavar="[-- ARGV...]", nargs=-1, type=click.UNPROCESSED)
@click.option(
    "--trust", is_flag=True, help="Run what the recording says: you trust whoever made it."
)
@click.option("--harness", metavar="NAME", help="The CLI's profile; that of the recording.")
@click.option("--mode", metavar="NAME", help="How it is signed in: key (default), logged-out, ...")
@click.option("--model", metavar="NAME", help="The model that its configuration names.")
@click.option(
    "--cwd",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="The work folder; an empty one in a temporary home.",
)
@click.option(
    "--copy",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Copy this folder into the home, and work there (a recording made in one's home).",
)
@click.option(
    "--root",
    type=click.Path(file_okay=False, path_type=Path),
    help="Where to make the temporary home; in the cache folder by default.",
)
@click.option("-e", "--env", multiple=True, metavar="NAME=VALUE", help="Add to its environment.")
@click.option(
    "--normalise",
    multiple=True,
    metavar="NAME",
    help="Compare screens without this: clock, number, path, ... (docs/scenarios.md).",
)
@click.option(
    "--patience",
    type=TIME,
    default=20.0,
    show_default=True,
    help="How long to wait for a screen, and for the end, beyond twice the recorded time.",
)
@click.option(
    "--tape-only",
    is_flag=True,
    help="Type nothing: whoever started this command drives the program, the tape answers it.",
)
@click.option(
    "--report", metavar="FILE", type=click.Path(path_type=Path), help="Write the report as JSON."
)
@click.option(
    "--faketime",
    is_flag=True,
    help="Its clock starts when the recording did (libfaketime; linked dynamically only).",
)
@click.option("--shared-network", is_flag=True, help="Do not leave the network (see docs/tape.md).")
@click.option("-q", "--quiet", is_flag=True, help="Print nothing; the exit status tells.")
@json_option
def command(cassette: str, argv: tuple[str, ...], quiet: bool, as_json: bool, **given: Any) -> int:
    """Run the recorded program again, offline, and report what differs.

    The real program starts in a temporary home, without network. Its model traffic is
    answered from the tape of CASSETTE, which `rec --tape` recorded; the recorded keys are
    typed when the screen is where it was when they were typed. With ARGV another version or
    configuration is run. Without --trust it only says what it would do, and ends with 6: a
    tape makes an agent call tools, on this machine. Ends with 0 when nothing differs, with
    1 when something does.

    With --tape-only the program gets the terminal, the streams and the signals of this
    command, and the current folder; nothing is typed, and no screens are compared. It ends
    with the program's status, or with 125 when requests differ, as a stand-in does.

    Example: ptycassette rerun --trust hello.cassette

    Example: ptycassette rerun --trust hello.cassette -- ./codex-next --model gpt-5.2

    Example: ptycassette rerun --trust --tape-only --report now.json hello.cassette
    """
    if given["cwd"] and given["copy"]:
        raise click.UsageError("--cwd works in a folder, --copy in a copy of one: not both")
    with needing_provider():
        from ptycassette.rerun.io import RerunOptions, rerun, run_tape_only
    from ptycassette.recording.io import shell_status
    from ptycassette.rerun import VOLATILE, report_json, report_lines

    options = RerunOptions(
        trusted=given["trust"],
        argv=argv,
        harness=given["harness"],
        mode=given["mode"],
        model=given["model"] or "",
        cwd=given["cwd"] and given["cwd"].resolve(),
        copied=given["copy"],
        root=given["root"] and given["root"].resolve(),
        environment=_pairs(given["env"]),
        normalise=(*VOLATILE, *given["normalise"]),
        patience_s=given["patience"],
        shared_network=given["shared_network"],
        faketime=given["faketime"],
    )
    with opened(cassette) as recording:
        if given["tape_only"]:
            ran = run_tape_only(recording, options)
            _write(given["report"], ran.report)
            if ran.findings and not quiet and not sys.stderr.isatty():
                for line in report_lines(ran.report):
                    click.echo(line, err=True)
            return DROVE_OTHERWISE if ran.findings else shell_status(ran.exit)
        report = rerun(recording, options)
    _write(given["report"], report)
    if as_json:
        write_lines([json_text(report_json(report))])
    elif not quiet:
        write_lines(report_lines(report))
    return 0 if report.passed else DIFFER_STATUS


def _write(path: Path | None, report: RerunReport) -> None:
    """The report as JSON."""
    if path is not None:
        from ptycassette.rerun import report_json
        from ptycassette.system.files import write_whole

        write_whole(path, [f"{json_text(report_json(report))}\n".encode()])


def _pairs(words: tuple[str, ...]) -> dict[str, str]:
    pairs = {}
    for word in words:
        name, sign, value = word.partition("=")
        if not name or not sign:
            raise click.UsageError(f"--env takes NAME=VALUE, not {word!r}")
        pairs[name] = value
    return pairs
