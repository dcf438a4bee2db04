"""``ptycassette check``: hold recordings against their scenarios."""

from __future__ import annotations

import json
import multiprocessing
import multiprocessing.connection
import os
import sys
import threading
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ptycassette.cli._options import follow_links_option
from ptycassette.cli._present import json_text, write_lines
from ptycassette.cli.rerun import JUnitCase, junit_xml
from ptycassette.errors import ExistsError, UsageError
from ptycassette.model.records import native_text, storable_text
from ptycassette.model.visible_text import visible
from ptycassette.replaying.scenario.evaluation import (
    MAX_YAML_BYTES,
    ScenarioOutcome,
    check_scenario,
    outcome_lines,
    scenario_schema,
)
from ptycassette.replaying.scenario.io import (
    cassette_of,
    check_file,
    evidence_of,
    find_scenarios,
    load_scenario,
)
from ptycassette.replaying.scenario.predicate import draft_scenario, repin_scenario
from ptycassette.system.files.whole_file import check_replaceable, read_plain, write_whole

if TYPE_CHECKING:
    from collections.abc import Sequence

PARALLEL_FROM = 8
"""Fewer scenarios are checked sooner than a second process has started."""


@click.command(
    "check", epilog="Example: ptycassette check --init hello.cassette && ptycassette check ."
)
@click.argument("paths", nargs=-1, type=click.Path())
@click.option(
    "--cassette", type=click.Path(), help="Check this cassette; the scenario then needs no pins."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option(
    "--junit",
    type=click.Path(),
    help="Also write JUnit XML to this file; `-` is stdout, without other output.",
)
@click.option(
    "--html",
    type=click.Path(),
    help="Also write a page with an index, the checks and the recordings.",
)
@click.option("--overwrite", is_flag=True, help="Replace existing files of --junit and --html.")
@click.option(
    "--jobs",
    type=click.IntRange(1, 64),
    metavar="N",
    help="Use this many processes. Default: one per processor.",
)
@click.option("--init", "init", is_flag=True, help="Write a first scenario for each cassette.")
@click.option("--update", is_flag=True, help="Pin the scenarios to the cassettes as they are now.")
@follow_links_option
@click.option("--schema", is_flag=True, help="Print the JSON Schema of scenario files.")
def command(
    paths: tuple[str, ...],
    cassette: str | None,
    junit: str | None,
    html: str | None,
    jobs: int | None,
    *,
    overwrite: bool,
    as_json: bool,
    init: bool,
    update: bool,
    schema: bool,
) -> int:
    """Check scenario files, or all in a directory, against their recordings.

    Ends with 0 if all checks pass, 1 if one fails, 2 if a file is not a scenario.
    """
    if schema:
        click.echo(json.dumps(scenario_schema(), indent=2, sort_keys=True))
        return 0
    if not paths:
        raise UsageError("no scenario is named", hint="name files or directories")
    if init:
        return _init(paths)
    if update:
        return _update(paths)
    if junit == "-" and as_json:
        raise UsageError("--junit - and --json both take stdout", hint="name a file for one")
    for name in (junit, html):
        if name is not None and name != "-":
            check_replaceable(Path(name), overwrite=overwrite)  # before minutes of work
    files = [str(file) for file in find_scenarios(paths)]
    outcomes = _outcomes(files, cassette, jobs)
    if html is not None:
        _write_page(html, files, outcomes, cassette, overwrite=overwrite)
    _write_outcomes(outcomes, junit, overwrite=overwrite, as_json=as_json)
    return _status(outcomes)


def _write_outcomes(
    outcomes: Sequence[ScenarioOutcome], junit: str | None, *, overwrite: bool, as_json: bool
) -> None:
    if junit == "-":
        sys.stdout.buffer.write(_junit(outcomes))
        sys.stdout.buffer.flush()
        return
    if junit is not None:
        write_whole(junit, [_junit(outcomes)], overwrite=overwrite)
    if as_json:
        write_lines([json_text(_object(outcomes))])
        return
    for outcome in outcomes:
        for line in outcome_lines(outcome):
            click.echo(line)


def _write_page(
    html: str,
    files: Sequence[str],
    outcomes: Sequence[ScenarioOutcome],
    cassette: str | None,
    *,
    overwrite: bool,
) -> None:
    from ptycassette.cli.blame import check_page

    paths = [
        None if outcome.refusal is not None else Path(cassette or cassette_of(file))
        for file, outcome in zip(files, outcomes, strict=True)
    ]
    write_whole(html, check_page(list(zip(outcomes, paths, strict=True))), overwrite=overwrite)


def _status(outcomes: Sequence[ScenarioOutcome]) -> int:
    refusals = [outcome.refusal for outcome in outcomes]
    if any(refusal is not None and refusal.group == "usage" for refusal in refusals):
        return 2
    return 0 if all(outcome.passed for outcome in outcomes) else 1


def _outcomes(files: list[str], cassette: str | None, jobs: int | None) -> list[ScenarioOutcome]:
    jobs = min(jobs or os.cpu_count() or 1, len(files))
    if jobs == 1 or len(files) < PARALLEL_FROM:
        return [check_file(file, cassette) for file in files]
    with ProcessPoolExecutor(jobs, initializer=_end_with_the_command) as pool:
        return list(pool.map(check_file, files, [cassette] * len(files)))


def _end_with_the_command() -> None:
    """End this process when the command is killed: it would wait for work forever."""
    command = multiprocessing.parent_process()
    assert command is not None  # noqa: S101 - narrows the type

    def watch(sentinel: int = command.sentinel) -> None:
        multiprocessing.connection.wait([sentinel])
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _init(paths: Sequence[str]) -> int:
    """Write ``NAME.scenario.yaml`` beside each cassette."""
    for name in paths:
        cassette = Path(name)
        target = cassette.with_name(f"{cassette.name.removesuffix('.cassette')}.scenario.yaml")
        if target.exists():
            raise ExistsError("exists already", where=str(target), hint="edit it, or remove it")
        draft = draft_scenario(
            evidence_of(cassette),
            name=storable_text(target.name.split(".")[0]),
            cassette_path=storable_text(cassette.name),
        )
        write_whole(target, [draft.encode()], overwrite=False)
        click.echo(f"wrote {visible(str(target))}: read it, and keep what matters")
    return 0


def _update(paths: Sequence[str]) -> int:
    """Update the pins, and print what no longer matches."""
    failed = 0
    for path in find_scenarios(paths):
        scenario = load_scenario(path)
        evidence = evidence_of(path.parent / native_text(scenario.cassette_path or ""))
        try:
            text = repin_scenario(read_plain(path, max_bytes=MAX_YAML_BYTES).decode(), evidence)
        except ValueError as exc:
            raise UsageError(str(exc), where=str(path)) from exc
        write_whole(path, [text.encode()])
        click.echo(f"pinned {visible(str(path))}")
        outcome = check_scenario(load_scenario(path), evidence)
        for line in outcome_lines(outcome):
            click.echo(f"  {line}")
        failed += not outcome.passed
    return 1 if failed else 0


def _object(outcomes: Sequence[ScenarioOutcome]) -> dict[str, Any]:
    return {
        "report": "ptycassette-check",
        "version": 1,
        "passed": all(outcome.passed for outcome in outcomes),
        "scenarios": [
            {
                "scenario": outcome.scenario,
                "passed": outcome.passed,
                "normalisers": list(outcome.normalisers),
                "checks": [
                    {
                        "group": check.group,
                        "name": check.name,
                        "passed": check.passed,
                        "message": check.message,
                        "t_ms": check.t_ms,
                        "screen": list(check.screen),
                    }
                    for check in outcome.checks
                ],
            }
            for outcome in outcomes
        ],
    }


def _junit(outcomes: Sequence[ScenarioOutcome]) -> bytes:
    """A suite per scenario, a case per check."""
    return junit_xml(
        "ptycassette check",
        (
            (
                outcome.scenario,
                [
                    JUnitCase(
                        check.group,
                        check.name,
                        None if check.passed else check.message,
                        tuple(check.screen),
                    )
                    for check in outcome.checks
                ],
            )
            for outcome in outcomes
        ),
    )
