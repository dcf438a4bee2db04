"""What an oracle answers of a cassette: a word that is compared with that of the recording."""

from __future__ import annotations

import os
import signal
import subprocess
from contextlib import suppress
from pathlib import Path

import msgspec

from ptycassette.blame.oracle import Oracle
from ptycassette.cassette.io.reader import open_cassette
from ptycassette.errors import CassetteError, UsageError
from ptycassette.keys.quantities import time_text
from ptycassette.model.events import ExitStatus
from ptycassette.model.file_patterns import file_pattern
from ptycassette.model.re2_engine import PatternError
from ptycassette.scenario.evaluation import check_scenario
from ptycassette.scenario.io import evidence_of, load_scenario
from ptycassette.system.network import guarded_command

_TRUE, _FALSE = 0, 1


class Undecided(Exception):  # noqa: N818 - no error of the caller's
    """The oracle gives no answer; the text says why."""


def answer(oracle: Oracle, path: Path, *, timeout_s: float) -> str:
    """What the outcome of a recording is.

    Args:
        oracle: who says it.
        path: the cassette.
        timeout_s: for a command.

    Raises:
        Undecided: it says nothing.
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
    """Whether the final text has it: the last answer where its profile knows it, or the screen."""
    with open_cassette(path, check="manifest") as cassette:
        text = cassette.final.final_text
    return text_outcome(pattern, "\n".join(last_rows(path)) if text is None else text)


def text_outcome(pattern: str, shown: str) -> str:
    """Whether a text has a pattern.

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
    """0 is one answer, 1 the other; anything else is none, as for ``git bisect run``."""
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
