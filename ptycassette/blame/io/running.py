"""One run of a blame, in a process of its own: a fork, and what the oracle says of its child."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import msgspec

from ptycassette.blame.io.oracles import Undecided, answer, last_rows
from ptycassette.blame.oracle import Oracle
from ptycassette.blame.runs import Ran, Trial, UndefinedKind, crash
from ptycassette.cassette.io.reader import open_cassette
from ptycassette.errors import (
    AmbiguousTapeError,
    CassetteError,
    DivergenceError,
    InputRefusedError,
    RunFailedError,
    SecretLeftError,
    SessionClosedError,
    WaitTimeoutError,
)
from ptycassette.fork.io.forking import fork
from ptycassette.fork.io.options import ForkOptions
from ptycassette.fork.report import ForkReport
from ptycassette.model.events import ExitStatus
from ptycassette.rerun.screens import ScreenJudge
from ptycassette.system.files.abandoned import temporary_folder

_OF_ONE_RUN = (
    AmbiguousTapeError,
    InputRefusedError,
    RunFailedError,
    SecretLeftError,
    SessionClosedError,
)
"""What may go wrong in one run alone. Everything else would in every run."""


_FAILS = frozenset(("AssertionError", "Failed"))
"""How a test says that something is wrong, which is an outcome (``pytest.fail`` is the second)."""


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """All that a run needs to know.

    Attributes:
        parent: the cassette that is blamed, and ``ended``, how its program ended.
        options: how it is forked, but for where and with what.
        trial: where and with what.
        oracle: who is asked.
        oracle_s: how long the command of an oracle may take.
        kept: the folder for its child; None to remove it.
        raised: of code in ``use_tape``: the exception that ends it where nothing is changed, any
            other one is a crash; None where that is not known yet.
    """

    parent: str
    ended: ExitStatus | None
    options: ForkOptions
    trial: Trial
    oracle: Oracle
    oracle_s: float = 60.0
    kept: str | None = None
    raised: str | None = None


Forked = Callable[[Job, Path, ForkOptions], ForkReport]
"""Forks the parent of a job; the path is the child."""
Said = Callable[[Oracle, Path, ForkReport], str | None]
"""What an oracle answers of a run; None where ``answer`` knows it."""


def run_job(job: Job, forked: Forked | None = None, said: Said = lambda *_: None) -> Ran:
    """Make one run.

    Args:
        job: what to do.
        forked: forks the parent; the recorded program is run when None.
        said: what an oracle answers where no program was run.

    Raises:
        CassetteError: what would be so in every run: nobody trusts the cassette, the program is
            not there, the disk is full.
    """
    with ExitStack() as stack:
        folder = job.kept or stack.enter_context(temporary_folder())
        return _run(job, Path(folder) / job.trial.file_name, forked or _of_program, said)


def _of_program(job: Job, child: Path, options: ForkOptions) -> ForkReport:
    with open_cassette(job.parent, check="manifest") as parent:
        return fork(parent, child, options)


def _run(job: Job, child: Path, forked: Forked, said: Said) -> Ran:
    options = msgspec.structs.replace(
        job.options, at=job.trial.at, change=job.trial.change, overwrite=True
    )
    if job.kept is not None:
        run = msgspec.structs.replace(options.run, made=(*options.run.made, Path(job.kept)))
        options = msgspec.structs.replace(options, run=run)
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
        value = said(job.oracle, child, report)
        if value is None:
            value = answer(job.oracle, child, timeout_s=job.oracle_s)
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
    """A digest of how a run went: its end, its questions, the words of its last screen.

    Their order does not count: on a busy machine an input may be echoed before a prompt, or after.
    """
    words = sorted(" ".join(ScreenJudge().normal(rows)).split())
    seen = (report.exit, report.requests, report.inputs, words)
    return hashlib.sha256(msgspec.json.encode(seen)).hexdigest()
