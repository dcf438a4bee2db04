"""Which runs are made, in which order: asked for in batches, told what they showed. Pure.

1. The unmodified run, a few times. If these are equal, the run counts as deterministic.
2. If it does: each intervention once. What shows another outcome is repeated, because the
   unmodified run says nothing of a modified one; if a repetition differs, the run is random.
3. If it is random: every intervention, and the control, as often as asked for.

What may have failed because the machine is busy is tried once more.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence

import msgspec

from ptycassette.blame.runs import PASSING, UNDEFINED, Ran, Trial
from ptycassette.blame.steps import Cell
from ptycassette.errors import DivergenceError
from ptycassette.fork.places import ForkPlace

_SEE = "nothing can be blamed then; ptycassette rerun CASSETTE shows what differs"

Batch = list[Trial]
Results = Mapping[Trial, Ran]
"""What the runs of a batch showed; those that the budget did not allow are left out."""


class Terms(msgspec.Struct, frozen=True, kw_only=True):
    """How often something is run.

    Attributes:
        pooled: the unmodified run is the same wherever it is forked, because the tail answers
            as recorded. If not, each step has its own.
        checks: unmodified runs before anything else.
        repeats: how often an intervention that showed another outcome is repeated.
        runs: runs of each intervention where the run is random.
        random: take it as random without a look.
    """

    pooled: bool
    checks: int = 3
    repeats: int = 2
    runs: int = 10
    random: bool = False


class Experiment:
    """The runs that were made.

    Args:
        cells: everything that is to be done, in order; at least one.
        terms: how often.
        recorded: the outcome of the recording.

    Attributes:
        random: whether the run is random, so far as is known.
    """

    def __init__(self, cells: Sequence[Cell], terms: Terms, *, recorded: str) -> None:
        self.cells, self.terms, self.recorded = cells, terms, recorded
        self.random = terms.random
        self._runs: dict[tuple[ForkPlace, str], list[Ran]] = {}

    def of(self, cell: Cell) -> list[Ran]:
        """The runs of an intervention."""
        return self._runs.get((cell.at, cell.intervention), [])

    def controls(self, cell: Cell) -> list[Ran]:
        """The runs to compare with."""
        first = self._control(cell, 1)
        return self._runs.get((first.at, first.name), [])

    def checks(self) -> list[Ran]:
        """The runs of the first control."""
        return self.controls(self.cells[0])

    def note(self, trial: Trial, ran: Ran) -> None:
        """Keep what a run showed."""
        self._runs.setdefault((trial.at, trial.name), []).append(ran)

    def missing_controls(self, cells: Sequence[Cell], count: int) -> Batch:
        """The unmodified runs that these cells lack, up to a count."""
        made = [
            self._control(cell, number)
            for cell in cells
            for number in range(len(self.controls(cell)) + 1, count + 1)
        ]
        return list(dict.fromkeys(made))

    def missing(self, cells: Sequence[Cell], count: int) -> Batch:
        """The runs of interventions up to a count, in rounds: a budget that ends, ends all."""
        return [
            Trial(at=cell.at, name=cell.intervention, change=cell.change, number=number)
            for number in range(1, count + 1)
            for cell in cells
            if number > len(self.of(cell))
        ]

    def flipped(self) -> list[Cell]:
        """Interventions that showed another outcome than their controls."""
        return [
            cell
            for cell in self.cells
            if (shown := _values(self.of(cell))) and shown != _values(self.controls(cell))
        ]

    def _control(self, cell: Cell, number: int) -> Trial:
        of = self.cells[0] if self.terms.pooled else cell
        name = f"control-{of.control.kind}"
        return Trial(at=of.at, name=name, change=of.control, number=number)


def course(experiment: Experiment) -> Generator[Batch, Results, None]:
    """Ask for runs, and note what they showed in the experiment.

    Raises:
        DivergenceError: the unmodified run never counts, or always has another outcome.
    """
    terms, cells = experiment.terms, experiment.cells
    yield from _run(experiment, experiment.missing_controls(cells[:1], terms.checks))
    _check_unmodified(experiment)
    experiment.random = experiment.random or not _repeats(experiment.checks())
    if not experiment.random:
        yield from _run(
            experiment, [*experiment.missing_controls(cells, 1), *experiment.missing(cells, 1)]
        )
        again = experiment.flipped()
        yield from _run(experiment, experiment.missing(again, 1 + terms.repeats))
        experiment.random = any(len(_values(experiment.of(cell))) > 1 for cell in again)
    if experiment.random:
        controls = terms.runs * (2 if terms.pooled else 1)
        yield from _run(experiment, experiment.missing_controls(cells, controls))
        yield from _run(experiment, experiment.missing(cells, terms.runs))


def _run(experiment: Experiment, batch: Batch) -> Generator[Batch, Results, None]:
    """One batch, and once more what may have failed by accident."""
    if not batch:
        return
    results = yield batch
    failed = [one for one in batch if one in results and results[one].undefined in PASSING]
    again = (yield failed) if failed else {}
    for trial in batch:
        if trial in again:
            experiment.note(trial, msgspec.structs.replace(again[trial], retried=True))
        elif trial in results:
            experiment.note(trial, results[trial])


def outcome_of(ran: Ran) -> str:
    """What a run without a change showed.

    Raises:
        DivergenceError: it does not count.
    """
    if ran.value is None:
        assert ran.undefined is not None  # noqa: S101 - narrows the type
        raise DivergenceError(
            f"the unmodified run cannot be repeated: {UNDEFINED[ran.undefined]}: {ran.detail}",
            hint=_SEE,
        )
    return ran.value


def _check_unmodified(experiment: Experiment) -> None:
    ran = experiment.checks()
    values = _values(ran)
    if not values:
        why = next(
            (f"{UNDEFINED[one.undefined]}: {one.detail}" for one in ran if one.undefined), ""
        )
        raise DivergenceError(f"the unmodified run cannot be repeated: {why}", hint=_SEE)
    is_fixed = experiment.terms.pooled and not experiment.terms.random and _repeats(ran)
    if is_fixed and experiment.recorded not in values:
        raise DivergenceError(
            f"the unmodified run has another outcome: {min(values)};"
            f" recorded is {experiment.recorded}",
            hint=f"{_SEE}; if it is random: --runs 10",
        )


def _values(runs: Sequence[Ran]) -> set[str]:
    return {ran.value for ran in runs if ran.value is not None}


def _repeats(runs: Sequence[Ran]) -> bool:
    """Whether runs are equal: those that count, at least two."""
    counted = [(ran.value, ran.signature) for ran in runs if ran.value is not None]
    return len(counted) > 1 and len(set(counted)) == 1
