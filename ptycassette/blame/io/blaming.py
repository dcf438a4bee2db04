"""``blame``: which exchange caused the outcome, by changing one after the other."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import nullcontext
from pathlib import Path

import msgspec

from ptycassette.blame.course import Experiment, Terms, course, outcome_of
from ptycassette.blame.io.oracles import Undecided, answer
from ptycassette.blame.io.reading_steps import steps_of
from ptycassette.blame.io.running import Job, run_job
from ptycassette.blame.labels import Count, judged
from ptycassette.blame.meter import Meter, share
from ptycassette.blame.oracle import Oracle
from ptycassette.blame.report import BlameReport
from ptycassette.blame.runs import Ran, Trial
from ptycassette.blame.steps import Cell, Intervention, Step, cells_of
from ptycassette.cassette.io.reader import Cassette, open_cassette
from ptycassette.errors import NotFoundError, SessionError, UsageError
from ptycassette.fork.changes import Change
from ptycassette.fork.io.options import ForkOptions
from ptycassette.fork.places import ForkPlace
from ptycassette.rerun.io.preparing import admit, prepared_rerun
from ptycassette.system.workers import WorkerEndedError, Workers

NEUTRAL = "OK."
"""The neutral text, unless another one is given."""


class BlameOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How to blame.

    Attributes:
        oracle: who says what the outcome is.
        budget: how many runs there may be.
        fork: how the recording is forked, but for where and with what.
        at: the steps to look at; all of them when empty.
        interventions: what is done to them, in this order.
        neutral: the neutral text.
        runs: of each intervention if the run is random; with ``random`` it is taken as that.
        random: do not look whether it is.
        jobs: how many runs there are at a time.
        oracle_s: how long the command of an oracle may take.
        kept: the folder that the children are kept in; None to remove them.
    """

    oracle: Oracle
    budget: int
    fork: ForkOptions
    at: tuple[ForkPlace, ...] = ()
    interventions: tuple[Intervention, ...] = ("neutral", "drop", "tool-result", "swap")
    neutral: str = NEUTRAL
    runs: int = 10
    random: bool = False
    jobs: int = 4
    oracle_s: float = 60.0
    kept: Path | None = None


class BlamedCode(msgspec.Struct, frozen=True, kw_only=True):
    """How to blame a recording that no program of its own made.

    Attributes:
        steps: those of a recording.
        run: makes one run; workers call it, so it must be importable.
        loading: the module of ``run``, which workers load.
    """

    steps: Callable[[Cassette], list[Step]]
    run: Callable[[Job], Ran]
    loading: str


def workers(jobs: int, *, loading: str = "ptycassette.blame.io.running") -> Workers:
    """Processes for runs: each has its own threads, signals and folders."""
    return Workers(jobs, loading=loading)


def blame(
    path: Path,
    options: BlameOptions,
    *,
    pool: Workers | None = None,
    code: BlamedCode | None = None,
) -> BlameReport:
    """Find the steps of a recording that caused its outcome.

    Args:
        path: the cassette.
        options: how.
        pool: workers that are there already; its own when None.
        code: how code is run in place of a recorded program.

    Raises:
        RefusedError: nobody said that the cassette is trusted. Nothing was started.
        NotFoundError: there is no such step.
        UsageError: the oracle, the budget, or a limit is wrong, or there is nothing to change.
        DivergenceError: the unmodified run does not show the recorded outcome.
        CassetteError: as for ``fork``, where it would be so in every run.
    """
    began_s = time.monotonic()
    terms = Terms(
        pooled=options.fork.tail == "held"
        or (options.fork.tail == "scripted" and options.fork.script is None),
        runs=options.runs,
        random=options.random,
    )
    if options.budget <= terms.checks:
        raise UsageError(
            f"a budget of {options.budget} runs is too small",
            hint=f"the unmodified run alone is made {terms.checks} times",
        )
    fork_options = _shared(options)
    with open_cassette(path, check="manifest") as cassette:
        admit(cassette)
        if code is None and not options.fork.run.trusted:
            with prepared_rerun(cassette, options.fork.run, tapeless=True):
                pass  # it refuses, and says what would be run
        steps = _chosen(steps_of(cassette) if code is None else code.steps(cassette), options)
        ended = cassette.final.exit
    cells, meter = _cells(steps, options), Meter(options.budget)
    raised: str | None = None

    def job_of(trial: Trial) -> Job:
        return Job(
            parent=str(path),
            ended=ended,
            options=fork_options,
            trial=trial,
            oracle=options.oracle,
            oracle_s=options.oracle_s,
            kept=None if options.kept is None else str(options.kept),
            raised=raised,
        )

    loading = {} if code is None else {"loading": code.loading}
    one_run = run_job if code is None else code.run
    made = workers(options.jobs, **loading) if pool is None else nullcontext(pool)
    with made as processes:
        if code is None:
            experiment = Experiment(cells, terms, recorded=_recorded_outcome(path, options))
        else:  # what a test says of the recording is known by running it
            first = Trial(at=cells[0].at, name="as-recorded", change=Change(kind="none"), number=1)
            ran = _run_all(processes, {first: job_of(first)}, meter, one_run)[first]
            experiment = Experiment(cells, terms, recorded=outcome_of(ran))
            raised = ran.raised
        runs = course(experiment)
        try:
            batch = next(runs)
            while True:
                jobs = {trial: job_of(trial) for trial in batch}
                results = _run_all(processes, jobs, meter, one_run)
                batch = runs.send(results)
        except StopIteration:
            pass
    report = _report(path, options, experiment, steps)
    seconds = time.monotonic() - began_s
    return msgspec.structs.replace(report, runs=meter.used, stopped=meter.refused, seconds=seconds)


def _shared(options: BlameOptions) -> ForkOptions:
    """How each run is forked: a live tail may ask for its share of the limit."""
    if options.fork.tail != "live":
        return options.fork
    live = options.fork.live
    limit = share(live.terms.limit, options.budget)
    terms = msgspec.structs.replace(live.terms, limit=limit)
    return msgspec.structs.replace(options.fork, live=msgspec.structs.replace(live, terms=terms))


def _chosen(steps: list[Step], options: BlameOptions) -> list[Step]:
    known = {step.at for step in steps}
    for place in options.at:
        if place not in known:
            raise NotFoundError(
                f"there is no step {place} that can be changed",
                hint="ptycassette fork --places CASSETTE lists the places",
            )
    return [step for step in steps if not options.at or step.at in options.at]


def _cells(steps: Sequence[Step], options: BlameOptions) -> list[Cell]:
    reads = options.fork.tail in {"fake", "live"} or options.fork.script is not None
    cells = cells_of(steps, options.interventions, neutral=options.neutral, reads=reads)
    if not cells:
        raise UsageError(
            "there is nothing to change: no step of this recording takes these interventions"
        )
    return cells


def _recorded_outcome(path: Path, options: BlameOptions) -> str:
    try:
        return answer(options.oracle, path, timeout_s=options.oracle_s)
    except Undecided as nothing:
        raise UsageError(f"the oracle has no verdict on the recording: {nothing}") from nothing


def _run_all(
    pool: Workers, jobs: dict[Trial, Job], meter: Meter, one_run: Callable[[Job], Ran]
) -> dict[Trial, Ran]:
    """The results of a batch, in its order; those that the budget does not allow are left out."""
    futures: dict[Trial, Future[Ran]] = {
        trial: pool.submit(one_run, job) for trial, job in jobs.items() if meter.take()
    }
    try:
        return {trial: future.result() for trial, future in futures.items()}
    except WorkerEndedError as gone:
        raise SessionError("a process that made a run ended unexpectedly") from gone
    finally:
        for future in futures.values():
            future.cancel()


def _report(
    path: Path,
    options: BlameOptions,
    experiment: Experiment,
    steps: Sequence[Step],
) -> BlameReport:
    labelled = {one.at: one for one in judged(experiment)}
    shown = [step for step in steps if str(step.at) in labelled]
    return BlameReport(
        cassette=str(path),
        oracle=str(options.oracle),
        outcome=experiment.recorded,
        tail="script" if options.fork.script else options.fork.tail,
        neutral=options.neutral,
        deterministic=not experiment.random,
        control=Count.of(experiment.checks(), experiment.recorded),
        budget=options.budget,
        steps=tuple(labelled[str(step.at)] for step in shown),
        texts=tuple(step.what for step in shown),
        shams=tuple(judged(experiment, shams=True)),
    )
