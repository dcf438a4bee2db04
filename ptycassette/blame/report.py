"""What came of a blame, for people and for programs, with what it cannot say. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from ptycassette.blame.labels import Count, Judged, JudgedStep
from ptycassette.blame.statistics import Interval
from ptycassette.model.visible_text import printable

_HELD = "held"
_ALWAYS = (
    (
        "interventional: a cause is a step at which a change made another outcome; it says nothing"
        " of why, nor of other changes than these"
    ),
    (
        "one step was changed at a time: causes that need two changes together are not found, and"
        " of a chain of causes every link is one"
    ),
)
_MOST = 160


class BlameReport(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a blame.

    Attributes:
        cassette: what was blamed.
        oracle: who said what the outcome is.
        outcome: what it said of the recording.
        tail: who answered after a change.
        neutral: the neutral text.
        deterministic: the unmodified run showed the same each time.
        control: the unmodified runs at the first step.
        runs, budget: how many were made, of how many.
        stopped: runs that the budget did not allow.
        steps: every step, in the order of the recording, and ``texts``, what it is.
        shams: steps to which nothing was done, judged as if something had been.
        seconds: how long it took.
    """

    cassette: str
    oracle: str
    outcome: str
    tail: str
    neutral: str
    deterministic: bool
    control: Count
    budget: int
    runs: int = 0
    stopped: int = 0
    steps: tuple[JudgedStep, ...] = ()
    texts: tuple[str, ...] = ()
    shams: tuple[JudgedStep, ...] = ()
    seconds: float = 0.0

    @property
    def causes(self) -> tuple[str, ...]:
        """The places of the steps that are blamed."""
        return tuple(step.at for step in self.steps if step.label == "cause")


def blame_lines(report: BlameReport) -> Iterator[str]:
    """The report for people; what comes from programs is shown without control characters."""
    yield printable(f"outcome: {report.outcome} ({report.oracle})")
    same, total = report.control.no_flips, report.control.total
    how = (
        "deterministic, so one run for each intervention, and flips repeated"
        if report.deterministic
        else f"random: another outcome at a rate in {interval_text(report.control.interval)}"
    )
    yield f"unmodified: {same} of {total} runs had this outcome; {how}"
    width = max((len(step.at) for step in report.steps), default=0)
    for step, text in zip(report.steps, report.texts, strict=True):
        rate = "" if step.q is None else f"  (q {step.q:.3g})"
        yield printable(f"{step.label:9}  {step.at:{width}}  {text}{rate}")[:_MOST]
        for one in step.interventions:
            yield f"             {_line(one)}"
            yield from (printable(f"               {reason}")[:_MOST] for reason in one.reasons)
    stopped = f"; the budget ended before {report.stopped} more" if report.stopped else ""
    yield f"runs: {report.runs} of {report.budget} in {report.seconds:.1f} s{stopped}"
    yield from (f"note: {line}" for line in limits(report))


def blame_json(report: BlameReport) -> dict[str, Any]:
    """The report for programs."""
    made: dict[str, Any] = msgspec.to_builtins(report)
    steps = made.pop("steps"), made.pop("texts")
    return {
        **made,
        "steps": [{**step, "what": text} for step, text in zip(*steps, strict=True)],
        "causes": list(report.causes),
        "interventional": True,
        "limits": limits(report),
    }


def limits(report: BlameReport) -> list[str]:
    """What the report says, and what it cannot say."""
    lines = [*_ALWAYS]
    if report.tail == _HELD:
        lines.append(
            "all other answers were held as recorded: what the model would have said to the change"
            " is not known (--tail live)"
        )
    if not report.deterministic:
        lines.append("no effect means: less than half of the runs changed their outcome by it")
    for label, text in (
        ("unclear", "more runs may tell (--runs, --budget)"),
        ("undefined", "no run of them counts"),
        ("not run", "the budget was used up"),
    ):
        places = [step.at for step in report.steps if step.label == label]
        if places:
            lines.append(f"{label}: {', '.join(places)}: {text}")
    partly = [
        f"{one.intervention} at {step.at}"
        for step in report.steps
        if step.label in {"cause", "no effect"}
        for one in step.interventions
        if one.label in {"undefined", "not run"}
    ]
    if partly:
        lines.append(f"nothing is known of {', '.join(partly)}")
    return lines


def interval_text(interval: Interval) -> str:
    """An interval for people."""
    return f"[{interval[0]:.2f}, {interval[1]:.2f}]"


def _line(one: Judged) -> str:
    counts = _counts(one.runs)
    if one.label in {"undefined", "not run"}:
        return f"{one.intervention}: {counts or one.label}"
    return (
        f"{one.intervention}: {counts} {interval_text(one.runs.interval)},"
        f" unmodified {one.control.flips} of {one.control.total};"
        f" difference {interval_text(one.difference)}: {one.label}"
    )


def _counts(count: Count) -> str:
    parts: Sequence[tuple[int, str]] = (
        (count.flips, "FLIP"), (count.no_flips, "NO_FLIP"), (count.undefined, "UNDEFINED")
    )  # fmt: skip
    return ", ".join(f"{number} {name}" for number, name in parts if number)
