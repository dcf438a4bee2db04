"""What a test has running: sessions and shims, finished when the test's body is over.

Finishing belongs to the call of the test, not to its teardown, so that a divergence
fails a test that would have passed, and a test that failed keeps nothing it recorded.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

from ptycassette.session import StepLog


class Run(Protocol):
    """One thing that is finished with the test's body."""

    def complete(self) -> None:
        """The body passed; raise when the run did not."""
        ...

    def abandon(self, exc: BaseException) -> None:
        """The body failed; keep nothing."""
        ...

    def problems(self) -> list[str]:
        """What went otherwise than recorded, for people: expected, got, the screen."""
        ...

    def drifted(self) -> bool:
        """Whether something was recorded that is not what the cassette has."""
        ...

    def notes(self) -> list[str]:
        """Lines for the end of the test run: what drifted."""
        ...

    def unchanged(self) -> int:
        """How many recordings were compared with their cassettes, and are the same."""
        ...

    def evidence(self, log: StepLog) -> list[dict[str, Any]]:
        """What a trace shows of each recording: cassette, divergences, unplayed, notes, steps."""
        ...


class TestState:
    """Everything of one test.

    Attributes:
        runs: in the order in which they were started.
        steps: what the test did with its sessions.
        used: the cassettes that were played or recorded.
        spared: libraries of which it is not known what the test uses, as the real programs ran.
    """

    __test__ = False

    def __init__(self) -> None:
        self.runs: list[Run] = []
        self.steps = StepLog()
        self.used: list[Path] = []
        self.spared: list[Path] = []
        self._open: list[Run] = []

    def complete(self) -> None:
        """Finish every run, the last first. After a failure no recording is kept.

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
        """The body failed, so nothing is kept."""
        while self._open:
            with suppress(Exception):
                self._open.pop().abandon(exc)

    def add(self, run: Run) -> None:
        """Start to look after a run."""
        self.runs.append(run)
        self._open.append(run)

    def note(self, run: Run) -> None:
        """Note a run that is finished by others, for the trace."""
        self.runs.append(run)
