"""When the next input is typed after the change: the recorded screen is there, or nothing moves."""

from __future__ import annotations

from collections.abc import Callable

from ptycassette.model.screen import Screen
from ptycassette.session.core import SessionView
from ptycassette.session.waits import Idle

QUIET_MS = 700
"""How long nothing moves before an input is typed whose recorded screen does not come: longer than
the pauses between the pieces of a local provider's answers; while a question is open, the program
is not quiet at all."""
_LONG_QUIET_MS = 3000
"""The same where a question was asked at this place in the recording, and has not been yet: a real
CLI computes for more than a second before it asks."""
_LOOKS_US = 100_000


class ItsTurn:
    """The recorded screen, or a program that is quiet and has no question open.

    Args:
        shown: whether a screen is the recorded one; None where there is none.
        is_open: whether a question is being answered.
        is_due: whether a question of the recording is still to come.
    """

    what = "the recorded screen, or a quiet program"

    def __init__(
        self,
        shown: Callable[[Screen], bool] | None,
        is_open: Callable[[], bool],
        is_due: Callable[[], bool],
        *,
        quiet_ms: int = QUIET_MS,
    ) -> None:
        self._shown, self._is_open, self._is_due = shown, is_open, is_due
        self._idle, self._long_idle = Idle(quiet_ms), Idle(max(quiet_ms, _LONG_QUIET_MS))
        self._looked_us = 0

    def met(self, view: SessionView, now_us: int) -> bool:
        """Whether one may type."""
        self._looked_us = now_us
        if view.finished or (self._shown is not None and self._shown(view.screen)):
            return True
        idle = self._long_idle if self._is_due() else self._idle
        return not self._is_open() and idle.met(view, now_us)

    def due_us(self, view: SessionView) -> int | None:
        """When to look again."""
        soon_us = self._looked_us + _LOOKS_US
        due_us = self._idle.due_us(view)
        return soon_us if due_us is None else max(due_us, soon_us)
