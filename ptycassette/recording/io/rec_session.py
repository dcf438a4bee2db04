"""The session of ``rec``, between preflight and cassette: interactive or headless."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Self

import msgspec

from ptycassette.errors import (
    CassetteError,
    InputRefusedError,
    SessionClosedError,
    WaitTimeoutError,
)
from ptycassette.model.events import ExitStatus
from ptycassette.model.manifest import Manifest
from ptycassette.recording.input_script import ScriptStep
from ptycassette.recording.io._saving_signals import SavingSignals
from ptycassette.recording.io.recorder import Recorder
from ptycassette.recording.io.recording import Recording, recording_with
from ptycassette.recording.io.script_steps import perform, with_secret
from ptycassette.system.clock import monotonic_s
from ptycassette.system.priority import raised_priority
from ptycassette.system.pty.signals import (
    QUIET,
    STOPPING,
    TAKEN,
    disposition,
    exit_status,
    put_back,
    stop_self,
)
from ptycassette.system.pty.terminal import UserTerminal, WaitedSignals

if TYPE_CHECKING:
    from ptycassette.recording.io._interactive import PassThrough

_SILENCE_S = 0.3
_SILENCE_WITHOUT_INPUT_S = 1.0
_SETTLING_S = 2.0
"""How long input waits at most for a signal that came before it."""
_TURN_S = 0.001


class RecordingEnded(msgspec.Struct, frozen=True, kw_only=True):
    """How a recording ended. ``signal`` is the one that ended the recorder, if one did."""

    status: ExitStatus
    manifest: Manifest
    duration_us: int
    signal: int | None = None


def shell_status(status: ExitStatus) -> int:
    """The status that a shell reports: the program's own, or 128 plus the signal number."""
    if not status.signaled:
        return status.code
    for number in signal.valid_signals():
        if exit_status(number).signal == status.signal:
            return 128 + number
    return 128


def record_interactive(
    recorder: Recorder, *, fixed_size: bool, passes_signals: bool = False, secret_key: bytes = b""
) -> RecordingEnded:
    """Record in the user's terminal, which is on stdin and stdout.

    Args:
        recorder: entered.
        fixed_size: the program's terminal keeps its size.
        passes_signals: signals are passed to the program instead of ending it.
        secret_key: the bytes of the key that announces a secret; empty for none.

    Raises:
        CassetteError: as ``Recorder.start`` and ``Recorder.finish``.
    """
    with SavingSignals(recorder) as signals:
        relay, status = _relayed(
            recorder,
            signals,
            fixed_size=fixed_size,
            passes_signals=passes_signals,
            secret_key=secret_key,
        )
        t_us = relay.ended_us
        manifest = recorder.finish(t_us=t_us, status=status, failure=relay.failure)
    return RecordingEnded(status=status, manifest=manifest, duration_us=t_us, signal=relay.ended_by)


def _relayed(
    recorder: Recorder,
    signals: SavingSignals,
    *,
    fixed_size: bool,
    passes_signals: bool,
    secret_key: bytes,
) -> tuple[PassThrough, ExitStatus]:
    """Run the program in the user's terminal, to its end."""
    from ptycassette.recording.io._interactive import PassThrough
    from ptycassette.recording.io._user_signals import Streams

    plan = recorder.plan
    terminal = UserTerminal()
    out_fd = _own_description(1)
    try:
        with recorder.start() as child:
            signals.hold()  # the relay has handlers of its own, and gives these back
            relay = PassThrough(
                child,
                recorder.journal,
                clock=plan.clock,
                start_us=recorder.begin_now(),
                size=plan.size,
                streams=Streams(
                    out_fd=out_fd,
                    terminal=terminal,
                    channel=recorder.channel,
                    secret_key=secret_key,
                    fixed_size=fixed_size,
                    passes_signals=passes_signals,
                ),
                timeout_s=plan.timeout_s,
            )
            with raised_priority():
                return relay, relay.run()
    finally:
        if out_fd != 1:
            os.close(out_fd)


def _own_description(fd: int) -> int:
    """Open the terminal of ``fd`` again, so that O_NONBLOCK affects only us."""
    try:
        return os.open(os.ttyname(fd), os.O_WRONLY | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return fd  # not ours to open; writing blocks then


def record_headless(
    recorder: Recorder,
    steps: Sequence[ScriptStep] | None,
    *,
    in_fd: int | None = None,
    passes_signals: bool = False,
) -> RecordingEnded:
    """Record without a user's terminal: the recorder answers the program's questions itself.

    Args:
        recorder: not entered.
        steps: the input script; None to wait for the end.
        in_fd: input for the program, read until its end.
        passes_signals: signals are passed to the program instead of ending it.

    Raises:
        UsageError: the source of a step's secret does not exist.
    """
    steps = [with_secret(step) for step in steps or ()]
    with (
        _EndingSignals(recorder, passes=passes_signals) as ending,
        recording_with(recorder) as session,
    ):
        ending.watch(session)
        if in_fd is not None:
            threading.Thread(target=_feed, args=(session, in_fd, ending), daemon=True).start()
        try:
            for step in steps:
                perform(session, step)
        except CassetteError:
            if ending.number is None:
                raise
        _wait_for_end(session)
    status = session.exit_status
    assert status is not None  # noqa: S101 - the session is closed
    assert session.manifest is not None  # noqa: S101 - and published
    return RecordingEnded(
        status=status,
        manifest=session.manifest,
        duration_us=session.elapsed_us,
        signal=ending.number,
    )


class _EndingSignals:
    """While entered, signals that would end the recorder end the program, and are remembered.

    The recording of a cancelled job is saved.
    Entered before the program starts, because its output may be seen before
    there is a session to ``watch``.
    """

    def __init__(self, recorder: Recorder, *, passes: bool = False) -> None:
        self._recorder = recorder
        self._session: Recording | None = None
        self._before: dict[int, Any] = {}
        self._passes = passes
        self._waited = WaitedSignals(lambda number: self._came(number, None))
        self._early: list[int] = []
        self._passing: list[int] = []
        self._queue: SimpleQueue[int] = SimpleQueue()
        self._passes_on = False
        self.number: int | None = None

    def watch(self, session: Recording) -> None:
        """End this session on a signal, or pass it on; at once, if one came already."""
        self._session = session
        if self.number is not None:
            session.request_end()
        while self._early:
            self._came(self._early.pop(0), None)

    def __enter__(self) -> Self:
        for number in TAKEN - {signal.SIGTTIN, signal.SIGTTOU}:
            if signal.getsignal(number) is not signal.SIG_IGN:
                self._before[number] = signal.signal(number, self._came)
        self._waited.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._waited.stop()
        put_back(self._before)

    def _came(self, number: int, _: object) -> None:
        if self._session is not None and self._session.finished:
            # As in ``SavingSignals``.
            if number == signal.SIGINT and self._recorder.saving:
                raise KeyboardInterrupt
        elif self._passes and self._session is None:
            self._early.append(number)
        elif number in STOPPING:
            self._stop(number)
        elif self._passes and self._session is not None:
            self._pass(self._session, number)
        elif number not in QUIET:
            self.number = number
            if self._session is not None:
                self._session.request_end()

    def _pass(self, session: Recording, number: int) -> None:
        # In a thread of its own, because a signal may interrupt the main thread anywhere; in one
        # for all of them, because they have an order.
        self._passing.append(number)
        self._queue.put(number)
        if not self._passes_on:
            self._passes_on = True
            threading.Thread(target=self._pass_on, args=(session,), daemon=True).start()

    def _pass_on(self, session: Recording) -> None:
        while True:
            number = self._queue.get()
            try:
                with suppress(CassetteError):  # it is over
                    session.signal(number)
            finally:
                self._passing.remove(number)

    def settle(self) -> None:
        """Wait until the program has the signals that came before this call.

        For another thread than the main one, with all signals blocked: input that the driver
        wrote after a signal must not reach the program before it.
        """
        if not self._passes:
            return
        end_s = monotonic_s() + _SETTLING_S
        while signal.sigpending() & self._before.keys() and monotonic_s() < end_s:
            time.sleep(_TURN_S)
        time.sleep(_TURN_S)  # the main thread was interrupted, and its handler is next
        while self._passing and monotonic_s() < end_s:
            time.sleep(_TURN_S)

    def _stop(self, number: int) -> None:
        """Stop the program and this process, as in ``UserSignals``."""
        pid = None if self._session is None else self._session.pid
        if pid is None:
            stop_self(number)
            return
        # Asked before: a program that handles the signal may end at once.
        does = disposition(pid, number)
        if self._passes and self._session is not None:
            self._pass(self._session, number)
        if does == "default":
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP)
                stop_self(number)
                os.kill(pid, signal.SIGCONT)


def _wait_for_end(session: Recording) -> None:
    while True:
        with suppress(WaitTimeoutError):
            session.wait_exit(timeout_s=3600)
            return


def _feed(session: Recording, in_fd: int, signals: _EndingSignals) -> None:
    """Send the program the bytes of ``in_fd``, then the end of input.

    The end is ctrl-d, as at a terminal. A program that is starting or busy could miss it, so
    it is sent once the program has been silent. After an unfinished line the first ctrl-d only
    passes the line on, and the second one is the end.
    """
    last = b""
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    try:
        while data := os.read(in_fd, 1024):
            signals.settle()
            _send_piece(session, data)
            last = data[-1:]
        silence_s = _SILENCE_S if last else _SILENCE_WITHOUT_INPUT_S
        session.wait_stable(silence_s * 1000, timeout_s=3600)
        if last not in {b"", b"\n", b"\r"}:
            session.send_key("ctrl-d", source="user")
        session.send_key("ctrl-d", source="user")
    except SessionClosedError:
        pass  # it ended before its input did
    except (CassetteError, OSError) as exc:
        with suppress(CassetteError):
            session.note({"type": "ptycassette.warning", "channel": "stdin", "message": str(exc)})


def _send_piece(session: Recording, data: bytes) -> None:
    """Send a piece of input; before a line gets too long, have the program read its beginning."""
    try:
        session.send(data, source="user", timeout_s=3600)
    except InputRefusedError:
        session.send_key("ctrl-d", source="user")
        session.send(data, source="user", timeout_s=3600)
