"""The hooks of a run that uses something of ours: checks, traces, the summary.

``plugin`` registers them; it declares the options and the fixtures.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest

from ptycassette.model.json_values import storable
from ptycassette.pytest_plugin import _fixtures as fixtures
from ptycassette.pytest_plugin._fixtures import (
    STATE,
    default_path,
    directory_of,
    marker_of,
    run_in_tape,
)
from ptycassette.pytest_plugin._frames import leave_our_frames_out, name_the_end
from ptycassette.pytest_plugin._run_summary import RunSummary
from ptycassette.pytest_plugin._settings import config_value, project_of, settings_of
from ptycassette.pytest_plugin._state import TestState, forget_recorded
from ptycassette.pytest_plugin._tracing import (
    close_traces,
    kept_runs,
    note_assertion,
    note_failure,
    traced,
    written_trace,
)
from ptycassette.pytest_plugin.plugin import FAULTS, RUNNING, TAPE
from ptycassette.replaying.io.modes import MODE_VARIABLE, run_modes
from ptycassette.system.network_block import NETWORK_LEVEL, blocked_network

__all__ = ["fixtures"]

RUN_SUMMARY = pytest.StashKey[RunSummary]()
_RUNNING = {*RUNNING, TAPE}
_HEADED = pytest.StashKey[bool]()


def pytest_configure(config: pytest.Config) -> None:
    """Report wrong settings before any test runs; run with faults if that was asked for."""
    settings_of(config, None, {})
    for name, default in (
        ("trace", "on-failure"), ("network", "block"), ("stale", "report"), ("orphans", "report"),
    ):  # fmt: skip
        config_value(config, name, default)
    kept_runs(config)
    config.stash[RUN_SUMMARY] = RunSummary(config)
    if config.getoption("ptycassette_faults") is not None:
        from ptycassette.pytest_plugin._fault_option import fault_specs
        from ptycassette.pytest_plugin._fault_runs import FaultRuns

        specs = fault_specs(config)
        config.pluginmanager.register(FaultRuns(config, specs), "ptycassette-faults")


def pytest_report_header(config: pytest.Config) -> str:
    """The mode, and how far the network is blocked in it, if something is set for the run."""
    config.stash[_HEADED] = True
    return _header(config)


def pytest_report_collectionfinish(config: pytest.Config) -> str:
    """The same, if it is the tests that use a cassette."""
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
            from ptycassette.pytest_plugin._fault_results import check_marker

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
    """Take the summary of a worker of xdist."""
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
    """Apply ``--ptycassette-mode``."""
    with _modes_of(item):
        return (yield)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, Any, Any]:
    """Give every test a state; most stay empty."""
    state = item.stash[STATE] = TestState()
    with traced(item, state):
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
            if drifted and report.passed:  # nobody sees the sections of a test that passes
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
        output["ptycassette"] = storable(run_summary.dump())  # names hold any bytes
        return
    run_summary.traces = close_traces(session.config)
    forget_recorded(session.config)
    run_summary.judge(exitstatus)
    if run_summary.failures and session.exitstatus == 0:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Recordings, drift, stale recordings, orphans; at last one line with the counts."""
    run_summary = config.stash[RUN_SUMMARY]
    lines = run_summary.lines()
    if lines:
        terminalreporter.section("ptycassette")
        for line in lines:
            terminalreporter.write_line(line)
    if last := run_summary.last_line():
        terminalreporter.write_line(last)
