"""``ptycassette doctor``: what works on this machine and what is missing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

from ptycassette.cli._options import json_option
from ptycassette.cli._present import json_text, write_lines
from ptycassette.model import visible
from ptycassette.version import __version__

if TYPE_CHECKING:
    from ptycassette.cli._reports import Check

FAILED_STATUS = 1


@click.command("doctor")
@click.option("--versions", is_flag=True, help="Ask each agent CLI for its version (seconds).")
@json_option
def command(versions: bool, as_json: bool) -> int:
    """Say what works on this machine and what is missing.

    Ends with 0 when recording and replaying can work, with 1 when something
    that they need does not.

    Example: ptycassette doctor --json
    """
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


def check_lines(checks: Sequence[Check]) -> Iterator[str]:
    """Findings as text: a mark, a name, the state, and what to do."""
    width = max((len(check.name) for check in checks), default=0)
    for check in checks:
        yield f"  {check.status:<4}  {check.name:<{width}}  {visible(check.detail)}"
        if check.hint:
            yield f"        {'':<{width}}  hint: {visible(check.hint)}"
