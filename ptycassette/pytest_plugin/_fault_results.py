"""What became of each test with each fault: judged in its report, shown at the end of the run."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple

import pytest

from ptycassette.errors import CassetteError
from ptycassette.model.visible_text import printable
from ptycassette.pytest_plugin._fault_option import is_varied, spec_of, without_fault
from ptycassette.pytest_plugin._frames import code_under_test
from ptycassette.pytest_plugin._time_bound import HungError

Outcome = Literal[
    "survived", "said-so", "not-met", "broken", "hung", "unnoticed", "excused", "skipped"
]
_BAD = frozenset(("broken", "hung", "unnoticed"))
_PROPERTY = "ptycassette_fault_result"
_MOST = 200


class FaultResult(NamedTuple):
    """One test with one fault; ``fault`` is empty for the test without."""

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
        """Collect what a report says, of this process or of a worker."""
        for name, value in report.user_properties:
            if name == _PROPERTY and isinstance(value, dict) and report.when != "teardown":
                result = FaultResult(**value)
                self.found.append(result)
                if not result.fault and report.failed:
                    self.failed.add(result.test)

    def lines(self) -> Iterator[str]:
        """The table."""
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
        """As the documented JSON."""
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
    """Say in a report what became of the fault, and whether that is a failure.

    Args:
        item: the test.
        call: its setup or its body.
        report: of that; changed.
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
    if spec is not None:  # these are for JUnit's XML, which takes those of the teardown
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
    from ptycassette.faults.registry import TERMINAL_FAULTS

    spec = spec_of(item)
    assert spec is not None  # noqa: S101 - asked for one only
    names, raises = _marked(item)
    # A program asks its provider again, or its driver can but say what went wrong.
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
    """The faults that a test need not survive, and its errors."""
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
        pytest.UsageError: there is no such fault, or no such key.
    """
    from ptycassette.faults.registry import FAULTS

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
    """The error in one line, and the line of the code under test where it came from."""
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
    from ptycassette.faults.registry import FAULTS

    spec = spec_of(item)
    assert spec is not None  # noqa: S101 - asked for one only
    return f"{spec}: {FAULTS[spec.name].what}\n{_SHOWN[outcome]}: {reason}\n(-v shows all of it)"
