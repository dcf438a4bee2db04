"""``record``: a program recorded while a block of Python drives it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any, Unpack

from ptycassette.errors import CassetteError
from ptycassette.keys.quantities import time_text
from ptycassette.model.journal import JournalEvent, Noted, Output, Probed
from ptycassette.model.manifest import Manifest
from ptycassette.model.records import DiscoveryRecord, QuotaRecord
from ptycassette.recording.io._payload import checked_payload
from ptycassette.recording.io.options import RecordOptions, RecordPlan, plan_of
from ptycassette.recording.io.recorder import Recorder
from ptycassette.recording.io.saver import Saver, StartedSaver, savers_wanted
from ptycassette.session.base import SessionBase
from ptycassette.session.session import Session
from ptycassette.system.clock import MonotonicClock
from ptycassette.system.ownership import owned_context
from ptycassette.system.pty.piped import PipedChild, spawn_piped
from ptycassette.system.pty.port import Scripted
from ptycassette.system.pty.process import PtyChild
from ptycassette.terminal.emulator import default_emulator


class _Tap:
    """Passes the events of the pump to the journal first, then to the other listeners."""

    takes_secrets = True  # for the journal; of what was typed nothing is shown

    def __init__(self, recorder: Recorder) -> None:
        self._journal, self._saver = recorder.journal, recorder.saver
        self._show = recorder.plan.show
        self.on_idle = self._journal.on_idle

    def on_event(self, event: JournalEvent) -> None:
        """Append an event to the journal; what was written to a pipe is output, too."""
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
        """Store the usage windows that the harness reported; the last call counts."""
        self._core.note(lambda t_us: Probed(t_us, quota=quota))

    def set_discovery(self, discovery: DiscoveryRecord) -> None:
        """Store the models and levels that the harness offers; the last call counts."""
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
    plan = plan_of(options)
    with recording_with(Recorder(argv, target, plan, saver=saver_for(plan))) as session:
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


def saver_for(plan: RecordPlan) -> Saver | None:
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
