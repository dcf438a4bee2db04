"""The runs of a test (sessions in this process, and stand-ins behind shims), and its fixtures."""

from __future__ import annotations

import functools
import hashlib
import inspect
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

import msgspec
import pytest

from ptycassette.agents.rerun.report import finding_lines
from ptycassette.cassette.io.reader import open_cassette
from ptycassette.errors import (
    CassetteError,
    DivergenceError,
    RefusedError,
    SessionError,
    StorageError,
)
from ptycassette.keys.quantities import time_text
from ptycassette.model.visible_text import printable, visible
from ptycassette.pytest_plugin._fault_option import without_fault
from ptycassette.pytest_plugin._settings import Settings, config_value, project_of, settings_of
from ptycassette.pytest_plugin.plugin import TAPE, run_of
from ptycassette.recording.session.steps import StepLog
from ptycassette.replaying.divergence import (
    INPUT_MISSING,
    NO_DRIFT,
    Drift,
    divergence_error,
    divergence_lines,
    divergence_object,
    drift_lines,
)
from ptycassette.scrub.io.conceal import concealed
from ptycassette.system.files.locks import try_lock
from ptycassette.system.files.state_dirs import journal_dir, lock_dir, private_dir

if TYPE_CHECKING:
    from ptycassette.agents.inprocess.using_tape import OpenTape, UseTape
    from ptycassette.cassette.io.pending import PendingRecordings
    from ptycassette.cassette.io.reader import Cassette
    from ptycassette.recording.session.session import Session
    from ptycassette.replaying.io.using import Use
    from ptycassette.replaying.io.watched_uses import WatchedResult
    from ptycassette.replaying.scenario.evaluation import ScenarioOutcome


# The sessions and shims of a test, which are finished when the test's body is over.


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
        """Names of cassettes, each with a line about drift for the end of the test run."""
        ...

    @property
    def over(self) -> bool:
        """Whether its result is final."""
        ...

    def counted(self) -> Iterator[tuple[Counted, str]]:
        """The actions for the last line of the test run, each with the path of its cassette."""
        ...

    def evidence(self, log: StepLog) -> list[dict[str, Any]]:
        """The data of each recording for a trace: cassette, divergences, unplayed, notes, steps."""
        ...


class TestState:
    """The state of one test.

    Attributes:
        runs: in the order in which they were started.
        steps: the test's calls to its sessions.
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
        """Add a run that other code finishes, for the trace."""
        self.runs.append(run)


class RecordedOnce:
    """The cassettes that this run has recorded, in all of its processes, and the tests that did.

    Args:
        config: the configuration of the run.
        test: the id of the test.
    """

    def __init__(self, config: pytest.Config, test: str) -> None:
        self._place = recorded_place(config)
        self._test = test

    def check(self, path: Path, *, stated: bool = False) -> None:
        """Refuse to record a cassette again.

        Args:
            path: the cassette.
            stated: the test explicitly asks to record, so it may replace its own recording.

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
    """The directory for a run's notes about recorded cassettes."""
    return private_place() / f"run-{run_of(config)}"


def private_place() -> Path:
    """A directory of this user for data that the processes of a run share.

    It is in the temporary directory, or beside the locks if another user has taken that name.
    """
    place = Path(tempfile.gettempdir()) / f"ptycassette-{os.getuid()}"
    try:
        return private_dir(place, top=place)
    except (RefusedError, StorageError):
        return lock_dir()


def forget_recorded(config: pytest.Config) -> None:
    """Remove the notes of a run that is over."""
    shutil.rmtree(recorded_place(config), ignore_errors=True)


_SAVING_S = 60.0
"""Recorders save at most for seconds after the end of their program."""


def _drop_journal_of(recording: Path) -> None:
    """Delete the journal that a killed shim has left behind for a saved recording."""
    from ptycassette.recording.io.journal_file import JOURNAL_SUFFIX, delete_journal

    with suppress(CassetteError):
        with open_cassette(recording, check="manifest", allow_unscrubbed=True) as cassette:
            name = f"{cassette.manifest.id}{JOURNAL_SUFFIX}"
        delete_journal(journal_dir() / name)


def _counted(action: str, cassette: str, *, drift: object) -> Iterator[tuple[Counted, str]]:
    """The counter for a use or a start; ``drift`` is None if nothing was compared."""
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
        """The problems in the result."""
        found = self._using.result.divergences
        return ["\n".join(divergence_lines(divergence)) for divergence in found]

    def drifted(self) -> bool:
        """False: the use in it is a run of its own."""
        return False

    def notes(self) -> list[tuple[str, str]]:
        """Empty: the use in it is a run of its own."""
        return []

    over = True

    def counted(self) -> Iterator[tuple[Counted, str]]:
        """Empty: the use in it is a run of its own."""
        yield from ()

    def evidence(self, log: StepLog) -> list[dict[str, Any]]:
        """Empty: the use in it is a run of its own."""
        del log
        return []


class UseRun:
    """A use, with or without a fixture; the code that entered its block leaves it.

    Args:
        result: complete when the block is left.
        session: the session, which has a number in the log of steps.
    """

    def __init__(self, result: WatchedResult, session: int) -> None:
        self._result = result
        self.session = session

    def complete(self) -> None:
        """Do nothing."""

    def abandon(self, exc: BaseException) -> None:
        """Do nothing."""

    def problems(self) -> list[str]:
        """Empty: they were raised, or the fixture reports them."""
        return []

    def drifted(self) -> bool:
        """Whether the result has drift."""
        return bool(self._result.drift)

    def notes(self) -> list[tuple[str, str]]:
        """The drift, after ``rerecord`` and ``rewrite``."""
        if self._result.drift is None:
            return []
        name = visible(Path(self._result.cassette).name)
        return [(name, line) for line in drift_lines(self._result.drift)]

    @property
    def over(self) -> bool:
        """Whether its block was left, so that the result is complete."""
        return self._result.over

    def counted(self) -> Iterator[tuple[Counted, str]]:
        """The action in the result."""
        result = self._result
        action = "recorded" if result.recorded else result.action
        yield from _counted(action, result.cassette, drift=result.drift)

    def evidence(self, log: StepLog) -> list[dict[str, Any]]:
        """The evidence in the result, and the steps of its session."""
        # Few tests fail, and traces take long to load.
        from ptycassette.pytest_plugin.traces.trace import drift_object, steps_object

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
    """Stand-ins that a directory of shims started; their reports decide the outcome."""

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
        from ptycassette.replaying.standin.io.process import read_reports

        return list(read_reports(self._place))

    def complete(self) -> None:
        """Raise for the first stand-in that failed; otherwise keep the recordings."""
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
        """The problems in the reports."""
        return [
            f"stand-in for {visible(report['cassette'])}: not finished; it was killed, or waits"
            if report["result"] == "running"
            else problem
            for report in self.reports()
            if (problem := self._problem(report))
        ]

    def drifted(self) -> bool:
        """Whether any report has drift."""
        return any(report["result"] == "drifted" for report in self.reports())

    def notes(self) -> list[tuple[str, str]]:
        """The notes of the recorders."""
        return self._notes

    over = True

    def counted(self) -> Iterator[tuple[Counted, str]]:
        """The actions in the reports."""
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
        """The evidence in the reports, one for each stand-in."""
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
    """Changes other than those of exchanges, which have pictures."""
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
    """If several processes need one cassette, one records it; the others wait and replay it."""
    name = hashlib.sha256(os.fsencode(path.absolute())).hexdigest()[:24]
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    fd = os.open(private_place() / f"{name}.lock", flags, 0o600)
    try:
        try_lock(fd, wait=True)
        yield
    finally:
        os.close(fd)


# The path of a test's cassette: stable, readable, and different for each test.


MAX_NAME = 100
_MAY_TELL = re.compile(r"[A-Za-z0-9+/_-]{16}|[@=:]")
"""Every secret that is recognised by its shape contains one of these."""
_UNSAFE = re.compile(r"[^\w.=,+\[\]-]+")


def cassette_path(base: Path, module: str, name: str) -> Path:
    """``base/module/name.cassette``, for a test of that name.

    A name that is too long for file systems, has characters that they refuse, or shows a secret
    (as parameters may) is rewritten and gets a hash, so that two tests never share a path.

    Args:
        base: the directory of cassettes.
        module: the test file, without its suffix.
        name: the test within it, class and parameters included: ``TestX.test_y[a-1]``.
    """
    shown = concealed(name) if _MAY_TELL.search(name) else name
    safe = _UNSAFE.sub("_", shown).strip(". ") or "test"
    if safe != name or len(safe.encode()) > MAX_NAME:
        digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
        head = safe.encode()[: MAX_NAME - 9].decode("utf-8", "ignore")
        safe = f"{head}-{digest}"
    return base / _UNSAFE.sub("_", module) / f"{safe}.cassette"


def library_of(cassette: Path) -> Path:
    """The directory for the cassettes of a test that starts programs, named after the test's own.

    Args:
        cassette: the test's own path.
    """
    return cassette.with_name(cassette.name.removesuffix(".cassette"))


def without_leading_dots(folder: Path) -> Path:
    """A relative path that stays below the directory that it is joined to."""
    return Path(*(part if part != ".." else "up" for part in folder.parts))


# The work of the fixtures: a session, shims on PATH, the cassette, scenarios.


STATE = pytest.StashKey[TestState]()


def directory_of(item: pytest.Item) -> Path:
    """The directory of the cassettes of a test file."""
    default = str(project_of(item.config).library or "cassettes")
    return item.path.parent / config_value(item.config, "dir", default)


def default_path(item: pytest.Item, marker_path: str | None) -> Path:
    """The cassette of a test: the one named by its marker, else the default one."""
    base = directory_of(item)
    if marker_path is not None:
        return base / marker_path
    head, bracket, parameters = without_fault(item.nodeid).partition("::")[2].partition("[")
    name = f"{head.replace('::', '.')}{bracket}{parameters}" or item.name
    path = cassette_path(base, item.path.stem, name)
    if path.is_relative_to(item.path.parent) or path.exists():
        return path
    # A directory for files of several folders, which may have the same name.
    folder = Path(os.path.relpath(item.path.parent, item.config.rootpath))
    return cassette_path(base / without_leading_dots(folder), item.path.stem, name)


def marker_of(item: pytest.Item) -> pytest.Mark | None:
    """The marker that sets the cassette and the options of a test."""
    return item.get_closest_marker(TAPE) or item.get_closest_marker("ptycassette")


def settings(request: pytest.FixtureRequest, given: Mapping[str, Any]) -> Settings:
    """See the fixture ``ptycassette_settings``."""
    return settings_of(request.config, marker_of(request.node), given)


def path(request: pytest.FixtureRequest, settings: Settings) -> Path:
    """See the fixture ``ptycassette_path``."""
    return default_path(request.node, settings.path)


def use_factory(
    request: pytest.FixtureRequest, settings: Settings, own: Path
) -> Callable[..., Use]:
    """See the fixture ``ptycassette_use``."""
    from ptycassette.cassette.timeline.match import Matching
    from ptycassette.replaying.io.using import use

    state: TestState = request.node.stash[STATE]
    if settings.fork is not None:
        raise pytest.UsageError("fork= is for ptycassette_tape, the model and tool calls of code")

    def make(
        argv: Sequence[str] | None = None,
        path: str | os.PathLike[str] | None = None,
        **options: Any,
    ) -> Use:
        chosen = own if path is None else directory_of(request.node) / path
        state.used.append(chosen)
        given = {
            "mode": settings.mode,
            "match": settings.match,
            "order": settings.order,
            "size": settings.size,
            "streams": settings.streams,
            "lenient": settings.lenient,
            "allow_unplayed": settings.allow_unplayed,
            **options,
        }
        for name in ("before_record", "tape"):
            if (value := getattr(settings, name)) is not None:
                given.setdefault(name, value)
        if isinstance(given["match"], Matching) and "order" not in options:
            given["order"] = None  # a Matching has its own
        return use(chosen, argv or settings.argv, **given)

    return make


def session(
    request: pytest.FixtureRequest, settings: Settings, own: Path, make_use: Callable[..., Use]
) -> Iterator[Session]:
    """See the fixture ``ptycassette_session``."""
    state: TestState = request.node.stash[STATE]
    with ExitStack() as stack:
        if settings.mode == "auto" and not own.exists():
            stack.enter_context(recording_lock(own))
        run = SessionRun(make_use(), lenient=settings.lenient)
        try:
            started = run.start()
        except CassetteError as exc:
            pytest.fail(str(exc), pytrace=False)
        state.add(run)
        yield started


def tape(request: pytest.FixtureRequest, settings: Settings, own: Path) -> Iterator[OpenTape]:
    """See the fixture ``ptycassette_tape``."""
    from ptycassette.agents.inprocess.using_tape import use_tape

    state: TestState = request.node.stash[STATE]
    state.used.append(own)
    with ExitStack() as stack:
        if settings.mode == "auto" and not own.exists():
            stack.enter_context(recording_lock(own))
        using = use_tape(
            own,
            mode=settings.mode,
            order="loose" if settings.order == "loose" else "strict",
            lenient=settings.lenient,
            allow_unplayed=settings.allow_unplayed,
            fork=settings.fork,
        )
        run = SessionRun(using, lenient=settings.lenient)
        try:
            started = run.start()
        except CassetteError as exc:
            pytest.fail(str(exc), pytrace=False)
        state.add(run)
        yield started


def run_in_tape(item: pytest.Item) -> None:
    """Let the coroutine of an asynchronous test belong to the tape of its fixture.

    The plugin that runs it may use a separate context that was made before the fixture.
    """
    tape = getattr(item, "funcargs", {}).get(TAPE)
    function = getattr(item, "obj", None)
    if tape is None or not inspect.iscoroutinefunction(function):
        return
    from ptycassette.agents.inprocess.active import activated

    @functools.wraps(function)
    async def in_tape(*args: Any, **kwargs: Any) -> Any:
        with activated(tape):
            return await function(*args, **kwargs)

    item.obj = in_tape  # type: ignore[attr-defined]


class Shims:
    """A directory of shims that is first on PATH during a test.

    Attributes:
        directory: the directory.
        library: the cassettes that they play.
    """

    def __init__(self, directory: Path, library: Path, run: ShimRun) -> None:
        self.directory = directory
        self.library = library
        self._run = run

    @property
    def reports(self) -> list[dict[str, Any]]:
        """The reports of the stand-ins, in the order of their starts."""
        return self._run.reports()


def shims_factory(
    request: pytest.FixtureRequest,
    settings: Settings,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Callable[..., Shims]:
    """See the fixture ``ptycassette_shims``."""
    from ptycassette.cassette.io.pending import PendingRecordings
    from ptycassette.replaying.io.modes import MODE_VARIABLE, action_of
    from ptycassette.replaying.io.shims import ShimConfig, make_shims

    def make(
        *programs: str,
        library: str | os.PathLike[str] | None = None,
        hooks: str | os.PathLike[str] | None = settings.hooks,
    ) -> Shims:
        state: TestState = request.node.stash[STATE]
        number = len(state.runs)
        place = tmp_path / f"ptycassette-{number}"
        reports = place / "reports"
        reports.mkdir(parents=True)
        if library is None:
            shelf = library_of(default_path(request.node, settings.path))
        else:
            shelf = directory_of(request.node) / library
        options: list[str] = []
        if not isinstance(settings.match, str):
            raise pytest.UsageError(
                "stand-ins are other processes, which a Matching cannot be handed to: "
                "name a strategy, write it into library.yaml, or define matches in a file of hooks"
            )
        if settings.before_record is not None:
            raise pytest.UsageError(
                "recorders behind shims are other processes, which no function can be handed to: "
                "define before_record in a file of hooks"
            )
        code = None if hooks is None else request.path.parent / hooks
        if code is not None and not code.is_file():
            raise pytest.UsageError(f"there is no file of hooks at {code}")
        options += ["--match", settings.match]
        if settings.order:
            options += ["--order", settings.order]
        if settings.lenient:
            options.append("--lenient")
        action = action_of(settings.mode, exists=False, env=os.environ)
        records = action in {"record", "rewrite"}
        if action == "live":
            state.spared.append(shelf)
        pending = PendingRecordings.new(shelf) if records else None
        config = ShimConfig(
            library=str(shelf), each=library is None,
            state=str((tmp_path / "ptycassette-starts") if library is None else place / "state"),
            mode=settings.mode,
            options=tuple(options), pending=str(pending.place) if pending else "",
            hooks="" if code is None else str(code),
            project=str(project_of(request.config).where or ""),
        )  # fmt: skip
        make_shims(place / "bin", programs, config)
        monkeypatch.setenv("PATH", str(place / "bin"), prepend=os.pathsep)
        monkeypatch.setenv(MODE_VARIABLE, settings.mode)
        monkeypatch.setenv("PTYCASSETTE_REPORT", f"{reports}/")
        run = ShimRun(
            reports,
            state,
            shelf,
            mode=settings.mode,
            allow_unplayed=settings.allow_unplayed,
            pending=pending,
            once=RecordedOnce(request.config, request.node.nodeid),
        )
        state.add(run)
        return Shims(place / "bin", shelf, run)

    return make


def cassette(request: pytest.FixtureRequest, own: Path) -> Iterator[Cassette]:
    """See the fixture ``ptycassette_cassette``."""
    from ptycassette.cassette.io.reader import open_cassette

    request.node.stash[STATE].used.append(own)
    with open_cassette(own) as opened:
        yield opened


def scenario(request: pytest.FixtureRequest, own: Path) -> Callable[..., ScenarioOutcome]:
    """See the fixture ``ptycassette_scenario``."""
    from ptycassette.replaying.scenario.evaluation import check_scenario, outcome_lines
    from ptycassette.replaying.scenario.io import evidence_of, load_scenario

    def check(path: str | os.PathLike[str]) -> ScenarioOutcome:
        __tracebackhide__ = True
        file = request.path.parent / path
        loaded = load_scenario(file, bound=False)
        chosen = own if loaded.cassette_path is None else file.parent / loaded.cassette_path
        request.node.stash[STATE].used.append(chosen)
        outcome = check_scenario(loaded, evidence_of(chosen))
        if not outcome.passed:
            pytest.fail("\n".join(outcome_lines(outcome)), pytrace=False)
        return outcome

    return check
