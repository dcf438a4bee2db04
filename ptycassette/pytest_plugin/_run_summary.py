"""The summary of a test run: cassettes used, orphans, stale ones, drift.

Each worker of xdist keeps its own summary and sends it at its end. The main process
merges them and judges the run.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from ptycassette.errors import CassetteError
from ptycassette.model import printable
from ptycassette.pytest_plugin._settings import config_value
from ptycassette.pytest_plugin._state import TestState
from ptycassette.pytest_plugin.plugin import LEFT_OUT


class RunSummary:
    """The summary of one process.

    Attributes:
        partial: some tests were left out, so that orphans cannot be determined.
        failures: the reasons why the whole run fails.
        traces: the line that names the index of its traces.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._known: set[str] = set()
        self._shelves: set[str] = set()
        self._spared: set[str] = set()
        self._notes: list[str] = []
        self._unchanged = 0
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
        self._notes += [f"{test}: {note}" for run in state.runs for note in run.notes()]
        self._unchanged += sum(run.unchanged() for run in state.runs)
        self._spared.update(str(path) for path in state.spared)

    def add_note(self, test: str, note: str) -> None:
        """Add a note about drift in a test."""
        self._notes.append(f"{test}: {note}")

    def spare(self, shelf: Path) -> None:
        """Note a test that did not finish: it may use any cassette on its file's shelf."""
        self._spared.add(str(shelf))

    def stale_of(self, state: TestState) -> list[str]:
        """The used recordings that are stale, and why."""
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
        return {
            "known": sorted(self._known),
            "shelves": sorted(self._shelves),
            "spared": sorted(self._spared),
            "notes": self._notes,
            "unchanged": self._unchanged,
            "stale": self._stale,
            "partial": self.partial or self._config.stash.get(LEFT_OUT, False),
        }

    def merge(self, dumped: dict[str, Any]) -> None:
        """Merge the summary of a worker."""
        self._known.update(dumped["known"])
        self._shelves.update(dumped["shelves"])
        self._spared.update(dumped["spared"])
        self._notes += dumped["notes"]
        self._unchanged += dumped["unchanged"]
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

        Cassettes elsewhere, which a test names by their path, may be those of other tests.
        """
        shelves = {Path(shelf) for shelf in self._shelves}
        known = {_resolved(path) for path in self._known}
        found = {
            manifest.parent
            for shelf in shelves
            for depth in ("*/manifest.json", "*/*/manifest.json")
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
        """The lines of the summary."""
        said = [f"drift: {note}" for note in self._notes]
        if self._unchanged:
            many = "s" if self._unchanged > 1 else ""
            said.append(f"no drift: {self._unchanged} recording{many}")
        said += [f"stale: {path}: {problem}" for path, problem in sorted(self._stale.items())]
        said += [f"orphan: no test uses {path}" for path in self._orphans]
        said += filter(None, (self.traces,))
        return [printable(line) for line in said]


def _problem(path: Path) -> str | None:
    from ptycassette.cassette import age_problem
    from ptycassette.cassette.io import open_cassette

    try:
        with open_cassette(path, check="manifest") as cassette:
            return age_problem(cassette.manifest, datetime.now(UTC))
    except CassetteError:
        return None  # the test itself has said so


def _resolved(path: str | Path) -> str:
    return str(Path(path).resolve())
