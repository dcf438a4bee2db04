"""The summary of a test run: cassettes used, orphans, stale ones, drift.

Each worker of xdist keeps its own summary and sends it at its end. The main process
merges them and judges the run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from ptycassette.errors import CassetteError
from ptycassette.model.visible_text import printable
from ptycassette.pytest_plugin._runs import Run, TestState
from ptycassette.pytest_plugin._settings import config_value
from ptycassette.pytest_plugin.plugin import LEFT_OUT


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
