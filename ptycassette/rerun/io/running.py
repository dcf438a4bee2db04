"""One new run of the real program: the recorded inputs typed by screen, the tape as its provider.

The new run is recorded, too, into a private folder: so its screens are scrubbed as those of the
cassette were, and the two can be compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from ptycassette.cassette.io import Cassette, open_cassette
from ptycassette.errors import (
    InputRefusedError,
    SessionClosedError,
    WaitTimeoutError,
)
from ptycassette.harness.io import log_reader, placed_run, run_place
from ptycassette.model import FinalRecord, InputRecord, Size
from ptycassette.profiles import Profile
from ptycassette.recording.io import record
from ptycassette.rerun.screens import ScreenJudge
from ptycassette.rerun.script import RerunScript, RerunStep, script_of
from ptycassette.session import Session
from ptycassette.tape import DrawnValues, drawn_in
from ptycassette.tape.io import base_url_variables, proxy_variables

_DIRECT = "127.0.0.1,localhost,::1"
_REFUSING = "http://127.0.0.1:9"  # discard: nobody listens there


class RunPlan(msgspec.Struct, frozen=True, kw_only=True):
    """How to run the program again.

    Attributes:
        argv: what to run.
        profile: of the CLI, if it has one: it says how the CLI is set up offline.
        mode: one of the profile's modes.
        url: of the tape's server.
        openai_url: the base URL of OpenAI's APIs where it is another one than ``url`` and ``/v1``.
        proxy: the tape's server as an HTTP proxy, for a program that asks the real providers; then
            ``url`` is that of the provider.
        ca_file: the file with the certificate that the proxy's clients must trust.
        isolated: whether this process is off the network.
        cwd: the work folder; an empty one when None.
        files: files of an empty work folder, by name.
        environment: variables to add.
        patience_s: how long to wait for the screen of an input, and for the end, beyond twice
            the time that it took in the recording.
    """

    argv: tuple[str, ...]
    profile: Profile | None
    url: str
    isolated: bool
    openai_url: str = ""
    proxy: str = ""
    ca_file: str = ""
    mode: str = "key"
    model: str = ""
    cwd: Path | None = None
    files: Mapping[str, str] = msgspec.field(default_factory=dict)
    environment: Mapping[str, str] = msgspec.field(default_factory=dict)
    patience_s: float = 20.0


class RunOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """What a new run showed, scrubbed. ``late`` are inputs whose screen did not come."""

    script: RerunScript
    drawn: DrawnValues
    final: FinalRecord
    typed: int
    late: tuple[int, ...]
    cwd: str
    home: str
    problem: str = ""


class _Place(msgspec.Struct, frozen=True, kw_only=True):
    """Where the program runs, and with what."""

    argv: tuple[str, ...]
    environment: Mapping[str, str]
    home: Path
    cwd: Path
    folder: Path


def run_again(
    plan: RunPlan,
    cassette: Cassette,
    judge: ScreenJudge,
    placed: Callable[[Path, Path], None],
    sent: Callable[[int], None],
) -> RunOutcome:
    """Run the program, type what was typed, and read what it showed.

    Args:
        plan: the run.
        cassette: the recording.
        judge: compares screens.
        placed: called with home and work folder before the program starts.
        sent: called with the number of inputs that were sent, after each.

    Raises:
        NotFoundError: the program is not installed.
        SpawnError: it cannot be started.
        StorageError: the disk refuses.
    """
    script = script_of(cassette.events())
    terminal = cassette.manifest.terminal
    with _placed(plan) as place:
        placed(place.home, place.cwd)
        typist = _Typist(judge, sent, plan.patience_s)
        target = place.folder / "now.cassette"
        options: dict[str, Any] = {
            "size": Size(terminal.initial_rows, terminal.initial_cols),
            "cwd": place.cwd,
            "env": place.environment,
            "clean_env": True,
            "harness": plan.profile.name if plan.profile else None,
            "probe_version": False,
            "state_dir": place.folder / "state",
        }
        if terminal.term:
            options["term"] = terminal.term
        if plan.profile is not None:
            options["at_end"] = log_reader(
                plan.profile, home=place.home, cwd=place.cwd, since_s=0.0
            )
        with record(place.argv, target, **options) as session:
            typist.type(session, script)
            left_us = cassette.final.duration_ms * 1000 - typist.last_us
            problem = _end(session, plan.patience_s + 2 * max(0, left_us) / 1e6)
        with open_cassette(target) as now:
            return RunOutcome(
                script=script_of(now.events()),
                drawn=drawn_in(event.payload for event in now.service_events()),
                final=now.final,
                typed=typist.typed,
                late=tuple(typist.late),
                cwd=str(place.cwd),
                home=str(place.home),
                problem=problem,
            )


@contextmanager
def _placed(plan: RunPlan) -> Iterator[_Place]:
    guard = {} if plan.isolated or plan.proxy else _refusing_proxies()
    pointed: dict[str, str] = {}
    if plan.proxy:
        pointed = proxy_variables(plan.profile, proxy=plan.proxy, ca=plan.ca_file)
    if plan.profile is not None and plan.mode in plan.profile.modes:
        with placed_run(
            plan.profile,
            plan.url,
            openai_url=plan.openai_url,
            mode=plan.mode,
            model=plan.model,
            binary=plan.argv[0],
            cwd=plan.cwd,
            files=plan.files,
        ) as run:
            yield _Place(
                argv=run.prepared.instead(plan.argv, plan.profile.binaries),
                environment={**guard, **run.prepared.environment, **pointed, **plan.environment},
                home=run.home,
                cwd=run.cwd,
                folder=run.folder.path,
            )
        return
    with run_place(None, cwd=plan.cwd, files=plan.files) as run:
        own = {"HOME": str(run.home), **(pointed or base_url_variables(plan.url))}
        yield _Place(
            argv=plan.argv,
            environment={**guard, **own, **plan.environment},
            home=run.home,
            cwd=run.cwd,
            folder=run.folder.path,
        )


def _refusing_proxies() -> dict[str, str]:
    names = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
    direct = dict.fromkeys(("NO_PROXY", "no_proxy"), _DIRECT)
    return {**{name: _REFUSING for pair in names for name in (pair, pair.lower())}, **direct}


class _Typist:
    """Sends the steps of a recording to a session, each when its screen is there.

    Attributes:
        typed: the number of the last step that was sent.
        late: steps that were sent although their screen had not come.
        last_us: when the last step was sent, in the recording.
    """

    def __init__(self, judge: ScreenJudge, sent: Callable[[int], None], patience_s: float) -> None:
        self._judge, self._sent, self._patience_s = judge, sent, patience_s
        self.last_us = 0
        self.typed = 0
        self.late: list[int] = []

    def type(self, session: Session, script: RerunScript) -> None:
        """All steps; ends early when the program has ended."""
        for step in script.steps:
            try:
                self._wait(session, step)
                _send(session, step.record)
            except (SessionClosedError, InputRefusedError):
                return
            self.typed, self.last_us = step.number, step.t_us
            self._sent(step.number)

    def _wait(self, session: Session, step: RerunStep) -> None:
        if step.screen is None or step.follows:
            return
        awaited = self._judge.awaited(step.screen)
        try:
            session.wait_for_predicate(
                lambda screen: awaited(screen.rows),
                what=f"the screen before input {step.number}",
                timeout_s=self._patience_s + 2 * (step.t_us - self.last_us) / 1e6,
            )
        except WaitTimeoutError:
            self.late.append(step.number)


def _send(session: Session, record: InputRecord) -> None:
    match record.kind:
        case "resize":
            if record.size is not None:
                session.resize(record.size)
        case "signal":
            if record.signal is not None:
                session.signal(record.signal)
        case "input":
            if record.bytes:
                session.send(record.bytes)


def _end(session: Session, patience_s: float) -> str:
    """Wait for the end; what is wrong when it does not come."""
    try:
        session.wait_exit(timeout_s=patience_s)
    except WaitTimeoutError:
        return f"it did not end within {patience_s:g} s of the last input"
    return ""
