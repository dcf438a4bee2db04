"""The signals that the driver sends, compared with the recorded ones.

A signal and the key that produces it (SIGINT, Ctrl-C) are the same, except under ``exact``:
which of the two a program gets depends on the mode of its terminal.

Signals that do nothing by default (``UNCOMPARED``) are neither waited for nor compared: shells and
terminals send them, too. A stop signal stops the run where the recording was continued after it.
"""

from __future__ import annotations

from collections.abc import Iterable

from ptycassette.keys.reader import Key
from ptycassette.model.events import InputRecord
from ptycassette.replaying.standin._input import SIGNAL_KEYS
from ptycassette.replaying.standin._state import RunState
from ptycassette.timeline.match_entries import Entry

UNCOMPARED = frozenset(("cont", "winch", "urg", "chld", "info"))
"""What does nothing to a program by default. CONT continues it, which the system does itself."""
STOPPING = frozenset(("tstp", "ttin", "ttou"))
"""What stops a program by default, until CONT."""


class SignalComparison:
    """Compares signals."""

    def __init__(self, state: RunState, inputs: Iterable[InputRecord]) -> None:
        self._state = state
        self._left: list[str] = []
        self._stopped_by = ""
        self.expect(inputs)

    def expect(self, inputs: Iterable[InputRecord]) -> None:
        """Expect the signals among ``inputs``, in that order."""
        self._left = [r.signal for r in inputs if r.kind == "signal" and r.signal]
        self._left = [name for name in self._left if name not in UNCOMPARED]

    def arrived(self, record: InputRecord) -> bool:
        """Whether the recorded signal came, as a signal or as its key."""
        name = record.signal or ""
        driver = self._state.driver
        if driver.signals and driver.signals[0] == name:
            driver.signals.popleft()
            self._stopped_by = name if name in STOPPING else ""
        elif self._state.matching.strategy == "exact" or not driver.take_signal_key(name):
            return False
        self.give_up(name)
        return True

    def stops_at(self, record: InputRecord) -> str:
        """The signal by which the recorded program stood still until ``record``; empty for none.

        Only if the driver sent that signal, and at one record only.
        """
        if record.signal != "cont":
            return ""
        stopped_by, self._stopped_by = self._stopped_by, ""
        return stopped_by

    def give_up(self, name: str) -> None:
        """Stop waiting for this signal."""
        if name in self._left:
            self._left.remove(name)

    def waits_for_key(self, key: Key) -> bool:
        """Whether ``key`` produces a signal that is still expected."""
        return any(key.name == SIGNAL_KEYS.get(name, ("",))[0] for name in self._left)

    def check_unrecorded(self, entries: Iterable[Entry]) -> None:
        """End the run at a signal that neither the recording nor a key in ``entries`` expects."""
        driver = self._state.driver
        upcoming = tuple(entries) if driver.signals else ()
        for name in list(driver.signals):
            if name not in self._left and not self._is_key(name, upcoming):
                driver.signals.remove(name)
                self._state.findings.extra_signal(name)
                self._state.stop(killed_by=name)

    def _is_key(self, name: str, entries: tuple[Entry, ...]) -> bool:
        typed = SIGNAL_KEYS.get(name)
        matching = self._state.matching
        return typed is not None and any(
            entry.action == typed[0] and matching.strategy_for(entry) != "exact"
            for entry in entries
        )
