"""Drives a ``PipedCore`` over the pipes of a live program.

It differs from ``ThreadPump`` in the end: the session is over when the program has ended and no
process has its stdout or stderr open any more, as for any caller that reads up to the end. Other
processes that it left running go on, unless the driver asked for the end.
"""

from __future__ import annotations

from ptycassette.model.ports import Sleeper
from ptycassette.session._piped_core import PipedCore
from ptycassette.session.pump import ThreadPump
from ptycassette.system.pty.piped import PipedChild

_SOON_S = 0.001
_LATER_S = 0.02
_SOON_TURNS = 50


class PipePump(ThreadPump):
    """Drives a session over a ``PipedChild`` in a thread of its own; see ``ThreadPump``."""

    def __init__(
        self,
        core: PipedCore,
        child: PipedChild,
        *,
        sleeper: Sleeper,
        timeout_s: float | None,
        grace_s: float,
    ) -> None:
        super().__init__(core, child, sleeper=sleeper, timeout_s=timeout_s, grace_s=grace_s)
        self._pipes = child
        self._piped = core
        self._quiet_turns = 0

    def _wait(self, timeout_s: float | None) -> bool:
        """Sleep until something happens, or until it is time to check what the program has read."""
        if self._piped.unsettled:
            look_s = _SOON_S if self._quiet_turns < _SOON_TURNS else _LATER_S
            timeout_s = look_s if timeout_s is None else min(timeout_s, look_s)
        happened = super()._wait(timeout_s)
        self._quiet_turns = 0 if happened else self._quiet_turns + 1
        return happened

    def _wishes(self) -> dict[int, tuple[bool, bool]]:
        wishes = dict.fromkeys(self._pipes.readers, (True, False))
        if self._pipes.writer >= 0:  # where only an error counts, too: the program has closed it
            wishes[self._pipes.writer] = (False, self._core.wants_to_write)
        return wishes

    def _is_over(self) -> bool:
        core = self._piped
        self._look_at_deadline()
        core.look_for_end()
        core.settle()
        if core.exit is None:
            return False
        if self._pipes.poll() is not None:  # everybody was ended; a stranger may hold a pipe
            while core.pump_output():
                pass
            return True
        if core.hung_up:
            core.pause()
            self._pipes.leave()
            return True
        return False
