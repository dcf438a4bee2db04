"""Performs the steps of a probe or a drive in a live session."""

from __future__ import annotations

from collections.abc import Sequence

from ptycassette.harness.step import DriveStep
from ptycassette.model.geometry import Size
from ptycassette.model.ports import Sleeper
from ptycassette.model.screen import Screen
from ptycassette.profiles.predicate import ScreenPredicate
from ptycassette.profiles.profile import Profile
from ptycassette.recording.io.script_steps import submit_as, wait_for_echo
from ptycassette.session.core import SessionView
from ptycassette.session.session import Session
from ptycassette.system.clock import SystemSleeper

DEFAULT_TIMEOUT_S = 60.0


class Settled:
    """A wait condition: one of several predicates holds, and the screen is stable."""

    def __init__(self, predicates: Sequence[ScreenPredicate]) -> None:
        self._predicates = tuple(predicates)
        self.what = " or ".join(_description(one) for one in self._predicates)

    def met(self, view: SessionView, now_us: int) -> bool:
        """Whether it is met, ``now_us`` after the start."""
        due_us = self.due_us(view)
        return due_us is not None and (view.finished or now_us >= due_us)

    def due_us(self, view: SessionView) -> int | None:
        """When it will be met if nothing happens; None when no predicate holds."""
        still = [one.stable_ms for one in self._predicates if one.holds(view.screen)]
        return view.changed_us + 1000 * min(still) if still else None


def _description(predicate: ScreenPredicate) -> str:
    """A predicate in words."""
    parts = [f"the text {text!r}" for text in predicate.contains]
    parts += [f"no text {text!r}" for text in predicate.absent]
    parts += [f"a match of '{predicate.regex}'"] if predicate.regex else []
    parts += [f"{predicate.stable_ms} ms without a change"] if predicate.stable_ms else []
    return ", ".join(parts)


def walk(
    session: Session,
    steps: Sequence[DriveStep],
    profile: Profile,
    *,
    sleeper: Sleeper | None = None,
) -> dict[str, Screen]:
    """Perform all steps; returns the captured screens by name.

    Raises:
        WaitTimeoutError: a screen did not come; shows the last one.
        SessionClosedError: the program ended early.
    """
    captures: dict[str, Screen] = {}
    for step in steps:
        if step.wait is None:
            perform(session, step, profile, sleeper=sleeper)
            continue
        screen = session.wait_for(
            Settled([step.wait]), timeout_s=step.timeout_s or DEFAULT_TIMEOUT_S
        )
        if step.capture is not None:
            captures[step.capture] = screen
    return captures


def perform(
    session: Session, step: DriveStep, profile: Profile, *, sleeper: Sleeper | None = None
) -> None:
    """Perform a step that does not wait for a screen.

    Raises:
        SessionClosedError: the program ended early.
        WaitTimeoutError: it does not read, or did not end in time.
    """
    rest = sleeper or SystemSleeper()
    if step.submit is not None:
        submit_as(session, step.submit, profile.submit, sleep=rest.sleep)
    for stroke in step.strokes:
        if stroke.key is not None:
            session.send_key(stroke.key)
        if stroke.text is not None:
            session.type(stroke.text)
            wait_for_echo(session, stroke.text)
        rest.sleep(stroke.pause_ms / 1000)
    if step.resize is not None:
        session.resize(Size(*step.resize))
    if step.signal is not None:
        session.signal(step.signal)
    if step.exit:
        session.wait_exit(timeout_s=step.timeout_s or DEFAULT_TIMEOUT_S)
