"""Recording: everything around a live session, from the first check to the published cassette.

``record`` and ``arecord`` are for drivers: context managers that hand out a
session. ``Recorder`` is what they and the interactive ``rec`` have in common.

What becomes of a run:

========================================  ==========================================
it ended, and the block was left quietly  a cassette
the block raised, or a timeout passed     a diagnostic directory beside the target
scrubbing left something                  a diagnostic without streams; the journal stays
the disk refused, or we were killed       the journal stays; ``ptycassette recover``
========================================  ==========================================
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any, Self, Unpack

import msgspec

from ptycassette.errors import CassetteError, LimitError, RecordError, RunFailedError, SpawnError
from ptycassette.format.limits import Limits
from ptycassette.format.strict_json import check_value
from ptycassette.host.async_session import AsyncSession
from ptycassette.host.finalising import Finaliser
from ptycassette.host.harness_probe import timestamp
from ptycassette.host.journal_file import JournalFile, JournalSource
from ptycassette.host.locks import Holder, account_lock, target_lock
from ptycassette.host.preflight import check_place, check_requirements, find_program
from ptycassette.host.pty_process import PtyChild, spawn
from ptycassette.host.record_options import RecordOptions, RecordPlan, environment_of, head_of
from ptycassette.host.session import Session
from ptycassette.host.session_face import SessionFace
from ptycassette.host.session_pump import Scripted
from ptycassette.host.side_channel import EVENTS_VARIABLE, SideChannel
from ptycassette.host.staging import journal_dir, lock_dir, state_dir
from ptycassette.model import (
    DiscoveryRecord,
    ExitStatus,
    Finished,
    Manifest,
    Noted,
    Probed,
    QuotaRecord,
    SessionMeta,
)

__all__ = ["AsyncRecording", "Recorder", "Recording", "arecord", "record"]

_PAYLOAD_LIMITS = Limits(max_depth=32)
_PAYLOAD_BYTES = 4 << 20


class Recorder:
    """One recording. Enter it, start the session, then ``finish`` or ``fail`` it.

    Args:
        argv: the program and its arguments; no shell is involved.
        target: the directory to publish.
        plan: the options.

    Raises:
        RefusedError: on entering: a check failed, a lock is held, the target is
            taken; nothing was written or started.
        SpawnError: on entering: no such program (127), not executable (126).
        StorageError: the disk refuses to hold a journal.
    """

    def __init__(
        self, argv: Sequence[str], target: str | os.PathLike[str], plan: RecordPlan
    ) -> None:
        if not argv:
            raise ValueError("argv is empty")
        self.argv = tuple(argv)
        self.target = Path(target).absolute()
        self.plan = plan
        self.manifest: Manifest | None = None
        self.known: tuple[str, ...] = tuple(plan.known)
        self._stack = ExitStack()
        self._final: dict[str, Any] = {}
        self.meta: SessionMeta
        self.journal: JournalFile
        self.channel: SideChannel
        self.env: dict[str, str]

    def __enter__(self) -> Self:
        try:
            self._begin()
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _begin(self) -> None:
        plan = self.plan
        cwd = None if plan.cwd is None else Path(plan.cwd)
        env = environment_of(plan)
        check_place(self.target, overwrite=plan.overwrite)
        binary = find_program(self.argv, env=env, cwd=cwd) if plan.pty is None else None
        where = dict(os.environ)
        if plan.state_dir is not None:
            where["PTYCASSETTE_STATE_DIR"] = str(plan.state_dir)
        self._lock(lock_dir(where))
        check_requirements(plan.require, env=env, cwd=cwd)
        self.channel = self._stack.enter_context(SideChannel(state_dir(where)))
        self.env = {**env, EVENTS_VARIABLE: str(self.channel.path)}
        # Not this variable, as its value is no secret and differs each time.
        self.meta = head_of(self.argv, self.target, plan, env=env, binary=binary)
        self.journal = JournalFile(
            self.meta, directory=journal_dir(where), durability=plan.durability
        )
        self._stack.callback(self._let_go)
        for payload in plan.notes:
            self.journal.on_event(Noted(0, checked_payload(payload)))

    def _lock(self, directory: Path) -> None:
        plan = self.plan
        what = plan.harness.name if isinstance(plan.harness, msgspec.Struct) else plan.harness
        name = what or Path(self.argv[0]).name
        holder = Holder(pid=os.getpid(), what=name, since=timestamp(plan.clock.wall()))
        self._stack.enter_context(target_lock(directory, target=self.target, holder=holder))
        if plan.account is not None:
            self._stack.enter_context(
                account_lock(directory, harness=name, account=plan.account, holder=holder)
            )

    def _let_go(self) -> None:
        with suppress(CassetteError):  # whoever wrote to it has been told
            self.journal.close()

    def start(self) -> PtyChild:
        """Start the program; the caller owns it.

        Raises:
            SpawnError: it could not be started; there is a diagnostic.
        """
        plan = self.plan
        try:
            return spawn(self.argv, size=plan.size, cwd=plan.cwd, env=self.env)
        except SpawnError as exc:
            self.fail(exc.message, stage="spawn")
            raise

    def note_side_events(self, elapsed_us: int) -> None:
        """Log what is left in the side channel, when the program is over."""
        for payload in self.channel.finish():
            self.journal.on_event(Noted(elapsed_us, payload))

    def set_final(self, **fields: Any) -> None:
        """Set fields of the final record; see ``Recording.set_final``."""
        unknown = fields.keys() - set(Finished.__struct_fields__)
        if unknown:
            raise TypeError(f"the final record has no {', '.join(sorted(unknown))}")
        self._final |= {name: value for name, value in fields.items() if value is not None}

    def finish(
        self, *, t_us: int, status: ExitStatus | None, failure: str | None = None
    ) -> Manifest:
        """Close the journal's account, finalise and publish.

        Args:
            t_us: when it ended.
            status: how the program ended.
            failure: why the run must not become a cassette, if so.

        Raises:
            RunFailedError: the run failed; its diagnostic has been written.
            SecretLeftError, StorageError, ...: not published; the journal stays.
        """
        if self.plan.at_end is not None:
            self.plan.at_end(self, t_us)
        self.journal.on_event(Finished(t_us=t_us, exit=status, failure=failure, **self._final))
        try:
            self.manifest = self._finaliser().publish(
                self.meta, self._source(), self.target, overwrite=self.plan.overwrite
            )
        except RunFailedError:
            self.journal.discard()
            raise
        except CassetteError as exc:
            exc.hint = _with_journal(exc.hint, self.journal.path)
            raise
        self.journal.discard()
        return self.manifest

    def fail(self, reason: str, *, stage: str) -> Path:
        """Write the diagnostic of a failed run instead of a cassette; returns where."""
        path = self._finaliser().diagnose(
            self.meta, self._source(), self.target, reason=reason, stage=stage
        )
        self.journal.discard()
        return path

    def _finaliser(self) -> Finaliser:
        return Finaliser(
            emulator=self.plan.emulator,
            scrubber=self.plan.scrubber,
            known=self.known,
            progress=self._progress(),
        )

    def _progress(self) -> Callable[[int], None] | None:
        tell, total = self.plan.progress, self.journal.size
        if tell is None:
            return None
        tell(0, total)  # scrubbing looks at everything before the first byte is done
        return lambda done: tell(done, total)

    def _source(self) -> JournalSource:
        return JournalSource(self.journal.path)


def _with_journal(hint: str | None, path: Path) -> str:
    told = f"the recording is kept: ptycassette recover {path}"
    return f"{hint}; {told}" if hint else told


def checked_payload(payload: Any) -> Any:
    """``payload``, if readers will take it as a service event.

    Raises:
        RecordError: no JSON value, or one that is too large.
        LimitError: too large, or nested too deep.
    """
    try:
        size = len(msgspec.msgpack.encode(payload))
    except (TypeError, ValueError, OverflowError, RecursionError) as exc:
        raise RecordError(f"a service event that is no JSON value: {exc}") from exc
    if size > _PAYLOAD_BYTES:
        raise LimitError(f"a service event of {size} bytes, and {_PAYLOAD_BYTES} is the limit")
    check_value(payload, where="service event", error=RecordError, limits=_PAYLOAD_LIMITS)
    return payload


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
