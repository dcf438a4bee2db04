"""``ptycassette promote``: traces become tests, and reviewed runs become fixtures."""

from __future__ import annotations

from pathlib import Path

import click

from ptycassette.cli._options import json_option
from ptycassette.cli._present import count_text, json_text, write_lines
from ptycassette.formats.importing.registry import IMPORTS
from ptycassette.model.visible_text import visible

_CURRENT = Path()


@click.command("promote")
@click.argument(
    "sources", metavar="TRACE|RUN...", nargs=-1, required=True, type=click.Path(path_type=Path)
)
@click.option(
    "-o",
    "--output",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Write into DIR: the test and the cassette of each TRACE (default: the current"
    " directory), or one directory per RUN (required).",
)
@click.option(
    "--calls",
    metavar="MODULE:FUNCTION",
    help="For a TRACE: the function that the test calls with the first prompt of the trace."
    " Default: a pytest fixture named agent, which you write.",
)
@click.option(
    "-f",
    "--format",
    "kind",
    type=click.Choice([one.name for one in IMPORTS if one.calls]),
    help="For a TRACE: read it as this format. Default: its ending or its content decides.",
)
@click.option(
    "--harness",
    metavar="NAME",
    help="For a TRACE: read it as a session log of this CLI (claude, codex, ...).",
)
@click.option(
    "--forbid",
    metavar="KEY",
    multiple=True,
    help="For a TRACE: refuse it if a call has input with this JSON key, instead of the usual keys"
    " (holdout, vault, secret, token, auth).",
)
@click.option(
    "--reviewed-by", metavar="NAME", help="For a RUN: name the person who reviewed it (required)."
)
@click.option(
    "--evidence",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="For a single RUN: read its evidence from DIR. Default: the name of RUN with the ending"
    " .evidence.",
)
@click.option("--overwrite", is_flag=True, help="Replace existing tests, cassettes or fixtures.")
@json_option
def command(
    sources: tuple[Path, ...],
    output: Path | None,
    calls: str | None,
    kind: str | None,
    harness: str | None,
    forbid: tuple[str, ...],
    reviewed_by: str | None,
    evidence: Path | None,
    overwrite: bool,
    as_json: bool,
) -> None:
    """Make a test from each TRACE, or a fixture from each reviewed RUN.

    A TRACE is a file: a trace of calls in JSON lines, OpenTelemetry in OTLP JSON, a
    HAR, a cassette of vcrpy, or the session log of an agent CLI. It becomes a
    cassette, scrubbed like a recording, and a test that runs your agent against it
    with use_tape. The test fails if your agent makes other calls.

    Example: ptycassette promote trace.jsonl -o tests --calls my_agent:run

    A RUN is a directory: a cassette with its evidence. DIR/NAME gets the cassette, a
    scenario of its screens, exit, final text, requests and tools, and review.json
    with the name of the reviewer and the date. A run that failed its guard, or has
    the evidence of another run, is refused.

    Example: ptycassette promote codex.cassette -o fixtures --reviewed-by "A. Reader"
    """
    runs = [one for one in sources if one.is_dir()]
    if runs and len(runs) != len(sources):
        raise click.UsageError("promote files (TRACE) and directories (RUN) one after the other")
    of_traces = {
        "--calls": calls,
        "--format": kind,
        "--harness": harness,
        "--forbid": forbid or None,
    }
    of_runs = {"--reviewed-by": reviewed_by, "--evidence": evidence}
    others, whose = (of_traces, "a RUN") if runs else (of_runs, "a TRACE")
    for name, value in others.items():
        if value is not None:
            raise click.UsageError(f"{name} means nothing for {whose}; leave it out")
    if runs:
        _fixtures(sources, output, reviewed_by, evidence, overwrite=overwrite, as_json=as_json)
    else:
        _tests(
            sources,
            output or _CURRENT,
            calls=calls,
            kind="session-log" if harness and not kind else kind,
            harness=harness,
            forbid=forbid,
            overwrite=overwrite,
            as_json=as_json,
        )


def _fixtures(
    runs: tuple[Path, ...],
    output: Path | None,
    reviewed_by: str | None,
    evidence: Path | None,
    *,
    overwrite: bool,
    as_json: bool,
) -> None:
    from ptycassette.cli._promoting import fixture_of, publish

    if output is None:
        raise click.UsageError("-o DIR is missing: name the directory for the fixtures")
    if evidence is not None and len(runs) != 1:
        raise click.UsageError("--evidence goes with one RUN")
    if reviewed_by is None or not reviewed_by.strip():
        raise click.UsageError("--reviewed-by is missing: name the person who reviewed this run")
    fixtures = [fixture_of(run, evidence, output, reviewed_by=reviewed_by) for run in runs]
    if len({one.target for one in fixtures}) != len(fixtures):
        raise click.UsageError("two RUNs have one name")
    for one in fixtures:
        publish(one, overwrite=overwrite)
    if as_json:
        write_lines([json_text({"fixtures": [one.review for one in fixtures]})])
        return
    for one in fixtures:
        checks = count_text(one.checks, "expectation", "expectations")
        click.echo(visible(f"{one.target}: {checks}, reviewed by {one.review.reviewed_by}"))


def _tests(
    traces: tuple[Path, ...],
    output: Path,
    *,
    calls: str | None,
    kind: str | None,
    harness: str | None,
    forbid: tuple[str, ...],
    overwrite: bool,
    as_json: bool,
) -> None:
    from ptycassette.cli._promoted_tests import planned, publish
    from ptycassette.tape.consent.terms import FORBIDDEN

    tests = [
        planned(trace, output, calls=calls, kind=kind, harness=harness, overwrite=overwrite)
        for trace in traces
    ]
    if len({one.test for one in tests}) != len(tests):
        raise click.UsageError("two TRACEs have one name; rename one of the files")
    made = [publish(one, forbidden=forbid or FORBIDDEN, overwrite=overwrite) for one in tests]
    if as_json:
        write_lines([json_text({"tests": made})])
        return
    for one in made:
        what = count_text(one.entries, "question", "questions")
        tools = count_text(one.tools, "tool call", "tool calls")
        click.echo(visible(f"{one.test}: {what} and {tools} from {one.source} ({one.kind})"))
        if one.rebuilt:
            click.echo("  rebuilt: questions are compared by the parts that are in the trace")
        for reason, count in one.skipped.items():
            click.echo(visible(f"  skipped {count}: {reason}"))
        if calls is None:
            click.echo("  write a pytest fixture named agent: a function that takes the prompt")
