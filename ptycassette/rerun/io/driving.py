"""A rerun that somebody else drives: a test through a session, or a driver at the terminal.

What is typed is theirs. What the tape proves at the end is ours: see ``proof``.
"""

from __future__ import annotations

import os
import select
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Any, Protocol

import msgspec

from ptycassette.cassette.io.reader import Cassette
from ptycassette.errors import DivergenceError, SpawnError
from ptycassette.model.events import ExitStatus
from ptycassette.model.journal import JournalEvent, Resized, Signalled, Typed
from ptycassette.rerun.io.options import RerunOptions
from ptycassette.rerun.io.preparing import PreparedRerun, prepared_rerun
from ptycassette.rerun.io.rerunning import proof
from ptycassette.rerun.report import RerunReport, finding_lines
from ptycassette.session.options import child_environment
from ptycassette.system.files.state_dirs import current_dir
from ptycassette.system.ownership import owned_context
from ptycassette.system.pty.driver_signals import DriverSignals, hand_over_terminal
from ptycassette.system.pty.signals import exit_status

_LOOK_S = 0.5
"""How often one looks whether the terminal is still there."""
_GRACE_S = 3.0
"""How long a program has to end after each signal, once its terminal is gone."""

Proof = Callable[[ExitStatus | None], RerunReport]
"""What the tape proves of a run, asked for with the end of the program."""


class RunOf(Protocol):
    """Makes a run ready to be driven; ``typed``: the server learns when inputs are sent."""

    def __call__(
        self, cassette: Cassette, options: RerunOptions, *, typed: bool
    ) -> AbstractContextManager[tuple[PreparedRerun, Proof]]:
        """The run, and what it proves."""
        ...


@owned_context
def _as_recorded(
    cassette: Cassette, options: RerunOptions, *, typed: bool
) -> Iterator[tuple[PreparedRerun, Proof]]:
    with prepared_rerun(cassette, options, typed=typed, recorded=False) as prepared:
        yield prepared, lambda status: proof(prepared, cassette, status)


class DrivenRerun(msgspec.Struct, frozen=True, kw_only=True):
    """A run that is ready to be driven. ``argv`` and ``options`` are for a session.

    ``proof`` is what the tape proves, to be asked for with the end of the program.
    """

    argv: tuple[str, ...]
    options: dict[str, Any]
    proof: Proof


@owned_context
def driven_rerun(
    cassette: Cassette,
    argv: Sequence[str] = (),
    *,
    cwd: str | os.PathLike[str] | None = None,
    env: Mapping[str, str] | None = None,
    harness: str | None = None,
    run_of: RunOf = _as_recorded,
) -> Iterator[DrivenRerun]:
    """Run the recorded program in a session of the caller's, who trusts the cassette.

    Args:
        cassette: with a tape.
        argv: what to run; as recorded when empty.
        cwd: the work folder; the current one when None.
        env: to add to its environment.
        harness: the profile's name; that of the recording when None.
        run_of: makes the run ready; answered as recorded by default.

    Raises:
        CassetteError: what ``prepared_rerun`` raises.
    """
    options = RerunOptions(
        trusted=True,
        argv=tuple(argv),
        harness=harness,
        cwd=current_dir() / (cwd or ""),
        environment=env or {},
    )
    with run_of(cassette, options, typed=True) as (prepared, proves):
        yield DrivenRerun(
            argv=prepared.place.argv,
            options={**prepared.session_options(), "tap": _InputCount(prepared.server.sent)},
            proof=proves,
        )


class TapeOnlyRun(msgspec.Struct, frozen=True, kw_only=True):
    """What a program did that its driver typed at; ``findings`` are lines, none when it passed."""

    report: RerunReport
    exit: ExitStatus

    @property
    def findings(self) -> tuple[str, ...]:
        """Everything that differs."""
        return tuple(finding_lines(self.report))


def run_tape_only(
    cassette: Cassette, options: RerunOptions, *, run_of: RunOf = _as_recorded
) -> TapeOnlyRun:
    """Run the program in the terminal and with the signals of this process.

    Args:
        cassette: with a tape.
        options: how; the work folder is the current one when None.
        run_of: makes the run ready; answered as recorded by default.

    Raises:
        CassetteError: what ``prepared_rerun`` raises.
    """
    chosen = msgspec.structs.replace(options, cwd=options.cwd or current_dir())
    with (
        run_of(cassette, chosen, typed=False) as (prepared, proves),
        DriverSignals() as signals,
    ):
        place = prepared.place
        term = os.environ.get("TERM") or prepared.term or "xterm-256color"
        environment = child_environment(clean=True, extra=place.environment, term=term)
        path = shutil.which(place.argv[0], path=environment.get("PATH", os.defpath))
        if path is None:
            raise SpawnError(f"{place.argv[0]} is not there, or cannot be executed")
        started = subprocess.Popen(
            place.network.command(path, place.argv) if place.network else place.argv,
            cwd=place.cwd,
            env=environment,
            process_group=0,
        )
        with started as process:
            if os.isatty(0):
                hand_over_terminal(process.pid)
            signals.pass_to(process.pid)
            code = _wait(process)
        status = exit_status(-code if code < 0 else code << 8)
        return TapeOnlyRun(report=proves(status), exit=status)


def _wait(process: subprocess.Popen[bytes]) -> int:
    """Wait for the program; when the terminal is gone, end it if it does not end by itself.

    A program that ignores SIGHUP, or is the first process of a namespace, would go on for ever
    without anybody who could see or end it.
    """
    terminal = next((fd for fd in (0, 1, 2) if os.isatty(fd)), None)
    if terminal is None:
        return process.wait()
    poll = select.poll()
    poll.register(terminal, 0)  # a hangup is always reported
    with _ended_fd(process.pid) as ended:
        if ended is not None:
            poll.register(ended, select.POLLIN)
        while process.poll() is None:
            if any(fd == terminal for fd, _ in poll.poll(None if ended is not None else 0)):
                return _end(process)
            with suppress(subprocess.TimeoutExpired):
                process.wait(_LOOK_S)
    return process.wait()


@contextmanager
def _ended_fd(pid: int) -> Iterator[int | None]:
    """A descriptor that is readable once a process has ended; None where there are none (macOS)."""
    try:
        fd = os.pidfd_open(pid)
    except (AttributeError, OSError):
        yield None
        return
    try:
        yield fd
    finally:
        os.close(fd)


def _end(process: subprocess.Popen[bytes]) -> int:
    """End the program and its process group, more firmly each time."""
    for number in (signal.SIGHUP, signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, number)
        with suppress(subprocess.TimeoutExpired):
            return process.wait(_GRACE_S)
    return process.wait()


def rerun_error(report: RerunReport, *, where: str) -> DivergenceError:
    """What differs, as an exception."""
    first = f"the program did something else than its tape has (network: {report.guard})"
    return DivergenceError(
        "\n".join([first, *(f"  {line}" for line in finding_lines(report))]),
        where=where,
        hint="if the change is intended, record again; rules declare what may vary (docs/tape.md)",
    )


class _InputCount:
    """A tap that counts inputs, for the pieces of answers that came after one."""

    def __init__(self, sent: Callable[[int], None]) -> None:
        self._sent, self._count = sent, 0

    def on_output(self, t_us: int, data: bytes) -> None:
        """Output is not counted."""

    def on_event(self, event: JournalEvent) -> None:
        """Count what is a step of a recording: see ``script_of``."""
        if not isinstance(event, Typed | Resized | Signalled):
            return
        if isinstance(event, Typed) and event.source == "terminal":
            return
        self._count += 1
        self._sent(self._count)

    def on_idle(self) -> None:
        """Nothing is buffered."""
