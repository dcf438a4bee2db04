"""The steps of probes and drives."""

from __future__ import annotations

from typing import Literal

from ptycassette.profiles.checked import StrictTable
from ptycassette.profiles.predicate import ScreenPredicate
from ptycassette.profiles.profile import Stroke


class DriveStep(StrictTable, frozen=True, kw_only=True):
    """One step: wait for a screen (and keep it as ``capture``), or an action.

    ``late`` is the status of a probe if the wait times out here, ``ended`` if the program
    ends instead.
    ``submit`` submits a text as the profile of the harness submits prompts,
    ``strokes`` are keys and texts, ``resize`` is rows and columns, ``signal`` a name.
    """

    wait: ScreenPredicate | None = None
    capture: str | None = None
    timeout_s: float | None = None
    late: Literal["unauthenticated", "unavailable", "error"] = "error"
    ended: Literal["unauthenticated", "unavailable", "error"] = "error"
    submit: str | None = None
    strokes: tuple[Stroke, ...] = ()
    resize: tuple[int, int] | None = None
    signal: str | None = None
    exit: bool = False

    def __post_init__(self) -> None:
        kinds = (
            self.wait is not None,
            self.submit is not None,
            bool(self.strokes),
            self.resize is not None,
            self.signal is not None,
            self.exit,
        )
        if sum(kinds) != 1:
            raise ValueError(
                "a step has exactly one of wait, submit, strokes, resize, signal, exit"
            )
        if self.wait is None and self.capture is not None:
            raise ValueError("capture belongs to wait")
        if self.wait is None and not self.exit and self.timeout_s is not None:
            raise ValueError("timeout_s belongs to wait and exit")
