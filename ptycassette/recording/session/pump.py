"""Drive a ``SessionCore``: ``ThreadPump`` over descriptors, ``ScriptPump`` over a script.

A pump decides when things are done. The thread reads as soon as there is output. It renders,
which is not urgent, when the PTY has been quiet for 2 ms, in slices between which it checks
for new output, so that recorded times stay exact.
"""

from __future__ import annotations

import os
import select
import sys
import threading
from contextlib import suppress
from typing import Protocol

from ptycassette.model.ports import Clock, Sleeper
from ptycassette.recording.session.core import PipedCore, SessionCore
from ptycassette.system.clock import monotonic_s
from ptycassette.system.pty.process import PipedChild, PtyChild, raised_priority
from ptycassette.system.pty.terminal import Scripted

_QUIET_S = 0.002
_UNWATCHED_QUIET_S = 0.25  # no caller waits for the screen: the next read comes first
_WATCHED_LAG_S = 0.05
_RENDER_S = 0.02
_HUNG_UP_S = 0.02
_STRETCH_S = 1.0  # of a wait, after which signals are handled that another thread got
_STRANGER_S = 0.1
_STRANGER_LIMIT_S = 2.0
_PTY_HOLDS_BYTES = 1 << 20  # it holds 64 KiB on Linux; more than this comes from a stranger


class Pump(Protocol):
    """Drives one session."""

    def start(self) -> None:
        """Begin."""
        ...

    def block(self, event: threading.Event, timeout_s: float | None) -> None:
        """Return when ``event`` is set, or after ``timeout_s`` of this pump's time."""
        ...

    def rest(self, seconds: float) -> None:
        """Let ``seconds`` of this pump's time pass."""
        ...

    def join(self) -> None:
        """Return when the session is finished and nothing runs any more."""
        ...


class ScriptPump:
    """Drives a session in the caller's thread, whenever the caller waits."""

    def __init__(self, core: SessionCore, pty: Scripted, *, clock: Clock, sleeper: Sleeper) -> None:
        self._core = core
        self._pty = pty
        self._clock = clock
        self._sleeper = sleeper
        self._busy = False

    def start(self) -> None:
        """Do the work that is due at the start."""
        self._core.wake = self._run
        self._run()

    def block(self, event: threading.Event, timeout_s: float | None) -> None:
        """Let time pass until the script's next event, at most ``timeout_s``."""
        self._run()
        if event.is_set():
            return
        due_us = self._pty.due_us()
        waits_s = [] if timeout_s is None else [timeout_s]
        if due_us is not None:
            waits_s.append(max(0.0, (due_us - self._clock.now_us()) / 1e6))
        if not waits_s:
            raise RuntimeError("the script has come to its end, and a wait has no timeout")
        self._sleeper.sleep(min(waits_s))
        self._run()

    def join(self) -> None:
        """Let time pass until the script has ended."""
        while not self._core.finished:
            self.block(threading.Event(), 3600.0)

    def rest(self, seconds: float) -> None:
        """Let ``seconds`` of the script's time pass."""
        until_us = self._clock.now_us() + round(seconds * 1e6)
        while (left_us := until_us - self._clock.now_us()) > 0:
            self.block(threading.Event(), left_us / 1e6)

    def _run(self) -> None:
        """Do everything that can be done now."""
        if self._busy:
            return
        self._busy = True
        try:
            while self._step():
                pass
            if not self._core.finished and self._core.hung_up and self._core.exit is not None:
                self._core.finish()
        except Exception as exc:  # noqa: BLE001 - kept, and raised to whoever uses the session
            self._core.finish(exc)
        finally:
            self._busy = False

    def _step(self) -> bool:
        """One round; returns whether there is more to do now."""
        core = self._core
        core.perform_requests()
        core.pump_input()
        more = core.pump_output()
        core.pause()
        if core.behind or core.unpublished:
            core.render()
        core.look_for_end()
        core.pump_input()  # answers to the output that was just rendered
        due_us = self._pty.due_us()
        return more or (due_us is not None and due_us <= self._clock.now_us())


class ThreadPump:
    """Drives a session over a ``PtyChild`` in its own thread.

    Args:
        core: the session.
        child: its PTY, or its pipes (``PipePump``).
        sleeper: rests.
        timeout_s: end the program after this long; never when None.
        grace_s: how long it may then take after SIGTERM.
    """

    def __init__(
        self,
        core: SessionCore,
        child: PtyChild | PipedChild,
        *,
        sleeper: Sleeper,
        timeout_s: float | None,
        grace_s: float,
    ) -> None:
        self._core = core
        self._sleeper = sleeper
        self._child = child
        self._grace_s = grace_s
        self._deadline = None if timeout_s is None else monotonic_s() + timeout_s
        self._ready = _Readiness(child)
        self._thread = threading.Thread(target=self._run, name="ptycassette-pump", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._core.wake = self._ready.wake
        self._thread.start()

    def block(self, event: threading.Event, timeout_s: float | None) -> None:
        """Wait for the pump to set ``event``, in short stretches.

        The system may give a signal to another thread. Python handles it in the main thread, but
        does not wake that for it.
        """
        until_s = None if timeout_s is None else monotonic_s() + timeout_s
        left_s = _STRETCH_S if timeout_s is None else timeout_s
        while not event.wait(max(0.0, min(_STRETCH_S, left_s))):
            if until_s is not None and (left_s := until_s - monotonic_s()) <= 0:
                return

    def rest(self, seconds: float) -> None:
        """Let ``seconds`` pass."""
        self._sleeper.sleep(seconds)

    def join(self) -> None:
        """Wait for the thread; from within it, do nothing."""
        if threading.current_thread() is not self._thread:
            self._thread.join()
            self._ready.close()

    def _run(self) -> None:
        try:
            with raised_priority():
                self._loop()
        except BaseException as exc:  # noqa: BLE001 - kept, and raised to whoever uses the session
            with suppress(Exception):
                self._child.kill()
            self._core.finish(exc)
        else:
            self._core.finish()

    def _loop(self) -> None:
        core = self._core
        published = monotonic_s()
        while not self._is_over():
            core.perform_requests()
            if core.wants_to_write:
                core.pump_input()
            if core.pump_output():
                if core.watched and monotonic_s() - published > _WATCHED_LAG_S:
                    published = self._render_some()
                continue
            core.pause()
            quiet_s = _QUIET_S if core.watched else _UNWATCHED_QUIET_S
            if core.behind and (self._wait(quiet_s) or not core.catch_up(self._interrupted)):
                continue
            if core.watched and core.unpublished:
                core.publish()
                published = monotonic_s()
            self._wait(None)

    def _render_some(self) -> float:
        """Render in between, for the waiters, when output does not pause."""
        until = monotonic_s() + _RENDER_S
        self._core.catch_up(lambda: monotonic_s() > until)
        self._core.publish()
        return monotonic_s()

    def _interrupted(self) -> bool:
        return self._wait(0)

    def _wait(self, timeout_s: float | None) -> bool:
        """Sleep until something happens; returns whether it did."""
        core = self._core
        limits = [] if timeout_s is None else [timeout_s]
        if core.hung_up:
            limits.append(_HUNG_UP_S)
        if self._deadline is not None:
            limits.append(max(0.0, self._deadline - monotonic_s()))
        return self._ready.wait(min(limits) if limits else None, self._wishes())

    def _wishes(self) -> dict[int, tuple[bool, bool]]:
        """The descriptors of the program to wait for: whether to read, and whether to write."""
        reading, writing = not self._core.hung_up, self._core.wants_to_write
        return {self._fd: (reading, writing)} if reading or writing else {}

    @property
    def _fd(self) -> int:
        assert isinstance(self._child, PtyChild)  # noqa: S101 - PipePump asks for no PTY
        return self._child.fd

    def _is_over(self) -> bool:
        """Whether the program and all processes below it ended, and all their output was read."""
        core = self._core
        self._look_at_deadline()
        if not self._ready.supervisor_reported():
            return False
        core.look_for_end()
        if self._child.poll() is None:
            return False
        # No known process is left. An unknown one may hold the slave side open, and on macOS
        # we do: then the end is where nothing more comes.
        self._ready.stop_watching_supervisor()
        until, limit = monotonic_s() + _STRANGER_LIMIT_S, core.output_bytes + _PTY_HOLDS_BYTES
        while core.output_bytes < limit:
            more = core.pump_output()
            if not more and (core.hung_up or monotonic_s() > until):
                break
            if not self._ready.wait(_STRANGER_S, {self._fd: (True, False)}):
                break
        core.pause()
        return True

    def _look_at_deadline(self) -> None:
        if self._deadline is not None and monotonic_s() >= self._deadline:
            self._deadline = None
            self._core.timed_out = True
            self._child.request_end(self._grace_s)


class _Readiness:
    """Waits for the program, for the supervisor, and for other threads."""

    def __init__(self, child: PtyChild | PipedChild) -> None:
        self._news_fd: int | None = child.control_fd
        self._wake_fd, self._waker_fd = os.pipe()
        os.set_blocking(self._wake_fd, False)
        os.set_blocking(self._waker_fd, False)
        self._lock = threading.Lock()
        self._woken = False
        self._closed = False
        self._reported = True

    def wake(self) -> None:
        """Have ``wait`` return; from any thread, also after ``close``."""
        with self._lock:
            if not self._woken and not self._closed:
                self._woken = True
                os.write(self._waker_fd, b"\0")

    def supervisor_reported(self) -> bool:
        """Whether the supervisor may have reported something since the last call."""
        reported, self._reported = self._reported, False
        return reported

    def stop_watching_supervisor(self) -> None:
        """Stop watching the supervisor's socket: it has closed, and stays readable for ever."""
        self._news_fd = None

    def wait(self, timeout_s: float | None, wishes: dict[int, tuple[bool, bool]]) -> bool:
        """Sleep until something can be done; returns whether it can. See ``_wait_for``."""
        found = _wait_for(
            [self._wake_fd, *([] if self._news_fd is None else [self._news_fd])], wishes, timeout_s
        )
        if self._news_fd in found:
            self._reported = True
        if self._wake_fd in found:
            with self._lock:
                os.read(self._wake_fd, 64)
                self._woken = False
        return bool(found)

    def close(self) -> None:
        with self._lock:
            if not self._closed:
                self._closed = True
                os.close(self._wake_fd)
                os.close(self._waker_fd)


def _wait_for(
    others: list[int], wishes: dict[int, tuple[bool, bool]], timeout_s: float | None
) -> set[int]:
    """Which descriptors are ready: ``others`` for reading, the rest as wished (reading, writing).

    poll(2) on Linux, which has no limit of descriptors; select(2) elsewhere,
    as poll and kqueue have had faults with terminals on macOS.
    """
    if sys.platform != "linux":
        reading = [fd for fd, wish in wishes.items() if wish[0]]
        writing = [fd for fd, wish in wishes.items() if wish[1]]
        found = select.select([*others, *reading], writing, [], timeout_s)
        return {*found[0], *found[1]}
    poll = select.poll()
    for fd in others:
        poll.register(fd, select.POLLIN)
    for fd, (reads, writes) in wishes.items():
        poll.register(fd, (select.POLLIN * reads) | (select.POLLOUT * writes))
    timeout_ms = None if timeout_s is None else timeout_s * 1000
    return {fd for fd, _ in poll.poll(timeout_ms)}


# Drives a ``PipedCore`` over the pipes of a live program.


_SOON_S = 0.001
_LATER_S = 0.02
_SOON_TURNS = 50


class PipePump(ThreadPump):
    """Drives a session over a ``PipedChild`` in its own thread; see ``ThreadPump``."""

    def __init__(
        self,
        core: PipedCore,
        child: PipedChild,
        *,
        sleeper: Sleeper,
        timeout_s: float | None,
        grace_s: float,
    ) -> None:
        super().__init__(core, child, sleeper=sleeper, timeout_s=timeout_s, grace_s=grace_s)
        self._pipes = child
        self._piped = core
        self._quiet_turns = 0

    def _wait(self, timeout_s: float | None) -> bool:
        """Sleep until something happens, or until it is time to check what the program has read."""
        if self._piped.unsettled:
            look_s = _SOON_S if self._quiet_turns < _SOON_TURNS else _LATER_S
            timeout_s = look_s if timeout_s is None else min(timeout_s, look_s)
        happened = super()._wait(timeout_s)
        self._quiet_turns = 0 if happened else self._quiet_turns + 1
        return happened

    def _wishes(self) -> dict[int, tuple[bool, bool]]:
        wishes = dict.fromkeys(self._pipes.readers, (True, False))
        if self._pipes.writer >= 0:  # where only an error counts, too: the program has closed it
            wishes[self._pipes.writer] = (False, self._core.wants_to_write)
        return wishes

    def _is_over(self) -> bool:
        core = self._piped
        self._look_at_deadline()
        core.look_for_end()
        core.settle()
        if core.exit is None:
            return False
        if self._pipes.poll() is not None:  # all processes were ended; a stranger may hold a pipe
            while core.pump_output():
                pass
            return True
        if core.hung_up:
            core.pause()
            self._pipes.leave()
            return True
        return False
