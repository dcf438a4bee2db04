"""Recording: everything around a live session, from the first check to the published cassette.

``record`` and ``arecord`` (``record.py``) and the interactive ``rec`` share ``Recorder``.

What becomes of a run:

========================================  ==========================================
it ended, and the block was left quietly  a cassette, whatever the program's status
the block raised, or a timeout passed     a diagnostic directory beside the target
it failed without output, over a          a diagnostic directory beside the target
cassette that has output
scrubbing left something                  a diagnostic without streams; the journal stays
the disk refused, or we were killed       the journal stays; ``ptycassette recover``
our owner (a shim) was killed             the same; nothing if only the owner wanted it
========================================  ==========================================
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import msgspec

from ptycassette.cassette.io.target import check_target
from ptycassette.errors import (
    CassetteError,
    ExistsError,
    LockedError,
    RunFailedError,
    SessionError,
    SpawnError,
)
from ptycassette.model.events import EVENTS_VARIABLE, ExitStatus
from ptycassette.model.journal import Begun, Finished, Noted, Output, SessionMeta
from ptycassette.model.json_values import storable
from ptycassette.model.manifest import Harness, Manifest
from ptycassette.recording.io._head import head_of
from ptycassette.recording.io._journal_source import JournalSource
from ptycassette.recording.io._payload import checked_payload
from ptycassette.recording.io._preflight import (
    check_network,
    check_place,
    check_requirements,
    check_scrub_config,
    find_program,
)
from ptycassette.recording.io._publisher import Publisher
from ptycassette.recording.io._running_tape import TapeStarter
from ptycassette.recording.io._saver_messages import Begin, Published
from ptycassette.recording.io._side_channel import SideChannel
from ptycassette.recording.io.binary_probe import VersionQuestion, timestamp, version_arguments
from ptycassette.recording.io.journal_file import JournalFile
from ptycassette.recording.io.lifeline import Lifeline
from ptycassette.recording.io.options import RecordPlan, environment_of, environment_of_tape
from ptycassette.recording.io.saver import Saver
from ptycassette.session.options import words_given
from ptycassette.system.files.locks import Lock, LockHolder, account_lock, target_lock
from ptycassette.system.files.state_dirs import absolute, current_dir, private_dir, state_dir
from ptycassette.system.ownership import Owner
from ptycassette.system.pty.core_dumps import NoCoreDumps
from ptycassette.system.pty.process import DEFAULT_GRACE_S, PtyChild, spawn

if TYPE_CHECKING:
    from ptycassette.recording.io.tape_journal import TapeInPlace
    from ptycassette.system.network import ConnectionWatch, Guard


class Recorder:
    """One recording. Enter it, start the session, then ``finish`` or ``fail`` it.

    Args:
        argv: the program and its arguments; no shell is involved.
        target: the directory to publish.
        plan: the options.
        saver: follows the journal and saves it; None to save here, at the end.
        lifeline: to our owner, the shim that started us; None without one.
        other_targets: what to take instead if the target is taken on entering.

    Attributes:
        target: the directory to publish, absolute; final once it is entered.
        saving: the program has ended, its journal is complete, and its cassette is being made.
        status: how the program ended.
        cautions: what this machine cannot protect against, for the user; set on entering.
        cut_off: the program reaches nothing but the proxy of its tape.

    Raises:
        RefusedError: on entering: a check failed, a lock is held, the target is
            taken; nothing was written or started.
        SpawnError: on entering: no such program (127), not executable (126).
        StorageError: the disk refuses to hold a journal.
    """

    def __init__(
        self,
        argv: Sequence[str],
        target: str | os.PathLike[str],
        plan: RecordPlan,
        *,
        saver: Saver | None = None,
        lifeline: Lifeline | None = None,
        other_targets: Iterable[str | os.PathLike[str]] | None = None,
    ) -> None:
        if not argv:
            raise ValueError("argv is empty")
        self.argv = words_given(argv)
        self.target = absolute(target)
        self.plan = plan
        self.manifest: Manifest | None = None
        self.saving = False
        self.status: ExitStatus | None = None
        self.saver = saver
        self._lifeline = lifeline
        self._others = None if other_targets is None else iter(other_targets)
        self.started_us: int | None = None
        self.cautions: list[str] = []
        self.cut_off = False
        self._stack = ExitStack()
        self._owner = Owner()
        self._binary: Path | None = None
        self._final: dict[str, Any] = {}
        self._child: PtyChild | None = None
        self._watch: ConnectionWatch | None = None
        self._tape: TapeInPlace | None = None
        self._version: VersionQuestion | None = None
        self.meta: SessionMeta
        self.journal: JournalFile
        self.channel: SideChannel
        self._publisher: Publisher
        self.env: dict[str, str]

    def __enter__(self) -> Self:
        try:
            self._begin()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        if self._owner.here:
            self._abandon_saver()
            self._stack.close()

    def _abandon_saver(self) -> None:
        if self.saver is not None:
            self.saver.abandon()

    def _beginning(self) -> Begin:
        return Begin(
            journal=str(self.journal.path),
            target=str(self.target),
            overwrite=self.plan.overwrite,
            known=tuple(self.plan.known),
            unseen=self._seen_by_the_program(),
        )

    def _seen_by_the_program(self) -> bool:
        """Whether an agent with a tape may list the folder of the target: it would ask of it."""
        work = Path(self.plan.cwd or current_dir()).resolve()
        return self.plan.tape is not None and self.target.parent.resolve().is_relative_to(work)

    def _begin(self) -> None:
        plan = self.plan
        cwd = None if plan.cwd is None else Path(plan.cwd)
        env = environment_of(plan)
        try:
            check_place(self.target, overwrite=plan.overwrite)
        except ExistsError:
            if self._others is None:
                raise
        binary = find_program(self.argv, env=env, cwd=cwd) if plan.pty is None else None
        self._binary = binary
        if plan.scrub and plan.scrubber is None:
            check_scrub_config(cwd)
        if binary is not None:
            taped = plan.tape is not None
            check_network(self.argv[0], env, taped=taped, shared=plan.shared_network)
        top = state_dir() if plan.state_dir is None else absolute(plan.state_dir)
        self._lock(private_dir(top / "locks", top=top))
        check_requirements(plan.require, env=env, cwd=cwd)
        self.channel = self._stack.enter_context(SideChannel(top))
        place = private_dir(top / "journals", top=top)
        self._stack.enter_context(NoCoreDumps())
        tape = None if plan.tape is None else self._start_tape(plan.tape, place)
        env = {**env, **({} if tape is None else tape.environment)}
        self.env = {**env, EVENTS_VARIABLE: str(self.channel.path)}
        # Not this variable, its value is not a secret, and differs each time.
        self.meta = head_of(self.argv, self.target, plan, env=env, binary=binary, tape=tape)
        self.journal = JournalFile(self.meta, directory=place, durability=plan.durability)
        self._publisher = Publisher(plan, self.meta, self.journal, self.target)
        self._stack.callback(self._let_go)
        if tape is not None:
            tape.appear(self.journal.path)
        if self.saver is not None:
            self.saver.begin(self._beginning())
        for payload in plan.notes:
            self.journal.on_event(Noted(0, checked_payload(payload)))

    def _start_tape(self, start: TapeStarter, place: Path) -> TapeInPlace:
        """Start what records model traffic, before anything can be asked of a provider."""
        from ptycassette.recording.io.tape_journal import TapeInPlace  # few recordings have one

        self._tape = self._stack.enter_context(
            TapeInPlace(start, place, environment_of_tape(self.plan))
        )
        return self._tape

    def _lock(self, directory: Path) -> None:
        plan = self.plan
        what = plan.harness.name if isinstance(plan.harness, msgspec.Struct) else plan.harness
        name = what or Path(self.argv[0]).name
        holder = LockHolder(pid=os.getpid(), what=name, since=timestamp(plan.clock.wall()))
        while True:
            lock = target_lock(directory, target=self.target, holder=holder)
            try:
                with ExitStack() as stack:
                    self._enter(lock, stack)
                    # Now that it is ours: another recording may just have been published there.
                    check_target(self.target, overwrite=plan.overwrite)
                    self._stack.enter_context(stack.pop_all())
                break
            except (LockedError, ExistsError):
                other = None if self._others is None else next(self._others, None)
                if other is None:
                    raise
                self.target = absolute(other)
        if plan.account is not None:
            lock = account_lock(directory, harness=name, account=plan.account, holder=holder)
            self._enter(lock, self._stack)

    def _enter(self, lock: Lock, stack: ExitStack) -> None:
        stack.enter_context(lock)
        if lock.caution is not None:
            self.cautions.append(lock.caution)

    def _let_go(self) -> None:
        with suppress(CassetteError):  # whoever wrote to it has been told
            self.journal.close()

    def start(
        self,
        *,
        streams: tuple[int | None, int | None, int | None] = (None, None, None),
        lingers: bool = False,
    ) -> PtyChild:
        """Start the program; the caller owns it.

        Args:
            streams: as for ``spawn``.
            lingers: as for ``spawn``. Lingering processes are killed when our owner is, because
                their streams have no other ends any more.

        Raises:
            SpawnError: it could not be started; there is a diagnostic.
        """
        plan = self.plan
        self.begin_now()  # before the program: it begins while we return
        argv, guard = tuple(plan.started_as) or self.argv, plan.guard
        if self._tape is not None:
            argv = (argv[0], *self._tape.arguments, *argv[1:])
            if guard is None and not plan.shared_network:
                guard = self._nothing_but(self._tape.address)
        try:
            self._child = child = spawn(
                argv,
                size=plan.size,
                cwd=plan.cwd,
                env=self.env,
                streams=streams,
                lingers=lingers,
                like=plan.terminal,
                guard=guard,
            )
        except SpawnError as exc:
            self.fail(exc.message, stage="spawn")
            raise
        if self._tape is not None and guard is None and not plan.shared_network:
            self._watch_connections(child, self._tape.address)
        if self._lifeline is not None:
            self._lifeline.watch(lambda: child.request_end(0 if lingers else DEFAULT_GRACE_S))
        self._ask_version()
        return child

    def _watch_connections(self, child: PtyChild, proxy: str) -> None:
        from ptycassette.system.network import ConnectionWatch  # few kernels cannot isolate

        port = int(proxy.rpartition(":")[2])
        self._watch = self._stack.enter_context(ConnectionWatch(child.processes, proxy=port))

    def _nothing_but(self, address: str) -> Guard | None:
        """What lets the program reach nothing but its proxy; None where the kernel cannot."""
        from ptycassette.system.network import Guard, may_isolate  # few recordings have a tape

        self.cut_off = may_isolate()
        if self.cut_off:
            return Guard((int(address.rpartition(":")[2]),))
        self.cautions.append(
            "the program was on the network: what it sent past the tape's proxy was not recorded,"
            " and only connections that lasted were noticed"
        )
        return None

    def begin_now(self) -> int:
        """Count the times of the recording from now, unless it has begun; returns the clock then.

        The moment is in the journal, because the head is older: it is written before anything
        is started.
        """
        if self.started_us is None:
            wall = timestamp(self.plan.clock.wall())
            self.started_us = self.plan.clock.now_us()
            self.journal.on_event(Begun(0, self.started_us, wall))
        return self.started_us

    def _ask_version(self) -> None:
        """Ask for a version that no installed package gave; nothing waits for the answer."""
        known = self.meta.harness.binary_version is not None
        if known or isinstance(self.plan.harness, Harness) or self._binary is None:
            return
        asking = version_arguments(self._binary, version=self.plan.probe_version)
        if asking is not None:
            self._version = VersionQuestion([str(self._binary), *asking])
            self._stack.callback(self._version.close)

    def note_side_events(self, elapsed_us: int) -> None:
        """Log what is left in the side channel after the program has ended."""
        for payload in self.channel.finish():
            self.journal.on_event(Noted(elapsed_us, payload))

    @property
    def has_owner(self) -> bool:
        """Whether a shim started us."""
        return self._lifeline is not None

    @property
    def saved(self) -> Published | None:
        """The result of the saver, if it did the work."""
        return self._publisher.saved

    @property
    def reports(self) -> Sequence[str]:
        """What whoever records model traffic has to say to the user."""
        return () if self._tape is None else self._tape.reports

    def set_final(self, **fields: Any) -> None:
        """Set fields of the final record; see ``Recording.set_final``."""
        unknown = fields.keys() - set(Finished.__struct_fields__)
        if unknown:
            raise TypeError(f"the final record has no {', '.join(sorted(unknown))}")
        self._final |= {name: storable(one) for name, one in fields.items() if one is not None}

    def finish(
        self, *, t_us: int, status: ExitStatus | None, failure: str | None = None
    ) -> Manifest:
        """End the journal, finalise and publish.

        Args:
            t_us: when it ended.
            status: how the program ended.
            failure: why the run must not become a cassette; None if it may.

        Raises:
            RunFailedError: the run failed; its diagnostic has been written.
            SecretLeftError, StorageError, ...: not published; the journal stays.
            SessionError: our owner is gone; the journal stays, unless only the owner wanted it.
        """
        failure = failure or self._untrue()
        if self._tape is not None:
            self._tape.close()
            failure = failure or self._tape.failure(status)
        if self.plan.at_end is not None:
            self.plan.at_end(self, t_us)
        if failure is None and self.plan.overwrite:
            from ptycassette.cassette.io.replacing import reason_to_keep  # it loads the reader

            failure = reason_to_keep(self.target, status, showed_output=self._showed_output)
        answer = self._answered_version()
        self.journal.on_event(
            Finished(t_us=t_us, exit=status, failure=failure, **answer, **self._final)
        )
        self.status, self.saving = status, True
        self._check_owner()
        try:
            self.manifest = self._publisher.publish(self.saver)
        except RunFailedError:
            self.journal.discard()
            raise
        except CassetteError as exc:
            exc.hint = _with_journal(exc.hint, self.journal.path)
            raise
        if self._lifeline is None or not self._lifeline.keeps_journal:
            self.journal.discard()
        elif self._lifeline.publishes and self._lifeline.owner_gone:
            self._publish_alone()
        return self.manifest

    def _untrue(self) -> str | None:
        """Why what was recorded is not all that happened; None if it is."""
        if self._child is not None and self._child.lost is not None:
            return self._child.lost
        if self._watch is None:
            return None
        self._watch.close()
        if not self._watch.seen:
            return None
        return (
            "the program connected past the tape's proxy, and what it sent is on no tape:"
            f" {', '.join(sorted(self._watch.seen))} (remove the setting with this address, name"
            " the program's profile by --harness, try --proxy-env, or allow other connections by"
            " --shared-network)"
        )

    def _publish_alone(self) -> None:
        """Move the recording into its library, as our owner would have done."""
        from ptycassette.cassette.io.pending import PendingRecordings  # shims alone have owners

        pending = PendingRecordings.around(self.target)
        if pending is not None:
            pending.publish()
            self.journal.discard()

    def _showed_output(self) -> bool:
        return any(
            isinstance(event, Output) and event.data for event in JournalSource(self.journal.path)()
        )

    def _answered_version(self) -> dict[str, Any]:
        """Fields of the last event: the version, or why there is none yet."""
        if self._version is None:
            return {}
        answer = self._version.close()
        if not answer:
            missing = {"version_missing": self._version.missing}
            return missing if answer is None else missing | self._if_other_program("")
        return {"binary_version": answer} | self._if_other_program(answer)

    def _if_other_program(self, answer: str) -> dict[str, Any]:
        """The field for an answer that the CLI of that name does not give."""
        if self.plan.capability is not None or self.meta.harness.capability is None:
            return {}
        from ptycassette.profiles.io import known_capability  # few programs are agent CLIs

        name = self.meta.harness.name
        return {"other_program": known_capability(name, version=answer) is None}

    def _check_owner(self) -> None:
        """Save nothing if our owner is gone."""
        if self._lifeline is None or not self._lifeline.owner_gone:
            return
        hint = None
        if self._lifeline.keeps_journal:
            hint = _with_journal(None, self.journal.path)
        else:
            self.journal.discard()
        raise SessionError("what started the recorder is gone, so the program was ended", hint=hint)

    def fail(self, reason: str, *, stage: str) -> Path:
        """Write the diagnostic of a failed run instead of a cassette; returns its path."""
        self._abandon_saver()
        if self._tape is not None:
            self._tape.close()
        path = self._publisher.diagnose(reason, stage=stage)
        self.journal.discard()
        return path


def _with_journal(hint: str | None, path: Path) -> str:
    kept = f"the recording is kept: ptycassette recover {path}"
    return f"{hint}; {kept}" if hint else kept
