"""The sessions and shims of a test, which are finished when the test's body is over.

They are finished in the call of the test, not in its teardown, so that a divergence fails
a test that would have passed, and a failed test keeps no recording.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

from ptycassette.session import StepLog


class Run(Protocol):
    """A session, use or set of shims that is finished with the test's body."""

    def complete(self) -> None:
        """Finish after a body that passed; raise if the run failed."""
        ...

    def abandon(self, exc: BaseException) -> None:
        """Finish after a body that failed; keep no recording."""
        ...

    def problems(self) -> list[str]:
        """The differences from the recording as text: expected, got, the screen."""
        ...

    def drifted(self) -> bool:
        """Whether a new recording differs from the cassette."""
        ...

    def notes(self) -> list[str]:
        """Lines for the end of the test run: what drifted."""
        ...

    def unchanged(self) -> int:
        """How many recordings were compared with their cassettes, and are the same."""
        ...

    def evidence(self, log: StepLog) -> list[dict[str, Any]]:
        """The data of each recording for a trace: cassette, divergences, unplayed, notes, steps."""
        ...


class TestState:
    """The state of one test.

    Attributes:
        runs: in the order in which they were started.
        steps: what the test did with its sessions.
        used: the cassettes that were played or recorded.
        spared: libraries whose use is unknown, because the real programs ran.
    """

    __test__ = False

    def __init__(self) -> None:
        self.runs: list[Run] = []
        self.steps = StepLog()
        self.used: list[Path] = []
        self.spared: list[Path] = []
        self._open: list[Run] = []

    def complete(self) -> None:
        """Finish every run, the last one first. After a failure no recording is kept.

        Raises:
            Exception: the first failure, when all are finished.
        """
        __tracebackhide__ = True
        failures: list[BaseException] = []
        while self._open:
            run = self._open.pop()
            try:
                if failures:
                    run.abandon(failures[0])
                else:
                    run.complete()
            except Exception as exc:  # noqa: BLE001 - raised below
                failures.append(exc)
        if failures:
            raise failures[0]

    def abandon(self, exc: BaseException) -> None:
        """Finish every run after a body that failed; keep no recording."""
        while self._open:
            with suppress(Exception):
                self._open.pop().abandon(exc)

    def add(self, run: Run) -> None:
        """Add a run, to be finished with the test."""
        self.runs.append(run)
        self._open.append(run)

    def note(self, run: Run) -> None:
        """Add a run that others finish, for the trace."""
        self.runs.append(run)
