"""The two kinds of runs of a test: a session in this process, and stand-ins behind shims."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from ptycassette.cassette.io.reader import open_cassette
from ptycassette.errors import CassetteError, DivergenceError, SessionError
from ptycassette.keys.quantities import time_text
from ptycassette.model.visible_text import printable, visible
from ptycassette.pytest_plugin._state import Counted, RecordedOnce, TestState, private_place
from ptycassette.replaying.divergence import divergence_error, divergence_lines, divergence_object
from ptycassette.replaying.divergence_kinds import INPUT_MISSING
from ptycassette.replaying.drifts import NO_DRIFT, Drift, drift_lines
from ptycassette.rerun.report import finding_lines
from ptycassette.system.files.locks import try_lock
from ptycassette.system.files.state_dirs import journal_dir

if TYPE_CHECKING:  # a test that uses a tape has no session, no stand-in and no recorder
    from ptycassette.cassette.io.pending import PendingRecordings
    from ptycassette.inprocess.using_tape import OpenTape, UseTape
    from ptycassette.replaying.io.using import Use
    from ptycassette.replaying.io.watched_uses import WatchedResult
    from ptycassette.session.session import Session
    from ptycassette.session.steps import StepLog

_SAVING_S = 60.0
"""Recorders save at most for seconds after the end of their program."""


def _drop_journal_of(recording: Path) -> None:
    """Delete the journal that a shim which was killed has left of a recording that is saved."""
    from ptycassette.recording.io.journal_name import JOURNAL_SUFFIX, delete_journal

    with suppress(CassetteError):
        with open_cassette(recording, check="manifest", allow_unscrubbed=True) as cassette:
            name = f"{cassette.manifest.id}{JOURNAL_SUFFIX}"
        delete_journal(journal_dir() / name)


def _counted(action: str, cassette: str, *, drift: object) -> Iterator[tuple[Counted, str]]:
    """What a use or a start counts as; ``drift`` is None where nothing was compared."""
    match action:
        case "replay" | "auto":
            yield "replayed", cassette
        case "recorded":
            yield "recorded", cassette
        case "rerun" | "live":
            yield action, cassette
    if drift is not None and action != "rerun":
        yield ("drifted" if drift else "unchanged"), cassette


class SessionRun:
    """A session in this process, or its model and tool calls."""

    def __init__(self, using: Use | UseTape, *, lenient: bool) -> None:
        self._using = using
        self._lenient = lenient
        self._stack = ExitStack()
        self.session: Session | OpenTape | None = None

    def start(self) -> Any:
        """Enter it."""
        using: Any = self._using
        self.session = self._stack.enter_context(using)
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

    def notes(self) -> list[tuple[str, str]]:
        """None: the use in it is a run of its own."""
        return []

    over = True

    def counted(self) -> Iterator[tuple[Counted, str]]:
        """Nothing of its own: the use in it is a run, too."""
        yield from ()

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

    def __init__(self, result: WatchedResult, session: int) -> None:
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

    def notes(self) -> list[tuple[str, str]]:
        """The drift, after ``rerecord`` and ``rewrite``."""
        if self._result.drift is None:
            return []
        name = visible(Path(self._result.cassette).name)
        return [(name, line) for line in drift_lines(self._result.drift)]

    @property
    def over(self) -> bool:
        """Whether its block was left; then a result is complete."""
        return self._result.over

    def counted(self) -> Iterator[tuple[Counted, str]]:
        """From the result."""
        result = self._result
        action = "recorded" if result.recorded else result.action
        yield from _counted(action, result.cassette, drift=result.drift)

    def evidence(self, log: StepLog) -> list[dict[str, Any]]:
        """From the result, and the steps of its session."""
        # Few tests fail, and traces take long to load.
        from .traces.trace import drift_object, steps_object

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
        mode: str,
        allow_unplayed: bool,
        once: RecordedOnce,
        pending: PendingRecordings | None = None,
    ) -> None:
        self._mode = mode
        self._once = once
        self._place = reports
        self._state = state
        self._library = library
        self._allow_unplayed = allow_unplayed
        self._pending = pending
        self._notes: list[tuple[str, str]] = []
        self._kept: list[Path] = []

    def reports(self) -> list[dict[str, Any]]:
        """The reports so far, in the order of the starts."""
        from ptycassette.replaying.standin.io.report_file import read_reports

        return list(read_reports(self._place))

    def complete(self) -> None:
        """Raise for the first stand-in that did not pass; else keep the recordings."""
        __tracebackhide__ = True
        try:
            if self._pending is not None and not self._pending.wait(_SAVING_S):
                raise SessionError(
                    f"a recording is not saved {time_text(_SAVING_S)} after the end of the test",
                    where=str(self._library),
                    hint="ptycassette recover lists it",
                )
            self._judge()
            if self._pending is not None:
                made = self._pending.place.rglob("manifest.json")
                for manifest in sorted(made):
                    self._once.check(self._settled_path(manifest.parent))
                self._kept = self._pending.publish()
                for path in self._kept:
                    self._once.note(path)
                    self._note(path)
                    _drop_journal_of(path)
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
                self._notes += [(visible(cassette.name), note) for note in drifted]
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
            self._pending.wait(_SAVING_S)
            for manifest in self._pending.place.rglob("manifest.json"):
                _drop_journal_of(manifest.parent)
            self._pending.drop()

    def _note(self, cassette: Path) -> None:
        """Note a used cassette; for a stand-in without one, its program."""
        if cassette.is_absolute():
            self._state.used.append(cassette)

    def _settled(self, report: dict[str, Any]) -> Path:
        """The report's cassette, by its path in the library."""
        return self._settled_path(Path(report["cassette"]))

    def _settled_path(self, cassette: Path) -> Path:
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

    def notes(self) -> list[tuple[str, str]]:
        """What the recorders reported."""
        return self._notes

    over = True

    def counted(self) -> Iterator[tuple[Counted, str]]:
        """From the reports."""
        for report in self.reports():
            notes, result = report["notes"], report["result"]
            drift = None if not notes or result == "failed" else notes != [NO_DRIFT]
            action = result if result in {"recorded", "drifted"} else self._mode
            if result != "recorded":
                yield from _counted(action, str(self._settled(report)), drift=drift)
            elif drift is not None and self._kept:
                yield ("drifted" if drift else "unchanged"), str(self._settled(report))
        for path in self._kept:
            yield "recorded", str(path)

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
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    fd = os.open(private_place() / f"{name}.lock", flags, 0o600)
    try:
        try_lock(fd, wait=True)
        yield
    finally:
        os.close(fd)
