"""``blame --validate``: sessions with planted causes are recorded, blamed, and counted."""

from __future__ import annotations

import time
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

from ptycassette.blame.io.blaming import BlameOptions, blame, workers
from ptycassette.blame.oracle import Oracle
from ptycassette.blame.report import BlameReport
from ptycassette.blame.validation import SESSIONS, PlantedSession, ValidationReport, validated
from ptycassette.fork.io.options import ForkOptions
from ptycassette.fork.places import ForkPlace
from ptycassette.harness.io.fake_provider import FakeProviderServer
from ptycassette.harness.provider.fake.script import Script
from ptycassette.recording.io.recording import record
from ptycassette.rerun.io.options import RerunOptions
from ptycassette.system.files.abandoned import temporary_folder
from ptycassette.system.interpreter import python_command
from ptycassette.system.workers import Workers

_AGENT = Path(__file__).parent / "planted_agent.py"
_BUDGET = 400
_WAIT_S = 60.0
_END_S = 60.0
_PATIENCE_S = 30.0


def validate(*, jobs: int, sessions: tuple[PlantedSession, ...] = SESSIONS) -> ValidationReport:
    """Record the sessions, blame them, and hold the blame against what was planted.

    Args:
        jobs: how many runs there are at a time.
        sessions: which ones.

    Raises:
        CassetteError: a session could not be recorded, or could not be run again.
    """
    began_s = time.monotonic()
    with (
        temporary_folder() as folder,
        workers(jobs) as pool,
        ThreadPoolExecutor(len(sessions)) as threads,
    ):
        futures: list[Future[BlameReport]] = [
            threads.submit(_validated, session, folder, pool) for session in sessions
        ]
        try:
            reports = [future.result() for future in futures]
        except BaseException:
            pool.close()
            raise
    pairs = list(zip(sessions, reports, strict=True))
    return validated(pairs, seconds=time.monotonic() - began_s)


def _validated(session: PlantedSession, folder: Path, pool: Workers) -> BlameReport:
    parent = folder / f"{session.name}.cassette"
    pool.submit(record_session, session, parent).result()
    script = None
    if session.tail == "scripted":
        script = folder / f"{session.name}.toml"
        script.write_text(session.script, encoding="utf-8")
    options = BlameOptions(
        oracle=Oracle(kind="exit"),
        budget=_BUDGET,
        at=tuple(map(ForkPlace.parse, session.steps)),
        interventions=session.interventions,
        random=session.is_random,
        fork=ForkOptions(
            tail=session.tail,
            script=script,
            run=RerunOptions(trusted=True, patience_s=_PATIENCE_S),
        ),
    )
    return blame(parent, options, pool=pool)


def record_session(session: PlantedSession, target: Path) -> None:
    """Record a session, with the fake provider as its provider.

    With noise it is recorded again until its end is the one without.
    """
    argv = [*python_command("-I", str(_AGENT)), session.rule]
    if session.noise:
        argv.append(str(session.noise))
    script = Script.parse(session.script, where=session.name, variables={})
    with FakeProviderServer(script) as provider:
        options: dict[str, Any] = {
            "tape": provider.url,
            "cwd": target.parent,
            "probe_version": False,
            "overwrite": True,
        }
        while _ended_with(argv, target, session, options) and session.causes:
            pass


def _ended_with(
    argv: list[str], target: Path, session: PlantedSession, options: dict[str, Any]
) -> int:
    with record(argv, target, **options) as run:
        for number, line in enumerate(session.typed, 1):
            run.wait_for_text(f"{number}> ", timeout_s=_WAIT_S)
            run.type(f"{line}\n")
        return run.wait_exit(timeout_s=_END_S).code
