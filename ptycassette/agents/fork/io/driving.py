"""Type at a forked run: the recorded inputs up to the fork, the change, and the rest.

Before the fork every difference counts: a missing screen, a question that is not on the tape or
that does not come, or an early end is a ``DivergenceError`` with its place. After it nothing is
compared: inputs are typed when their recorded screen appears, or when the program is quiet.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress

import msgspec

from ptycassette.agents.fork.io.branch import Branch, ItsTurn
from ptycassette.agents.fork.places import Change, Cut, ForkPlace
from ptycassette.agents.rerun.io.driving import Typist
from ptycassette.agents.rerun.io.preparing import PreparedRerun
from ptycassette.agents.rerun.report import RerunReport, ScreenChange, finding_lines
from ptycassette.agents.rerun.screens import ScreenJudge
from ptycassette.agents.rerun.script import RerunStep
from ptycassette.errors import (
    DivergenceError,
    InputRefusedError,
    SessionClosedError,
    WaitTimeoutError,
)
from ptycassette.keys.names import PASTE_END
from ptycassette.model.screen import Screen
from ptycassette.model.visible_text import printable
from ptycassette.recording.input_script import ScriptStep
from ptycassette.recording.io.recording import Recording, perform

_POLL_S = 0.1
_ENTERS = (b"\r", b"\n")
_LAST_ROWS = 6


class TailInputs(msgspec.Struct, frozen=True, kw_only=True):
    """The inputs after the change: the rest of the recording, or these steps.

    ``quiet_ms``: how long the program must be quiet before a recorded input is typed without its
    screen.
    """

    steps: tuple[ScriptStep, ...] | None = None
    quiet_ms: int


class DrivenFork(msgspec.Struct, kw_only=True):
    """The result of typing. ``left`` are inputs that were not sent, ``problem`` is for people."""

    inputs: int = 0
    left: int = 0
    problem: str = ""


class ForkTypist(Typist):
    """Types at one run up to the fork, makes the change, and types what follows.

    Args:
        prepared: the run.
        branch: its questions.
        cut: the recording.
        place: the place of the fork.
        judge: compares screens.
        patience_s: how long to wait beyond twice the recorded time.
    """

    def __init__(
        self,
        prepared: PreparedRerun,
        branch: Branch,
        cut: Cut,
        *,
        place: ForkPlace,
        judge: ScreenJudge,
        patience_s: float,
    ) -> None:
        self._prepared, self._branch, self._cut, self._place = prepared, branch, cut, place
        super().__init__(judge, prepared.server.sent, patience_s)

    def prefix(self, session: Recording) -> None:
        """Go to the fork, and verify everything on the way.

        Raises:
            DivergenceError: something differs, or the run ends early.
        """
        for step in self._cut.prefix:
            self._await_screen(session, step)
            self._send(session, step)
        if self._cut.here:
            self._await_screen(session, self._cut.here[0])
        else:
            self._await_question(session)
        left = self._branch.wait_for_requests(self.patience(self._cut.last_us))
        self._check_requests()
        if left:
            names = ", ".join(f"entry {entry} of the tape" for entry in left)
            raise self._error(f"was not asked for: {names}")

    def change(self, session: Recording, change: Change) -> None:
        """Make the change, after ``Branch.fork``."""
        server, here = self._prepared.server, self._cut.here
        if change.size is not None:
            session.resize(change.size)
        if change.status is not None:
            session.terminate()
        elif change.kind == "input":
            _type_instead(session, here, change.value)
        elif change.kind != "skip":
            for step in here:
                self.deliver(session, step)
        typed = here[-1].number if here else len(self._cut.prefix)
        server.sent(typed)
        self._branch.proceed()

    def tail(
        self,
        session: Recording,
        inputs: TailInputs,
        is_open: Callable[[], bool],
        is_due: Callable[[], bool],
    ) -> DrivenFork:
        """Type the remaining inputs, and wait for the end.

        Args:
            session: the run.
            inputs: the inputs.
            is_open: whether a question is being answered.
            is_due: whether a question of the recording is still to come.
        """
        driven = DrivenFork()
        try:
            if inputs.steps is None:
                self._recorded_rest(session, driven, inputs.quiet_ms, is_open, is_due)
            else:
                self._given(session, driven, inputs.steps)
        except (SessionClosedError, InputRefusedError):
            pass
        rest = self._cut.rest if inputs.steps is None else inputs.steps
        driven.left = len(rest) - driven.inputs
        self._all_sent()
        limit_s = self.patience(self._cut.end_us)
        try:
            session.wait_exit(timeout_s=limit_s)
        except WaitTimeoutError:
            driven.problem = f"it was ended: it had not ended {limit_s:.1f} s after the last input"
        return driven

    def _given(self, session: Recording, driven: DrivenFork, steps: Sequence[ScriptStep]) -> None:
        self._all_sent()
        for step in steps:
            if session.finished:
                return
            perform(session, step)
            driven.inputs += 1

    def _recorded_rest(
        self,
        session: Recording,
        driven: DrivenFork,
        quiet_ms: int,
        is_open: Callable[[], bool],
        is_due: Callable[[], bool],
    ) -> None:
        for step in self._cut.rest:
            shown = None if step.follows else self._shown(step)
            with suppress(WaitTimeoutError):  # it is busy; a person would type now, too
                turn = ItsTurn(shown, is_open, is_due, quiet_ms=quiet_ms)
                session.wait_for(turn, timeout_s=self.patience(step.t_us))
            self._sent(step.number)  # first: its question may come at once
            self._send(session, step)
            driven.inputs += 1

    def _all_sent(self) -> None:
        """Release all pieces of answers; the inputs that they waited for may never be typed."""
        self._sent(len(self._prepared.script.steps))

    def _send(self, session: Recording, step: RerunStep) -> None:
        try:
            self.deliver(session, step)
        except (SessionClosedError, InputRefusedError) as gone:
            if step.number <= len(self._cut.prefix):
                raise self._early(session) from gone
            raise
        self._sent(step.number)

    def _await_screen(self, session: Recording, step: RerunStep) -> None:
        if step.screen is None or step.follows:
            return
        shown = self._shown(step)
        try:
            session.wait_for_predicate(
                lambda screen: bool(self._branch.diverged) or (shown is not None and shown(screen)),
                what=f"the screen before input {step.number}",
                timeout_s=self.patience(step.t_us),
            )
        except SessionClosedError as gone:
            raise self._early(session) from gone
        except WaitTimeoutError as late:
            self._check_requests()
            now = session.screen().rows
            change = ScreenChange(number=step.number, expected=step.screen, got=tuple(now))
            raise self._error(
                f"the screen before input {step.number} is not the recorded one",
                lines=tuple(screen_lines(change)),
            ) from late
        self._check_requests()

    def _shown(self, step: RerunStep) -> Callable[[Screen], bool] | None:
        if step.screen is None:
            return None
        awaited = self._judge.awaited(step.screen)

        def shown(screen: Screen) -> bool:
            if awaited(screen.rows):
                return True
            names = self._prepared.desk.names()
            return bool(names) and awaited([_renamed(row, names) for row in screen.rows])

        return shown

    def _await_question(self, session: Recording) -> None:
        waited_s, limit_s = 0.0, self.patience(self._cut.last_us)
        while not self._branch.reached.wait(_POLL_S):
            self._check_requests()
            if session.finished:
                raise self._early(session)
            waited_s += _POLL_S
            if waited_s > limit_s:
                raise self._error("was not asked for in time")

    def _check_requests(self) -> None:
        for miss in self._branch.diverged:
            raise self._error(str(miss), lines=miss.differences, hint=self._prepared.in_the_way)

    def _early(self, session: Recording) -> DivergenceError:
        self._check_requests()
        status = session.exit_status
        how = "" if status is None else (
            f" ({status.signal})" if status.signaled else f" (status {status.code})"
        )  # fmt: skip
        rows = [row.rstrip() for row in session.screen().rows if row.strip()]
        return self._error(
            f"was not reached: the program ended before it{how}",
            lines=[f"| {row}" for row in rows[-_LAST_ROWS:]],
            hint=self._prepared.lacking,
        )

    def _error(self, text: str, *, lines: Sequence[str] = (), hint: str = "") -> DivergenceError:
        shown = "".join(f"\n  {printable(line)}" for line in lines)
        return DivergenceError(
            f"no fork: {self._place} {printable(text)}{shown}",
            hint=hint or "up to the fork the run must be the recorded one; there is no child",
        )


def _type_instead(session: Recording, steps: Sequence[RerunStep], text: str) -> None:
    """Type a text in place of an exchange, in the same way, with Enter after it if it had one."""
    recorded = b"".join(step.record.bytes or b"" for step in steps)
    if recorded.endswith(_ENTERS):
        session.submit(text)
    elif PASTE_END in recorded:
        session.paste(text)
    else:
        session.type(text)


def screen_lines(change: ScreenChange) -> list[str]:
    """The differences of a screen, in the format of a rerun."""
    report = RerunReport(argv=(), guard="", entries=0, matched=0, changes=(change,))
    return [line.removeprefix("  ") for line in list(finding_lines(report))[1:]]


def _renamed(row: str, names: Sequence[tuple[str, str]]) -> str:
    for live, recorded in names:
        row = row.replace(live, recorded)
    return row
