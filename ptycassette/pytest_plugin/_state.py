"""The sessions and shims of a test, which are finished when the test's body is over.

They are finished in the call of the test, not in its teardown, so that a divergence fails
a test that would have passed, and a failed test keeps no recording.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal, Protocol

import pytest

from ptycassette.errors import RefusedError, StorageError
from ptycassette.pytest_plugin.plugin import run_of
from ptycassette.session.steps import StepLog
from ptycassette.system.files.state_dirs import lock_dir, private_dir

Counted = Literal["recorded", "replayed", "rerun", "live", "drifted", "unchanged"]


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

    def notes(self) -> list[tuple[str, str]]:
        """Names of cassettes, and lines for the end of the test run: what drifted."""
        ...

    @property
    def over(self) -> bool:
        """Whether nothing about it will change."""
        ...

    def counted(self) -> Iterator[tuple[Counted, str]]:
        """What was done, for the line that ends the test run, and the path of the cassette."""
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


class RecordedOnce:
    """The cassettes that this run has recorded, in all of its processes, and by which tests.

    Args:
        config: of the run.
        test: the id of the test.
    """

    def __init__(self, config: pytest.Config, test: str) -> None:
        self._place = recorded_place(config)
        self._test = test

    def check(self, path: Path, *, stated: bool = False) -> None:
        """Refuse to record a cassette again.

        Args:
            path: of the cassette.
            stated: the test says itself that it records, so it may replace what it has recorded.

        Raises:
            RefusedError: a test of this run has recorded it.
        """
        with suppress(FileNotFoundError):
            test = self._file(path).read_text(encoding="utf-8")
            if stated and test == self._test:
                return
            by = "this test" if test == self._test else test
            raise RefusedError(
                f"it was recorded in this run already, by {by}, and is not replaced",
                where=str(path),
                hint="give each session a cassette of its own; if they are to share it, record it "
                "in mode auto, which records it once and replays it then",
            )

    def note(self, path: Path) -> None:
        """Note that the test has recorded a cassette."""
        self._place.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._file(path).write_text(self._test, encoding="utf-8")

    def _file(self, path: Path) -> Path:
        return self._place / hashlib.sha256(os.fsencode(os.path.realpath(path))).hexdigest()


def recorded_place(config: pytest.Config) -> Path:
    """The directory of a run's notes of what it has recorded."""
    return private_place() / f"run-{run_of(config)}"


def private_place() -> Path:
    """A directory of this user for what the processes of a run share.

    It is in the temporary directory, or with the locks if somebody else has taken that name.
    """
    place = Path(tempfile.gettempdir()) / f"ptycassette-{os.getuid()}"
    try:
        return private_dir(place, top=place)
    except (RefusedError, StorageError):
        return lock_dir()


def forget_recorded(config: pytest.Config) -> None:
    """The run is over: remove its notes."""
    shutil.rmtree(recorded_place(config), ignore_errors=True)
