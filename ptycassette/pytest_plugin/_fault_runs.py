"""``--ptycassette-faults``: each test that uses a cassette, once more with each fault.

A test becomes one test without a fault and one with each (``[fault:stall]``), so they are selected,
distributed and reported like any other. The fault itself is made by the stand-in, or by the session
in this process, which find it in the environment.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ptycassette.pytest_plugin._fault_option import (
    FAULT,
    faults_for,
    is_varied,
    refuse_unfit,
    spec_of,
    without_fault,
)
from ptycassette.pytest_plugin._fault_results import FaultResults, judge
from ptycassette.pytest_plugin._time_bound import bounded
from ptycassette.pytest_plugin.plugin import RUNNING, TAPE, USES_TAPE
from ptycassette.replaying.io.faults import FAULT_LOG_VARIABLE, FAULT_VARIABLE
from ptycassette.system.files.abandoned import temporary_folder

if TYPE_CHECKING:
    from ptycassette.faults.fault import FaultSpec

_NONE = (
    "no test was run with a fault: that wants the marker ptycassette, or a fixture that plays"
    " a recording (docs/faults.md)"
)


class FaultRuns:
    """The hooks of a run with faults.

    Args:
        config: of the run.
        specs: the faults.
    """

    def __init__(self, config: pytest.Config, specs: tuple[FaultSpec, ...]) -> None:
        self._config, self._specs = config, specs
        self._results = FaultResults()
        self._fit: set[FaultSpec] = set()
        self._tests = 0

    @pytest.hookimpl(trylast=True)
    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Make a test one without a fault, and one with each that it can have."""
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
        """Refuse faults that no test can have, before any runs."""
        if self._tests and not hasattr(config, "workerinput"):
            refuse_unfit(tuple(self._fit), self._specs, config.getoption("ptycassette_faults"))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Have what a test plays find its fault, and say when it was met."""
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
        """Skip a test with a fault if it failed without one; a bound in time for the others."""
        if spec_of(item) is not None and without_fault(item.nodeid) in self._results.failed:
            pytest.skip("the test fails without a fault")
        with self._bounded(item):
            return (yield)

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """A bound in time."""
        with self._bounded(item):
            return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[Any]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Say what became of the fault, when all else about the test is known."""
        report = yield
        met = Path(os.environ.get(FAULT_LOG_VARIABLE, "")).is_file()
        judge(item, call, report, met=met)
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Collect what a report says, of this process or of a worker."""
        self._results.take(report)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write the results."""
        path = session.config.getoption("ptycassette_faults_json")
        if path and not hasattr(session.config, "workeroutput"):
            self._results.write(path)

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """The table."""
        if not self._config.option.collectonly:
            terminalreporter.section("ptycassette: faults")
            for line in self._results.lines() if self._results.found else (_NONE,):
                terminalreporter.write_line(line)

    def _bounded(self, item: pytest.Item) -> AbstractContextManager[None]:
        if spec_of(item) is None:
            return nullcontext()
        return bounded(self._config.getoption("ptycassette_fault_timeout"))
