"""The recorder's side of its saver: start it, let it follow, and take its result.

There are two ways to start one. ``rec`` is a program of our own with one thread, so it
*forks* before it opens anything: that takes milliseconds, and loaded modules are not
loaded again. A library must not fork its host, which may have threads. There a new
interpreter is *started*, and only when the recording is long enough to be worth it.

The recorder does not depend on the saver. If it fails, ``finish`` returns None, and the
caller saves from the journal itself.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, NoReturn, Protocol

import msgspec

from ptycassette.cassette.framing import EmptyJournalError
from ptycassette.cassette.io.staging import disk_errors, fsync_directory
from ptycassette.errors import (
    CassetteError,
    JournalError,
    LockedError,
    NotFoundError,
    RunFailedError,
    SecretLeftError,
)
from ptycassette.model.records import JournalEvent, Manifest, SessionMeta, as_msgpack, from_msgpack
from ptycassette.recording.io.journal_file import JournalDecoder, JournalFile, tape_journal_of
from ptycassette.recording.io.options import RunSpec
from ptycassette.system.clock import monotonic_s
from ptycassette.system.files.locks import is_gone, try_lock
from ptycassette.system.files.whole_file import open_plain
from ptycassette.system.interpreter import python_command
from ptycassette.system.pty.process import NoCoreDumps, new_poll

if TYPE_CHECKING:
    from ptycassette.recording.io.finalising import Finaliser


# The messages between a recorder and its saver, over a pair of sockets.


class Begin(msgspec.Struct, frozen=True, kw_only=True, tag="begin"):
    """Recorder to saver: the journal exists.

    Attributes:
        journal: its path.
        target: where the cassette is to be published.
        overwrite: as ``Finaliser.publish`` takes it.
        known: secrets that only the recorder knows.
        unseen: whether nothing may be made beside the target before the program has ended.
    """

    journal: str
    target: str
    overwrite: bool
    known: tuple[str, ...]
    unseen: bool = False


class Finish(msgspec.Struct, frozen=True, kw_only=True, tag="finish"):
    """Recorder to saver: the journal is complete, and a user waits."""


class Progress(msgspec.Struct, frozen=True, kw_only=True, tag="progress"):
    """Saver to recorder: the number of bytes of output that are done."""

    done_bytes: int


class Published(msgspec.Struct, frozen=True, kw_only=True, tag="published"):
    """Saver to recorder: the cassette is durable.

    Attributes:
        manifest: as published.
        read_bytes: how much of the journal had been read when ``Finish`` came.
        done_bytes: how much output had been written to the cassette by then.
    """

    manifest: Manifest
    read_bytes: int
    done_bytes: int


class Failed(msgspec.Struct, frozen=True, kw_only=True, tag="failed"):
    """Saver to recorder: the session must not become a cassette; a diagnostic gives the reason.

    Attributes:
        error: the name of the exception.
        message, where, hint: as in ``CassetteError``.
        stage: the stage of a ``RunFailedError``.
    """

    error: str
    message: str
    where: str | None
    hint: str | None
    stage: str


Message = Begin | Finish | Progress | Published | Failed

_LENGTH_BYTES = 4


def send(control: socket.socket, message: Message) -> None:
    """Send one message.

    Raises:
        OSError: the other side is gone.
    """
    body = as_msgpack(message)
    control.sendall(len(body).to_bytes(_LENGTH_BYTES, "little") + body)


class Inbox:
    """Takes messages from a socket.

    Attributes:
        closed: the other side has closed the connection.
    """

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._buffer = bytearray()
        self.closed = False

    def receive(self) -> list[Message]:
        """Wait for data or the end of the connection; returns the complete messages."""
        try:
            block = self._control.recv(1 << 16)
        except OSError:
            block = b""
        if not block:
            self.closed = True
        self._buffer += block
        messages: list[Message] = []
        while len(self._buffer) >= _LENGTH_BYTES:
            end = _LENGTH_BYTES + int.from_bytes(self._buffer[:_LENGTH_BYTES], "little")
            if len(self._buffer) < end:
                break
            messages.append(from_msgpack(bytes(self._buffer[_LENGTH_BYTES:end]), Message))
            del self._buffer[:end]
        return messages


NO_SAVER = "PTYCASSETTE_NO_SAVER"
"""Environment variable: anything but nothing, and recordings are saved at their end."""

Tell = Callable[[int], None]
"""Called with the bytes of output done; also now and then when the number has not changed."""

_PROGRESS_EACH_MS = 100
_GRACE_S = 5.0
# Starting an interpreter takes as long as saving this much without one.
_STARTED_FROM_BYTES = 512 << 10


def savers_wanted() -> bool:
    """Whether savers are switched on, as they are by default."""
    return not os.environ.get(NO_SAVER)


class Saver(Protocol):
    """The interface of a saver, as the recorder uses it."""

    def begin(self, begin: Begin) -> None:
        """Take the journal, which exists now."""

    def journal_grew(self, size: int) -> None:
        """Take the new length of the journal in bytes."""

    def finish(self, tell: Tell | None) -> Published | None:
        """Wait for the result, now that the journal is complete. None if the saver has no result.

        Raises:
            RunFailedError, SecretLeftError: as ``Finaliser.publish``.
        """

    def abandon(self) -> None:
        """End the saver and drop its work. Idempotent."""


class _Connection:
    """The connection to a running saver.

    Args:
        control: the socket to it.
        ended: whether the process has ended; reaps it.
        kill: ends the process at once.
    """

    def __init__(
        self, control: socket.socket, *, ended: Callable[[], bool], kill: Callable[[], None]
    ) -> None:
        self._control, self._ended, self._kill = control, ended, kill
        self._inbox = Inbox(control)
        self._result: Published | Failed | None = None
        self._done_bytes = 0

    def begin(self, begin: Begin) -> None:
        with suppress(OSError):
            send(self._control, begin)

    def finish(self, tell: Tell | None) -> Published | None:
        if self._control.fileno() < 0:
            return None
        with suppress(OSError):
            send(self._control, Finish())
        poll = new_poll()
        poll.register(self._control.fileno(), select.POLLIN)
        try:
            while self._result is None and not self._inbox.closed:
                if poll.poll(_PROGRESS_EACH_MS):
                    self._take(self._inbox.receive())
                if tell is not None:
                    tell(self._done_bytes)
        except KeyboardInterrupt:
            self.abandon()
            if self._result is None:
                raise
        self.abandon()
        if isinstance(self._result, Failed):
            raise _error(self._result)
        return self._result

    def _take(self, messages: list[Message]) -> None:
        for message in messages:
            match message:
                case Progress(done_bytes=done):
                    self._done_bytes = done
                case Published() | Failed():
                    self._result = message
                case _:
                    pass

    def abandon(self) -> None:
        """Let it clean up and end. A cassette that it published before still exists."""
        if self._control.fileno() < 0:
            return
        with suppress(OSError):
            self._control.shutdown(socket.SHUT_WR)
        deadline_s = monotonic_s() + _GRACE_S
        poll = new_poll()
        poll.register(self._control.fileno(), select.POLLIN)
        while not self._inbox.closed and (left_s := deadline_s - monotonic_s()) > 0:
            if poll.poll(max(1, round(left_s * 1000))):
                self._take(self._inbox.receive())
        while not self._ended():
            if monotonic_s() >= deadline_s:
                self._kill()
            time.sleep(0.001)
        self._control.close()


def _error(failed: Failed) -> CassetteError:
    if failed.error == SecretLeftError.__name__:
        return SecretLeftError(failed.message, where=failed.where, hint=failed.hint)
    return RunFailedError(failed.message, stage=failed.stage, where=failed.where, hint=failed.hint)


class ForkedSaver:
    """A saver for our own commands. It forks when created, and loads its modules on ``begin``.

    Args:
        serve: the function that the fork runs on its socket.

    Create it while the process has one thread and no important open files.
    """

    def __init__(self, serve: Callable[[socket.socket], None]) -> None:
        self._connection: _Connection | None = None
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                self._pid = os.fork()
            except OSError:  # no process to be had: the recorder saves by itself
                ours.close()
                return
            if self._pid == 0:
                _be_saver(theirs, serve)
        self._connection = _Connection(
            ours, ended=self._has_ended, kill=lambda: os.kill(self._pid, signal.SIGKILL)
        )

    def _has_ended(self) -> bool:
        try:
            return os.waitpid(self._pid, os.WNOHANG)[0] != 0
        except ChildProcessError:
            return True

    def begin(self, begin: Begin) -> None:
        """Take the journal, which exists now."""
        if self._connection is not None:
            self._connection.begin(begin)

    def journal_grew(self, size: int) -> None:
        """Do nothing: this saver polls the journal itself."""

    def finish(self, tell: Tell | None) -> Published | None:
        """As ``Saver.finish``."""
        return None if self._connection is None else self._connection.finish(tell)

    def abandon(self) -> None:
        """As ``Saver.abandon``."""
        if self._connection is not None:
            self._connection.abandon()


def _be_saver(
    control: socket.socket, serve: Callable[[socket.socket], None]
) -> NoReturn:  # pragma: no cover - in a fork, where no coverage is measured
    try:
        detach_process(control.fileno())
        serve(control)
    finally:
        os._exit(0)


class StartedSaver:
    """A saver for library use: another interpreter, started once the recording is long.

    Args:
        from_bytes: how long the journal must be.
    """

    def __init__(self, *, from_bytes: int = _STARTED_FROM_BYTES) -> None:
        self._from_bytes = from_bytes
        self._begin: Begin | None = None
        self._thread: threading.Thread | None = None
        self._connection: _Connection | None = None

    def begin(self, begin: Begin) -> None:
        """Take the journal, which exists now."""
        self._begin = begin

    def journal_grew(self, size: int) -> None:
        """Start it when the journal is long enough, in a thread, without delaying the recording."""
        if size >= self._from_bytes and self._thread is None and self._begin is not None:
            self._thread = threading.Thread(
                target=self._start, args=(self._begin,), name="saver-start", daemon=True
            )
            self._thread.start()

    def _start(self, begin: Begin) -> None:
        if not sys.executable or getattr(sys, "frozen", False):
            return
        import subprocess  # long recordings alone, and beside the recording

        ours, theirs = socket.socketpair()
        with theirs:
            try:
                process = subprocess.Popen(
                    python_command("-m", "ptycassette.recording.io.saver_process"),
                    stdin=theirs.fileno(),
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    start_new_session=True,
                    env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
                )
            except (OSError, ValueError):
                ours.close()
                return
        connection = _Connection(ours, ended=lambda: process.poll() is not None, kill=process.kill)
        connection.begin(begin)
        self._connection = connection

    def finish(self, tell: Tell | None) -> Published | None:
        """As ``Saver.finish``."""
        connection = self._started()
        return None if connection is None else connection.finish(tell)

    def abandon(self) -> None:
        """As ``Saver.abandon``."""
        connection = self._started()
        if connection is not None:
            connection.abandon()

    def _started(self) -> _Connection | None:
        """The connection, if one exists or is being made. No new one is made afterwards."""
        self._begin = None
        if self._thread is not None:
            self._thread.join()
        return self._connection


# The priority of a saver: low, until the user waits for it.


_FAR, _NEAR = 19, 5
_CAP_SYS_NICE = 1 << 23  # linux/capability.h
_SAMPLE_S = 0.008  # of processor time; the clock of a thread is finer than that everywhere
_CONTENDED = 1.3
_LONGEST_PAUSE_S = 1.0
# All processes without CAP_SYS_ADMIN together may write groups ten times a second.
_GROUP_WAIT_MS, _GROUP_TRIES, _URGENT_TRIES = 20, 10, 500


class Priority:
    """The priority of the thread that calls ``lowered``; on Linux each thread has its own.

    Args:
        before: the nice value to return to; None if the system does not allow it.
    """

    _group_fd: ClassVar[int | None] = None
    """The file of this session's group, where there are groups."""

    @classmethod
    def prepare(cls) -> None:
        """Do what works only while this process is dumpable; it must lead its session already."""
        with suppress(OSError):
            Path("/proc/self/oom_score_adj").write_text("500", encoding="ascii")
        with suppress(OSError):
            cls._group_fd = os.open("/proc/self/autogroup", os.O_WRONLY | os.O_CLOEXEC)

    def __init__(self, before: int | None) -> None:
        self._before = before
        self._pauses = before is None
        self._thread = threading.get_native_id() if sys.platform == "linux" else 0
        self._pause_s = 0.0
        self._leads = False
        self.discount_pause()

    @classmethod
    def lowered(cls) -> Priority:
        """Lower it now."""
        if not hasattr(os, "setpriority"):
            return cls(None)
        # A saver that the recorder's raised thread started has inherited its value.
        before = max(0, os.getpriority(os.PRIO_PROCESS, 0))
        back = _may_return_to(before)
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, 0, _FAR if back else min(_FAR, before + _NEAR))
        priority = cls(before if back else None)
        priority._leads = os.getsid(0) == os.getpid()
        if priority._leads:
            priority._set_group(_FAR)
        return priority

    def urgent(self) -> None:
        """Return to normal priority, if the system allows it: the user waits. Thread-safe."""
        self._pauses = False
        # First raise the group and this thread. Raised alone, the saver's thread would take the
        # little time that the group has, and this thread could not raise the group for a minute.
        if self._leads and not self._set_group(0, tries=1):
            # Others wrote theirs just now, and may again; the saver goes on meanwhile.
            patient = partial(self._set_group, 0, tries=_URGENT_TRIES)
            threading.Thread(target=patient, name="group", daemon=True).start()
        if self._before is not None:
            for thread in (0, self._thread):
                with suppress(OSError):
                    os.setpriority(os.PRIO_PROCESS, thread, self._before)

    def discount_pause(self) -> None:
        """Do not count the time before now as work."""
        self._passed_s, self._used_s = monotonic_s(), time.thread_time()

    def pause_s(self) -> float:
        """How long to pause, so that other processes get the processor."""
        used_s = time.thread_time() - self._used_s
        if not self._pauses or used_s < _SAMPLE_S:
            return 0.0
        passed_s = monotonic_s() - self._passed_s
        if passed_s > _CONTENDED * used_s:
            self._pause_s = min(max(2 * self._pause_s, 4 * used_s), _LONGEST_PAUSE_S)
        else:
            self._pause_s = 0.0
        self.discount_pause()
        return self._pause_s

    def _set_group(self, nice: int, *, tries: int = _GROUP_TRIES) -> bool:
        """Set the nice value of this session's group, if there are groups; False: try again."""
        if self._group_fd is None:
            return True
        for left in reversed(range(tries)):
            try:
                os.write(self._group_fd, b"%d" % nice)
            except BlockingIOError:
                if left:  # not ``time.sleep``, which does not wait where the clock has gone back
                    new_poll().poll(_GROUP_WAIT_MS)
            except OSError:
                break
            else:
                break
        else:
            return False
        return True


def _may_return_to(value: int) -> bool:
    """Whether the system would let this process have that nice value again (setpriority(2))."""
    with suppress(OSError, ValueError):
        for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
            if line.startswith("CapEff:"):
                if int(line.split()[1], 16) & _CAP_SYS_NICE:
                    return True
                break
    try:
        import resource

        return resource.getrlimit(resource.RLIMIT_NICE)[0] >= 20 - value
    except (ImportError, AttributeError, OSError, ValueError):
        return False


# Reads a journal back, and finds out whether its recorder is alive.


_BLOCK = 1 << 20
_PATIENCE_S = 0.2


class JournalSource:
    """A journal read back. An ``EventSource``: call it for a fresh pass over the events.

    Args:
        path: the file.
        salvage: end the events before damage in the middle instead of raising.

    Raises:
        NotFoundError: there is no such file.
        JournalError: it is not a journal, or it ends before its head.
    """

    def __init__(self, path: Path, *, salvage: bool = False) -> None:
        self.path = path
        self.salvage = salvage
        self.torn_bytes = 0
        self.damage: JournalError | None = None
        self.meta: SessionMeta = self._read_head()

    def __call__(self) -> Iterator[JournalEvent]:
        """The events, from the first.

        Raises:
            JournalError: damaged in the middle (unless ``salvage``).
        """
        decoder = JournalDecoder()
        try:
            yield from self._decode(decoder)
            decoder.finish()
        except JournalError as exc:
            if not self.salvage:
                raise self._located(exc) from exc.__cause__
            self.damage = exc
        self.torn_bytes = decoder.torn_bytes

    def _read_head(self) -> SessionMeta:
        decoder = JournalDecoder()
        try:
            for _ in self._decode(decoder):
                break
            if decoder.meta is None:
                decoder.finish()
        except JournalError as exc:
            if decoder.meta is None:
                raise self._located(exc) from exc.__cause__
        assert decoder.meta is not None  # noqa: S101 - narrows the type
        return decoder.meta

    def _located(self, exc: JournalError) -> JournalError:
        where = f"{self.path}, {exc.where}" if exc.where else str(self.path)
        return type(exc)(exc.message, where=where, hint=exc.hint)

    def _decode(self, decoder: JournalDecoder) -> Iterator[JournalEvent]:
        try:
            with os.fdopen(_opened(self.path), "rb", buffering=0) as file:
                while block := file.read(_BLOCK):
                    yield from decoder.feed(block)
        except OSError as exc:
            raise JournalError(f"cannot be read: {exc.strerror}") from exc


def _opened(path: Path) -> int:
    """Open a regular file that is not a link; see ``lock_left_behind`` for the errors."""
    try:
        return open_plain(path, follow_links=False)
    except NotFoundError as exc:
        raise NotFoundError("no such journal", where=str(path)) from exc
    except CassetteError as exc:
        if isinstance(exc.__cause__, PermissionError):
            raise
        raise JournalError(exc.message, where=str(path)) from exc


def lock_left_behind(path: Path) -> int:
    """Lock a journal whose recorder is gone. Returns the descriptor that holds the lock.

    A recorder that is killed while it starts its program leaves a fork, which keeps the
    lock for a moment. So this tries several times.

    Raises:
        LockedError: its recorder is alive, or another ``recover`` works on it.
        NotFoundError: it is gone.
        JournalError: it is not a regular file, or cannot be read.
    """
    fd = _opened(path)
    deadline = monotonic_s() + _PATIENCE_S
    while True:
        taken = try_lock(fd)
        if taken:
            return fd
        if taken is False and monotonic_s() < deadline:
            time.sleep(_PATIENCE_S / 20)
            continue
        try:
            _refuse(path, locked=taken is False)
        except BaseException:
            os.close(fd)
            raise
        return fd


def _refuse(path: Path, *, locked: bool) -> None:
    """Raise if it is locked; without locks, if the journal's recorder may be alive."""
    if locked:
        raise LockedError("another process is recording to it or recovering it", where=str(path))
    try:
        holder = JournalSource(path).meta.holder
    except EmptyJournalError:
        return
    if not is_gone(holder):
        raise LockedError(
            "its recorder may be alive: this file system has no locks that would show it",
            where=str(path),
            hint="recover it on the machine that recorded it; or copy it to another directory"
            " and recover the copy, with --output",
        )


# Turns a complete journal into a cassette, or into the diagnostic of a failed run.


class Publisher:
    """Publishes one journal at ``target``. The journal stays; its owner discards it.

    Attributes:
        saved: the result of the saver, if it did the work.
    """

    def __init__(
        self, plan: RunSpec, meta: SessionMeta, journal: JournalFile, target: Path
    ) -> None:
        self._plan = plan
        self._meta = meta
        self._journal = journal
        self._target = target
        self.saved: Published | None = None

    def publish(self, saver: Saver | None) -> Manifest:
        """Take the saver's result. Without a saver, or if it failed, do its work here.

        Raises:
            RunFailedError: the journal records a failed run; its diagnostic has been written.
            SecretLeftError, StorageError, ...: not published.
        """
        progress = self._progress()
        if saver is not None:
            self.saved = saver.finish(progress)
            if self.saved is not None:
                return self.saved.manifest
            # It may have been killed after it published, before it could report.
            from ptycassette.cassette.io.pending import remove_abandoned_recordings
            from ptycassette.cassette.io.staging import published_manifest

            published = published_manifest(self._target, self._meta.id)
            if published is not None:
                with disk_errors("publishing the cassette", self._target):
                    fsync_directory(self._target.parent)
                remove_abandoned_recordings(self._target)
                return published
        return self._finaliser(progress).publish(
            self._meta, self._source(), self._target, overwrite=self._plan.overwrite
        )

    def diagnose(self, reason: str, *, stage: str) -> Path:
        """Write the diagnostic of a failed run beside the target; returns its path."""
        return self._finaliser(self._progress()).diagnose(
            self._meta, self._source(), self._target, reason=reason, stage=stage
        )

    def _finaliser(self, progress: Callable[[int], None] | None) -> Finaliser:
        from ptycassette.recording.io.finalising import Finaliser  # a saver may have done it all

        return Finaliser(
            emulator=self._plan.emulator,
            scrubber=self._plan.scrubber,
            known=tuple(self._plan.known),
            progress=progress,
            before_record=self._plan.before_record,
            tape=tape_journal_of(self._journal.path),
        )

    def _progress(self) -> Callable[[int], None] | None:
        tell, total = self._plan.progress, self._journal.size
        if tell is None:
            return None
        tell(0, total)
        return lambda done: tell(done, total)

    def _source(self) -> JournalSource:
        return JournalSource(self._journal.path)


# Detaches a saver from the terminal and its signals, open files and core dumps.


_PR_SET_DUMPABLE = 4  # linux/prctl.h
_MOST_FDS = 1 << 20
_IGNORED = (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGTSTP, signal.SIGUSR1)


def detach_process(kept_fd: int) -> None:
    """Detach this process; of its open descriptors only ``kept_fd`` stays."""
    with suppress(OSError):  # it leads a session already
        os.setsid()
    signal.set_wakeup_fd(-1)
    for number in _IGNORED:
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    os.closerange(3, kept_fd)
    os.closerange(kept_fd + 1, min(_MOST_FDS, os.sysconf("SC_OPEN_MAX")))
    NoCoreDumps().hold()
    Priority.prepare()
    if sys.platform == "linux":
        import ctypes

        # Unlike a limit, this also stops a program that collects cores (core(5)).
        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
