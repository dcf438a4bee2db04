"""The two kinds of runs of a test: a session in this process, and stand-ins behind shims."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import msgspec

from ptycassette.cassette.io import PendingRecordings
from ptycassette.errors import DivergenceError
from ptycassette.model import printable, visible
from ptycassette.pytest_plugin._state import TestState
from ptycassette.pytest_plugin.traces import drift_object, steps_object
from ptycassette.replaying import (
    INPUT_MISSING,
    NO_DRIFT,
    Drift,
    divergence_error,
    divergence_lines,
    divergence_object,
    drift_lines,
)
from ptycassette.replaying.io import Use, UseResult
from ptycassette.replaying.standin.io import read_reports
from ptycassette.rerun import finding_lines
from ptycassette.session import Session, StepLog
from ptycassette.system.files import lock_dir, try_lock


class SessionRun:
    """A session in this process."""

    def __init__(self, using: Use, *, lenient: bool) -> None:
        self._using = using
        self._lenient = lenient
        self._stack = ExitStack()
        self.session: Session | None = None

    def start(self) -> Session:
        """Enter it."""
        self.session = self._stack.enter_context(self._using)
        return self.session

    def complete(self) -> None:
        """Leave the session normally."""
        __tracebackhide__ = True
        self._stack.close()
        result = self._using.result
        if result.divergences and self._lenient:
            raise divergence_error(result.divergences[0], where=str(self._using.path))

    def abandon(self, exc: BaseException) -> None:
        """Leave the session as after an exception."""
        self._stack.__exit__(type(exc), exc, exc.__traceback__)

    def problems(self) -> list[str]:
        """Taken from the result."""
        found = self._using.result.divergences
        return ["\n".join(divergence_lines(divergence)) for divergence in found]

    def drifted(self) -> bool:
        """False: the use in it is a run of its own."""
        return False

    def notes(self) -> list[str]:
        """None: the use in it is a run of its own."""
        return []

    def unchanged(self) -> int:
        """None of its own: the use in it is a run, too."""
        return 0

    def evidence(self, log: StepLog) -> list[dict[str, Any]]:
        """None: the use in it is a run of its own."""
        del log
        return []


class UseRun:
    """A use, with or without a fixture; whoever entered its block leaves it.

    Args:
        result: complete when the block is left.
        session: the session, which has a number in the log of steps.
    """

    def __init__(self, result: UseResult, session: int) -> None:
        self._result = result
        self.session = session

    def complete(self) -> None:
        """Nothing is left to do."""

    def abandon(self, exc: BaseException) -> None:
        """Nothing is left to do."""

    def problems(self) -> list[str]:
        """None: they were raised, or the fixture reports them."""
        return []

    def drifted(self) -> bool:
        """Taken from the result."""
        return bool(self._result.drift)

    def notes(self) -> list[str]:
        """The drift, after ``rerecord`` and ``rewrite``."""
        if self._result.drift is None:
            return []
        name = visible(Path(self._result.cassette).name)
        return [f"{name}: {line}" for line in drift_lines(self._result.drift)]

    def unchanged(self) -> int:
        """From the result."""
        return int(self._result.drift is not None and not self._result.drift)

    def evidence(self, log: StepLog) -> list[dict[str, Any]]:
        """From the result, and the steps of its session."""
        result = self._result
        own = [step for step in log.steps if step.session == self.session]
        steps, screens = steps_object(own, clean=result.action == "replay")
        return [
            {
                "cassette": result.cassette,
                "action": result.action,
                "divergences": [divergence_object(found) for found in result.divergences],
                "unplayed": msgspec.to_builtins(result.unplayed),
                "notes": [*result.notes, *_ends_that_drifted(result.drift)],
                "errors": [*finding_lines(result.rerun)] if result.rerun else [],
                "steps": steps,
                "screens": screens,
                "drift": drift_object(result.drift, result.sides),
            }
        ]


class ShimRun:
    """Stand-ins that a directory of shims started; judged by their reports."""

    def __init__(
        self,
        reports: Path,
        state: TestState,
        library: Path,
        *,
        allow_unplayed: bool,
        pending: PendingRecordings | None = None,
    ) -> None:
        self._place = reports
        self._state = state
        self._library = library
        self._allow_unplayed = allow_unplayed
        self._pending = pending
        self._notes: list[str] = []

    def reports(self) -> list[dict[str, Any]]:
        """The reports so far, in the order of the starts."""
        return list(read_reports(self._place))

    def complete(self) -> None:
        """Raise for the first stand-in that did not pass; else keep the recordings."""
        __tracebackhide__ = True
        try:
            self._judge()
            if self._pending is not None:
                self._pending.publish()
        finally:
            if self._pending is not None:
                self._pending.drop()

    def _judge(self) -> None:
        __tracebackhide__ = True
        for report in self.reports():
            cassette = self._settled(report)
            self._note(cassette)
            if report["result"] in {"drifted", "recorded"}:
                drifted = [note for note in report["notes"] if note != NO_DRIFT]
                self._notes += [f"{visible(cassette.name)}: {note}" for note in drifted]
                continue
            problem = self._problem(report)
            if problem:
                raise DivergenceError(problem, where=str(cassette))

    def _problem(self, report: dict[str, Any]) -> str | None:
        match report["result"]:
            case "passed" | "drifted" | "recorded":
                return None
            case "unplayed" if self._allow_unplayed:
                return None
            case "running":
                return "the stand-in was killed before it could finish"
            case "diverged" if self._allow_unplayed and _only_missing(report):
                return None
            case _:
                return _text_of(self._place, report)

    def abandon(self, exc: BaseException) -> None:
        """Note the used cassettes, and keep no recording."""
        del exc
        for report in self.reports():
            self._note(self._settled(report))
        if self._pending is not None:
            self._pending.drop()

    def _note(self, cassette: Path) -> None:
        """Note a used cassette; for a stand-in without one, its program."""
        if cassette.is_absolute():
            self._state.used.append(cassette)

    def _settled(self, report: dict[str, Any]) -> Path:
        """The report's cassette, by its path in the library."""
        cassette = Path(report["cassette"])
        if self._pending is not None and cassette.is_relative_to(self._pending.place):
            return self._library / cassette.relative_to(self._pending.place)
        return cassette

    def problems(self) -> list[str]:
        """Taken from the reports."""
        return [
            f"stand-in for {visible(report['cassette'])}: not finished; it was killed, or waits"
            if report["result"] == "running"
            else problem
            for report in self.reports()
            if (problem := self._problem(report))
        ]

    def drifted(self) -> bool:
        """Taken from the reports."""
        return any(report["result"] == "drifted" for report in self.reports())

    def notes(self) -> list[str]:
        """What the recorders reported."""
        return self._notes

    def unchanged(self) -> int:
        """From the reports."""
        return sum(report["notes"] == [NO_DRIFT] for report in self.reports())

    def evidence(self, log: StepLog) -> list[dict[str, Any]]:
        """From the reports, one for each stand-in."""
        del log
        return [
            {
                "cassette": report["cassette"],
                "action": "stand-in",
                "divergences": report["divergences"],
                "unplayed": report["unplayed"],
                "drift": report.get("drift", []),
                "notes": [] if report.get("drift") else report["notes"],
                "errors": [report["error"]] if report["error"] else [],
            }
            for report in self.reports()
        ]


def _ends_that_drifted(found: Drift | None) -> list[str]:
    """Changes besides those of exchanges, which have pictures."""
    return [f"{one.kind}: {printable(one.message)}" for one in found.divergences] if found else []


def _only_missing(report: dict[str, Any]) -> bool:
    return all(found["kind"] == INPUT_MISSING.name for found in report["divergences"])


def _text_of(place: Path, report: dict[str, Any]) -> str:
    """The readable half of a report."""
    for path in place.glob(f"*-{report['pid']}.txt"):
        return path.read_text(encoding="utf-8", errors="replace").rstrip()
    return f"{report['result']}: {report['error']}"


@contextmanager
def recording_lock(path: Path) -> Iterator[None]:
    """If several processes want one cassette, one records it; the others wait and replay it."""
    name = hashlib.sha256(os.fsencode(path.absolute())).hexdigest()[:24]
    place = lock_dir()
    fd = os.open(
        place / f"{name}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600
    )
    try:
        try_lock(fd, wait=True)
        yield
    finally:
        os.close(fd)
