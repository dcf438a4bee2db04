"""``ptycassette doctor``: check what works on this machine and what is missing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click
import msgspec

from ptycassette.agents.harness.surroundings import DriftCause
from ptycassette.cli._options import json_option
from ptycassette.cli._present import json_text, write_lines
from ptycassette.errors import UsageError
from ptycassette.extras import needing_extra
from ptycassette.model.visible_text import visible
from ptycassette.version import __version__

if TYPE_CHECKING:
    from ptycassette.cli._reports import Check


FAILED_STATUS = 1


@click.command("doctor")
@click.option(
    "--versions", is_flag=True, help="Ask each agent CLI for its version, which takes seconds."
)
@click.option(
    "--profile",
    metavar="NAME",
    help="Say which rows of a CLI's profile hold with the installed program instead (a minute).",
)
@click.option(
    "--drift",
    metavar="CASSETTE",
    type=click.Path(),
    help="List what changed since CASSETTE was recorded.",
)
@click.option(
    "--now",
    metavar="CASSETTE",
    type=click.Path(),
    help="With --drift: compare with this newer recording, not with this machine.",
)
@click.option(
    "--models",
    is_flag=True,
    help="With --drift: ask the provider, with your key, or the CLI for its list of models.",
)
@click.option(
    "--provider",
    metavar="NAME",
    help="With --models: ask this provider: anthropic, openai, gemini, or a base URL.",
)
@click.option(
    "--key-env", metavar="NAME", help="With --models: read your key from the variable NAME."
)
@json_option
def command(
    versions: bool,
    profile: str | None,
    drift: str | None,
    now: str | None,
    models: bool,
    provider: str | None,
    key_env: str | None,
    as_json: bool,
) -> int:
    """Check what works on this machine and what is missing.

    Ends with 0 if recording and replaying work, with 1 if something they need does
    not; with --drift, if something changed; with --profile, if a row of the profile
    no longer holds (the CLI then runs offline, in a temporary home).

    Example: ptycassette doctor --json

    Example: ptycassette doctor --profile codex
    """
    _refuse_alone({"--models": models, "--now": now}, "--drift", drift)
    _refuse_alone({"--provider": provider, "--key-env": key_env}, "--models", models)
    if profile is not None and (drift is not None or versions):
        raise UsageError("--profile goes with neither --drift nor --versions")
    if drift is not None:
        if now is not None and models:
            raise UsageError("--now compares with a recording: --models does not go with it")
        query = (provider or "", key_env or "") if models else None
        return _drift(drift, now, versions=versions, models=query, as_json=as_json)
    from ptycassette.agents.harness.io.probe import doctor_findings
    from ptycassette.cli._reports import Check, DoctorReport

    if profile is not None:
        with needing_extra("provider"):
            from ptycassette.agents.harness.io.offline import profile_findings
        found = profile_findings(profile)
    else:
        found = doctor_findings(versions=versions)
    checks = tuple(
        Check(name=one.name, status=one.status, detail=one.detail, hint=one.hint) for one in found
    )
    ok = all(check.status != "fail" for check in checks)
    if as_json:
        report = DoctorReport(ok=ok, version=__version__, checks=checks)
        write_lines([json_text(report)])
    else:
        write_lines([f"ptycassette {__version__}", *check_lines(checks)])
    return 0 if ok else FAILED_STATUS


def _refuse_alone(given: dict[str, object], needed: str, value: object) -> None:
    """Refuse options that have no effect without another one."""
    for option, said in given.items():
        if said and not value:
            raise UsageError(f"{option} goes with {needed}")


def _drift(
    path: str,
    newer: str | None,
    *,
    versions: bool,
    models: tuple[str, str] | None,
    as_json: bool,
) -> int:
    from ptycassette.agents.harness.io.drift import ModelsQuery, drift_causes
    from ptycassette.agents.harness.surroundings import DriftStatus

    query = None if models is None else ModelsQuery(provider=models[0], key_variable=models[1])
    causes = tuple(drift_causes(path, newer=newer, versions=versions, models=query))
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
                write_lines([f"  {'':<12}  {'':<{width}}  hint: {visible(one.hint, limit=300)}"])
    return FAILED_STATUS if changed else 0


def check_lines(checks: Sequence[Check]) -> Iterator[str]:
    """Findings as text: a mark, a name, the state, and what to do."""
    width = max((len(check.name) for check in checks), default=0)
    for check in checks:
        yield f"  {check.status:<4}  {check.name:<{width}}  {visible(check.detail)}"
        if check.hint:
            yield f"        {'':<{width}}  hint: {visible(check.hint)}"


class DriftReport(msgspec.Struct, frozen=True, kw_only=True):
    """``doctor --drift --json``; ``now``: the newer cassette, null for this machine."""

    same: bool
    cassette: str
    now: str | None
    causes: tuple[DriftCause, ...]
