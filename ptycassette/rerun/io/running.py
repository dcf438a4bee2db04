"""One new run of the real program: the recorded inputs typed by screen, the tape as its provider.

The new run is recorded, too, into a private folder: so its screens are scrubbed as those of the
cassette were, and the two can be compared.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from ptycassette.cassette.io import Cassette, open_cassette
from ptycassette.errors import (
    InputRefusedError,
    SessionClosedError,
    WaitTimeoutError,
)
from ptycassette.harness.io import log_reader
from ptycassette.model import FinalRecord, InputRecord, Size
from ptycassette.profiles import Profile
from ptycassette.recording.io import record
from ptycassette.rerun.exit_messages import may_begin_above, scrolled_off
from ptycassette.rerun.io.preparing import PreparedRerun
from ptycassette.rerun.io.version_now import version_now
from ptycassette.rerun.screens import ScreenJudge
from ptycassette.rerun.script import RerunScript, RerunStep, script_of
from ptycassette.session import Session
from ptycassette.tape import DrawnValues, drawn_in


class RunOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """What a new run showed, scrubbed.

    ``met`` are inputs whose screen was there when they were sent, ``late`` those whose screen did
    not come. ``version`` is what the program says that it is, if the recorded one was asked, too.
    ``above`` are the rows above the last screen, where a message may begin that is left out.
    """

    script: RerunScript
    drawn: DrawnValues
    final: FinalRecord
    typed: int
    met: frozenset[int]
    late: tuple[int, ...]
    version: str | None = None
    problem: str = ""
    above: tuple[str, ...] = ()


def run_again(
    prepared: PreparedRerun, cassette: Cassette, judge: ScreenJudge, patience_s: float
) -> RunOutcome:
    """Run the program, type what was typed, and read what it showed.

    Args:
        prepared: the run.
        cassette: the recording.
        judge: compares screens.
        patience_s: how long to wait for the screen of an input, and for the end, beyond twice
            the time that it took in the recording.

    Raises:
        SpawnError: the program cannot be started.
        StorageError: the disk refuses.
    """
    place, profile = prepared.place, prepared.profile
    typist = _Typist(judge, prepared.server.sent, patience_s)
    target = place.folder / "now.cassette"
    options = {
        **prepared.session_options(),
        "harness": profile.name if profile else None,
        "probe_version": False,
        "state_dir": place.folder / "state",
    }
    if profile is not None:
        options["at_end"] = log_reader(profile, home=place.home, cwd=place.cwd, since_s=0.0)
    known = cassette.manifest.harness.binary_version
    version = None if known is None else version_now(place)
    with record(place.argv, target, **options) as session:
        typist.type(session, prepared.script)
        left_us = cassette.final.duration_ms * 1000 - typist.last_us
        problem = _end(session, patience_s + 2 * max(0, left_us) / 1e6)
    with open_cassette(target) as now:
        script = script_of(now.events())
        return RunOutcome(
            script=script,
            above=rows_above(now, script, profile),
            drawn=drawn_in(event.payload for event in now.service_events()),
            final=now.final,
            typed=typist.typed,
            met=frozenset(typist.met),
            late=tuple(typist.late),
            version=version,
            problem=problem,
        )


def rows_above(cassette: Cassette, script: RerunScript, profile: Profile | None) -> tuple[str, ...]:
    """What scrolled off the last screen, if a message that is left out may have begun there."""
    messages = profile.screens.at_exit if profile else ()
    if not may_begin_above(script.last_screen or (), messages):
        return ()
    terminal = cassette.manifest.terminal
    size = Size(terminal.initial_rows, terminal.initial_cols)
    return scrolled_off(cassette.events(), size)


class _Typist:
    """Sends the steps of a recording to a session, each when its screen is there.

    Attributes:
        typed: the number of the last step that was sent.
        met: steps that were sent on the screen of the recording.
        late: steps that were sent although their screen had not come.
        last_us: when the last step was sent, in the recording.
    """

    def __init__(self, judge: ScreenJudge, sent: Callable[[int], None], patience_s: float) -> None:
        self._judge, self._sent, self._patience_s = judge, sent, patience_s
        self.last_us = 0
        self.typed = 0
        self.met: set[int] = set()
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
        else:
            self.met.add(step.number)


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
