"""Find the steps of a recording, and plan the runs that change each of them. Pure.

A step is an exchange of the terminal, a request to a model with its answer, or a tool call of code
in ``use_tape``. An intervention is a fork at the step with one change. Its control is the same fork
without the change.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Mapping, Sequence
from typing import Literal

import msgspec

from ptycassette.agents.faults.registry import parse_fault
from ptycassette.agents.fork.places import Change, ForkPlace
from ptycassette.errors import DivergenceError
from ptycassette.model.records import ExitStatus

Intervention = Literal["neutral", "drop", "swap", "tool-result", "sham"]

INTERVENTIONS: dict[str, str] = {
    "neutral": "a neutral text in place of the answer, or of what was typed",
    "drop": "an empty answer; nothing is typed",
    "tool-result": "the model is told a neutral text as the result of the tool",
    "swap": "the answer to the next request of this kind; what was typed next",
}
"""The interventions at a step, in the order in which they are made."""

SHAM: Intervention = "sham"
"""No change, but the step is judged as if there were one: for validation."""


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """One step.

    Attributes:
        at: the place of its fork.
        what: its description for people, without control characters.
        text: the typed text, without the Enter after it; empty if it is not text. For a tool call
            its result, in the form for ``tool-result``.
        route: the target of a request, or the name of the tool: only answers of one route can be
            swapped.
        tells_result: whether a request contains the result of a tool.
    """

    at: ForkPlace
    what: str
    text: str = ""
    route: str = ""
    tells_result: bool = False


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """A step and one intervention. ``control`` is the change of the runs to compare with."""

    at: ForkPlace
    intervention: Intervention
    change: Change
    control: Change


def cells_of(
    steps: Sequence[Step],
    interventions: Sequence[Intervention],
    *,
    neutral: str,
    reads: bool,
) -> list[Cell]:
    """All cells: each intervention at each step where it is possible.

    Args:
        steps: the steps of the recording.
        interventions: the first one is made at all steps before the second one begins.
        neutral: the neutral text.
        reads: whether the tail reads the questions, so that a tool's result can matter to it.
    """
    made: list[Cell] = []
    for intervention in interventions:
        for number, step in enumerate(steps):
            others = [*steps[number + 1 :], *steps[:number]]
            change = _change(step, others, intervention, neutral)
            is_read = reads or intervention != "tool-result"
            if change is not None and is_read:
                control = Change(kind="ask" if intervention == "tool-result" else "none")
                made.append(
                    Cell(at=step.at, intervention=intervention, change=change, control=control)
                )
    return made


def _change(
    step: Step, others: Sequence[Step], intervention: Intervention, neutral: str
) -> Change | None:
    """The change; None if it is impossible, or would change nothing."""
    if intervention == SHAM:
        return Change(kind="none")
    if step.at.kind == "tape":
        return _of_answer(step, others, intervention, neutral)
    if step.at.kind == "tool":
        return _of_tool(step, others, intervention, neutral)
    return _of_input(step, others, intervention, neutral)


def _of_answer(
    step: Step, others: Sequence[Step], intervention: Intervention, neutral: str
) -> Change | None:
    if intervention == "neutral":
        return Change(kind="response", value=neutral)
    if intervention == "drop":
        return Change.of(parse_fault("empty"))
    if intervention == "tool-result":
        return Change(kind="tool-result", value=neutral) if step.tells_result else None
    same = (one for one in others if one.at.kind == "tape" and one.route == step.route)
    other = next(same, None)
    return None if other is None else Change.parse(f"swap={other.at}")


def _of_tool(
    step: Step, others: Sequence[Step], intervention: Intervention, neutral: str
) -> Change | None:
    same = [one.text for one in others if (one.at.kind, one.route) == ("tool", step.route)]
    given = {"neutral": [neutral], "drop": [""], "swap": same}.get(intervention, [])
    text = next((one for one in given if one != step.text), None)
    return None if text is None else Change(kind="tool-result", value=text)


def _of_input(
    step: Step, others: Sequence[Step], intervention: Intervention, neutral: str
) -> Change | None:
    if intervention == "drop":
        return Change(kind="skip")
    texts = [neutral] if intervention == "neutral" else [one.text for one in others]
    if not step.text or intervention == "tool-result":
        return None
    text = next((one for one in texts if one not in {"", step.text}), "")
    return Change(kind="input", value=text) if text else None


# One run and its outcome: the recorded one, another one, or one that does not count. Pure.


UndefinedKind = Literal["prefix", "time", "crash", "unanswered", "refused", "oracle", "unpublished"]

UNDEFINED: dict[UndefinedKind, str] = {
    "prefix": "the run was not the recorded one before the change",
    "time": "the program did not end in time",
    "crash": "the program crashed",
    "unanswered": "a question had no answer",
    "refused": "a question to the live provider was refused",
    "oracle": "the oracle gave no answer",
    "unpublished": "the run could not be kept",
}
"""Why a run does not count."""

PASSING: frozenset[str] = frozenset(("prefix",))
"""Reasons that a busy machine may cause: such a run is tried once more."""

_FIRST_SIGNAL_STATUS = 129  # 128 + n, as shells report a program that signal n ended
_LAST_SIGNAL_STATUS = 128 + 64
_CRASHED = re.compile(  # also after program output without an end of line
    r"Traceback \(most recent call last\):$"  # Python
    r"|thread '[^'\n]{0,200}'.{0,40} panicked at "  # Rust
    r"|goroutine \d{1,9} \[running\]:$"  # Go
    r"|^Node\.js v\d{1,4}\."  # Node's last line after an error that nothing caught
    r"|Exception in thread \"",  # Java
    re.MULTILINE,
)


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """A run to make: ``number`` counts runs with one name at one step, from 1."""

    at: ForkPlace
    name: str
    change: Change
    number: int

    @property
    def file_name(self) -> str:
        """The file name of the child, if it is kept."""
        return f"{self.at.kind}-{self.at.number}-{self.name}-{self.number}"


class Ran(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a run.

    Attributes:
        value: the oracle's outcome; None if the run does not count.
        undefined, detail: why it does not count.
        raised: for code in ``use_tape``: the exception that left its block, or its command.
        signature: a digest of everything that was compared, to see whether runs repeat.
        retried: whether an earlier attempt did not count.
    """

    value: str | None = None
    undefined: UndefinedKind | None = None
    detail: str = ""
    raised: str = ""
    signature: str = ""
    retried: bool = False


def crash(ended: ExitStatus | None, rows: Sequence[str], recorded: ExitStatus | None) -> str | None:
    """How a program crashed; None if it did not, or if the recorded one ended in the same way.

    A crash is a signal, a status above 128 (with which shells report a signal), or another status
    than 0 below the words with which a runtime reports an uncaught error.

    Args:
        ended: how it ended.
        rows: its last screen.
        recorded: how the recorded run ended.
    """
    if ended is None or ended == recorded:
        return None
    if ended.signaled:
        return f"signal {ended.signal}"
    if _FIRST_SIGNAL_STATUS <= ended.code <= _LAST_SIGNAL_STATUS:
        return f"status {ended.code}"
    found = _CRASHED.search("\n".join(rows)) if ended.code else None
    return f"status {ended.code} below {found[0]!r}" if found else None


# Choose the runs and their order: request them in batches, and take their results. Pure.


_SEE = "nothing can be blamed then; ptycassette rerun CASSETTE shows what differs"

Batch = list[Trial]
Results = Mapping[Trial, Ran]
"""The results of a batch; runs that the budget did not allow are left out."""


CHECKS = 3
"""Unmodified runs before anything else."""
_REPEATS = 2
"""How often an intervention that changed the outcome is repeated."""


class Experiment:
    """The runs that were made.

    Args:
        cells: all cells, in order; at least one.
        recorded: the outcome of the recording.
        pooled: the unmodified run is the same wherever it is forked, because the tail answers
            as recorded. Otherwise each step has its own.
        runs: runs of each intervention if the run is random.
        random: treat it as random without a check.

    Attributes:
        random: whether the run is random, as far as is known.
    """

    def __init__(
        self,
        cells: Sequence[Cell],
        *,
        recorded: str,
        pooled: bool,
        runs: int = 10,
        random: bool = False,
    ) -> None:
        self.cells, self.recorded = cells, recorded
        self.pooled, self.runs, self.random = pooled, runs, random
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
        """Keep the result of a run."""
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
        """The missing runs of interventions up to a count, in rounds that share a small budget."""
        return [
            Trial(at=cell.at, name=cell.intervention, change=cell.change, number=number)
            for number in range(1, count + 1)
            for cell in cells
            if number > len(self.of(cell))
        ]

    def flipped(self) -> list[Cell]:
        """Interventions with another outcome than their controls."""
        return [
            cell
            for cell in self.cells
            if (shown := _values(self.of(cell))) and shown != _values(self.controls(cell))
        ]

    def _control(self, cell: Cell, number: int) -> Trial:
        of = self.cells[0] if self.pooled else cell
        name = f"control-{of.control.kind}"
        return Trial(at=of.at, name=name, change=of.control, number=number)


def course(experiment: Experiment) -> Generator[Batch, Results, None]:
    """Request runs, and note their results in the experiment.

    Raises:
        DivergenceError: the unmodified run never counts, or always has another outcome.
    """
    cells = experiment.cells
    yield from _run(experiment, experiment.missing_controls(cells[:1], CHECKS))
    _check_unmodified(experiment)
    experiment.random = experiment.random or not _repeats(experiment.checks())
    if not experiment.random:
        yield from _run(
            experiment, [*experiment.missing_controls(cells, 1), *experiment.missing(cells, 1)]
        )
        again = experiment.flipped()
        yield from _run(experiment, experiment.missing(again, 1 + _REPEATS))
        experiment.random = any(len(_values(experiment.of(cell))) > 1 for cell in again)
    if experiment.random:
        controls = experiment.runs * (2 if experiment.pooled else 1)
        yield from _run(experiment, experiment.missing_controls(cells, controls))
        yield from _run(experiment, experiment.missing(cells, experiment.runs))


def _run(experiment: Experiment, batch: Batch) -> Generator[Batch, Results, None]:
    """Run one batch, and repeat runs that may have failed by accident."""
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
    """The outcome of a run without a change.

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
    is_fixed = experiment.pooled and not experiment.random and _repeats(ran)
    if is_fixed and experiment.recorded not in values:
        raise DivergenceError(
            f"the unmodified run has another outcome: {min(values)};"
            f" recorded is {experiment.recorded}",
            hint=f"{_SEE}; if it is random: --runs 10",
        )


def _values(runs: Sequence[Ran]) -> set[str]:
    return {ran.value for ran in runs if ran.value is not None}


def _repeats(runs: Sequence[Ran]) -> bool:
    """Whether the runs that count are equal; at least two are needed."""
    counted = [(ran.value, ran.signature) for ran in runs if ran.value is not None]
    return len(counted) > 1 and len(set(counted)) == 1
