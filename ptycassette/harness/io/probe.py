"""Runs probes, live or over a recording, with the same state machine."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from ptycassette.cassette.io.reader import open_cassette
from ptycassette.errors import (
    CassetteError,
    NotFoundError,
    SessionClosedError,
    WaitTimeoutError,
)
from ptycassette.harness.io._drive import DEFAULT_TIMEOUT_S, Settled, perform
from ptycassette.harness.io.files import find_binary
from ptycassette.harness.preparing import PreparedRun
from ptycassette.harness.probe import Probe
from ptycassette.harness.probe_run import ProbeResult, ProbeRun
from ptycassette.keys.quantities import parse_time
from ptycassette.model.geometry import Cursor, Size
from ptycassette.model.ports import Clock
from ptycassette.model.screen import Screen
from ptycassette.model.stored_screen import screen_of
from ptycassette.profiles.profile import Profile
from ptycassette.recording.io.binary_probe import timestamp
from ptycassette.recording.io.recording import Recording, record
from ptycassette.session.session import Session
from ptycassette.system.clock import MonotonicClock
from ptycassette.system.files.abandoned import held_folder


class ProbeFailedError(CassetteError):
    """A recorded probe has no result, so that its recording becomes a diagnostic.

    Args:
        result: with the status and the diagnostic.
    """

    exit_status = 1

    def __init__(self, result: ProbeResult) -> None:
        reason = result.diagnostic.message if result.diagnostic else "no result"
        super().__init__(f"the probe {result.probe} ended as {result.status}: {reason}")
        self.result = result


def probe_live(
    probe: Probe,
    profile: Profile,
    *,
    prepared: PreparedRun | None = None,
    cwd: Path | None = None,
    target: Path | None = None,
    account: str | None = None,
    overwrite: bool = False,
    clock: Clock | None = None,
) -> ProbeResult:
    """Ask a real CLI.

    Args:
        probe: what to ask.
        profile: of the CLI.
        prepared: how to start it; the installed CLI with the user's own home when None.
        cwd: where to start it; where the probe says when None.
        target: record into this cassette, which gets ``quota.json`` and ``discovery.json``;
            a probe that does not succeed leaves a diagnostic there instead.
        account: only one recorded probe per account at a time.
        overwrite: replace the cassette at ``target``.
        clock: time, for tests.

    Raises:
        NotFoundError: the CLI is not installed.
        SpawnError: it could not be started.
        LockedError: another probe of the same account is under way.
    """
    clock = clock or MonotonicClock()
    captured_at = timestamp(clock.wall())
    with (
        _folder(probe, cwd) as folder,
        _session(
            probe,
            profile,
            prepared=prepared,
            cwd=folder,
            target=target,
            account=account,
            overwrite=overwrite,
        ) as session,
    ):
        result = walk_probe(session, probe, profile, captured_at=captured_at)
        if isinstance(session, Recording):
            if result.status != "ok":
                # Raised inside the block, so that it does not become a cassette.
                raise ProbeFailedError(result)
            if result.quota is not None:
                session.set_quota(result.quota)
            if result.discovery is not None:
                session.set_discovery(result.discovery)
    return result


@contextmanager
def _folder(probe: Probe, cwd: Path | None) -> Iterator[Path | None]:
    """The folder in which the CLI starts."""
    if cwd is not None or probe.folder == "here":
        yield cwd
        return
    with held_folder(None) as made:
        yield made.path


def _session(
    probe: Probe,
    profile: Profile,
    *,
    prepared: PreparedRun | None,
    cwd: Path | None,
    target: Path | None,
    account: str | None,
    overwrite: bool,
) -> AbstractContextManager[Session]:
    """The CLI in a terminal of the probe's size, recorded or not."""
    argv, env = _start(probe, profile, prepared)
    size = Size(probe.rows, probe.cols)
    term = profile.terminal.term
    if target is None:
        return Session(argv, size=size, cwd=cwd, env=env, clean_env=True, term=term)
    return record(
        argv,
        target,
        size=size,
        cwd=cwd,
        env=env,
        clean_env=True,
        term=term,
        harness=profile.name,
        account=account,
        freshness_window=probe.freshness_window,
        overwrite=overwrite,
        title=probe.source,
    )


def _start(
    probe: Probe, profile: Profile, prepared: PreparedRun | None
) -> tuple[tuple[str, ...], Mapping[str, str]]:
    """The command line and the environment."""
    if prepared is not None:
        return (*prepared.argv, *probe.arguments), {**prepared.environment, **probe.variables}
    binary = find_binary(profile)
    if binary is None:
        raise NotFoundError(
            f"{profile.title} is not installed",
            hint=f"its program is called {' or '.join(profile.binaries)}",
        )
    plain = {name: value for name, value in profile.environment.items() if "${" not in value}
    kept = {name: os.environ[name] for name in probe.environment if name in os.environ}
    return (binary, *probe.arguments), {**plain, **kept, **probe.variables}


def walk_probe(
    session: Session, probe: Probe, profile: Profile, *, captured_at: str
) -> ProbeResult:
    """Run a probe in a live session, which stays open.

    Does not raise for anything that the CLI does: problems are in the result.
    """
    run = ProbeRun(probe)
    began_us = session.elapsed_us
    while (step := run.step) is not None:
        left_s = probe.timeout_s - (session.elapsed_us - began_us) / 1e6
        try:
            if step.wait is None:
                perform(session, step, profile)
                run.acted()
                continue
            timeout_s = max(0.1, round(min(left_s, step.timeout_s or DEFAULT_TIMEOUT_S), 1))
            markers = [marker.when for marker in probe.markers]
            run.look(session.wait_for(Settled([step.wait, *markers]), timeout_s=timeout_s))
        except WaitTimeoutError as late:
            run.fail(late.message, session.screen(), status=step.late)
        except SessionClosedError as over:
            run.fail(over.message.split("\n")[0], session.screen(), status=step.ended)
    return run.result(captured_at)


def probe_cassette(
    probe: Probe,
    path: Path,
    *,
    max_age_s: float | None = None,
    clock: Clock | None = None,
) -> ProbeResult:
    """Run a probe over a recording, without credentials and without starting a program.

    Args:
        probe: what to ask.
        path: of the cassette.
        max_age_s: older evidence is ``stale``; None only reports the age.
        clock: time, for tests.

    Raises:
        InvalidCassetteError: it is not a cassette, but a diagnostic for example.
    """
    run = ProbeRun(probe)
    screen = Screen(size=Size(probe.rows, probe.cols), rows=(), cursor=Cursor(0, 0))
    with open_cassette(path) as cassette:
        captured_at = cassette.manifest.provenance.recorded_at
        for frame in cassette.frames():
            screen = screen_of(frame)
            while (step := run.step) is not None:
                if step.wait is None:
                    run.acted()  # the recording has what came of it
                elif not run.look(screen):
                    break
        while (step := run.step) is not None and step.wait is None:
            run.acted()
        if run.step is not None:
            run.fail("the recording ends before that", screen)
    result = run.result(captured_at)
    return with_freshness(result, (clock or MonotonicClock()).wall(), max_age_s=max_age_s)


def with_freshness(result: ProbeResult, now: datetime, *, max_age_s: float | None) -> ProbeResult:
    """``result`` with its age; ``stale`` if that is over ``max_age_s``.

    Without ``max_age_s`` the probe's own freshness window is reported, and enforced
    only where the probe says ``staleness_behavior = "refuse"``.
    """
    age_s = int((now - _moment(result.captured_at)).total_seconds())
    window_s = parse_time(result.freshness_window)
    allowed_s = max_age_s
    if allowed_s is None and _refuses(result):
        allowed_s = window_s
    stale = allowed_s is not None and age_s > allowed_s and result.status == "ok"
    return msgspec.structs.replace(
        result,
        age_s=age_s,
        fresh=age_s <= (window_s if max_age_s is None else max_age_s),
        status="stale" if stale else result.status,
    )


def _refuses(result: ProbeResult) -> bool:
    records = (result.quota, result.discovery)
    return any(one is not None and one.staleness_behavior == "refuse" for one in records)


def _moment(text: str) -> datetime:
    """A time of RFC 3339."""
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
