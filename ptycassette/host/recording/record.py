"""``record`` and ``arecord``: a program recorded while a block of Python drives it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any, Unpack

from ptycassette.errors import CassetteError
from ptycassette.host.pty.process import PtyChild
from ptycassette.host.recording.journal_file import JournalFile
from ptycassette.host.recording.options import RecordOptions, RecordPlan
from ptycassette.host.recording.recorder import Recorder, checked_payload
from ptycassette.host.sessions.async_session import AsyncSession
from ptycassette.host.sessions.face import SessionFace
from ptycassette.host.sessions.pump import Scripted
from ptycassette.host.sessions.session import Session
from ptycassette.model import (
    DiscoveryRecord,
    Manifest,
    Noted,
    Probed,
    QuotaRecord,
)

__all__ = ["AsyncRecording", "Recording", "arecord", "record"]


class _Shown:
    """A tap that also shows the output to somebody, after the journal has it."""

    def __init__(self, journal: JournalFile, show: Callable[[bytes], None]) -> None:
        self._journal = journal
        self._show = show
        self.on_event = journal.on_event
        self.on_idle = journal.on_idle

    def on_output(self, t_us: int, data: bytes) -> None:
        """Journal first."""
        self._journal.on_output(t_us, data)
        self._show(data)


class _RecordingFace(SessionFace):
    """What a recorded session can do besides being driven."""

    _recorder: Recorder

    def set_quota(self, quota: QuotaRecord) -> None:
        """Keep what the harness said about its usage windows; the last call counts."""
        self._core.note(lambda t_us: Probed(t_us, quota=quota))

    def set_discovery(self, discovery: DiscoveryRecord) -> None:
        """Keep what models and levels the harness offers; the last call counts."""
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
        """Set what the final record says besides the exit; what is None stays as it was."""
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
        """The manifest of the cassette, once it is published."""
        return self._recorder.manifest

    def _noted(self, payload: Any) -> Any:
        # Checked now, because a journal with it could never become a cassette.
        return super()._noted(checked_payload(payload))

    def _listen(self) -> None:
        """Take the events of the side channel as they arrive; over a script, at the end."""
        if self._recorder.plan.pty is not None:
            return

        def take(payload: Any) -> None:
            self._core.note(lambda t_us: Noted(t_us, payload))

        self._recorder.channel.start_thread(take)

    def _complete(self) -> Manifest:
        """The session is over: publish."""
        recorder = self._recorder
        recorder.channel.stop_thread()
        recorder.note_side_events(self.elapsed_us)
        failure = (
            f"timeout: not over after {recorder.plan.timeout_s:g} s" if self.timed_out else None
        )
        return recorder.finish(t_us=self.elapsed_us, status=self.exit_status, failure=failure)


class Recording(_RecordingFace, Session):
    """A session that is being recorded."""


class AsyncRecording(_RecordingFace, AsyncSession):
    """A session that is being recorded, driven from an event loop."""


@contextmanager
def record(
    argv: Sequence[str], target: str | os.PathLike[str], **options: Unpack[RecordOptions]
) -> Iterator[Recording]:
    """Record a program while the block drives it; publish the cassette when the block is left.

    A program that still runs at the end of the block is ended (SIGTERM, then
    SIGKILL). When the block raises, there is a diagnostic directory
    ``TARGET.diagnostic`` instead of a cassette, and the exception goes on.

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
    with Recorder(argv, target, RecordPlan(**options)) as recorder:
        session = Recording.over(_pty(recorder), **_wiring(recorder))
        try:
            session._recorder = recorder  # noqa: SLF001 - made here
            session._listen()  # noqa: SLF001
            yield session
            session.close()
        except BaseException as exc:
            _give_up(recorder, exc, session)
            raise
        session._complete()  # noqa: SLF001


@asynccontextmanager
async def arecord(
    argv: Sequence[str], target: str | os.PathLike[str], **options: Unpack[RecordOptions]
) -> AsyncIterator[AsyncRecording]:
    """As ``record``, for asyncio. Preflight and finalising run in a thread."""
    recorder = Recorder(argv, target, RecordPlan(**options))
    await asyncio.to_thread(recorder.__enter__)
    try:
        session = AsyncRecording.over(_pty(recorder), **_wiring(recorder))
        try:
            session._recorder = recorder  # noqa: SLF001 - made here
            session._listen()  # noqa: SLF001
            yield session
            await session.close()
        except BaseException as exc:
            with suppress(CassetteError):
                await session.close()
            await asyncio.to_thread(_give_up, recorder, exc, None)
            raise
        await asyncio.to_thread(session._complete)  # noqa: SLF001
    finally:
        recorder.__exit__()


def _pty(recorder: Recorder) -> PtyChild | Scripted:
    return recorder.start() if recorder.plan.pty is None else recorder.plan.pty


def _wiring(recorder: Recorder) -> Any:
    plan = recorder.plan
    return {
        "size": plan.size,
        "timeout_s": plan.timeout_s,
        "tap": recorder.journal if plan.show is None else _Shown(recorder.journal, plan.show),
        "clock": plan.clock,
        "sleeper": plan.sleeper,
        "emulator": plan.emulator,
    }


def _give_up(recorder: Recorder, exc: BaseException, session: Recording | None) -> None:
    """End the session and write the diagnostic; ``exc`` goes on, and says where that is."""
    if session is not None:
        with suppress(CassetteError):
            session.close()
    recorder.channel.stop_thread()
    if recorder.journal.failure is not None:
        # The driver is not to blame, and what was recorded may be worth a cassette.
        exc.add_note(f"the recording up to here: ptycassette recover {recorder.journal.path}")
        return
    try:
        path = recorder.fail(f"{type(exc).__name__}: {exc}", stage="driver")
    except CassetteError as worse:
        exc.add_note(f"no diagnostic: {worse}; the journal is {recorder.journal.path}")
    else:
        exc.add_note(f"what was recorded until then: {path}")
