"""Checks a scenario against the evidence: pins first, then every predicate."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from ptycassette.model.visible_text import printable, visible
from ptycassette.scenario._effort import PER_REWRITTEN_CHAR, Effort
from ptycassette.scenario._predicate import Failed
from ptycassette.scenario._predicates import evaluate, type_name
from ptycassette.scenario._screen_predicates import TextQuery
from ptycassette.scenario.evidence import Evidence
from ptycassette.scenario.model import Scenario


class CheckOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """One predicate: passed, or why not, with the screen at that time."""

    group: str
    name: str
    passed: bool
    message: str = ""
    t_ms: int = 0
    screen: tuple[str, ...] = ()


class ScenarioOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """All predicates of a scenario. ``normalisers`` are those that were applied."""

    scenario: str
    checks: tuple[CheckOutcome, ...]
    normalisers: tuple[str, ...] = ()

    @property
    def refusal(self) -> CheckOutcome | None:
        """The check that explains why nothing could be checked.

        Its group is ``usage`` (no scenario) or ``error`` (no recording), its name that of the
        error. A scenario may have groups of these names, too.
        """
        first = self.checks[0] if len(self.checks) == 1 else None
        if first is None or first.passed or not first.name.endswith("Error"):
            return None
        return first if first.group in {"usage", "error"} else None

    @property
    def passed(self) -> bool:
        """Whether every check passed."""
        return all(check.passed for check in self.checks)

    @property
    def failures(self) -> tuple[CheckOutcome, ...]:
        """The checks that did not pass."""
        return tuple(check for check in self.checks if not check.passed)


def check_scenario(scenario: Scenario, evidence: Evidence) -> ScenarioOutcome:
    """Evaluate all predicates, also after failures.

    Raises:
        UsageError: it, or one of its patterns, would take too long (``Effort``).
    """
    effort = Effort()
    checks = list(_binding(scenario, evidence))
    applied: dict[str, None] = {}
    for group, predicates in scenario.groups.items():
        for number, predicate in enumerate(predicates, 1):
            if isinstance(predicate, TextQuery):
                applied.update(dict.fromkeys(predicate.normalise))
            failed = evaluate(predicate, evidence, scenario.normalisers, effort)
            name = predicate.name or f"{type_name(predicate)}-{number}"
            checks.append(_outcome(group, name, failed, evidence, effort))
    return ScenarioOutcome(scenario=scenario.name, checks=tuple(checks), normalisers=tuple(applied))


def _outcome(
    group: str, name: str, failed: Failed | None, evidence: Evidence, effort: Effort
) -> CheckOutcome:
    if failed is None:
        return CheckOutcome(group=group, name=name, passed=True)
    frame = evidence.frame_at(failed.t_ms)
    if frame is not None:  # it is shown
        effort.spend(PER_REWRITTEN_CHAR * sum(map(len, frame.text)))
    return CheckOutcome(
        group=group, name=name, passed=False, message=failed.message, t_ms=failed.t_ms,
        screen=_used(frame.text) if frame else (),
    )  # fmt: skip


def _binding(scenario: Scenario, evidence: Evidence) -> Iterator[CheckOutcome]:
    """The assertions of the scenario about the recording as a whole."""
    manifest = evidence.manifest
    terminal = manifest.terminal
    pairs: list[tuple[str, object, object]] = [
        ("expected_manifest_id", scenario.expected_manifest_id, manifest.id),
        (
            "expected_content_digest",
            scenario.expected_content_digest,
            manifest.content_digest.sha256,
        ),
    ]
    size = scenario.terminal_size
    if size is not None:
        recorded = (terminal.initial_rows, terminal.initial_cols)
        pairs.append(("terminal_size", (size.rows, size.cols), recorded))
    pin = scenario.required_emulator
    if pin is not None:
        got = (terminal.emulator.name, terminal.emulator.version if pin.version else "")
        pairs.append(("required_emulator", (pin.name, pin.version), got))
    for name, want, have in pairs:
        if want is not None and want != have:
            message = f"expected {want!r}, the recording has {have!r}"
            yield CheckOutcome(group="binding", name=name, passed=False, message=message)
    missing = [name for name in scenario.expected_artifacts if name not in evidence.artifacts]
    if missing:
        yield CheckOutcome(
            group="binding", name="expected_artifacts", passed=False,
            message=f"missing: {', '.join(missing)}",
        )  # fmt: skip
    coarse = manifest.timing.resolution_ms
    if scenario.resolution_ms is not None and coarse > scenario.resolution_ms:
        message = f"recorded at {coarse} ms, which is coarser than {scenario.resolution_ms} ms"
        yield CheckOutcome(group="binding", name="resolution_ms", passed=False, message=message)


def outcome_lines(outcome: ScenarioOutcome) -> Iterator[str]:
    """The outcome as text; characters that could act on a terminal are escaped."""
    failures = outcome.failures
    total = f"{len(outcome.checks)} check{'s' if len(outcome.checks) != 1 else ''}"
    refusal = outcome.refusal
    if refusal is not None:
        yield f"{visible(outcome.scenario)}: cannot be checked"
        yield from (f"  {printable(line)}" for line in refusal.message.split("\n"))
        return
    state = f"passed ({total})" if outcome.passed else f"{len(failures)} of {total} failed"
    yield f"{visible(outcome.scenario)}: {state}"
    for check in failures:
        where = f"{visible(check.group)}/{visible(check.name)}"
        when = "" if check.group == "binding" else f" at {check.t_ms} ms"
        yield f"  FAILED {where}{when}: {printable(check.message)}"
        for row in check.screen:
            yield f"    | {visible(row)}"
    if outcome.normalisers:
        yield f"  normalised before comparing: {visible(', '.join(outcome.normalisers))}"


def _used(rows: tuple[str, ...]) -> tuple[str, ...]:
    return rows[: max((number for number, row in enumerate(rows, 1) if row), default=0)]
