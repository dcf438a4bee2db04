"""``ptycassette probe HARNESS``: ask a CLI for its quota, account and models."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ptycassette.cli._options import TIME, TimeType, path_option
from ptycassette.errors import UsageError
from ptycassette.model.visible_text import printable, visible

if TYPE_CHECKING:
    from ptycassette.agents.harness.probe import ProbeResult

NOT_OK_STATUS = 1


@click.command("probe", epilog="Example: ptycassette probe codex --from codex.cassette --json")
@click.argument("harness")
@click.option(
    "--probe", "name", help="Use this probe, by name or file. Default: the probe of HARNESS."
)
@path_option(
    "--from",
    "source",
    metavar="CASSETTE",
    text="Read a recording instead of running the program; needs no credentials.",
)
@path_option(
    "--record",
    "target",
    metavar="DIR",
    text="Record the run to DIR, with quota.json and discovery.json.",
)
@click.option("--overwrite", is_flag=True, help="Replace an existing cassette at --record.")
@click.option(
    "--max-age",
    metavar="TIME",
    type=TIME,
    help="Report evidence older than TIME as stale (90s, 15m, 24h, 7d).",
)
@click.option(
    "--account",
    default="default",
    show_default=True,
    help="Let only one run at a time use this account.",
)
@path_option(
    "--watch",
    "snapshot",
    metavar="FILE",
    text="Repeat the probe and keep the latest result in FILE.",
)
@click.option(
    "--every",
    metavar="TIME",
    type=TimeType(least=1),
    default="5m",
    show_default=True,
    help="With --watch: repeat after TIME (90s, 15m).",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object (docs/probes.md).")
def command(
    harness: str,
    name: str | None,
    source: Path | None,
    target: Path | None,
    overwrite: bool,
    max_age: float | None,
    account: str,
    snapshot: Path | None,
    every: float,
    as_json: bool,
) -> int:
    """Ask HARNESS for its usage windows, account class and models.

    Ends with 0 if the answer is complete and fresh enough, otherwise with 1; the
    result has the reason: unauthenticated, unavailable, error or stale.
    """
    from ptycassette.agents.harness.io.files import load_probe, load_profile
    from ptycassette.agents.harness.io.probe import (
        ProbeFailedError,
        probe_cassette,
        probe_live,
        with_freshness,
    )

    if source is not None and (target is not None or snapshot is not None):
        raise UsageError("--from asks a recording: --record and --watch do not go with it")
    probe = load_probe(name or _own_probe(harness))
    if probe.harness != harness:
        raise UsageError(f"the probe {probe.name!r} is for {probe.harness}, not for {harness}")

    def ask() -> ProbeResult:
        if source is not None:
            return probe_cassette(probe, source, max_age_s=max_age)
        from ptycassette.system.clock import MonotonicClock

        clock = MonotonicClock()
        try:
            result = probe_live(
                probe,
                load_profile(harness),
                target=target,
                # --watch itself holds the account's lock meanwhile.
                account=account if snapshot is None else None,
                overwrite=overwrite or snapshot is not None,
                clock=clock,
            )
        except ProbeFailedError as failed:
            result = failed.result
        return with_freshness(result, clock.wall(), max_age_s=max_age)

    if snapshot is not None:
        _watch(snapshot, ask, account=account, harness=harness, every_s=every)
        return 0
    result = ask()
    _tell(result, as_json=as_json)
    return 0 if result.status == "ok" else NOT_OK_STATUS


def _own_probe(harness: str) -> str:
    """The probe of a harness: the user's own, or the built-in one."""
    from ptycassette.agents.harness.io.files import known_probes

    own = [name for name in known_probes() if name.startswith(f"{harness}-")]
    if not own:
        raise UsageError(
            f"there is no probe for {harness!r}",
            hint=f"--probe FILE, or one of: {', '.join(known_probes())}",
        )
    return own[0]


def _watch(
    snapshot: Path, ask: Callable[[], ProbeResult], *, account: str, harness: str, every_s: float
) -> None:
    """Refresh the snapshot until SIGINT or SIGTERM; the second of them does not wait."""
    from ptycassette.agents.harness.io.probe_watch import call_every, refresh_snapshot
    from ptycassette.system.clock import MonotonicClock
    from ptycassette.system.ownership import StopSignals

    def once() -> None:
        result = refresh_snapshot(
            snapshot,
            ask,
            account=account,
            harness=harness,
            clock=MonotonicClock(),
        )
        outcome = "another process is asking for this account" if result is None else result.status
        click.echo(f"{harness}: {outcome}")

    with StopSignals() as signals:
        call_every(once, interval_s=every_s, stopped=signals.wait)


def _tell(result: ProbeResult, *, as_json: bool) -> None:
    if as_json:
        import msgspec

        click.echo(msgspec.json.format(msgspec.json.encode(result), indent=2))
        return
    from ptycassette.cassette.freshness import age_text

    age = "" if result.age_s is None else f", {age_text(timedelta(seconds=result.age_s))}"
    click.echo(f"{result.harness}: {result.status} (captured {result.captured_at}{age})")
    if result.quota is not None:
        if result.quota.account_class:
            click.echo(f"  account  {visible(result.quota.account_class)}")
        for window in result.quota.windows or ():
            resets = f", resets {window['resets']}" if "resets" in window else ""
            click.echo(
                f"  {visible(str(window['name'])):8} {window['used_percent']:g} % used"
                f"{visible(resets)}"
            )
        for name, value in (result.quota.metadata or {}).items():
            click.echo(f"  {visible(name):8} {visible(str(value))}")
    if result.discovery is not None and result.discovery.models:
        click.echo(f"  models   {visible(', '.join(result.discovery.models))}")
    if result.diagnostic is not None:
        click.echo(f"  {printable(result.diagnostic.message)}")
        for failed in result.diagnostic.failed:
            click.echo(f"  failed: {printable(failed)}")
        for row in result.diagnostic.screen:
            click.echo(f"  | {printable(row)}")
