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
from collections.abc import Callable
from contextlib import suppress
from typing import NoReturn, Protocol

from ptycassette.errors import CassetteError, RunFailedError, SecretLeftError
from ptycassette.recording.io._saver_messages import (
    Begin,
    Failed,
    Finish,
    Inbox,
    Message,
    Progress,
    Published,
    send,
)
from ptycassette.system.clock import monotonic_s
from ptycassette.system.interpreter import python_command
from ptycassette.system.pty.polling import new_poll

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
        """The journal is complete: wait for the result. None when there is none.

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
        """Let it clean up and end. A cassette that it had published by then counts."""
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
        serve: what the fork does with its socket.

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
        from ptycassette.recording.io._saver_detaching import detach_process

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
