"""Sessions with planted causes and decoys, and what a blame must say of them. Pure.

Every session is a small agent (``io/planted_agent.py``) whose end depends on what was planted. All
that the decoys have is that they look like it: the same words, the same place, later, last.

The negative control is what must not be blamed because nothing is there: steps to which nothing was
done, judged like all others, and all steps of a session whose end is a coin.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal

import msgspec

from ptycassette.blame.report import BlameReport, interval_text
from ptycassette.blame.statistics import Interval, wilson
from ptycassette.blame.steps import Intervention

BOUND = 0.10
"""The upper limit of the rate of blame in the negative control stays below this."""

_PLEASE = "task {0}: go on, please"
_ANSWER = """
[[replies]]
times = 0
when = {{ prompt_contains = "task {0}:" }}
text = "Step {0} is granted."
"""
_TOOL = """
[[replies]]
times = 0
when = {{ prompt_contains = "task {0}:", after = "prompt" }}
parts = [{{ tool = "look", arguments = {{}} }}]
[[replies]]
times = 0
when = {{ prompt_contains = "task {0}:", after = "tool", result_contains = "green" }}
text = "Looked: step {0} is approved."
[[replies]]
times = 0
when = {{ prompt_contains = "task {0}:", after = "tool" }}
text = "Looked: step {0} is rejected."
"""
_ELSE = """
[[replies]]
times = 0
text = "That is no task."
"""


class PlantedSession(msgspec.Struct, frozen=True, kw_only=True):
    """A session that is recorded and blamed.

    Attributes:
        rule: what its end depends on, a word of ``planted_agent.py``.
        tasks: how many tasks are typed.
        tool: the task for which the model calls the tool, 0 for none.
        causes: the places of the planted causes.
        tail: who answers after a change; ``scripted`` is the provider that it was recorded with.
        interventions: what is done to each step; shams among it.
        noise: how often the end is the other one.
    """

    rule: str
    tasks: int = 2
    tool: int = 0
    causes: tuple[str, ...] = ()
    tail: Literal["held", "scripted"] = "held"
    interventions: tuple[Intervention, ...] = ("neutral", "drop", "sham")
    noise: float = 0.0

    @property
    def name(self) -> str:
        """For people, and for files."""
        noise = f"-noise-{self.noise:g}" if self.noise else ""
        return f"{self.rule.replace(':', '-')}-{self.tail}{noise}"

    @property
    def is_random(self) -> bool:
        """Whether its end is; it is blamed as such then."""
        return self.noise > 0 or self.rule.startswith("coin")

    @property
    def typed(self) -> list[str]:
        """What is typed, line by line."""
        return [*(_PLEASE.format(number) for number in range(1, self.tasks + 1)), "/quit"]

    @property
    def script(self) -> str:
        """What the provider answers (docs/fake-provider.md)."""
        replies = (
            (_TOOL if number == self.tool else _ANSWER).format(number)
            for number in range(1, self.tasks + 1)
        )
        return f"version = 1\n{''.join(replies)}{_ELSE}"

    @property
    def steps(self) -> tuple[str, ...]:
        """The places that are looked at: all but ``/quit``, without which nothing ends."""
        requests = self.tasks + (self.tool > 0)
        return (
            *(f"exchange:{number}" for number in range(1, self.tasks + 1)),
            *(f"tape:{number}" for number in range(1, requests + 1)),
        )


SESSIONS: tuple[PlantedSession, ...] = (
    PlantedSession(rule="answer:1", tasks=3, causes=("exchange:1", "tape:1")),
    PlantedSession(rule="answer:2", tasks=3, causes=("exchange:2", "tape:2")),
    PlantedSession(rule="answer:3", tasks=3, causes=("exchange:3", "tape:3")),
    PlantedSession(rule="input:1", tasks=3, causes=("exchange:1",)),
    PlantedSession(rule="input:2", causes=("exchange:2",)),
    PlantedSession(rule="input:3", tasks=3, causes=("exchange:3",)),
    PlantedSession(rule="tool:1", tool=1, causes=("exchange:1", "tape:1")),
    PlantedSession(rule="tool:2", tool=2, causes=("exchange:2", "tape:2")),
    PlantedSession(
        rule="said:0",
        tool=1,
        causes=("exchange:1", "tape:1", "tape:2"),
        tail="scripted",
        interventions=("neutral", "drop", "tool-result", "sham"),
    ),
    PlantedSession(
        rule="answer:1",
        causes=("exchange:1", "tape:1"),
        interventions=("drop",),
        noise=0.05,
    ),
    PlantedSession(
        rule="answer:2",
        causes=("exchange:2", "tape:2"),
        interventions=("drop",),
        noise=0.05,
    ),
    PlantedSession(rule="coin:0", tasks=3, interventions=("neutral", "drop")),
)


class Tally(msgspec.Struct, frozen=True, kw_only=True):
    """How many of how many, with Wilson's interval."""

    count: int
    total: int
    interval: Interval

    @classmethod
    def of(cls, found: Sequence[bool]) -> Tally:
        """Count."""
        return cls(count=sum(found), total=len(found), interval=wilson(sum(found), len(found)))


class SessionResult(msgspec.Struct, frozen=True, kw_only=True):
    """What a blame said of a session."""

    name: str
    deterministic: bool
    runs: int
    missed: tuple[str, ...]
    blamed: tuple[str, ...]
    undefined: int


class ValidationReport(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a validation.

    Attributes:
        causes: planted causes that were found.
        decoys: decoys that were blamed.
        cleared: decoys that were found to have no effect.
        control: what was blamed of the negative control.
        bound: what the upper limit of ``control`` stays below.
        runs: how many were made, and ``seconds``, how long they took.
        sessions: one by one.
    """

    causes: Tally
    decoys: Tally
    cleared: Tally
    control: Tally
    bound: float
    runs: int
    seconds: float
    sessions: tuple[SessionResult, ...]

    @property
    def passed(self) -> bool:
        """Whether every cause was found, no decoy blamed, and the control is below its bound."""
        return (
            self.causes.count == self.causes.total
            and self.decoys.count == 0
            and self.control.interval[1] < self.bound
        )


def validated(
    reports: Sequence[tuple[PlantedSession, BlameReport]], *, seconds: float
) -> ValidationReport:
    """Hold reports against what was planted."""
    causes: list[bool] = []
    decoys: list[bool] = []
    cleared: list[bool] = []
    control: list[bool] = []
    for session, report in reports:
        control += [step.label == "cause" for step in report.shams]
        if not session.causes:
            control += [
                "cause" == step.label == cell.label
                for step in report.steps
                for cell in step.interventions
            ]
            continue
        for step in report.steps:
            if step.at in session.causes:
                causes.append(step.label == "cause")
            else:
                decoys.append(step.label == "cause")
                cleared.append(step.label == "no effect")
    return ValidationReport(
        causes=Tally.of(causes),
        decoys=Tally.of(decoys),
        cleared=Tally.of(cleared),
        control=Tally.of(control),
        bound=BOUND,
        runs=sum(report.runs for _, report in reports),
        seconds=seconds,
        sessions=tuple(_result(session, report) for session, report in reports),
    )


def validation_lines(report: ValidationReport) -> Iterator[str]:
    """The report for people."""
    for one in report.sessions:
        how = "deterministic" if one.deterministic else "random"
        wrong = [f"missed {at}" for at in one.missed] + [f"blamed {at}" for at in one.blamed]
        undefined = f", {one.undefined} undefined" if one.undefined else ""
        state = ", ".join(wrong) or "as planted"
        yield f"{one.name}: {how}, {one.runs} runs{undefined}: {state}"
    for name, tally in (
        ("planted causes found", report.causes),
        ("decoys blamed", report.decoys),
        ("decoys cleared", report.cleared),
        ("negative control blamed", report.control),
    ):
        interval = interval_text(tally.interval)
        bound = f", must stay below {report.bound:.2f}" if tally is report.control else ""
        yield f"{name}: {tally.count} of {tally.total} {interval}{bound}"
    yield f"runs: {report.runs} in {report.seconds:.1f} s"
    yield "passed" if report.passed else "FAILED"


def validation_json(report: ValidationReport) -> dict[str, Any]:
    """The report for programs."""
    return {**msgspec.to_builtins(report), "passed": report.passed}


def _result(session: PlantedSession, report: BlameReport) -> SessionResult:
    blamed = set(report.causes)
    cells = [cell for step in report.steps for cell in step.interventions]
    return SessionResult(
        name=session.name,
        deterministic=report.deterministic,
        runs=report.runs,
        missed=tuple(at for at in session.causes if at not in blamed),
        blamed=tuple(at for at in report.causes if at not in session.causes),
        undefined=sum(cell.runs.undefined for cell in cells),
    )
