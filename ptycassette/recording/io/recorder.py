"""Recording: everything around a live session, from the first check to the published cassette.

``record``, ``arecord`` and the interactive ``rec`` share ``Recorder``.

The outcome of a run:

========================================  ==========================================
it ended, and the block ended normally  a cassette, whatever the program's status
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
import select
import shlex
import signal
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import msgspec

from ptycassette.cassette.io.staging import check_target
from ptycassette.cassette.strict_json import check_value
from ptycassette.errors import (
    CassetteError,
    ExistsError,
    LimitError,
    LockedError,
    PreflightError,
    RecordError,
    RunFailedError,
    SessionError,
    SpawnError,
)
from ptycassette.keys.quantities import time_text
from ptycassette.model.limits import Limits
from ptycassette.model.records import (
    EVENTS_VARIABLE,
    Begun,
    ExitStatus,
    Finished,
    Harness,
    Manifest,
    Noted,
    Output,
    SessionMeta,
    storable,
)
from ptycassette.model.visible_text import visible, visible_bytes
from ptycassette.recording.io._side_channel import SideChannel
from ptycassette.recording.io.journal_file import JournalFile
from ptycassette.recording.io.options import (
    RunSpec,
    TapeStarter,
    VersionQuestion,
    environment_of,
    environment_of_tape,
    head_of,
    timestamp,
    version_arguments,
)
from ptycassette.recording.io.saver import Begin, JournalSource, Published, Publisher, Saver
from ptycassette.recording.session.base import words_given
from ptycassette.system.files.locks import Lock, LockHolder, account_lock, target_lock
from ptycassette.system.files.project_file import find_project
from ptycassette.system.files.state_dirs import absolute, current_dir, private_dir, state_dir
from ptycassette.system.ownership import Owner
from ptycassette.system.pty.process import DEFAULT_GRACE_S, NoCoreDumps, PtyChild, new_poll, spawn
from ptycassette.system.pty.terminal import QUIET, STOPPING, TAKEN, put_back

if TYPE_CHECKING:
    from ptycassette.recording.io.finalising import TapeInPlace
    from ptycassette.system.network import ConnectionWatch, Guard


# Payloads of service events: checked before they are recorded.


_PAYLOAD_LIMITS = Limits(max_depth=32)
_PAYLOAD_BYTES = 4 << 20


def checked_payload(payload: Any) -> Any:
    """``payload`` as readers will take it as a service event.

    Raises:
        RecordError: it is not a JSON value, or it is too large.
        LimitError: too large, or nested too deep.
    """
    try:
        try:
            size = len(msgspec.msgpack.encode(payload))
        except UnicodeEncodeError:  # bytes of the system, such as the path of a file
            payload = storable(payload)
            size = len(msgspec.msgpack.encode(payload))
    except (TypeError, ValueError, OverflowError, RecursionError) as exc:
        raise RecordError(f"a service event that is not a JSON value: {exc}") from exc
    if size > _PAYLOAD_BYTES:
        raise LimitError(f"a service event of {size} bytes, and {_PAYLOAD_BYTES} is the limit")
    check_value(payload, where="service event", error=RecordError, limits=_PAYLOAD_LIMITS)
    return payload


# Checks before a recording begins. When one fails, nothing has been written.


REQUIREMENT_TIMEOUT_S = 60.0

_SHOWN_BYTES = 600


def find_program(argv: Sequence[str], *, env: Mapping[str, str], cwd: Path | None = None) -> Path:
    """The file that ``argv`` would execute, on the PATH of ``env``.

    Raises:
        SpawnError: it does not exist (``exit_status`` 127), or it is not executable (126).
        PreflightError: the working directory is not a directory.
    """
    base = current_dir() if cwd is None else current_dir() / cwd
    if not base.is_dir():
        raise PreflightError(
            "the working directory does not exist",
            where=str(base),
            hint="change to one that exists, or name one",
        )
    name = argv[0]
    path = env.get("PATH", os.defpath)
    entries = [""] if "/" in name else path.split(os.pathsep) if path and name else []
    there = [place for entry in entries if _is_there(place := base / entry / name)]
    for place in there:
        if os.access(place, os.X_OK) and place.is_file():
            return place
    if there:
        if there[0].is_dir():
            raise SpawnError(
                "a directory, not a program",
                exit_status=126,
                where=str(there[0]),
                hint="name a program in it; --cwd starts one in it",
            )
        raise SpawnError("not executable", exit_status=126, where=str(there[0]), hint="chmod +x it")
    hint = "check the name, and the PATH that the program gets (--env PATH=...)"
    if " " in name and len(argv) == 1:
        hint = f"a program and its arguments are words of their own: -- {visible(name)}"
    raise SpawnError("no such program", exit_status=127, where=name or "''", hint=hint)


def check_scrub_config(cwd: Path | None) -> None:
    """Read the user's own rules for scrubbing, if there are any: a typo is found now.

    Raises:
        CassetteError: as ``load_config`` does.
    """
    place = current_dir() if cwd is None else current_dir() / cwd
    if os.environ.get("PTYCASSETTE_SCRUB_CONFIG") or find_project(place).scrub is not None:
        # Few have rules.
        from ptycassette.scrub.io.setup import load_config

        load_config(cwd=place)


def check_network(
    program: str, env: Mapping[str, str], *, taped: bool = False, shared: bool = False
) -> None:
    """Refuse a program that PTYCASSETTE_DISABLE_NETWORK, if it is set, does not let run.

    That is every program where none can be taken off the network, and an agent CLI that asks a
    provider elsewhere: off the network it would fail with an error of its own.

    Args:
        program: its name or path.
        env: with which it is started.
        taped: its proxy checks where it leads.
        shared: it is to stay on the network.

    Raises:
        PreflightError: it would be on the network, or needs it.
    """
    if not os.environ.get("PTYCASSETTE_DISABLE_NETWORK"):
        return
    # Few have it set.
    from ptycassette.profiles.io import known_profile
    from ptycassette.system.network import network_disabled, require_isolation
    from ptycassette.tape.io.running_proxy import refuse_network

    require_isolation(shared=shared)
    profile = None if taped else known_profile(Path(program).name)
    if profile is not None and network_disabled():
        refuse_network(profile, env)


def _is_there(path: Path) -> bool:
    """Whether the file exists. Unreadable directories on the PATH are skipped, as shells do."""
    return os.path.exists(path)  # noqa: PTH110 - Path.exists raises PermissionError


def check_place(target: Path, *, overwrite: bool) -> None:
    """Refuse a target that could not be published at the end.

    Raises:
        ExistsError: something is there, and it may not be replaced.
        NewerCassetteError: a cassette of a newer version is there.
        PreflightError: its parent is missing or cannot be written to.
    """
    parent = absolute(target).parent
    if not parent.is_dir():
        raise PreflightError(
            "the directory for the cassette does not exist",
            where=str(parent),
            hint=f"mkdir -p {visible(shlex.quote(str(parent)))}",
        )
    if not os.access(parent, os.W_OK | os.X_OK):
        raise PreflightError(
            "the directory for the cassette cannot be written to", where=str(parent)
        )
    check_target(absolute(target), overwrite=overwrite)


def check_requirements(
    commands: Sequence[str], *, env: Mapping[str, str], cwd: Path | None = None
) -> None:
    """Run the commands that must succeed first: is the CLI logged in, is there quota?

    Args:
        commands: each a command line, split as a shell would, but run without one.
        env: the environment of the program to record.
        cwd: its working directory.

    Raises:
        PreflightError: one of them fails; the message has the end of its output.
    """
    for command in commands:
        _require(command, env, cwd)


def _require(command: str, env: Mapping[str, str], cwd: Path | None) -> None:
    import subprocess  # few recordings require anything

    from ptycassette.system.network import guarded_command

    try:
        words = shlex.split(command)
    except ValueError as exc:
        raise PreflightError(f"--require {visible(command)}: {exc}") from exc
    if not words:
        raise PreflightError("--require: an empty command")
    try:
        done = subprocess.run(
            guarded_command(words, env),
            env=dict(env),
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=REQUIREMENT_TIMEOUT_S,
            start_new_session=True,
            check=False,
        )
    except subprocess.TimeoutExpired as exc:
        raise PreflightError(
            f"the requirement {visible(command)} took over {time_text(REQUIREMENT_TIMEOUT_S)}"
        ) from exc
    except OSError as exc:
        raise PreflightError(
            f"the requirement {visible(command)} cannot be run: {exc.strerror}"
        ) from exc
    if done.returncode != 0:
        said = visible_bytes(done.stdout[-_SHOWN_BYTES:].strip())
        raise PreflightError(
            f"the requirement {visible(command)} failed with status {done.returncode}"
            + (f"\n{said}" if said else ""),
            hint="nothing was recorded: fix this, then record again",
        )


# A pipe by which a recorder notices the end of its owner, the shim that started it.


LIFELINE_END = b"E"
"""What the owner writes to have the program ended."""


class Lifeline:
    """The recorder's end of the pipe.

    Args:
        fd: the reading end. This object owns it, and children do not inherit it.
        keeps_journal: the recording is wanted even without its owner. The journal is kept after
            the cassette is published, until the owner has moved that to its place.
        publishes: the recorder moves the recording to its place itself if the owner is gone when it
            is saved; see ``PendingRecordings``.

    Raises:
        OSError: ``fd`` is not open.
    """

    def __init__(self, fd: int, *, keeps_journal: bool, publishes: bool = False) -> None:
        os.set_inheritable(fd, False)
        os.set_blocking(fd, False)
        self._fd = fd
        self.keeps_journal = keeps_journal
        self.publishes = publishes

    def watch(self, end_program: Callable[[], None]) -> None:
        """Call ``end_program`` once, from a thread, when the owner asks for it or is gone."""
        threading.Thread(
            target=self._watch, args=(end_program,), name="owner-watch", daemon=True
        ).start()

    def _watch(self, end_program: Callable[[], None]) -> None:
        # Signals are for the main thread, which they must wake.
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        poll = new_poll()
        poll.register(self._fd, select.POLLIN)
        while not poll.poll(None):
            pass
        end_program()

    @property
    def owner_gone(self) -> bool:
        """Whether the other end is closed."""
        while True:
            try:
                if not os.read(self._fd, 16):
                    return True
            except BlockingIOError:
                return False


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
        plan: RunSpec,
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
        """Whether the program has a tape and may list the target's folder.

        An agent would send the names in it to its model, and the requests would differ at replay.
        """
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
        """Start recording model traffic, before the program can send any."""
        from ptycassette.recording.io.finalising import TapeInPlace  # few recordings have one

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
        with suppress(CassetteError):  # its writers got the error
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
        """None where the kernel cannot limit the program to its proxy."""
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
        """Messages for the user about the recording of model traffic."""
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
            from ptycassette.cassette.io.pending import reason_to_keep  # it loads the reader

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
        """Why the recording misses a part of the run; None if it is complete."""
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
        """Fields of the last event: the version, or the reason why it is still missing."""
        if self._version is None:
            return {}
        answer = self._version.close()
        if not answer:
            missing = {"version_missing": self._version.missing}
            return missing if answer is None else missing | self._if_other_program("")
        return {"binary_version": answer} | self._if_other_program(answer)

    def _if_other_program(self, answer: str) -> dict[str, Any]:
        """The field for an answer that shows another program than the CLI of that name."""
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


# Signals to ``rec`` between the end of the program and the end of the saving.


class SavingSignals:
    """How ``rec`` handles signals after the program has ended, until its recording is saved.

    SIGHUP does nothing: the terminal or the driver is gone, but the recording is still saved. So
    do signals that were for the program, such as SIGUSR1, and come late. ctrl-c aborts the
    saving. Before the saving begins it does nothing. SIGTERM that a shim passes on does nothing,
    too: it was for the program.
    """

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._before: dict[int, Any] = {}

    def hold(self) -> None:
        """Install the handlers. Call this after the start of the program."""
        ending = {signal.SIGQUIT, signal.SIGINT}
        if not self._recorder.has_owner:
            ending.add(signal.SIGTERM)
        for number in TAKEN - STOPPING - QUIET - ending:
            # A handler, because relays leave signals alone that are ignored.
            if signal.getsignal(number) is not signal.SIG_IGN:
                self._before[number] = signal.signal(number, _nothing)
        self._before[signal.SIGINT] = signal.signal(signal.SIGINT, self._interrupt)

    def _interrupt(self, *_: object) -> None:
        if self._recorder.saving:
            raise KeyboardInterrupt

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        put_back(self._before)


def _nothing(_number: int, _frame: object) -> None:
    """Do nothing."""
