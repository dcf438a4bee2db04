"""Types what was typed in a recording, each input when the screen is where it was then."""

from __future__ import annotations

import time
from collections.abc import Callable

from ptycassette.errors import InputRefusedError, SessionClosedError, WaitTimeoutError
from ptycassette.model.events import InputRecord
from ptycassette.rerun.screens import ScreenJudge
from ptycassette.rerun.script import RerunScript, RerunStep
from ptycassette.session.session import Session

PAUSE_S = 0.5
"""Between a screen and the input that was typed on it, or as much as there was in the recording.
Gemini CLI takes an Enter within 30 to 40 ms of a paste for a part of it (so do others, see
``SUBMIT_PAUSE_S``), by a timer that is late on a busy machine: 0.1 s was too short there."""


class Typist:
    """Sends the steps of a recording to a session, each when its screen is there.

    Args:
        judge: compares screens.
        sent: told the number of each step that was sent.
        patience_s: how long to wait for a screen, beyond twice the time that it took.
        rest: lets a time in seconds pass.

    Attributes:
        typed: the number of the last step that was sent.
        met: steps that were sent on the screen of the recording.
        late: steps that were sent although their screen had not come.
        last_us: when the last step was sent, in the recording.
    """

    def __init__(
        self,
        judge: ScreenJudge,
        sent: Callable[[int], None],
        patience_s: float,
        *,
        rest: Callable[[float], None] = time.sleep,
    ) -> None:
        self._judge, self._sent, self._patience_s = judge, sent, patience_s
        self._rest = rest
        self.last_us = 0
        self.typed = 0
        self.met: set[int] = set()
        self.late: list[int] = []

    def type(self, session: Session, script: RerunScript) -> None:
        """All steps; ends early when the program has ended."""
        for step in script.steps:
            try:
                self._wait(session, step)
                self._rest(min(PAUSE_S, max(0, step.t_us - self.last_us) / 1e6))
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
