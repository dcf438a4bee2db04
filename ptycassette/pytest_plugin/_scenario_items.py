"""Run scenario files as tests: one item for the pins, one for each predicate."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

from ptycassette.errors import CassetteError
from ptycassette.model.visible_text import printable, visible
from ptycassette.replaying.scenario.evaluation import CheckOutcome, ScenarioOutcome, check_scenario
from ptycassette.replaying.scenario.io import evidence_of, load_scenario


class ScenarioError(Exception):
    """A failed check, with its message."""

    def __init__(self, checks: list[CheckOutcome]) -> None:
        self.checks = checks
        super().__init__("; ".join(check.message for check in checks))


class ScenarioFile(pytest.File):
    """One scenario file. The recording is read once, when the first item runs."""

    def collect(self) -> Iterator[ScenarioItem]:
        """An item for the pins, then one per predicate, with the names of reports."""
        try:
            scenario = load_scenario(self.path)
        except CassetteError as exc:
            raise self.CollectError(str(exc)) from exc
        yield ScenarioItem.from_parent(self, name="binding")
        for group, predicates in scenario.groups.items():
            for number, predicate in enumerate(predicates, 1):
                tag = predicate.__struct_config__.tag
                name = f"{group}/{predicate.name or f'{tag}-{number}'}"
                yield ScenarioItem.from_parent(self, name=name)

    @cached_property
    def cassette(self) -> Path:
        """The recording that the scenario is bound to."""
        return self.path.parent / (load_scenario(self.path).cassette_path or "")

    @cached_property
    def outcome(self) -> ScenarioOutcome:
        """All checks."""
        return check_scenario(load_scenario(self.path), evidence_of(self.cassette))


class ScenarioItem(pytest.Item):
    """One check of a scenario."""

    parent: ScenarioFile

    @property
    def ptycassette_of_scenario(self) -> Path:
        """The recording that it checks; the plugin recognises such items by this."""
        return self.parent.cassette

    def runtest(self) -> None:
        """Evaluate the scenario once, or use the earlier result."""
        outcome = self.parent.outcome
        if self.name == "binding":
            failed = [check for check in outcome.failures if check.group == "binding"]
        else:
            failed = [
                check for check in outcome.failures if f"{check.group}/{check.name}" == self.name
            ]
        if failed:
            raise ScenarioError(failed)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """The failed check and the screen, without our traceback."""
        if isinstance(excinfo.value, CassetteError):
            return str(excinfo.value)  # escapes itself
        if not isinstance(excinfo.value, ScenarioError):
            return super().repr_failure(excinfo, style)
        lines = []
        for check in excinfo.value.checks:
            lines.append(f"{visible(check.name)} at {check.t_ms} ms: {printable(check.message)}")
            lines += [f"  | {visible(row)}" for row in check.screen]
        return "\n".join(lines)

    def reportinfo(self) -> tuple[Path, None, str]:
        """Its file and name."""
        return self.path, None, f"{self.path.name}: {self.name}"
