"""Collects the data of traces while a test runs, and writes the traces.

The package ``traces`` makes the files; it is loaded when the first trace is written.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ptycassette.errors import CassetteError
from ptycassette.pytest_plugin._frames import code_under_test
from ptycassette.pytest_plugin._settings import config_value
from ptycassette.pytest_plugin._state import RecordedOnce, TestState
from ptycassette.pytest_plugin.plugin import run_of
from ptycassette.replaying.io.watched_uses import watch_uses
from ptycassette.session.steps import SessionStep, StepLog, collect_steps

if TYPE_CHECKING:
    from ptycassette.replaying.io.watched_uses import WatchedResult

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
    """The line in which the test failed, unless that is a step already."""
    found = call.excinfo
    if found is None or any(step.error_id == id(found.value) for step in log.steps):
        return
    own = code_under_test(found)
    if own:
        error = f"{found.typename}: {found.value}"
        source = str(own[-1].statement).strip().partition("\n")[0]
        note_assertion(log, Path(str(own[-1].path)), own[-1].lineno + 1, source, error)


def written_trace(item: pytest.Item, report: pytest.TestReport, state: TestState) -> str:
    """Write the trace; returns its path, or why there is none. A full disk fails no test."""
    from ptycassette.pytest_plugin._runs import UseRun

    from .traces.files import write_trace
    from .traces.trace import steps_object, trace_object

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
    """If this run has left traces: delete old ones, write an index; the line that names it."""
    run = _place(config) / run_of(config)
    if not run.is_dir():
        return ""
    from .traces.directories import prune_runs
    from .traces.index import write_index

    prune_runs(_place(config), kept_runs(config))
    try:
        index = write_index(run)
    except CassetteError as exc:
        return f"no index of the traces was written: {exc}"
    return f"traces: {index}" if index else ""
