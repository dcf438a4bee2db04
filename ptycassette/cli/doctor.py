"""``ptycassette doctor``: what works on this machine and what is missing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

from ptycassette.cli._options import json_option
from ptycassette.cli._present import json_text, write_lines
from ptycassette.errors import UsageError
from ptycassette.model import visible
from ptycassette.version import __version__

if TYPE_CHECKING:
    from ptycassette.cli._reports import Check

FAILED_STATUS = 1


@click.command("doctor")
@click.option("--versions", is_flag=True, help="Ask each agent CLI for its version (seconds).")
@click.option(
    "--drift",
    metavar="CASSETTE",
    type=click.Path(),
    help="Say what changed since this was recorded instead.",
)
@click.option(
    "--now",
    metavar="CASSETTE",
    type=click.Path(),
    help="With --drift: compare with this newer recording, not with this machine.",
)
@json_option
def command(versions: bool, drift: str | None, now: str | None, as_json: bool) -> int:
    """Say what works on this machine and what is missing.

    Ends with 0 when recording and replaying can work, with 1 when something
    that they need does not; with --drift, when something is known to have
    changed.

    Example: ptycassette doctor --json
    """
    if drift is not None:
        return _drift(drift, now, versions=versions, as_json=as_json)
    if now is not None:
        raise UsageError("--now goes with --drift")
    from ptycassette.cli._reports import Check, DoctorReport
    from ptycassette.harness.io import doctor_findings

    checks = tuple(
        Check(name=one.name, status=one.status, detail=one.detail, hint=one.hint)
        for one in doctor_findings(versions=versions)
    )
    ok = all(check.status != "fail" for check in checks)
    if as_json:
        report = DoctorReport(ok=ok, version=__version__, checks=checks)
        write_lines([json_text(report)])
    else:
        write_lines([f"ptycassette {__version__}", *check_lines(checks)])
    return 0 if ok else FAILED_STATUS


def _drift(path: str, newer: str | None, *, versions: bool, as_json: bool) -> int:
    """``doctor --drift``."""
    from ptycassette.cli._drift_report import DriftReport
    from ptycassette.harness import DriftStatus
    from ptycassette.harness.io import drift_causes

    causes = tuple(drift_causes(path, newer=newer, versions=versions))
    changed = [one for one in causes if one.status is DriftStatus.CHANGED]
    if as_json:
        report = DriftReport(same=not changed, cassette=path, now=newer, causes=causes)
        write_lines([json_text(report)])
    else:
        width = max(len(one.cause) for one in causes)
        for one in causes:
            said = one.recorded
            if one.status is DriftStatus.CHANGED:
                said = f"then {one.recorded or 'nothing'}; now {one.now or 'nothing'}"
            name = f"{one.status.value.replace('-', ' '):<12}  {one.cause:<{width}}"
            write_lines([f"  {name}  {visible(said, limit=300)}".rstrip()])
            if one.hint:
                write_lines([f"  {'':<12}  {'':<{width}}  hint: {one.hint}"])
    return FAILED_STATUS if changed else 0


def check_lines(checks: Sequence[Check]) -> Iterator[str]:
    """Findings as text: a mark, a name, the state, and what to do."""
    width = max((len(check.name) for check in checks), default=0)
    for check in checks:
        yield f"  {check.status:<4}  {check.name:<{width}}  {visible(check.detail)}"
        if check.hint:
            yield f"        {'':<{width}}  hint: {visible(check.hint)}"
