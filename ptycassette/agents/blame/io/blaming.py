"""``blame``: find the exchange that caused the outcome, by changing one after the other."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, nullcontext, suppress
from pathlib import Path
from typing import Any

import msgspec

from ptycassette.agents.blame.meter import Meter, share
from ptycassette.agents.blame.oracle import Oracle
from ptycassette.agents.blame.report import (
    SESSIONS,
    BlameReport,
    Count,
    PlantedSession,
    ValidationReport,
    judged,
    validated,
)
from ptycassette.agents.blame.steps import (
    CHECKS,
    Cell,
    Experiment,
    Intervention,
    Ran,
    Step,
    Trial,
    UndefinedKind,
    cells_of,
    course,
    crash,
    outcome_of,
)
from ptycassette.agents.faults.provider import last_call
from ptycassette.agents.fork.io.forking import fork
from ptycassette.agents.fork.io.live import ForkOptions
from ptycassette.agents.fork.places import Change, ForkPlace
from ptycassette.agents.fork.report import ForkReport
from ptycassette.agents.harness.fake.script import Script
from ptycassette.agents.harness.io.fake_provider import FakeProviderServer
from ptycassette.agents.rerun.io.preparing import admit, prepared_rerun
from ptycassette.agents.rerun.screens import ScreenJudge
from ptycassette.cassette.io.reader import Cassette, open_cassette
from ptycassette.cassette.timeline.exchange_cutting import exchanges
from ptycassette.errors import (
    AmbiguousTapeError,
    CassetteError,
    DivergenceError,
    InputRefusedError,
    NotFoundError,
    RunFailedError,
    SecretLeftError,
    SessionClosedError,
    SessionError,
    UsageError,
    WaitTimeoutError,
)
from ptycassette.keys.names import PASTE_END
from ptycassette.keys.quantities import time_text
from ptycassette.model.re2_engine import PatternError, file_pattern
from ptycassette.model.records import ExitStatus, decoded_json
from ptycassette.model.tape import TapeEntry
from ptycassette.model.visible_text import visible, visible_bytes
from ptycassette.recording.io.recording import record
from ptycassette.replaying.scenario.evaluation import check_scenario
from ptycassette.replaying.scenario.io import evidence_of, load_scenario
from ptycassette.system.files.locks import temporary_folder
from ptycassette.system.interpreter import python_command
from ptycassette.system.network import guarded_command
from ptycassette.system.workers import WorkerEndedError, Workers

# Ask an oracle about a cassette: its answer is a word to compare with the recording's.


_TRUE, _FALSE = 0, 1


class Undecided(Exception):  # noqa: N818 - no error of the caller's
    """The oracle gives no answer; the text is the reason."""


def answer(oracle: Oracle, path: Path, *, timeout_s: float) -> str:
    """The outcome of a recording.

    Args:
        oracle: the source of the outcome.
        path: the cassette.
        timeout_s: the time limit for a command.

    Raises:
        Undecided: it gives no answer.
        UsageError: the oracle itself is wrong: there is no such scenario, command or pattern.
    """
    match oracle.kind:
        case "exit":
            return _exit(path)
        case "text":
            return _text(oracle.value, path)
        case "scenario":
            return _scenario(oracle.value, path)
        case "command":
            return _command(oracle.words, path, timeout_s)


def exit_text(status: ExitStatus | None) -> str:
    """How a program ended."""
    if status is None:
        return "no end"
    return f"signal {status.signal}" if status.signaled else f"status {status.code}"


def last_rows(path: Path) -> tuple[str, ...]:
    """The last screen of a cassette."""
    with open_cassette(path, check="manifest") as cassette:
        rows: tuple[str, ...] = ()
        for frame in cassette.frames():
            rows = tuple(frame.text)
    return rows


def _exit(path: Path) -> str:
    with open_cassette(path, check="manifest") as cassette:
        return exit_text(cassette.final.exit)


def _text(pattern: str, path: Path) -> str:
    """Whether the last answer matches; without a profile that finds it, the screen counts."""
    with open_cassette(path, check="manifest") as cassette:
        text = cassette.final.final_text
    return text_outcome(pattern, "\n".join(last_rows(path)) if text is None else text)


def text_outcome(pattern: str, shown: str) -> str:
    """Whether a text matches a pattern.

    Raises:
        UsageError: the pattern is wrong.
    """
    try:
        found = file_pattern(pattern, multiline=True)
    except PatternError as wrong:
        raise UsageError(f"the pattern of the oracle: {wrong}") from wrong
    is_there = next(found.matches(shown, max_steps=None), None) is not None
    return "it is there" if is_there else "it is not there"


def _scenario(name: str, path: Path) -> str:
    scenario = msgspec.structs.replace(
        load_scenario(name, bound=False),  # it is asked of children, which are other recordings
        expected_manifest_id=None,
        expected_content_digest=None,
    )
    try:
        outcome = check_scenario(scenario, evidence_of(path))
    except CassetteError as failed:
        raise Undecided(str(failed)) from failed
    return "passed" if outcome.passed else "failed"


def _command(words: tuple[str, ...], path: Path, timeout_s: float) -> str:
    """Status 0 is one answer, 1 the other, anything else no answer (as in ``git bisect run``)."""
    try:
        process = subprocess.Popen(
            guarded_command([*words, str(path)], os.environ),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError as failed:
        raise UsageError(f"the oracle cannot be started: {failed}") from failed
    try:
        status = process.wait(timeout_s)
    except subprocess.TimeoutExpired as late:
        raise Undecided(f"its command took more than {time_text(timeout_s)}") from late
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    if status not in {_TRUE, _FALSE}:
        raise Undecided(f"its command ended with {status}")
    return f"status {status}"


# The steps of a cassette: its exchanges, and its questions to a model.


_WIDTH = 60
_OK = 200
_GENERATES = (":generateContent", ":streamGenerateContent")
_COUNTS = "count_tokens"
_PASTE_START, _PASTE_END = "\x1b[200~", PASTE_END.decode()


def steps_of(cassette: Cassette) -> list[Step]:
    """The steps of a recording, in order.

    Left out are requests that ask no model (lists of models, counts of tokens), requests without an
    answer, and inputs that the user did not type.
    """
    found: list[tuple[int, Step]] = []
    for exchange in exchanges(cassette.events()):
        if exchange.inputs:
            what = visible_bytes(exchange.typed, limit=_WIDTH) or "no text"
            step = Step(
                at=ForkPlace("exchange", exchange.number),
                what=f"types {what}",
                text=_plain(exchange.typed),
            )
            found.append((exchange.first_seq, step))
    for one in cassette.tape() if cassette.has_tape else ():
        body = one.question()
        if _asks_a_model(one.entry, body):
            found.append((one.entry.seq, _request(one.entry, body)))
    return [step for _, step in sorted(found, key=lambda pair: pair[0])]


def _request(entry: TapeEntry, body: bytes) -> Step:
    tells = last_call(body) is not None
    what = f"{entry.method} {entry.target}" if entry.method else "message"
    return Step(
        at=ForkPlace("tape", entry.entry),
        what=f"asks {visible(what, limit=_WIDTH)}{', tells a result' if tells else ''}",
        route=f"{entry.kind} {entry.method} {entry.target.partition('?')[0]}",
        tells_result=tells,
    )


def _plain(typed: bytes) -> str:
    """Typed bytes as a text; empty if they contain keys that are not text."""
    try:
        text = typed.rstrip(b"\r\n").decode()
    except UnicodeDecodeError:
        return ""
    text = text.removeprefix(_PASTE_START).removesuffix(_PASTE_END)
    return text if text.isprintable() else ""


def _asks_a_model(entry: TapeEntry, body: bytes) -> bool:
    if entry.kind == "websocket" or (entry.kind == "http" and not _answered(entry)):
        return False
    path = entry.target.partition("?")[0]
    if path.endswith(_GENERATES):
        return True
    asked = decoded_json(body)
    model = asked.get("model") if isinstance(asked, dict) else None
    return _COUNTS not in path and isinstance(model, str)


def _answered(entry: TapeEntry) -> bool:
    return entry.answer is not None and entry.answer.status == _OK


# One run of a blame, in a process of its own: a fork, and the oracle's answer for its child.


_OF_ONE_RUN = (
    AmbiguousTapeError,
    InputRefusedError,
    RunFailedError,
    SecretLeftError,
    SessionClosedError,
)
"""Errors that may occur in one run only. All others would occur in every run."""


_FAILS = frozenset(("AssertionError", "Failed"))
"""Exceptions of a failed test, which is an outcome (``pytest.fail`` raises the second)."""


NEUTRAL = "OK."
"""The neutral text, unless another one is given."""


class BlameOptions(ForkOptions, frozen=True, kw_only=True):
    """The options of a blame. It sets ``at`` and ``change`` of each fork itself.

    Attributes:
        oracle: the source of the outcome.
        budget: the highest number of runs.
        steps: the steps to look at; all of them when empty.
        interventions: the interventions, in order.
        neutral: the neutral text.
        runs: runs of each intervention if the run is random; with ``random`` it is taken as that.
        random: treat the run as random without a check.
        jobs: how many runs are made at the same time.
        oracle_s: how long the command of an oracle may take.
        kept: the folder for the children; None to remove them.
    """

    oracle: Oracle
    budget: int
    steps: tuple[ForkPlace, ...] = ()
    interventions: tuple[Intervention, ...] = ("neutral", "drop", "tool-result", "swap")
    neutral: str = NEUTRAL
    runs: int = 10
    random: bool = False
    jobs: int = 4
    oracle_s: float = 60.0
    kept: Path | None = None


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """The data for one run.

    Attributes:
        parent: the recording that is blamed, and ``ended``, how its program ended.
        options: the options.
        trial: the place and the change.
        raised: for code in ``use_tape``: the exception that ends it without a change, any other one
            is a crash; None if that is not known yet.
    """

    parent: str
    ended: ExitStatus | None
    options: BlameOptions
    trial: Trial
    raised: str | None = None


Forked = Callable[[Job, Path, ForkOptions], ForkReport]
"""Forks the parent of a job; the path is the child."""
Said = Callable[[Oracle, Path, ForkReport], str | None]
"""Gives an oracle's answer for a run; None if ``answer`` can give it."""


def run_job(job: Job, forked: Forked | None = None, said: Said = lambda *_: None) -> Ran:
    """Make one run.

    Args:
        job: the data.
        forked: forks the parent; None runs the recorded program.
        said: gives the outcome if no program was run.

    Raises:
        CassetteError: an error that every run would have: the cassette is not trusted, the program
            does not exist, the disk is full.
    """
    with ExitStack() as stack:
        folder = job.options.kept or stack.enter_context(temporary_folder())
        return _run(job, Path(folder) / job.trial.file_name, forked or _of_program, said)


def _of_program(job: Job, child: Path, options: ForkOptions) -> ForkReport:
    with open_cassette(job.parent, check="manifest") as parent:
        return fork(parent, child, options)


def _run(job: Job, child: Path, forked: Forked, said: Said) -> Ran:
    options = msgspec.structs.replace(
        job.options, at=job.trial.at, change=job.trial.change, overwrite=True
    )
    if options.kept is not None:
        options = msgspec.structs.replace(options, made=(*options.made, Path(options.kept)))
    try:
        report = forked(job, child, options)
    except DivergenceError as differs:
        return _undefined("prefix", differs)
    except WaitTimeoutError as late:
        return _undefined("time", late)
    except _OF_ONE_RUN as failed:
        return _undefined("unpublished", failed)
    rows = last_rows(child)
    for kind, details in _spoilt(report, rows, job).items():
        if details:
            return Ran(undefined=kind, detail=_first_line(details[0]))
    try:
        value = said(options.oracle, child, report)
        if value is None:
            value = answer(options.oracle, child, timeout_s=options.oracle_s)
    except Undecided as nothing:
        return Ran(undefined="oracle", detail=_first_line(str(nothing)))
    return Ran(value=value, raised=report.raised, signature=_signature(report, rows))


def _spoilt(
    report: ForkReport, rows: tuple[str, ...], job: Job
) -> dict[UndefinedKind, tuple[str, ...]]:
    """Why a run does not count."""
    crashed = crash(report.exit, rows, job.ended)
    if job.raised is not None and report.raised not in {"", job.raised, *_FAILS}:
        crashed = crashed or report.raised
    return {
        "refused": report.refused,
        "unanswered": report.unanswered,
        "time": report.notes,
        "crash": () if crashed is None else (crashed,),
    }


def _undefined(kind: UndefinedKind, failed: CassetteError) -> Ran:
    return Ran(undefined=kind, detail=_first_line(failed.message))


def _first_line(text: str) -> str:
    return (text.replace("\\n", "\n").splitlines() or [""])[0]


def _signature(report: ForkReport, rows: tuple[str, ...]) -> str:
    """A digest of a run: its end, its questions, the words of its last screen.

    The order of words does not count: on a busy machine an input may be echoed before or after a
    prompt.
    """
    words = sorted(" ".join(ScreenJudge().normal(rows)).split())
    seen = (report.exit, report.requests, report.inputs, words)
    return hashlib.sha256(msgspec.json.encode(seen)).hexdigest()


class BlamedCode(msgspec.Struct, frozen=True, kw_only=True):
    """How to blame a recording of code instead of a recorded program.

    Attributes:
        steps: gives the steps of a recording.
        run: makes one run; workers call it, so it must be importable.
        loading: the module of ``run``, which workers load.
    """

    steps: Callable[[Cassette], list[Step]]
    run: Callable[[Job], Ran]
    loading: str


def workers(jobs: int, *, loading: str = "ptycassette.agents.blame.io.blaming") -> Workers:
    """Processes for runs, so that each run has its own threads, signals and folders."""
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
        options: the options.
        pool: existing workers; new ones when None.
        code: how to run code instead of a recorded program.

    Raises:
        RefusedError: the caller did not confirm that the cassette is trusted. Nothing was started.
        NotFoundError: there is no such step.
        UsageError: the oracle, the budget, or a limit is wrong, or there is nothing to change.
        DivergenceError: the unmodified run does not have the recorded outcome.
        CassetteError: as for ``fork``, for errors that every run would have.
    """
    began_s = time.monotonic()
    if options.budget <= CHECKS:
        raise UsageError(
            f"a budget of {options.budget} runs is too small",
            hint=f"the unmodified run alone is made {CHECKS} times",
        )
    shared = _shared(options)
    with open_cassette(path, check="manifest") as cassette:
        admit(cassette)
        if code is None and not options.trusted:
            with prepared_rerun(cassette, options, tapeless=True):
                pass  # it refuses, and shows what would be run
        steps = _chosen(steps_of(cassette) if code is None else code.steps(cassette), options)
        ended = cassette.final.exit
    cells, meter = _cells(steps, options), Meter(options.budget)
    raised: str | None = None

    def job_of(trial: Trial) -> Job:
        return Job(
            parent=str(path),
            ended=ended,
            options=shared,
            trial=trial,
            raised=raised,
        )

    loading = {} if code is None else {"loading": code.loading}
    one_run = run_job if code is None else code.run
    made = workers(options.jobs, **loading) if pool is None else nullcontext(pool)
    with made as processes:
        if code is None:
            recorded = _recorded_outcome(path, options)
        else:  # a test must run to give its verdict on the recording
            first = Trial(at=cells[0].at, name="as-recorded", change=Change(kind="none"), number=1)
            ran = _run_all(processes, {first: job_of(first)}, meter, one_run)[first]
            recorded, raised = outcome_of(ran), ran.raised
        tail = options.tail
        experiment = Experiment(
            cells,
            recorded=recorded,
            pooled=tail == "held" or (tail == "scripted" and options.script is None),
            runs=options.runs,
            random=options.random,
        )
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


def _shared(options: BlameOptions) -> BlameOptions:
    """The options of each run; a live tail may use its share of the limit."""
    if options.tail != "live":
        return options
    live = options.live
    limit = share(live.terms.limit, options.budget)
    terms = msgspec.structs.replace(live.terms, limit=limit)
    return msgspec.structs.replace(options, live=msgspec.structs.replace(live, terms=terms))


def _chosen(steps: list[Step], options: BlameOptions) -> list[Step]:
    known = {step.at for step in steps}
    for place in options.steps:
        if place not in known:
            raise NotFoundError(
                f"there is no step {place} that can be changed",
                hint="ptycassette fork --places CASSETTE lists the places",
            )
    return [step for step in steps if not options.steps or step.at in options.steps]


def _cells(steps: Sequence[Step], options: BlameOptions) -> list[Cell]:
    reads = options.tail in {"fake", "live"} or options.script is not None
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
    """The results of a batch, in order; runs that the budget does not allow are left out."""
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
        tail="script" if options.script else options.tail,
        neutral=options.neutral,
        deterministic=not experiment.random,
        control=Count.of(experiment.checks(), experiment.recorded),
        budget=options.budget,
        steps=tuple(labelled[str(step.at)] for step in shown),
        texts=tuple(step.what for step in shown),
        shams=tuple(judged(experiment, shams=True)),
    )


# ``blame --validate``: record sessions with planted causes, blame them, and count.


_AGENT = Path(__file__).parent / "planted_agent.py"
_BUDGET = 400
_WAIT_S = 60.0
_END_S = 60.0
_PATIENCE_S = 30.0


def validate(*, jobs: int, sessions: tuple[PlantedSession, ...] = SESSIONS) -> ValidationReport:
    """Record the sessions, blame them, and compare the result with the planted causes.

    Args:
        jobs: how many runs are made at the same time.
        sessions: the sessions.

    Raises:
        CassetteError: a session could not be recorded, or could not be run again.
    """
    began_s = time.monotonic()
    with (
        temporary_folder() as folder,
        workers(jobs) as pool,
        ThreadPoolExecutor(len(sessions)) as threads,
    ):
        futures: list[Future[BlameReport]] = [
            threads.submit(_validated, session, folder, pool) for session in sessions
        ]
        try:
            reports = [future.result() for future in futures]
        except BaseException:
            pool.close()
            raise
    pairs = list(zip(sessions, reports, strict=True))
    return validated(pairs, seconds=time.monotonic() - began_s)


def _validated(session: PlantedSession, folder: Path, pool: Workers) -> BlameReport:
    parent = folder / f"{session.name}.cassette"
    pool.submit(record_session, session, parent).result()
    script = None
    if session.tail == "scripted":
        script = folder / f"{session.name}.toml"
        script.write_text(session.script, encoding="utf-8")
    options = BlameOptions(
        oracle=Oracle(kind="exit"),
        budget=_BUDGET,
        steps=tuple(map(ForkPlace.parse, session.steps)),
        interventions=session.interventions,
        random=session.is_random,
        tail=session.tail,
        script=script,
        trusted=True,
        patience_s=_PATIENCE_S,
    )
    return blame(parent, options, pool=pool)


def record_session(session: PlantedSession, target: Path) -> None:
    """Record a session with the fake provider.

    With noise it is recorded again until it has the end without noise.
    """
    argv = [*python_command("-I", str(_AGENT)), session.rule]
    if session.noise:
        argv.append(str(session.noise))
    script = Script.parse(session.script, where=session.name, variables={})
    with FakeProviderServer(script) as provider:
        options: dict[str, Any] = {
            "tape": provider.url,
            "cwd": target.parent,
            "probe_version": False,
            "overwrite": True,
        }
        while _ended_with(argv, target, session, options) and session.causes:
            pass


def _ended_with(
    argv: list[str], target: Path, session: PlantedSession, options: dict[str, Any]
) -> int:
    with record(argv, target, **options) as run:
        for number, line in enumerate(session.typed, 1):
            run.wait_for_text(f"{number}> ", timeout_s=_WAIT_S)
            run.type(f"{line}\n")
        return run.wait_exit(timeout_s=_END_S).code
