"""Judge the runs of a blame, and report them with the limits of their evidence. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import comb, sqrt
from statistics import NormalDist
from typing import Any, Literal

import msgspec

from ptycassette.agents.blame.steps import SHAM, UNDEFINED, Cell, Experiment, Intervention, Ran
from ptycassette.agents.fork.places import ForkPlace
from ptycassette.model.visible_text import printable

# Intervals and tests for counts of runs: Wilson, Newcombe, Fisher, Benjamini-Hochberg. Pure.


CONFIDENCE = 0.95
"""The confidence of all intervals; one minus it is the false discovery rate."""

_Z = NormalDist().inv_cdf(0.5 + CONFIDENCE / 2)
_SAME = 1 + 1e-7  # two tables as likely as each other, but for rounding (as R and scipy do)

Interval = tuple[float, float]


def wilson(count: int, total: int) -> Interval:
    """The score interval of a rate (Wilson 1927); 0 to 1 if there are no runs."""
    if total == 0:
        return 0.0, 1.0
    rate, z2 = count / total, _Z * _Z
    middle = (rate + z2 / (2 * total)) / (1 + z2 / total)
    half = _Z * sqrt(rate * (1 - rate) / total + z2 / (4 * total * total)) / (1 + z2 / total)
    low = 0.0 if count == 0 else middle - half
    high = 1.0 if count == total else middle + half
    return max(0.0, low), min(1.0, high)


def difference(count: int, total: int, control: int, controls: int) -> Interval:
    """The interval of the difference of two rates (Newcombe 1998, method 10), from Wilson's limits.

    Args:
        count: how many with the change, out of ``total``.
        total: see ``count``.
        control: how many without it, out of ``controls``.
        controls: see ``control``.

    Returns:
        -1 to 1 if one of the two has no runs.
    """
    if total == 0 or controls == 0:
        return -1.0, 1.0
    rate, without = count / total, control / controls
    (low, high), (control_low, control_high) = wilson(count, total), wilson(control, controls)
    apart = rate - without
    down = sqrt((rate - low) ** 2 + (control_high - without) ** 2)
    up = sqrt((high - rate) ** 2 + (without - control_low) ** 2)
    return apart - down, apart + up


def fisher(count: int, total: int, control: int, controls: int) -> float:
    """The p-value of Fisher's exact test, two-sided; 1 if one of the two has no runs."""
    hits, everything = count + control, total + controls
    least, most = max(0, hits - controls), min(total, hits)
    ways = [comb(total, one) * comb(controls, hits - one) for one in range(least, most + 1)]
    seen = ways[count - least] * _SAME
    return min(1.0, sum(way for way in ways if way <= seen) / comb(everything, hits))


def false_discovery(p_values: Sequence[float]) -> list[float]:
    """The p-values, adjusted so that a bound on them bounds the false discovery rate.

    Benjamini and Hochberg 1995, in the order given.
    """
    count = len(p_values)
    adjusted, least = [1.0] * count, 1.0
    falling = sorted(range(count), key=lambda one: -p_values[one])
    for rank, index in zip(range(count, 0, -1), falling, strict=True):
        least = min(least, p_values[index] * count / rank)
        adjusted[index] = least
    return adjusted


# The label of a step, from the intervals of its runs, never from the rates. Pure.


Label = Literal["cause", "no effect", "unclear", "undefined", "not run"]

_HALF = 0.5
_RATE = round(1 - CONFIDENCE, 10)


class Count(msgspec.Struct, frozen=True, kw_only=True):
    """Runs of one kind: with another outcome than the recorded one, with the same, undefined.

    ``interval`` is Wilson's, for the rate of flips among the runs that count.
    """

    flips: int
    no_flips: int
    undefined: int = 0
    interval: Interval = (0.0, 1.0)

    @property
    def total(self) -> int:
        """The runs that count."""
        return self.flips + self.no_flips

    @classmethod
    def of(cls, runs: Sequence[Ran], recorded: str) -> Count:
        """Count runs against the outcome of the recording."""
        values = [ran.value for ran in runs if ran.value is not None]
        flips = sum(value != recorded for value in values)
        return cls(
            flips=flips,
            no_flips=len(values) - flips,
            undefined=len(runs) - len(values),
            interval=wilson(flips, len(values)),
        )


class Judged(msgspec.Struct, frozen=True, kw_only=True):
    """An intervention at a step.

    Attributes:
        intervention, change: the change that was made.
        label: the verdict.
        runs, control: the runs with the change, and without it.
        difference: the interval of the difference of the two rates.
        p: the p-value of Fisher's exact test; None in a deterministic run.
        reasons: why runs do not count.
    """

    intervention: str
    change: str
    label: Label
    runs: Count
    control: Count
    difference: Interval
    p: float | None = None
    reasons: tuple[str, ...] = ()


class JudgedStep(msgspec.Struct, frozen=True, kw_only=True):
    """A step.

    Attributes:
        at: the place.
        label: the verdict.
        q: the least false discovery rate at which it is a cause; None in a deterministic run.
        interventions: the interventions at this step.
    """

    at: str
    label: Label
    q: float | None
    interventions: tuple[Judged, ...]


def judged(experiment: Experiment, *, shams: bool = False) -> list[JudgedStep]:
    """Judge every step of an experiment.

    Args:
        experiment: all runs.
        shams: judge only the steps without a change, instead of the others.
    """
    by_step: dict[ForkPlace, list[Judged]] = {}
    for cell in experiment.cells:
        if (cell.intervention == SHAM) is shams:
            by_step.setdefault(cell.at, []).append(_judged(experiment, cell))
    rates: list[float | None] = [None] * len(by_step)
    if experiment.random:
        # Bonferroni within a step: its best intervention is one of several.
        least = [
            min(1.0, len(made) * min(one.p if one.p is not None else 1.0 for one in made))
            for made in by_step.values()
        ]
        rates = [*false_discovery(least)]
    return [
        JudgedStep(at=str(at), label=_label(made, rate), q=rate, interventions=tuple(made))
        for (at, made), rate in zip(by_step.items(), rates, strict=True)
    ]


def _judged(experiment: Experiment, cell: Cell) -> Judged:
    ran = experiment.of(cell)
    runs, control = (Count.of(one, experiment.recorded) for one in (ran, experiment.controls(cell)))
    apart = difference(runs.flips, runs.total, control.flips, control.total)
    return Judged(
        intervention=cell.intervention,
        change=str(cell.change),
        label=_cell_label(runs, control, apart, random=experiment.random) if ran else "not run",
        runs=runs,
        control=control,
        difference=apart,
        p=fisher(runs.flips, runs.total, control.flips, control.total)
        if experiment.random
        else None,
        reasons=tuple(dict.fromkeys(_reason(one) for one in ran if one.undefined is not None)),
    )


def _reason(ran: Ran) -> str:
    assert ran.undefined is not None  # noqa: S101 - narrows the type
    return f"{UNDEFINED[ran.undefined]}: {ran.detail}" if ran.detail else UNDEFINED[ran.undefined]


def _cell_label(runs: Count, control: Count, apart: Interval, *, random: bool) -> Label:
    if not runs.total or not control.total:
        return "undefined"
    low, high = apart
    if low > 0 or high < 0:
        return "cause"
    effect = _HALF if random else 1.0
    if random and runs.undefined:
        total = runs.total + runs.undefined
        low, _ = difference(runs.flips, total, control.flips, control.total)
        _, high = difference(runs.flips + runs.undefined, total, control.flips, control.total)
    return "no effect" if -effect < low and high < effect else "unclear"


def _label(made: Sequence[Judged], rate: float | None) -> Label:
    """The label of a step, from its interventions that count."""
    labels = {one.label for one in made}
    if "cause" in labels:
        return "cause" if rate is None or rate <= _RATE else "unclear"
    for label in ("unclear", "no effect", "undefined"):
        if label in labels:
            return label
    return "not run"


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
        cassette: the recording.
        oracle: the source of the outcome.
        outcome: the outcome of the recording.
        tail: the source of answers after a change.
        neutral: the neutral text.
        deterministic: whether the unmodified run was the same each time.
        control: the unmodified runs at the first step.
        runs, budget: how many runs were made, out of how many.
        stopped: runs that the budget did not allow.
        steps: every step, in the order of the recording, and ``texts``, their descriptions.
        shams: steps without a change, judged like changed ones.
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
        """The places of the steps that are causes."""
        return tuple(step.at for step in self.steps if step.label == "cause")


def blame_lines(report: BlameReport) -> Iterator[str]:
    """The report for people; control characters from programs are escaped."""
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
    """What the report proves, and what it does not."""
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


# Sessions with planted causes and decoys, and the verdicts that a blame must reach. Pure.


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
        rule: the condition for its end, a word of ``planted_agent.py``.
        tasks: how many tasks are typed.
        tool: the task for which the model calls the tool, 0 for none.
        causes: the places of the planted causes.
        tail: the source of answers after a change; ``scripted`` is the recorded provider.
        interventions: the interventions at each step, including shams.
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
        """The name for people, and for files."""
        noise = f"-noise-{self.noise:g}" if self.noise else ""
        return f"{self.rule.replace(':', '-')}-{self.tail}{noise}"

    @property
    def is_random(self) -> bool:
        """Whether its end is random; it is then blamed as random."""
        return self.noise > 0 or self.rule.startswith("coin")

    @property
    def typed(self) -> list[str]:
        """The typed lines."""
        return [*(_PLEASE.format(number) for number in range(1, self.tasks + 1)), "/quit"]

    @property
    def script(self) -> str:
        """The answers of the provider (docs/fake-provider.md)."""
        replies = (
            (_TOOL if number == self.tool else _ANSWER).format(number)
            for number in range(1, self.tasks + 1)
        )
        return f"version = 1\n{''.join(replies)}{_ELSE}"

    @property
    def steps(self) -> tuple[str, ...]:
        """The places to look at: all but ``/quit``, without which the session never ends."""
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
    """A count out of a total, with Wilson's interval."""

    count: int
    total: int
    interval: Interval

    @classmethod
    def of(cls, found: Sequence[bool]) -> Tally:
        """Count."""
        return cls(count=sum(found), total=len(found), interval=wilson(sum(found), len(found)))


class SessionResult(msgspec.Struct, frozen=True, kw_only=True):
    """The verdict of a blame on one session."""

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
        control: the steps of the negative control that were blamed.
        bound: the bound for the upper limit of ``control``.
        runs: how many runs were made, and ``seconds``, how long they took.
        sessions: the sessions one by one.
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
    """Compare reports with the planted causes."""
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
