"""What is said of a step, from the intervals of its runs, never from the rates. Pure.

The question of each intervention is how much more often the outcome differs from the recorded one
with the change than without it. Two of the answers need evidence: *cause* needs an interval of that
difference without 0, *no effect* one that stays below ``effect``. Everything else is *unclear*.

In a random run ``effect`` is a half, and a cause needs a false discovery rate below 0.05 over the
steps, too. In a deterministic one a change flips the outcome always or never, so the difference is
0 or 1, ``effect`` is 1, and there is nothing to test.

Runs that do not count are in no interval. Where there are some in a random run, *no effect* must
hold even if all of them had differed, and even if none had.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from ptycassette.blame.course import Experiment
from ptycassette.blame.runs import UNDEFINED, Ran
from ptycassette.blame.statistics import (
    CONFIDENCE,
    Interval,
    difference,
    false_discovery,
    fisher,
    wilson,
)
from ptycassette.blame.steps import SHAM, Cell
from ptycassette.fork.places import ForkPlace

Label = Literal["cause", "no effect", "unclear", "undefined", "not run"]

_HALF = 0.5
_RATE = round(1 - CONFIDENCE, 10)


class Count(msgspec.Struct, frozen=True, kw_only=True):
    """Runs of one kind: with another outcome than the recorded one, with the same, undefined.

    ``interval`` is Wilson's, of the rate of flips among those that count.
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
        intervention, change: what was done.
        label: what is said of it.
        runs, control: what was counted with it, and without it.
        difference: the interval of the difference of the two rates.
        p: of Fisher's exact test; None in a deterministic run.
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
        label: what is said of it.
        q: the least false discovery rate at which it is a cause; None in a deterministic run.
        interventions: what was done to it.
    """

    at: str
    label: Label
    q: float | None
    interventions: tuple[Judged, ...]


def judged(experiment: Experiment, *, shams: bool = False) -> list[JudgedStep]:
    """Every step of an experiment.

    Args:
        experiment: all runs.
        shams: judge the steps to which nothing was done, in place of the others.
    """
    by_step: dict[ForkPlace, list[Judged]] = {}
    for cell in experiment.cells:
        if (cell.intervention == SHAM) is shams:
            by_step.setdefault(cell.at, []).append(_judged(experiment, cell))
    rates: list[float | None] = [None] * len(by_step)
    if experiment.random:
        # Bonferroni inside of a step: its best intervention is one of several.
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
    """The label of a step: that of its interventions that count."""
    labels = {one.label for one in made}
    if "cause" in labels:
        return "cause" if rate is None or rate <= _RATE else "unclear"
    for label in ("unclear", "no effect", "undefined"):
        if label in labels:
            return label
    return "not run"
