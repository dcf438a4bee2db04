"""The hooks of a run that uses ptycassette: checks, traces, the summary, runs with faults.

``plugin`` registers them; it declares the options and the fixtures.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Generator, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from datetime import UTC, datetime
from pathlib import Path
from traceback import walk_tb
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import pytest

from ptycassette.errors import CassetteError, DivergenceError
from ptycassette.keys.quantities import time_text
from ptycassette.model.records import storable
from ptycassette.model.visible_text import printable
from ptycassette.pytest_plugin import _runs as fixtures
from ptycassette.pytest_plugin._fault_option import (
    FAULT,
    faults_for,
    is_varied,
    refuse_unfit,
    spec_of,
    without_fault,
)
from ptycassette.pytest_plugin._runs import (
    STATE,
    RecordedOnce,
    Run,
    TestState,
    default_path,
    directory_of,
    forget_recorded,
    marker_of,
    run_in_tape,
)
from ptycassette.pytest_plugin._settings import config_value, project_of, settings_of
from ptycassette.pytest_plugin.plugin import FAULTS, LEFT_OUT, RUNNING, TAPE, USES_TAPE, run_of
from ptycassette.recording.session.steps import SessionStep, StepLog, collect_steps
from ptycassette.replaying.io.faults import FAULT_LOG_VARIABLE, FAULT_VARIABLE
from ptycassette.replaying.io.modes import MODE_VARIABLE, run_modes
from ptycassette.replaying.io.watched_uses import watch_uses
from ptycassette.system.files.locks import temporary_folder
from ptycassette.system.network_block import NETWORK_LEVEL, blocked_network

if TYPE_CHECKING:
    from ptycassette.agents.faults.fault import FaultSpec
    from ptycassette.replaying.io.watched_uses import WatchedResult


# The summary of a test run: cassettes used, orphans, stale ones, drift.
#
# Each worker of xdist keeps its own summary and sends it at its end. The main process merges them
# and judges the run.


class RunSummary:
    """The summary of one process.

    Attributes:
        partial: some tests were left out, so that orphans cannot be determined.
        failures: the reasons why the whole run fails.
        traces: the line with the path of the index of traces.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._known: set[str] = set()
        self._shelves: set[str] = set()
        self._spared: set[str] = set()
        self._drift: dict[tuple[str, str], list[str]] = {}
        self._runs: list[tuple[str, Run]] = []
        self._counts: Counter[str] = Counter()
        self._recorded: list[str] = []
        self._stale: dict[str, str] = {}
        self._orphans: list[str] = []
        self.partial = any("::" in str(arg) or Path(arg).is_file() for arg in config.args)
        self.failures: list[str] = []
        self.traces = ""

    def expect(self, path: Path, shelf: Path | None = None) -> None:
        """Note the cassette of a collected test; ``shelf`` has all cassettes of its file."""
        self._known.add(str(path))
        if shelf is not None:
            self._shelves.add(str(shelf))

    def take(self, test: str, state: TestState) -> None:
        """Note the result of a test."""
        self._known.update(str(path) for path in state.used)
        self._runs += [(test, run) for run in state.runs]
        self._settle(at_end=False)
        self._spared.update(str(path) for path in state.spared)

    def _settle(self, *, at_end: bool) -> None:
        """Count finished runs, and at the end also those of module and session fixtures."""
        runs, self._runs = self._runs, []
        for test, run in runs:
            if not (run.over or at_end):
                self._runs.append((test, run))
                continue
            for name, line in run.notes():
                self._drift.setdefault((test, name), []).append(line)
            for counted, path in run.counted():
                self._counts[counted] += 1
                if counted == "recorded":
                    self._recorded.append(path)

    def add_trace(self, test: str, line: str) -> None:
        """Add the path of the trace of a test that drifted."""
        for key in self._drift:
            if key[0] == test:
                self._drift[key].append(f"  {line}")
                return

    def spare(self, shelf: Path) -> None:
        """Note a test that did not finish: it may use any cassette on its file's shelf."""
        self._spared.add(str(shelf))

    def stale_of(self, state: TestState) -> list[str]:
        """The used recordings that are stale, and the reasons."""
        if config_value(self._config, "stale", "report") == "ignore":
            return []
        found = []
        for path in dict.fromkeys(state.used):
            problem = _problem(path)
            if problem:
                self._stale[str(path)] = problem
                found.append(f"{path}: {problem}")
        return found

    # -- xdist -------------------------------------------------------------------

    def dump(self) -> dict[str, Any]:
        """As plain data."""
        self._settle(at_end=True)
        return {
            "known": sorted(self._known),
            "shelves": sorted(self._shelves),
            "spared": sorted(self._spared),
            "drift": [[*key, lines] for key, lines in self._drift.items()],
            "counts": dict(self._counts),
            "recorded": self._recorded,
            "stale": self._stale,
            "partial": self.partial or self._config.stash.get(LEFT_OUT, False),
        }

    def merge(self, dumped: dict[str, Any]) -> None:
        """Merge the summary of a worker."""
        self._known.update(dumped["known"])
        self._shelves.update(dumped["shelves"])
        self._spared.update(dumped["spared"])
        self._drift.update({(test, name): lines for test, name, lines in dumped["drift"]})
        self._counts.update(dumped["counts"])
        self._recorded += dumped["recorded"]
        self._stale.update(dumped["stale"])
        self.partial = self.partial or dumped["partial"]

    # -- the end -------------------------------------------------------------------

    def judge(self, exitstatus: int) -> None:
        """Find orphans, if all tests have run."""
        how = config_value(self._config, "orphans", "report")
        if self._config.stash.get(LEFT_OUT, False):
            return
        if self.partial or exitstatus not in {0, 1} or how == "ignore" or not self._known:
            return
        if self._config.getoption("maxfail", 0) and exitstatus:
            return
        self._orphans = sorted(self._unused())
        if how == "fail":
            self.failures += self._orphans

    def _unused(self) -> Iterable[str]:
        """Cassettes that no test uses, in the directories of the files whose tests ran.

        Cassettes elsewhere, which a test names by their path, may belong to other tests.
        """
        shelves = {Path(shelf) for shelf in self._shelves}
        known = {_resolved(path) for path in self._known}
        found = {
            manifest.parent
            for shelf in shelves
            for depth in ("*/manifest.json", "*/*/manifest.json", "*/*/*/manifest.json")
            for manifest in shelf.glob(depth)
        }
        spared = [Path(_resolved(shelf)) for shelf in self._spared]
        return [
            str(path)
            for path in found
            if _resolved(path) not in known
            and not any(path.resolve().is_relative_to(shelf) for shelf in spared)
        ]

    def lines(self) -> list[str]:
        """The lines of the summary, except the last one."""
        self._settle(at_end=True)
        said = [f"recorded: {self._shown(path)}" for path in self._recorded]
        for (test, name), lines in self._drift.items():
            changes = sum(not line.startswith(" ") for line in lines)
            said.append(f"drift: {test}: {name}: {changes} change{'s' if changes > 1 else ''}")
            said += [f"  {line}" for line in _with_counts(lines)]
        said += [f"stale: {path}: {problem}" for path, problem in sorted(self._stale.items())]
        said += [f"orphan: no test uses {path}" for path in self._orphans]
        said += filter(None, (self.traces,))
        return [printable(line) for line in said]

    def last_line(self) -> str:
        """Counts of the run's actions with cassettes; empty if it used none."""
        names = ("recorded", "replayed", "rerun", "live", "drifted", "unchanged")
        parts = [f"{name} {self._counts[name]}" for name in names if self._counts[name]]
        return f"ptycassette: {', '.join(parts)}" if parts else ""

    def _shown(self, path: str) -> str:
        absolute = Path(self._config.rootpath, path)
        with suppress(ValueError):
            return str(absolute.relative_to(self._config.rootpath))
        return path


def _with_counts(lines: list[str]) -> Iterator[str]:
    """The changes, each once; a change is a line and the indented ones below it."""
    found: Counter[tuple[str, ...]] = Counter()
    change: tuple[str, ...] = ()
    for line in [*lines, ""]:
        if change and not line.startswith(" "):
            found[change] += 1
            change = ()
        change = (*change, line)
    for (first, *rest), count in found.items():
        yield first if count == 1 else f"{first} ({count} times)"
        yield from rest


def _problem(path: Path) -> str | None:
    from ptycassette.cassette.freshness import age_problem
    from ptycassette.cassette.io.reader import open_cassette

    try:
        with open_cassette(path, check="manifest") as cassette:
            return age_problem(cassette.manifest, datetime.now(UTC))
    except CassetteError:
        return None  # the test itself has reported that


def _resolved(path: str | Path) -> str:
    return str(Path(path).resolve())


# Choose the lines of a traceback that a failed test shows: its own, not ours.


_PACKAGE = Path(__file__).parent.parent
_STANDARD_LIBRARY = Path(contextlib.__file__).parent


def leave_our_frames_out(call: pytest.CallInfo[Any]) -> None:
    """For an error that we raised, show only the test's lines, not ours.

    Causes are left out as well, unless user code, such as a hook, took part in one.
    """
    if call.excinfo is None or not isinstance(call.excinfo.value, CassetteError):
        return
    frames = []
    frame: TracebackType | None = call.excinfo.tb
    while frame is not None:
        frames.append(frame)
        frame = frame.tb_next
    paths = [Path(frame.tb_frame.f_code.co_filename) for frame in frames]
    while len(paths) > 1 and is_ours(paths[-1]):
        paths.pop()
    if not {"_pytest", "pluggy"} & set(paths[-1].parts):
        # pytest builds its list from these, so these must be cut.
        frames[len(paths) - 1].tb_next = None
        call.excinfo.traceback = type(call.excinfo.traceback)(call.excinfo.tb)
    if all(is_ours(path) for path in _files_of_causes(call.excinfo.value)):
        call.excinfo.value.__cause__, call.excinfo.value.__suppress_context__ = None, True


def _files_of_causes(error: BaseException) -> Iterator[Path]:
    """The files in the tracebacks of an error's causes."""
    cause = error.__cause__ or error.__context__
    if cause is not None:
        for frame, _ in walk_tb(cause.__traceback__):
            yield Path(frame.f_code.co_filename)
        yield from _files_of_causes(cause)


def name_the_end(call: pytest.CallInfo[Any], report: pytest.TestReport) -> None:
    """Show no source line for an error that was found after the test's body."""
    if call.excinfo is None or not isinstance(call.excinfo.value, DivergenceError):
        return
    paths = [Path(str(entry.path)) for entry in call.excinfo.traceback]
    if all(is_ours(path) or {"_pytest", "pluggy"} & set(path.parts) for path in paths):
        report.longrepr = f"when the body of the test was over:\n{call.excinfo.value}"


def is_ours(path: Path) -> bool:
    """Whether a file belongs to this package, or to the standard library, which it calls."""
    if path.is_relative_to(_PACKAGE):
        return True
    return path.is_relative_to(_STANDARD_LIBRARY) and "site-packages" not in path.parts


def code_under_test(excinfo: pytest.ExceptionInfo[BaseException]) -> list[Any]:
    """The lines that are neither ours nor a library's, the innermost one last.

    Lines without a source are left out, such as those of the modules frozen into Python.
    """
    return [
        entry
        for entry in excinfo.traceback
        if entry.frame.code.fullsource is not None
        and not is_ours(Path(str(entry.path)))
        and not {"site-packages", "_pytest", "pluggy"} & set(Path(str(entry.path)).parts)
    ]


# Collect the data of traces while a test runs, and write the traces.


_KEEP = "10"


def kept_runs(config: pytest.Config) -> int:
    """The number of runs whose traces are kept.

    Raises:
        pytest.UsageError: the value is not a number above 0.
    """
    value = config_value(config, "trace-keep", _KEEP)
    if not value.isdecimal() or not int(value):
        raise pytest.UsageError(f"ptycassette_trace_keep is {value!r}, not a number above 0")
    return int(value)


class _Watch:
    """Collects the uses of a test. A ``UseWatcher``."""

    def __init__(self, item: pytest.Item, state: TestState) -> None:
        self._item, self._state = item, state

    def used(self, result: WatchedResult, session: object) -> None:
        from ptycassette.pytest_plugin._runs import UseRun

        path = Path(result.cassette)
        if path not in self._state.used:
            self._state.used.append(path)
        self._state.note(UseRun(result, self._state.steps.number_of(session)))

    def recording(self, path: Path, *, stated: bool) -> None:
        RecordedOnce(self._item.config, self._item.nodeid).check(path, stated=stated)

    def recorded(self, path: Path) -> None:
        RecordedOnce(self._item.config, self._item.nodeid).note(path)


@contextmanager
def traced(item: pytest.Item, state: TestState) -> Iterator[None]:
    """While entered, the test's steps and uses are collected, with or without our fixtures."""
    wanted = config_value(item.config, "trace", "on-failure") != "never"
    with collect_steps(state.steps if wanted else None), watch_uses(_Watch(item, state)):
        yield


def note_assertion(log: StepLog, path: Path, line: int, source: str, error: str = "") -> None:
    """Add an assertion, which is not a call of a session, at the current position."""
    last = log.steps[-1] if log.steps else None
    log.add(
        SessionStep(
            name="line",
            detail=source,
            session=last.session if last else 0,
            places=((str(path), line),),
            start_us=last.end_us if last else 0,
            end_us=last.end_us if last else 0,
            start_seq=last.seq if last else None,
            seq=last.seq if last else None,
            error=error,
            screen=last.screen if last else None,
        )
    )


def note_failure(call: pytest.CallInfo[Any], log: StepLog) -> None:
    """Note the line in which the test failed, unless that is already a step."""
    found = call.excinfo
    if found is None or any(step.error_id == id(found.value) for step in log.steps):
        return
    own = code_under_test(found)
    if own:
        error = f"{found.typename}: {found.value}"
        source = str(own[-1].statement).strip().partition("\n")[0]
        note_assertion(log, Path(str(own[-1].path)), own[-1].lineno + 1, source, error)


def written_trace(item: pytest.Item, report: pytest.TestReport, state: TestState) -> str:
    """Write the trace; return its path, or why it is missing. A full disk fails no test."""
    from ptycassette.pytest_plugin._runs import UseRun
    from ptycassette.pytest_plugin.traces.page import write_trace
    from ptycassette.pytest_plugin.traces.trace import steps_object, trace_object

    log = state.steps
    owned = {run.session for run in state.runs if isinstance(run, UseRun)}
    try:
        runs = [one for run in state.runs for one in run.evidence(log)]
        others, _ = steps_object([s for s in log.steps if s.session not in owned], clean=False)
        trace = trace_object(item.nodeid, report.outcome, report.longreprtext, runs, steps=others)
        page = write_trace(_place(item.config), trace, run=run_of(item.config))
    except CassetteError as exc:
        return f"no trace was kept: {exc}"
    return f"trace: {page}"


def _place(config: pytest.Config) -> Path:
    return Path(config_value(config, "trace-dir", str(config.rootpath / ".ptycassette-traces")))


def close_traces(config: pytest.Config) -> str:
    """If this run left traces: delete old ones, write an index, return the line for it."""
    run = _place(config) / run_of(config)
    if not run.is_dir():
        return ""
    from ptycassette.pytest_plugin.traces.page import prune_runs, write_index

    prune_runs(_place(config), kept_runs(config))
    try:
        index = write_index(run)
    except CassetteError as exc:
        return f"no index of the traces was written: {exc}"
    return f"traces: {index}" if index else ""


__all__ = ["fixtures"]

RUN_SUMMARY = pytest.StashKey[RunSummary]()
_RUNNING = {*RUNNING, TAPE}
_HEADED = pytest.StashKey[bool]()


def pytest_configure(config: pytest.Config) -> None:
    """Report wrong settings before any test runs; run with faults if the option is set."""
    settings_of(config, None, {})
    for name, default in (
        ("trace", "on-failure"), ("network", "block"), ("stale", "report"), ("orphans", "report"),
    ):  # fmt: skip
        config_value(config, name, default)
    kept_runs(config)
    config.stash[RUN_SUMMARY] = RunSummary(config)
    if config.getoption("ptycassette_faults") is not None:
        from ptycassette.pytest_plugin._fault_option import fault_specs

        specs = fault_specs(config)
        config.pluginmanager.register(FaultRuns(config, specs), "ptycassette-faults")


def pytest_report_header(config: pytest.Config) -> str:
    """The mode, and how far it blocks the network, if something is set for the run."""
    config.stash[_HEADED] = True
    return _header(config)


def pytest_report_collectionfinish(config: pytest.Config) -> str:
    """The same, if only the tests show that cassettes are used."""
    return "" if config.stash.get(_HEADED, False) else _header(config)


def _header(config: pytest.Config) -> str:
    if config.get_verbosity() < 0:
        return ""
    mode = settings_of(config, None, {}).mode
    network = config_value(config, "network", "block")
    if mode in {"replay", "auto"} and network == "block":
        return f"ptycassette: mode {mode}; in replay, blocked from the network: {NETWORK_LEVEL}"
    return f"ptycassette: mode {mode}; network not blocked"


def note_items(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Note the cassettes of all tests, before any are deselected."""
    run_summary = config.stash[RUN_SUMMARY]
    for item in items:
        cassette = getattr(item, "ptycassette_of_scenario", None)
        if cassette is not None:
            run_summary.expect(cassette)
            continue
        if item.get_closest_marker(FAULTS) is not None:
            check_marker(item)
        marker, names = marker_of(item), getattr(item, "fixturenames", [])
        if item.get_closest_marker(TAPE) is not None and TAPE not in names:
            names.append(TAPE)
        if marker is None and _RUNNING.isdisjoint(names):
            continue
        try:
            path = settings_of(config, marker, {}).path
        except pytest.UsageError as exc:
            raise pytest.UsageError(f"{item.nodeid}: {exc}") from exc
        run_summary.expect(default_path(item, path), directory_of(item))


def merge(config: pytest.Config, sent: dict[str, Any]) -> None:
    """Add the summary of a worker of xdist."""
    config.stash[RUN_SUMMARY].merge(sent)


def join(item: pytest.Item, stack: ExitStack) -> None:
    """Join a run in the middle of a test.

    Args:
        item: the test that runs.
        stack: closed when the test is over.
    """
    stack.enter_context(_modes_of(item))
    state = item.stash[STATE] = TestState()
    stack.enter_context(traced(item, state))


@contextmanager
def _modes_of(item: pytest.Item) -> Iterator[None]:
    """Apply ``--ptycassette-mode`` to all recording of a test: ``use``, decorators, shims."""
    ruling = item.config.getoption("ptycassette_mode")
    marker = marker_of(item)
    marked = None if marker is None else marker.kwargs.get("mode")
    ini = item.config.getini("ptycassette_mode")
    fallback = marked or ini or project_of(item.config).mode
    with run_modes(ruling, fallback), pytest.MonkeyPatch.context() as patch:
        if ruling is not None:
            patch.setenv(MODE_VARIABLE, ruling)  # for shims, which are other processes
        yield


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, Any, Any]:
    """Apply ``--ptycassette-mode``; remove made-up keys that a fixture has restored."""
    try:
        with _modes_of(item):
            return (yield)
    finally:
        tapes: Any = sys.modules.get("ptycassette.agents.inprocess.active")
        if tapes is not None:
            tapes.MADE_UP_KEYS.forget()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, Any, Any]:
    """Give every test a state; most stay empty."""
    state = item.stash[STATE] = TestState()
    with traced(item, state):
        return (yield)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, Any, Any]:
    """Notice what fixtures record: the block of a fixture ends here."""
    with watch_uses(_Watch(item, item.stash.get(STATE, None) or TestState())):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """Finish the runs when the body is over: a divergence fails a test that would have passed."""
    __tracebackhide__ = True
    state = item.stash[STATE]
    with ExitStack() as stack:
        stack.enter_context(traced(item, state))
        if _replays(item) and config_value(item.config, "network", "block") == "block":
            stack.enter_context(blocked_network())
        run_in_tape(item)
        try:
            result = yield
        except BaseException as exc:
            state.abandon(exc)
            raise
        state.complete()
        return result


def _replays(item: pytest.Item) -> bool:
    if _RUNNING.isdisjoint(getattr(item, "fixturenames", ())):
        return False
    settings = getattr(item, "funcargs", {}).get("ptycassette_settings")
    return settings is not None and settings.mode in {"replay", "auto"}


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[Any]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Write a trace of a failed test, and report its path; collect data for the summary."""
    if not item.config.getoption("fulltrace", False):
        leave_our_frames_out(call)
    report = yield
    name_the_end(call, report)
    state = item.stash.get(STATE, None)
    if state is None or call.when == "teardown":
        return report
    run_summary = item.config.stash[RUN_SUMMARY]
    if call.when == "setup" and report.failed:
        state.abandon(RuntimeError("the setup failed"))
    if not report.passed and "ptycassette_shims" in getattr(item, "fixturenames", ()):
        run_summary.spare(directory_of(item))
    if call.when == "call":
        when = config_value(item.config, "trace", "on-failure")
        if report.failed:
            said = report.longreprtext
            report.sections += [
                ("ptycassette", problem)
                for run in state.runs
                for problem in run.problems()
                if problem.split("\n")[0] not in said
            ]
        run_summary.take(item.nodeid, state)
        drifted = any(run.drifted() for run in state.runs)
        asked = when == "always" or (when == "on-failure" and (report.failed or drifted))
        if state.runs and asked:
            note_failure(call, state.steps)
            trace = written_trace(item, report, state)
            report.sections.append(("ptycassette", trace))
            if drifted and report.passed:  # pytest does not show the sections of a test that passes
                run_summary.add_trace(item.nodeid, trace)
        stale = run_summary.stale_of(state)
        if stale and config_value(item.config, "stale", "report") == "fail" and report.passed:
            report.outcome = "failed"
            report.longrepr = "\n".join(stale)
    return report


def pytest_assertion_pass(item: pytest.Item, lineno: int, orig: str) -> None:
    """Record an assertion that holds as a step, if ``enable_assertion_pass_hook`` is set."""
    state = item.stash.get(STATE, None)
    if state is not None and state.runs:
        note_assertion(state.steps, item.path, lineno, f"assert {orig}")


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """A worker sends its run summary; the main process judges the whole run."""
    run_summary = session.config.stash[RUN_SUMMARY]
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["ptycassette"] = storable(run_summary.dump())  # names may contain any bytes
        return
    run_summary.traces = close_traces(session.config)
    forget_recorded(session.config)
    run_summary.judge(exitstatus)
    if run_summary.failures and session.exitstatus == 0:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Recordings, drift, stale recordings, orphans, and one last line with the counts."""
    run_summary = config.stash[RUN_SUMMARY]
    lines = run_summary.lines()
    if lines:
        terminalreporter.section("ptycassette")
        for line in lines:
            terminalreporter.write_line(line)
    if last := run_summary.last_line():
        terminalreporter.write_line(last)


# End a test that takes too long, by an exception in it.


_AGAIN_S = 5.0


class HungError(BaseException):
    """The test took too long. Not an ``Exception``, so that a driver's retries do not catch it."""


@contextmanager
def bounded(seconds: float) -> Iterator[None]:
    """Raise in the block when it takes longer, and again every 5 s, in case all errors are caught.

    Signals reach only the main thread: in other threads there is no limit.

    Raises:
        HungError: it took longer.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def expired(_number: int, _frame: FrameType | None) -> None:
        raise HungError(f"no end after {time_text(seconds)}")

    began = time.monotonic()
    handler = signal.signal(signal.SIGALRM, expired)
    left_s, again_s = signal.setitimer(signal.ITIMER_REAL, seconds, _AGAIN_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)
        if left_s:
            took_s = time.monotonic() - began
            signal.setitimer(signal.ITIMER_REAL, max(0.001, left_s - took_s), again_s)


# The result of each test with each fault: judged in its report, shown at the end of the run.


Outcome = Literal[
    "survived", "said-so", "not-met", "broken", "hung", "unnoticed", "excused", "skipped"
]
_BAD = frozenset(("broken", "hung", "unnoticed"))
_PROPERTY = "ptycassette_fault_result"
_MOST = 200


class FaultResult(NamedTuple):
    """One test with one fault; ``fault`` is empty for the test without a fault."""

    test: str
    fault: str
    outcome: Outcome
    reason: str
    seconds: float


class FaultResults:
    """The results of a run."""

    def __init__(self) -> None:
        self.found: list[FaultResult] = []
        self.failed: set[str] = set()

    def take(self, report: pytest.TestReport) -> None:
        """Collect the result from a report of this process or of a worker."""
        for name, value in report.user_properties:
            if name == _PROPERTY and isinstance(value, dict) and report.when != "teardown":
                result = FaultResult(**value)
                self.found.append(result)
                if not result.fault and report.failed:
                    self.failed.add(result.test)

    def lines(self) -> Iterator[str]:
        """The lines of the table."""
        bad = excused = 0
        for test in dict.fromkeys(one.test for one in self.found):
            mine = [one for one in self.found if one.test == test and one.fault]
            yield printable(test)
            if test in self.failed:
                yield "  fails without a fault"
            width = max((len(one.fault) for one in mine), default=0)
            for one in mine:
                bad += one.outcome in _BAD
                excused += one.outcome == "excused"
                why = f": {one.reason}" if one.reason else ""
                yield printable(f"  {one.fault:{width}}  {_SHOWN[one.outcome]}{why}")
        faulty = [one for one in self.found if one.fault]
        fine = sum(one.outcome in {"survived", "said-so"} for one in faulty)
        unmet = sum(one.outcome == "not-met" for one in faulty)
        yield f"survived {fine}, not survived {bad}, excused {excused}, not met {unmet}"

    def write(self, path: str) -> None:
        """Write the results as the documented JSON."""
        rows = [one._asdict() for one in self.found]
        Path(path).write_text(json.dumps({"version": 1, "results": rows}, indent=2) + "\n")


_SHOWN: dict[Outcome, str] = {
    "survived": "survived",
    "said-so": "survived (said so)",
    "not-met": "not met",
    "broken": "NOT survived",
    "hung": "NOT survived, hung",
    "unnoticed": "NOT survived, unnoticed",
    "excused": "not survived, excused",
    "skipped": "skipped",
}


def judge(
    item: pytest.Item, call: pytest.CallInfo[Any], report: pytest.TestReport, *, met: bool
) -> None:
    """Note in a report whether the test met and survived the fault, and whether that is a failure.

    Args:
        item: the test.
        call: its setup or its body.
        report: the report of the call; changed.
        met: whether the fault was met.
    """
    if not is_varied(item) or (call.when == "setup" and report.passed) or call.when == "teardown":
        return
    spec = spec_of(item)
    outcome: Outcome = "skipped" if report.skipped else "survived" if report.passed else "broken"
    reason = _reason(call, report)
    if spec is not None:
        outcome, reason = _outcome(item, call, report, outcome, reason, met=met)
        if outcome == "said-so":
            report.outcome, report.longrepr = "passed", None
        elif outcome == "excused":
            report.outcome, report.wasxfail = "skipped", "need not be survived"
        elif outcome in _BAD:
            report.outcome = "failed"
            if item.config.get_verbosity() < 1:
                report.longrepr = _said(item, outcome, reason)
    result = FaultResult(
        without_fault(item.nodeid), str(spec or ""), outcome, reason, round(report.duration, 3)
    )
    report.user_properties.append((_PROPERTY, result._asdict()))
    if spec is not None:  # these are for JUnit's XML, which uses those of the teardown
        item.user_properties += [
            ("ptycassette_fault", str(spec)),
            ("ptycassette_fault_outcome", outcome),
            ("ptycassette_fault_reason", reason),
        ]


def _outcome(
    item: pytest.Item,
    call: pytest.CallInfo[Any],
    report: pytest.TestReport,
    outcome: Outcome,
    reason: str,
    *,
    met: bool,
) -> tuple[Outcome, str]:
    from ptycassette.agents.faults.registry import TERMINAL_FAULTS

    spec = spec_of(item)
    assert spec is not None  # noqa: S101 - asked for one only
    names, raises = _marked(item)
    # A program asks its provider again; otherwise its driver can only report the fault.
    of_provider = spec.name not in TERMINAL_FAULTS
    fatal = not of_provider and TERMINAL_FAULTS[spec.name].fatal
    error = call.excinfo.value if call.excinfo is not None else None
    if report.passed and not met:
        return "not-met", ""
    if report.passed and fatal and raises:
        outcome, reason = "unnoticed", "the test passed, and none of its errors was raised"
    elif isinstance(error, HungError):
        outcome = "hung"
    elif report.failed and (fatal or of_provider) and isinstance(error, raises):
        return "said-so", reason
    if outcome in _BAD and spec.name in names:
        return "excused", reason
    return outcome, reason


def _marked(item: pytest.Item) -> tuple[frozenset[str], tuple[type[BaseException], ...]]:
    """The faults that a test need not survive, and the errors that it may raise."""
    names: set[str] = set()
    raises: tuple[type[BaseException], ...] = ()
    for marker in item.iter_markers("ptycassette_faults"):
        names.update(map(str, marker.args))
        given = marker.kwargs.get("raises", ())
        raises += given if isinstance(given, tuple) else (given,)
    return frozenset(names), raises


def check_marker(item: pytest.Item) -> None:
    """Refuse a marker with a wrong name.

    Raises:
        pytest.UsageError: the fault or the key does not exist.
    """
    from ptycassette.agents.faults.registry import FAULTS

    names, raises = _marked(item)
    unknown = sorted(names - set(FAULTS))
    keys = {key for one in item.iter_markers("ptycassette_faults") for key in one.kwargs}
    if unknown or keys - {"raises"} or not all(isinstance(one, type) for one in raises):
        wrong = ", ".join([*unknown, *sorted(keys - {"raises"})]) or "raises"
        raise pytest.UsageError(
            f"{item.nodeid}: ptycassette_faults marker: {wrong} is wrong; it takes names of faults "
            f"({', '.join(FAULTS)}), and raises= with classes of errors"
        )


def _reason(call: pytest.CallInfo[Any], report: pytest.TestReport) -> str:
    """The error in one line, and the line of the code under test that caused it."""
    if call.excinfo is None:
        return report.longreprtext.splitlines()[-1][:_MOST] if report.failed else ""
    error = call.excinfo.value
    said = error.message if isinstance(error, CassetteError) else str(error)
    text = next((line for line in said.splitlines() if line.strip()), "").strip()
    name = "" if isinstance(error, HungError) else f"{type(error).__name__}: "
    where = ""
    if lines := code_under_test(call.excinfo):
        where = f" ({Path(str(lines[-1].path)).name}:{lines[-1].lineno + 1} in {lines[-1].name})"
    return f"{name}{text}"[:_MOST].removesuffix(": ") + where


def _said(item: pytest.Item, outcome: Outcome, reason: str) -> str:
    from ptycassette.agents.faults.registry import FAULTS

    spec = spec_of(item)
    assert spec is not None  # noqa: S101 - asked for one only
    return f"{spec}: {FAULTS[spec.name].what}\n{_SHOWN[outcome]}: {reason}\n(-v shows all of it)"


# ``--ptycassette-faults``: each test that uses a cassette, once more with each fault.


_NONE = (
    "no test was run with a fault: that wants the marker ptycassette, or a fixture that plays"
    " a recording (docs/faults.md)"
)


class FaultRuns:
    """The hooks of a run with faults.

    Args:
        config: the configuration of the run.
        specs: the faults.
    """

    def __init__(self, config: pytest.Config, specs: tuple[FaultSpec, ...]) -> None:
        self._config, self._specs = config, specs
        self._results = FaultResults()
        self._fit: set[FaultSpec] = set()
        self._tests = 0

    @pytest.hookimpl(trylast=True)
    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Turn a test into one without a fault, and one with each fault that can apply."""
        names, definition = set(metafunc.fixturenames), metafunc.definition
        marked = definition.get_closest_marker("ptycassette") is not None
        is_code = (
            TAPE in names
            or definition.get_closest_marker(TAPE) is not None
            or hasattr(metafunc.function, USES_TAPE)
            or (FAULT in names and not marked and not RUNNING & names)
        )
        marked = marked and not is_code
        plays = marked or bool(RUNNING & names)
        if not (plays or is_code):
            return
        specs = faults_for(self._config, self._specs, plays=plays, is_code=is_code)
        self._tests += 1
        self._fit.update(specs)
        if not specs:
            return
        if FAULT not in metafunc.fixturenames:
            metafunc.fixturenames.append(FAULT)
        metafunc.parametrize(
            FAULT,
            [None, *specs],
            ids=["no-fault", *(f"fault:{spec}" for spec in specs)],
            indirect=True,
        )

    def pytest_collection_modifyitems(self, config: pytest.Config) -> None:
        """Refuse faults that apply to no test, before any test runs."""
        if self._tests and not hasattr(config, "workerinput"):
            refuse_unfit(tuple(self._fit), self._specs, config.getoption("ptycassette_faults"))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Make the fault available to the recordings that a test plays, and note when it is met."""
        spec = spec_of(item)
        with (
            temporary_folder() as place,
            pytest.MonkeyPatch.context() as patch,
        ):
            if is_varied(item):
                patch.setenv(FAULT_VARIABLE, str(spec or ""))
                patch.setenv(FAULT_LOG_VARIABLE, str(place / "met"))
            return (yield)

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Skip a test with a fault if it failed without one; limit the time of the others."""
        if spec_of(item) is not None and without_fault(item.nodeid) in self._results.failed:
            pytest.skip("the test fails without a fault")
        with self._bounded(item):
            return (yield)

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Limit the time of the test's body."""
        with self._bounded(item):
            return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[Any]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Note the result of the fault when the rest of the report is complete."""
        report = yield
        met = Path(os.environ.get(FAULT_LOG_VARIABLE, "")).is_file()
        judge(item, call, report, met=met)
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Collect the result from a report of this process or of a worker."""
        self._results.take(report)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write the results."""
        path = session.config.getoption("ptycassette_faults_json")
        if path and not hasattr(session.config, "workeroutput"):
            self._results.write(path)

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Print the table."""
        if not self._config.option.collectonly:
            terminalreporter.section("ptycassette: faults")
            for line in self._results.lines() if self._results.found else (_NONE,):
                terminalreporter.write_line(line)

    def _bounded(self, item: pytest.Item) -> AbstractContextManager[None]:
        if spec_of(item) is None:
            return nullcontext()
        return bounded(self._config.getoption("ptycassette_fault_timeout"))
