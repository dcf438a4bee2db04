"""One new run of the real program: the recorded inputs typed by screen, the tape as its provider.

The new run is recorded, too, into a private folder: so its screens are scrubbed as those of the
cassette were, and the two can be compared.
"""

from __future__ import annotations

from contextlib import ExitStack

import msgspec

from ptycassette.cassette.io.reader import Cassette, open_cassette
from ptycassette.errors import (
    WaitTimeoutError,
)
from ptycassette.harness.io.record import log_reader
from ptycassette.keys.quantities import time_text
from ptycassette.model.events import FinalRecord
from ptycassette.model.geometry import Size
from ptycassette.profiles.profile import Profile
from ptycassette.recording.io.recording import record
from ptycassette.rerun.exit_messages import may_begin_above, scrolled_off
from ptycassette.rerun.io.preparing import PreparedRerun
from ptycassette.rerun.io.typist import Typist
from ptycassette.rerun.io.version_now import version_beside
from ptycassette.rerun.screens import ScreenJudge
from ptycassette.rerun.script import RerunScript, script_of
from ptycassette.session.session import Session
from ptycassette.tape.draws import DrawnValues, drawn_in


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
    typist = Typist(judge, prepared.server.sent, patience_s)
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
    with ExitStack() as stack:
        asked = None if known is None else stack.enter_context(version_beside(place))
        with record(place.argv, target, **options) as session:
            typist.type(session, prepared.script)
            left_us = cassette.final.duration_ms * 1000 - typist.last_us
            problem = _end(session, patience_s + 2 * max(0, left_us) / 1e6)
        version = None if asked is None else asked()
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


def _end(session: Session, patience_s: float) -> str:
    """Wait for the end; what is wrong when it does not come."""
    try:
        session.wait_exit(timeout_s=patience_s)
    except WaitTimeoutError:
        return f"it did not end within {time_text(patience_s)} of the last input"
    return ""
