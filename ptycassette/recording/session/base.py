"""The shared part of the sync and the async session, and the pumps that drive their core.

The actions of a session are in ``core``.
"""

from __future__ import annotations

import functools
import os
import select
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self, TypedDict, Unpack

from ptycassette.keys.names import canonical_key, encode_key, encode_paste, encode_text
from ptycassette.model.ports import (
    AsyncSleeper,
    Clock,
    Emulator,
    EmulatorFactory,
    SessionTap,
    Sleeper,
)
from ptycassette.model.records import ExitStatus, Noted, StreamKinds
from ptycassette.model.screen import Screen, Size
from ptycassette.recording.session.core import Input, PipedCore, SessionCore, has_pipes
from ptycassette.system.clock import MonotonicClock, SystemAsyncSleeper, SystemSleeper, monotonic_s
from ptycassette.system.pty.process import (
    DEFAULT_GRACE_S,
    PipedChild,
    PtyChild,
    raised_priority,
    spawn,
    spawn_piped,
)
from ptycassette.system.pty.terminal import DEFAULT_SIZE, Scripted
from ptycassette.terminal.emulator import default_emulator

if TYPE_CHECKING:
    from ptycassette.system.network import Guard


# Drive a ``SessionCore``: ``ThreadPump`` over descriptors, ``ScriptPump`` over a script.
#
# A pump decides when things are done. The thread reads as soon as there is output. It renders,
# which is not urgent, when the PTY has been quiet for 2 ms, in slices between which it checks for
# new output, so that recorded times stay exact.


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


# How a session is started: the size of its terminal and the environment of its program.


__all__ = [
    "CLEAN_NAMES",
    "DEFAULT_SIZE",
    "PIPES",
    "StreamChoice",
    "child_environment",
    "kinds_named",
    "size_given",
    "words_given",
]

PIPES = StreamKinds(stdin="pipe", stdout="pipe", stderr="pipe")

StreamChoice = Literal["terminal", "pipes"] | StreamKinds

CLEAN_NAMES = (
    "HOME",
    "LANG",
    "LANGUAGE",
    "LOGNAME",
    "PATH",
    "SHELL",
    "TMPDIR",
    "TZ",
    "USER",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_RUNTIME_DIR",
    "XDG_STATE_HOME",
)
"""What a clean environment keeps, besides every ``LC_*``: what programs need to find their files
and the user's language, and nothing that holds a credential or names the outer terminal."""

_OF_THE_OUTER_TERMINAL = ("COLUMNS", "LINES", "TERMCAP")


def kinds_named(streams: StreamChoice) -> StreamKinds:
    """The kinds of the program's streams.

    Raises:
        ValueError: it is an unknown word, or a kind that only a caller can give.
    """
    match streams:
        case "terminal":
            return StreamKinds()
        case "pipes":
            return PIPES
        case StreamKinds():
            given = {streams.stdin, streams.stdout, streams.stderr}
            if streams.only_terminal or given <= {"pipe", "null"}:
                return streams
        case _:
            raise ValueError(f"streams is {streams!r}, and must be terminal, pipes or StreamKinds")
    raise ValueError(
        f"streams are pipe or null each here, not {', '.join(sorted(given))}: other kinds are"
        " recorded as the caller gives them, with `ptycassette rec --as-given` or a shim"
    )


def words_given(argv: Sequence[str | bytes | os.PathLike[str]]) -> tuple[str, ...]:
    """The words of a command, as a caller gives them; words may also be bytes or paths.

    Raises:
        TypeError: it is one text, or a word is something else.
    """
    if isinstance(argv, str | bytes | os.PathLike):
        raise TypeError(f"argv is a list of words, such as ['echo', 'hello'], not {argv!r}")
    for word in argv:
        if not isinstance(word, str | bytes | os.PathLike):
            raise TypeError(f"each word of argv is a text, not {word!r}")
    return tuple(map(os.fsdecode, argv))


def size_given(size: Size) -> Size:
    """The size of a terminal, as a caller gives it.

    Raises:
        TypeError: it is something else.
    """
    if not isinstance(size, Size):
        raise TypeError(f"size is a Size, such as Size(rows=24, cols=80), not {size!r}")
    return size


def child_environment(
    *,
    clean: bool,
    extra: Mapping[str, str] | None = None,
    term: str = "xterm-256color",
    base: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """The environment of a program to record.

    TERM is ``term``. COLUMNS, LINES and TERMCAP are removed: they describe
    another terminal than the one that the program gets. ``extra`` overrides everything.

    Args:
        clean: keep only ``CLEAN_NAMES`` and ``LC_*``.
        extra: the variables to add or replace.
        term: the terminal type.
        base: where to start from; this process's environment when None.
    """
    source = os.environ if base is None else base
    kept = {
        name: value
        for name, value in source.items()
        if not clean or name in CLEAN_NAMES or name.startswith("LC_")
    }
    for name in _OF_THE_OUTER_TERMINAL:
        kept.pop(name, None)
    return {**kept, "TERM": term, **(extra or {})}


DEFAULT_TIMEOUT_S = 10.0
"""How long a wait takes at most when the caller does not say."""

SUBMIT_PAUSE_S = 0.06
"""Between a text and its Enter. Codex, Gemini CLI and Qwen take Enter in the same read as part of
a paste; a pause of 20 ms is too short for them, one of 50 ms is enough."""

CLOSE_GRACE_S = 0.5

Source = Literal["user", "driver"]


class Wiring(TypedDict, total=False):
    """The ports of a session."""

    tap: SessionTap | None
    clock: Clock
    sleeper: Sleeper
    async_sleeper: AsyncSleeper
    emulator: EmulatorFactory
    start_us: int | None  # the moment of the clock that counts as 0; None for now
    guard: Guard | None  # keeps the program off the network; PTYCASSETTE_DISABLE_NETWORK does, too


class SessionBase:
    """A program under a PTY or over pipes, driven from here. See ``Session``, ``AsyncSession``.

    Args:
        argv: the program and its arguments; no shell is involved.
        size: of the terminal, set before exec.
        cwd: where the program starts; here when None.
        env: the variables to add to its environment, or to replace there.
        base_env: the environment to start from; this process's when None.
        clean_env: give the program only ``CLEAN_NAMES``, ``LC_*`` and ``env``.
        term: its TERM.
        timeout_s: end the program after this long; ``timed_out`` is then true.
        streams: ``terminal``, or ``pipes``: three pipes for stdin, stdout and stderr, as
            ``subprocess`` gives them. Or the kind of each, ``pipe`` or ``null``. With pipes,
            ``size`` is that of the screen that shows all output.
        tap: listens to everything that happens; called from the pump's thread.
        clock: where times come from.
        sleeper: waits in ``submit``; ``async_sleeper`` does in an event loop.
        emulator: makes the emulator that renders the screen and answers queries.

    Raises:
        SpawnError: the program could not be started.
        PreflightError: PTYCASSETTE_DISABLE_NETWORK is set, and cannot be enforced here.
        TypeError: ``argv`` is one text, or ``size`` no Size.
    """

    def __init__(  # noqa: PLR0913 - one for each thing that a user may say
        self,
        argv: Sequence[str],
        *,
        size: Size = DEFAULT_SIZE,
        cwd: str | os.PathLike[str] | None = None,
        env: Mapping[str, str] | None = None,
        base_env: Mapping[str, str] | None = None,
        clean_env: bool = True,
        term: str = "xterm-256color",
        timeout_s: float | None = None,
        streams: StreamChoice = "terminal",
        **wiring: Unpack[Wiring],
    ) -> None:
        words = words_given(argv)
        # Before the program, because it takes time, and output gets its time when it is read.
        emulator = wiring.get("emulator", default_emulator)(size_given(size))
        kinds = kinds_named(streams)
        environment = child_environment(clean=clean_env, extra=env, term=term, base=base_env)
        start = functools.partial(
            spawn, words, size=size, cwd=cwd, env=environment, guard=wiring.get("guard")
        )
        child: PtyChild | PipedChild = (
            start()
            if kinds.only_terminal
            else spawn_piped(kinds, lambda given: start(streams=given, lingers=True))
        )
        self._take(child, size, timeout_s, {**wiring, "emulator": lambda _: emulator})

    @classmethod
    def over(
        cls,
        pty: PtyChild | PipedChild | Scripted,
        *,
        size: Size = DEFAULT_SIZE,
        timeout_s: float | None = None,
        **wiring: Unpack[Wiring],
    ) -> Self:
        """A session over an existing PTY: a ``PtyChild``, or a ``ScriptedPty``.

        The session owns it from here on. Over a script, the sleeper must move the clock, as
        ``ManualClock`` does; such a session uses no thread and no real time.
        """
        session = cls.__new__(cls)
        session._take(pty, size, timeout_s, wiring)  # noqa: SLF001 - our own
        return session

    def _take(
        self,
        pty: PtyChild | PipedChild | Scripted,
        size: Size,
        timeout_s: float | None,
        wiring: Wiring,
    ) -> None:
        """Connect core, pump and ports, and start."""
        clock = wiring.get("clock") or MonotonicClock()
        self._async_sleeper: AsyncSleeper = wiring.get("async_sleeper") or SystemAsyncSleeper()
        sleeper: Sleeper = wiring.get("sleeper") or SystemSleeper()
        emulator: Emulator = wiring.get("emulator", default_emulator)(size)
        self._pty = pty
        self._size = size
        self._closed = False
        parts: dict[str, Any] = {
            "clock": clock,
            "emulator": emulator,
            "tap": wiring.get("tap"),
            "start_us": wiring.get("start_us"),
        }
        self._pipes = PipedCore(pty, **parts) if has_pipes(pty) else None
        self._core: SessionCore = self._pipes or SessionCore(pty, **parts)
        live: dict[str, Any] = {
            "sleeper": sleeper,
            "timeout_s": timeout_s,
            "grace_s": DEFAULT_GRACE_S,
        }
        self._pump: Pump
        if isinstance(pty, PtyChild):
            self._pump = ThreadPump(self._core, pty, **live)
        elif isinstance(pty, PipedChild):
            assert self._pipes is not None  # noqa: S101 - narrows the type
            self._pump = PipePump(self._pipes, pty, **live)
        else:
            self._pump = ScriptPump(self._core, pty, clock=clock, sleeper=sleeper)
        self._pump.start()

    @property
    def pid(self) -> int:
        """Process id of the program; 0 for a script."""
        return self._pty.pid if isinstance(self._pty, PtyChild | PipedChild) else 0

    @property
    def size(self) -> Size:
        """The terminal's size."""
        return self._size

    @property
    def exit_status(self) -> ExitStatus | None:
        """How the program ended; None while it runs."""
        return self._core.exit

    @property
    def finished(self) -> bool:
        """Whether the program and all processes below it ended, and their output was read."""
        return self._core.finished

    @property
    def timed_out(self) -> bool:
        """Whether it was ended because ``timeout_s`` had passed."""
        return self._core.timed_out

    @property
    def elapsed_us(self) -> int:
        """Microseconds since the start, as the tap's ``t_us``; constant after the end."""
        ended_us = self._core.ended_us
        return self._core.now_us() if ended_us is None else ended_us

    @property
    def last_screen(self) -> Screen:
        """The last rendered screen; costs nothing, and may be a moment old."""
        return self._core.view().screen

    @property
    def position(self) -> int | None:
        """In replay, the ``seq`` of the event that was played last; None elsewhere."""
        return getattr(self._pty, "position", None)

    @property
    def hides_input(self) -> bool:
        """In replay, whether the next recorded input was typed unseen; false elsewhere."""
        return bool(getattr(self._pty, "hides_input", False))

    def _key(self, name: str, source: Source, *, secret: bool = False) -> Input:
        """A key, in the mode that the program has set; over pipes only Enter exists."""
        if self._pipes is not None:
            if canonical_key(name) != "enter":
                raise ValueError(
                    f"{name}: keys are for terminals, and the program has pipes; send bytes"
                    " (send), or end its stdin (close_stdin)"
                )
            return Input(data=b"\n", source=source, secret=secret)
        scan = self._core.scan
        data = encode_key(
            name,
            application_cursor=scan.application_cursor,
            keyboard_flags=self._core.keyboard_flags,
        )
        return Input(data=data, source=source, key=canonical_key(name), secret=secret)

    def _bytes(self, data: bytes, source: Source) -> Input:
        """Bytes as they are.

        Raises:
            TypeError: they are not bytes.
        """
        if not isinstance(data, bytes | bytearray | memoryview):
            raise TypeError(
                f"send() takes bytes, not {type(data).__name__}: b'...', or type() for text"
            )
        return Input(data=bytes(data), source=source)

    def _text(self, text: str, source: Source, *, secret: bool = False) -> Input:
        """Text as from a keyboard: a newline is the Enter key, over pipes a newline."""
        _check_text(text)
        if self._pipes is not None:
            data = text.encode("utf-8", "surrogateescape")
            return Input(data=data, source=source, secret=secret)
        data = encode_text(text, keyboard_flags=self._core.keyboard_flags)
        return Input(data=data, source=source, secret=secret)

    def _focus(self, *, gained: bool) -> Input | None:
        """The report of a gained or lost focus; None if the program did not request reports."""
        if self._pipes is not None or not self._core.scan.focus_reports:
            return None
        return Input(data=b"\x1b[I" if gained else b"\x1b[O", source="terminal")

    def _paste(self, text: str, source: Source, *, secret: bool = False) -> Input:
        """Text as from a clipboard, bracketed if the program requested that."""
        if self._pipes is not None:
            return self._text(text, source, secret=secret)
        _check_text(text)
        data = encode_paste(text, bracketed=self._core.scan.bracketed_paste)
        return Input(data=data, source=source, paste=True, secret=secret)

    def _without_enter(self, text: str, source: Source, *, secret: bool = False) -> Input:
        """The first half of a submission: pasted where pastes are bracketed, typed elsewhere."""
        if self._pipes is None and self._core.scan.bracketed_paste:
            return self._paste(text, source, secret=secret)
        return self._text(text, source, secret=secret)

    @property
    def _submit_pause_s(self) -> float:
        return SUBMIT_PAUSE_S if self._pipes is None else 0.0

    @property
    def stdout(self) -> bytes:
        """All that the program wrote to its stdout so far; for programs over pipes.

        Raises:
            ValueError: it is at a terminal.
        """
        return bytes(self._with_pipes().outputs["stdout"])

    @property
    def stderr(self) -> bytes:
        """All of its stderr so far, as ``stdout``. Empty where both are one stream."""
        return bytes(self._with_pipes().outputs["stderr"])

    def _with_pipes(self) -> PipedCore:
        if self._pipes is None:
            raise ValueError(
                "the program is at a terminal, which has one stream for all: use screen() and"
                " keys, or start it with streams='pipes'"
            )
        return self._pipes

    def _all_input(self, data: bytes | str) -> Input:
        """The input of ``communicate``. Raises ``ValueError`` at a terminal."""
        self._with_pipes()
        given = data.encode("utf-8", "surrogateescape") if isinstance(data, str) else data
        return Input(data=given)

    def _noted(self, payload: Any) -> Any:
        return lambda t_us: Noted(t_us, payload)

    def _raise_failure(self) -> None:
        """Raise the session's failure, if it has one."""
        if self._core.failure is not None:
            raise self._core.over()

    def _status(self) -> ExitStatus:
        """How the program ended; raises while it runs."""
        if self._core.exit is None:
            raise self._core.over()
        return self._core.exit


def _check_text(text: object) -> None:
    """Raise ``TypeError`` unless ``text`` is a string."""
    if not isinstance(text, str):
        raise TypeError(f"text must be a str, not {type(text).__name__}: send() takes bytes")
