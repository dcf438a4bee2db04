"""``record``: a program recorded while a block of Python drives it."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Self, Unpack

import msgspec

from ptycassette.errors import (
    CassetteError,
    InputRefusedError,
    SessionClosedError,
    UsageError,
    WaitTimeoutError,
)
from ptycassette.keys.quantities import time_text
from ptycassette.model.records import (
    DiscoveryRecord,
    ExitStatus,
    JournalEvent,
    Manifest,
    Noted,
    Output,
    Probed,
    QuotaRecord,
)
from ptycassette.model.visible_text import visible
from ptycassette.recording.input_script import ScriptStep
from ptycassette.recording.io.options import RecordOptions, RunSpec, run_spec
from ptycassette.recording.io.recorder import Recorder, SavingSignals, checked_payload
from ptycassette.recording.io.saver import Saver, StartedSaver, savers_wanted
from ptycassette.recording.session.base import SessionBase
from ptycassette.recording.session.session import Session, matches_in_file
from ptycassette.system.clock import MonotonicClock, monotonic_s
from ptycassette.system.files.whole_file import read_plain
from ptycassette.system.ownership import owned_context
from ptycassette.system.pty.process import PipedChild, PtyChild, raised_priority, spawn_piped
from ptycassette.system.pty.terminal import (
    QUIET,
    STOPPING,
    TAKEN,
    Scripted,
    UserTerminal,
    WaitedSignals,
    disposition,
    exit_status,
    put_back,
    stop_self,
)
from ptycassette.terminal.emulator import default_emulator

if TYPE_CHECKING:
    from ptycassette.profiles.profile import Submit
    from ptycassette.recording.io._interactive import PassThrough


class _Tap:
    """Passes the events of the pump to the journal first, then to the other listeners."""

    takes_secrets = True  # for the journal; typed input is not shown

    def __init__(self, recorder: Recorder) -> None:
        self._journal, self._saver = recorder.journal, recorder.saver
        self._show = recorder.plan.show
        self.on_idle = self._journal.on_idle

    def on_event(self, event: JournalEvent) -> None:
        """Append an event to the journal; bytes written to a pipe also count as output."""
        self._journal.on_event(event)
        if isinstance(event, Output):
            self._pass_on(event.data)

    def on_output(self, t_us: int, data: bytes) -> None:
        """Append output to the journal, then pass it on."""
        self._journal.on_output(t_us, data)
        self._pass_on(data)

    def _pass_on(self, data: bytes) -> None:
        if self._show is not None:
            self._show(data)
        if self._saver is not None:
            self._saver.journal_grew(self._journal.size)


class RecordingBase(SessionBase):
    """The methods of a recorded session that other sessions lack."""

    _recorder: Recorder

    def set_quota(self, quota: QuotaRecord) -> None:
        """Store the usage windows that the harness reported; the last call wins."""
        self._core.note(lambda t_us: Probed(t_us, quota=quota))

    def set_discovery(self, discovery: DiscoveryRecord) -> None:
        """Store the models and levels that the harness offers; the last call wins."""
        self._core.note(lambda t_us: Probed(t_us, discovery=discovery))

    def set_final(
        self,
        *,
        usage: dict[str, Any] | None = None,
        cost_usd: float | None = None,
        final_text: str | None = None,
        metadata: dict[str, Any] | None = None,
        routing_actual: str | None = None,
        session_log_path: str | None = None,
    ) -> None:
        """Set fields of the final record besides the exit. None leaves a field unchanged."""
        self._recorder.set_final(
            usage=usage,
            cost_usd=cost_usd,
            final_text=final_text,
            metadata=metadata,
            routing_actual=routing_actual,
            session_log_path=session_log_path,
        )

    @property
    def manifest(self) -> Manifest | None:
        """The manifest of the published cassette; None before."""
        return self._recorder.manifest

    def _noted(self, payload: Any) -> Any:
        # Checked now, because a journal with it could never become a cassette.
        return super()._noted(checked_payload(payload))

    def listen(self) -> None:
        """Take events of the side channel as they arrive; for a scripted PTY at the end."""
        if self._recorder.plan.pty is not None:
            return

        def take(payload: Any) -> None:
            self._core.note(lambda t_us: Noted(t_us, payload))

        self._recorder.channel.start_thread(take)

    def complete(self) -> Manifest:
        """Publish the session, which has ended."""
        recorder = self._recorder
        recorder.channel.stop_thread()
        recorder.note_side_events(self.elapsed_us)
        limit_s = recorder.plan.timeout_s or 0.0
        failure = f"timeout: not over after {time_text(limit_s)}" if self.timed_out else None
        return recorder.finish(t_us=self.elapsed_us, status=self.exit_status, failure=failure)


class Recording(RecordingBase, Session):
    """A session that is being recorded."""


@owned_context
def record(
    argv: Sequence[str], target: str | os.PathLike[str], **options: Unpack[RecordOptions]
) -> Iterator[Recording]:
    """Record a program while the block drives it; publish the cassette when the block is left.

    A program that still runs at the end of the block is ended (SIGTERM, then
    SIGKILL). When the block raises, there is a diagnostic directory
    ``TARGET.diagnostic`` instead of a cassette, and the exception propagates.

    Args:
        argv: the program and its arguments; no shell is involved.
        target: the directory to publish.
        **options: see ``RecordOptions``.

    Raises:
        RefusedError: a check failed; nothing was written or started.
        SpawnError: no such program (127), not executable (126).
        RunFailedError: the run failed (a timeout, an exception in the block).
        SecretLeftError: scrubbing left something; nothing was published.
        StorageError: the disk refused; the journal is kept for ``recover``.
    """
    with recorded(argv, target, run_spec(**options)) as session:
        yield session


@owned_context
def recorded(
    argv: Sequence[str], target: str | os.PathLike[str], spec: RunSpec
) -> Iterator[Recording]:
    """As ``record``, with the options in one piece."""
    with recording_with(Recorder(argv, target, spec, saver=saver_for(spec))) as session:
        yield session


@owned_context
def recording_with(recorder: Recorder) -> Iterator[Recording]:
    """As ``record``, with an existing recorder that is not entered yet."""
    with recorder:
        pty, wiring = started(recorder)
        session = Recording.over(pty, **wiring)
        try:
            session._recorder = recorder  # noqa: SLF001 - made here
            session.listen()
            yield session
            session.close()
        except BaseException as exc:
            give_up(recorder, exc, session)
            raise
        session.complete()


def saver_for(plan: RunSpec) -> Saver | None:
    """A saver that may be started later; None if only this process can do its work.

    A caller's own emulator, scrubber, hook or clock cannot be passed to another process.
    """
    ours = (
        savers_wanted()
        and plan.emulator is default_emulator
        and plan.scrubber is None
        and plan.before_record is None
        and plan.pty is None
        and isinstance(plan.clock, MonotonicClock)
    )
    return StartedSaver() if ours else None


def started(recorder: Recorder) -> tuple[PtyChild | PipedChild | Scripted, Any]:
    """Start the program, or take the scripted PTY in its place.

    Returns:
        It, and the other parts of a recorded session.
    """
    plan = recorder.plan
    # First, because it takes time, and the program's output gets its time when it is read.
    emulator = plan.emulator(plan.size)
    return _program(recorder), {
        "size": plan.size,
        "timeout_s": plan.timeout_s,
        "tap": _Tap(recorder),
        "clock": plan.clock,
        "start_us": recorder.begin_now(),
        "sleeper": plan.sleeper,
        "emulator": lambda _: emulator,
    }


def _program(recorder: Recorder) -> PtyChild | PipedChild | Scripted:
    plan = recorder.plan
    if plan.pty is not None:
        return plan.pty
    if plan.streams is None:
        return recorder.start()
    return spawn_piped(plan.streams, lambda streams: recorder.start(streams=streams, lingers=True))


def give_up(recorder: Recorder, exc: BaseException, session: Recording | None) -> None:
    """End the session and write the diagnostic; its path is added to ``exc``."""
    if session is not None:
        with suppress(CassetteError):
            session.close()
    recorder.channel.stop_thread()
    if recorder.journal.failure is not None:
        # The driver is not at fault, and the recording may still become a cassette.
        exc.add_note(f"the recording up to here: ptycassette recover {recorder.journal.path}")
        return
    try:
        path = recorder.fail(f"{type(exc).__name__}: {exc}", stage="driver")
    except CassetteError as worse:
        exc.add_note(f"no diagnostic: {worse}; the journal is {recorder.journal.path}")
    else:
        exc.add_note(f"what was recorded until then: {path}")


# Performs the steps of an input script in a session.


_MAX_SECRET_BYTES = 64 << 10
_ECHO_CHARS = 16
_ECHO_TIMEOUT_S = 2.0


def perform(session: Recording, step: ScriptStep) -> None:
    """One step of an input script.

    Raises:
        WaitTimeoutError: a wait timed out; the message has the line.
        SessionError, InputRefusedError: the program cannot take it.
    """
    try:
        _perform(session, step)
    except CassetteError as exc:
        exc.where = f"script line {step.line}"
        raise


def _perform(session: Recording, step: ScriptStep) -> None:
    match step.kind:
        case "type" if step.pace_s:
            for character in step.text:
                session.type(character)
                time.sleep(step.pace_s)
        case "type":
            session.type(step.text)
        case "key":
            for key in step.text.split():
                session.send_key(key)
                time.sleep(step.pace_s)
        case "paste":
            session.paste(step.text)
        case "submit":
            submit_as(session, step.text, step.submit)
        case "secret":
            session.submit_secret(step.text)
        case "resize":
            assert step.size is not None  # noqa: S101 - the parser sees to it
            session.resize(step.size)
        case "signal":
            session.signal(step.text)
        case "note":
            session.note(step.payload)
        case _:
            _wait(session, step)


def submit_as(
    session: Session,
    text: str,
    submit: Submit | None,
    *,
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Submit a prompt as a certain CLI needs it: with its pause and its key, if they are known.

    Some CLIs (Gemini CLI, Codex) treat Enter as a part of the text if it comes while they still
    read it, so this waits until the text is on the screen. For a CLI that does not echo, the wait
    is short.
    """
    if submit is None:
        session.submit(text)
        return
    if submit.how == "paste":
        session.paste(text)
    else:
        session.type(text)
    wait_for_echo(session, text)
    sleep(submit.pause_ms / 1000)
    session.send_key(submit.key)


def wait_for_echo(session: Session, text: str) -> None:
    """Wait until the program shows the typed input, if it does."""
    head = text.strip().split("\n")[0][:_ECHO_CHARS]
    if head:
        with suppress(WaitTimeoutError):
            session.wait_for_text(head, timeout_s=_ECHO_TIMEOUT_S)


def with_secret(step: ScriptStep) -> ScriptStep:
    """A step that names where its secret is, with the secret; any other as it is."""
    try:
        match step.kind:
            case "secret-env":
                text = os.environ.get(step.text, "")
            case "secret-file":
                path = Path(step.text).expanduser()
                # Longer input was not typed by a person.
                text = read_plain(path, max_bytes=_MAX_SECRET_BYTES).decode().partition("\n")[0]
            case _:
                return step
    except (CassetteError, UnicodeDecodeError, RuntimeError) as exc:
        raise UsageError(f"{step.kind}: {exc}", where=f"script line {step.line}") from exc
    text = text.removesuffix("\r")
    if not text:
        raise UsageError(
            f"{step.kind}: there is nothing in {visible(step.text)}",
            where=f"script line {step.line}",
        )
    return msgspec.structs.replace(step, kind="secret", text=text)


def _wait(session: Recording, step: ScriptStep) -> None:
    match step.kind:
        case "wait-text":
            session.wait_for_text(step.text, timeout_s=step.timeout_s)
        case "wait-regex":
            session.wait_for(matches_in_file(step.text), timeout_s=step.timeout_s)
        case "wait-stable":
            session.wait_stable(step.seconds * 1000, timeout_s=step.timeout_s)
        case "wait-idle":
            session.wait_idle(step.seconds * 1000, timeout_s=step.timeout_s)
        case "wait-exit":
            session.wait_exit(timeout_s=step.timeout_s)
        case "pause":
            with suppress(WaitTimeoutError):  # it ends early if the program does
                session.wait_exit(timeout_s=step.seconds)


# The session of ``rec``, between preflight and cassette: interactive or headless.


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
    from ptycassette.recording.io._interactive import PassThrough, Streams

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
