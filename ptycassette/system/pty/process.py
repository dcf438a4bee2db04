"""A program under a PTY of its own, supervised: ``spawn`` starts it, ``PtyChild`` holds it.

The recorded program gets: argv as given (no shell), the size set before exec, a
session of its own with the PTY as controlling terminal, every signal at its default
and none blocked, no file descriptor besides 0, 1 and 2. If all three are others than
the PTY, it has no controlling terminal.

One small process, the supervisor, is between the recorder and the program
(docs/decisions/0030). The recorder opens the PTY and starts ``launch.c`` by posix_spawn(3):
between fork and exec no Python code runs, no object of the recorder exists twice, and other
threads of the recorder may do what they want. The new process becomes the subreaper, starts the
program in a session that takes the terminal, and becomes the supervisor (``_supervisor.py``).
"""

from __future__ import annotations

import errno
import fcntl
import os
import resource
import select
import signal
import socket
import struct
import sys
import termios
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, Self

import msgspec

from ptycassette.errors import SpawnError
from ptycassette.model.records import ExitStatus, StreamKinds
from ptycassette.model.screen import Size
from ptycassette.model.visible_text import visible
from ptycassette.system.clock import monotonic_s
from ptycassette.system.files.state_dirs import current_dir
from ptycassette.system.ownership import Closing, Owner
from ptycassette.system.pty import _supervisor as pty_supervisor
from ptycassette.system.pty.terminal import (
    LineMode,
    TerminalTemplate,
    exit_status,
    signal_name,
    signal_number,
)
from ptycassette.system.streams import unread_bytes

if TYPE_CHECKING:
    from ptycassette.model.records import OutputStream
    from ptycassette.system.network import Guard


# No core dumps while a program's output is in our memory: they would not be scrubbed.
#
# The soft limit of this process (RLIMIT_CORE, getrlimit(2)) is 0 while a ``NoCoreDumps`` is held,
# and is restored afterwards. Recorded programs get the earlier limit: their own memory is their
# affair. Other children that are started meanwhile inherit 0, and may raise it. The limit does not
# stop a program that collects cores (``|`` in core_pattern, core(5)). Only ``prctl`` would, and it
# would shut out debuggers (ptrace) as well.


_LOCK = threading.Lock()
_HELD: list[NoCoreDumps] = []
_BEFORE: list[tuple[int, int]] = []


class NoCoreDumps:
    """While entered, or between ``hold`` and ``release``, this process writes none.

    Any number may be held at once, by any threads. Both calls are idempotent.
    """

    def hold(self) -> Self:
        """Write no core dumps from now on."""
        with _LOCK:
            if self not in _HELD:
                if not _HELD:
                    before = resource.getrlimit(resource.RLIMIT_CORE)
                    _BEFORE[:] = [before]
                    set_limits((0, before[1]))
                _HELD.append(self)
        return self

    def release(self) -> None:
        """Restore the limit once no holder is left."""
        with _LOCK:
            if self in _HELD:
                _HELD.remove(self)
                if not _HELD:
                    set_limits(_BEFORE.pop())

    @property
    def limits_of_programs(self) -> tuple[int, int] | None:
        """The earlier limits, for recorded programs; None if no ``NoCoreDumps`` is held."""
        with _LOCK:
            return _BEFORE[0] if _BEFORE else None

    def __enter__(self) -> Self:
        return self.hold()

    def __exit__(self, *_: object) -> None:
        self.release()


def set_limits(limits: tuple[int, int]) -> None:
    """Set the limits of the size of cores, as far as that is allowed."""
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CORE, limits)


DEFAULT_GRACE_S = 1.0
"""How long who is left may take to end after SIGTERM before SIGKILL."""

_DISABLED = b"\0"  # _POSIX_VDISABLE on Linux; on macOS it is 0xff, which no line holds
_MAX_LINE = 1023 if sys.platform == "darwin" else 4095  # MAX_CANON and N_TTY_BUF_SIZE, less the end
_STUCK_AFTER_S = 5.0
_LOST = exit_status(signal.SIGKILL)
_LOST_RELAY = "the relay between the program and the tape's proxy was killed while the program ran"
_LOST_SUPERVISOR = "the supervisor of the program was killed while the program ran"


class PtyChild(Closing):
    """A running program, its PTY, and the supervisor that watches over its process tree.

    Attributes:
        fd: the master side of the PTY, non-blocking and not inherited by others.
        pid: process id of the program itself, leader of its session and process group.
        tty: path of the slave side.
        lost: why the run proves nothing: a process of ours was killed before the program ended.
            None if all is well.

    In a fork of the process that made it, it does nothing.

    Thread-safe except for ``close``. ``ended`` reports the program's end at once;
    ``poll`` and ``wait`` when no process of its tree is left. Keep reading ``fd``
    meanwhile: a program that cannot write does not end.
    """

    def __init__(
        self,
        fd: int,
        pid: int,
        *,
        tty: str,
        supervisor: int,
        control: socket.socket,
        heard: bytes = b"",
        cores: NoCoreDumps | None = None,
    ) -> None:
        self.fd = fd
        self.pid = pid
        self.tty = tty
        self.lost: str | None = None
        self._supervisor = supervisor
        self._control = control
        self._lock = threading.Lock()
        self._owner = Owner()
        self._heard = heard
        self._ended: ExitStatus | None = None
        self._gone = self._given_up = False
        self._slave = -1
        self._cores = cores

    @property
    def control_fd(self) -> int:
        """Readable when ``ended`` or ``poll`` may have changed; for ``select``, not for reading."""
        return self._control.fileno()

    @property
    def ended(self) -> ExitStatus | None:
        """How the program ended, as soon as it did; other processes of its tree may still run."""
        self._listen()
        return self._ended

    def processes(self) -> list[int]:
        """The process ids of the program and all processes below it that still run."""
        return pty_supervisor.descendants(self._supervisor)

    def poll(self) -> ExitStatus | None:
        """How the program ended, once no process of its tree is left; None before."""
        self._listen()
        return self._ended if self._gone else None

    def wait(self, timeout_s: float | None = None) -> ExitStatus | None:
        """As ``poll``, after at most ``timeout_s`` seconds; for ever when None."""
        deadline = None if timeout_s is None else monotonic_s() + timeout_s
        news = select.poll()
        news.register(self._control, select.POLLIN)
        while (status := self.poll()) is None:
            left_s = None if deadline is None else deadline - monotonic_s()
            if left_s is not None and left_s <= 0:
                return None
            news.poll(None if left_s is None else left_s * 1000)
        return status

    def read(self, max_bytes: int) -> bytes | None:
        """The program's output, at most ``max_bytes``; None if nothing can be read now.

        Empty when no process has the slave side open (EIO on Linux). While the
        program runs it may open it again.
        """
        try:
            return os.read(self.fd, max_bytes)
        except BlockingIOError:
            return None
        except OSError as exc:
            if exc.errno == errno.EIO:
                return b""
            raise

    def write(self, data: bytes) -> int:
        """How many bytes from the front of ``data`` the terminal took; 0 when its queue is full."""
        try:
            return os.write(self.fd, data)
        except BlockingIOError:
            return 0
        except OSError as exc:
            if exc.errno == errno.EIO:  # no process has the other side open: it will never be read
                return len(data)
            raise

    def line_mode(self) -> LineMode:
        """The current mode of the line discipline (termios(3))."""
        try:
            iflag, _, _, lflag, _, _, cc = termios.tcgetattr(self.fd)
        except (OSError, termios.error):  # the other side is gone
            return LineMode()
        ends = [b"\n", cc[termios.VEOF], cc[termios.VEOL], cc[termios.VKILL]]
        if iflag & termios.ICRNL:
            ends.append(b"\r")
        if lflag & termios.ISIG:
            ends += [cc[termios.VINTR], cc[termios.VQUIT], cc[termios.VSUSP]]
        return LineMode(
            canonical=bool(lflag & termios.ICANON),
            echo=bool(lflag & termios.ECHO),
            resets=b"".join(end for end in ends if isinstance(end, bytes) and end != _DISABLED),
            max_line=_MAX_LINE,
        )

    def set_size(self, size: Size, pixels: tuple[int, int] = (0, 0)) -> None:
        """Give the terminal another size; the foreground process group gets SIGWINCH.

        Args:
            size: rows and columns.
            pixels: its width and height in pixels; 0 for unknown.

        Raises:
            ValueError: not within 1 to 65535.
        """
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, winsize(size, pixels))

    def send_signal(self, which: str | int) -> None:
        """Signal the foreground process group, as the terminal does for ctrl-c.

        Falls back to the program's own group and then to the program. Does
        nothing once the program has ended.

        Args:
            which: ``int``, ``INT``, ``SIGINT`` or a number.

        Raises:
            ValueError: no such signal.
        """
        number = signal_number(which)
        if not self._owner.here or self.ended is not None:
            return
        with suppress(OSError):
            group = os.tcgetpgrp(self.fd)
            if group > 1 and group != os.getpgrp():
                os.killpg(group, number)
                return
        try:
            os.killpg(self.pid, number)
        except ProcessLookupError:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def request_end(self, grace_s: float = DEFAULT_GRACE_S) -> None:
        """Like ``terminate``, but return at once; ``poll`` shows when it is done."""
        # A grace of 0 means SIGKILL, so less than a millisecond must not become one.
        grace_ms = 0 if grace_s <= 0 else max(1, round(grace_s * 1000))
        self._order(b"T %d\n" % grace_ms)

    def leave(self) -> None:
        """Let processes that the program left running live, if it ``lingers``; returns at once."""
        self._order(b"L\n")

    def _order(self, line: bytes) -> None:
        if self._owner.here:
            with suppress(OSError):
                self._control.send(line)

    def terminate(self, grace_s: float = DEFAULT_GRACE_S) -> ExitStatus:
        """End the whole process tree: SIGTERM, SIGHUP at half of ``grace_s``, SIGKILL after it.

        With a grace of 0, SIGKILL at once. Returns when no process is left. Idempotent.
        """
        if not self._owner.here:
            return _LOST
        self.request_end(grace_s)
        status = self.wait(grace_s + _STUCK_AFTER_S)
        if status is None:
            # The supervisor is stopped or gets no processor time; closing the socket ends it.
            self._given_up = True
            with suppress(ProcessLookupError):
                os.kill(self._supervisor, signal.SIGKILL)
            self._end_alone()
            status = self.wait()
        return status or _LOST

    def kill(self) -> ExitStatus:
        """End the whole process tree with SIGKILL."""
        return self.terminate(0)

    def close(self) -> None:
        """End the running processes and close the PTY. Unread output is lost. Idempotent."""
        if self.fd < 0:
            return
        if self._owner.here and self.poll() is None:
            self.kill()
        self._control.close()
        self.release_slave()
        os.close(self.fd)
        self.fd = -1
        if self._cores is not None:
            self._cores.release()

    def hold_slave(self) -> None:
        """Keep the slave side open, so that unread output survives the last writer (macOS)."""
        with suppress(OSError):
            self._slave = os.open(self.tty, os.O_RDWR | os.O_NOCTTY)

    def release_slave(self) -> None:
        """Close the slave side, after everything has been read."""
        if self._slave >= 0:
            os.close(self._slave)
            self._slave = -1

    def _listen(self) -> None:
        """Read the supervisor's reports."""
        with self._lock:
            if self._gone or not self._owner.here:
                return
            while True:
                try:
                    data = self._control.recv(4096)
                except BlockingIOError:
                    break
                except OSError:
                    data = b""
                if not data:
                    self._farewell()
                    break
                self._heard += data
            *lines, self._heard = self._heard.split(b"\n")
            for line in lines:
                self._take(line)

    def _take(self, line: bytes) -> None:
        if line.startswith(b"X "):
            self._ended = exit_status(int(line[2:]))
        elif line == b"R":
            self.lost = _LOST_RELAY

    def _farewell(self) -> None:
        """The supervisor is gone: reap it; if it was killed, end the processes that it left."""
        for line in self._heard.split(b"\n"):
            self._take(line)
        if self._ended is None:
            self._end_alone()
            self._ended = _LOST
            if not self._given_up:
                self.lost = _LOST_SUPERVISOR
        with suppress(ChildProcessError):  # other code in this process waited for all children
            os.waitpid(self._supervisor, 0)
        self._gone = True

    def _end_alone(self) -> None:
        """End the program's tree without the supervisor, as far as it can still be seen."""
        for pid in [*pty_supervisor.descendants(self.pid), self.pid]:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)


def winsize(size: Size, pixels: tuple[int, int] = (0, 0)) -> bytes:
    """``struct winsize`` (tty_ioctl(4)): rows, columns, and width and height in pixels."""
    if not (0 < size.rows <= 0xFFFF and 0 < size.cols <= 0xFFFF):
        raise ValueError(f"a terminal size is 1 to 65535 rows and columns, not {size}")
    return struct.pack("HHHH", size.rows, size.cols, *pixels)


# Descriptors: waiting for many, with poll(2) on Linux and select(2) elsewhere; moving one.


PURE_PYTHON = "PTYCASSETTE_PURE_PYTHON"
"""Environment variable: if it is not empty, nothing compiled is used."""

_HIGH = 16  # above the numbers that a started process gets


class Poll(Protocol):
    """The part of ``select.poll`` that we use."""

    def register(self, fd: int, eventmask: int = ..., /) -> None:
        """Watch ``fd`` for ``POLLIN``, ``POLLOUT``, both or (0) only its end."""
        ...

    def modify(self, fd: int, eventmask: int, /) -> None:
        """Watch for something else."""
        ...

    def unregister(self, fd: int, /) -> None:
        """Stop watching ``fd``."""
        ...

    def poll(self, timeout: float | None = ..., /) -> list[tuple[int, int]]:
        """The descriptors that are ready, after at most ``timeout`` milliseconds."""
        ...


class SelectPoll:
    """``Poll`` over select(2). Descriptors below 1024; 0 as a mask watches for nothing."""

    def __init__(self) -> None:
        self._masks: dict[int, int] = {}

    def register(self, fd: int, eventmask: int = select.POLLIN, /) -> None:
        """See ``Poll``."""
        self._masks[fd] = eventmask

    def modify(self, fd: int, eventmask: int, /) -> None:
        """See ``Poll``."""
        if fd not in self._masks:
            raise FileNotFoundError(f"descriptor {fd} is not registered")
        self._masks[fd] = eventmask

    def unregister(self, fd: int, /) -> None:
        """See ``Poll``."""
        del self._masks[fd]

    def poll(self, timeout: float | None = None, /) -> list[tuple[int, int]]:
        """See ``Poll``."""
        reading = [fd for fd, mask in self._masks.items() if mask & select.POLLIN]
        writing = [fd for fd, mask in self._masks.items() if mask & select.POLLOUT]
        seconds = None if timeout is None else timeout / 1000
        readable, writable, _ = select.select(reading, writing, [], seconds)
        return [
            (fd, select.POLLIN * (fd in readable) | select.POLLOUT * (fd in writable))
            for fd in self._masks
            if fd in readable or fd in writable
        ]


def new_poll(platform: str = sys.platform) -> Poll:
    """The one for this system."""
    return select.poll() if platform == "linux" else SelectPoll()


def raised_fd(fd: int, *, blocking: bool = True) -> int:
    """A copy of ``fd`` with a high number, which no other program inherits."""
    copy = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, _HIGH)
    if not blocking:
        os.set_blocking(copy, False)
    return copy


# Starts the supervisor of a program: ``launch.c``, or an interpreter if that was not built.


Streams = tuple[int | None, int | None, int | None]

LAUNCHER = Path(__file__).with_name("_launch")
_FORM = pty_supervisor.FORM
_SUPERVISE = (
    "import sys; sys.path.append(sys.argv[1])\nfrom _supervisor import main; main(sys.argv[2:])"
)
"""Imports the supervisor, which is compiled already; a script would be compiled each time."""


class StartPlan(msgspec.Struct, frozen=True, kw_only=True):
    """The data that the supervisor needs to start the program."""

    path: str
    argv: list[str]
    env: dict[str, str]
    cwd: str | None
    grace_ms: int
    cores: tuple[int, int] | None = None
    streams: Streams = (None, None, None)
    lingers: bool = False

    def encode(self, supervisor: list[str]) -> bytes:
        """The words of the plan, each with a NUL after it."""
        soft, hard = ("", "") if self.cores is None else map(str, map(_unsigned, self.cores))
        given = sum(1 << number for number, fd in enumerate(self.streams) if fd is not None)
        env = [os.fsencode(name) + b"=" + os.fsencode(text) for name, text in self.env.items()]
        words: list[str | bytes] = [
            _FORM, str(os.getpid()), str(self.grace_ms), str(int(self.lingers)), str(given),
            soft, hard, self.path, self.cwd or "",
            str(len(supervisor)), *supervisor,
            str(len(self.argv)), *self.argv,
            str(len(env)), *env,
        ]  # fmt: skip
        return b"".join(os.fsencode(word) + b"\0" for word in words)


def _unsigned(limit: int) -> int:
    """A resource limit as in C: Python has -1 for RLIM_INFINITY."""
    return limit & 0xFFFF_FFFF_FFFF_FFFF


def launch(plan: StartPlan, slave: int) -> tuple[int, socket.socket, bytes]:
    """Start a supervisor on the PTY ``slave``, and through it the program.

    Returns:
        The supervisor's process id, the socket to it, and its first report. That is empty when
        the supervisor ended without one.

    Raises:
        SpawnError: no interpreter can run it.
        OSError: no process is to be had.
    """
    supervisor = supervisor_argv()
    commands = [supervisor] if os.environ.get(PURE_PYTHON) else [[str(LAUNCHER)], supervisor]
    with _unlinked_file(plan.encode(supervisor)) as file:
        for command in commands:
            with suppress(*([] if command is supervisor else [OSError])):
                started = _start(command, (slave, file), plan.streams)
                if started[2] or command is supervisor:
                    return started
                # It was not made for this machine.
                started[1].close()
                with suppress(ChildProcessError):
                    os.waitpid(started[0], 0)
    raise AssertionError  # the last command returned or raised


def supervisor_argv() -> list[str]:
    """The argv of the supervisor, an interpreter.

    Raises:
        SpawnError: no interpreter was found.
    """
    python = None if getattr(sys, "frozen", False) else sys.executable
    if not python:
        import shutil  # noqa: PLC0415 - for a frozen program alone

        python = shutil.which("python3")
    if not python:
        raise SpawnError(
            "no Python interpreter to watch over the program",
            exit_status=126,
            where="spawn",
            hint="install python3 and add it to PATH: a frozen program has no interpreter",
        )
    command = [python, "-I", "-S", "-B", "-c"]
    script = Path(pty_supervisor.__file__).resolve()
    if script.is_file():
        return [*command, _SUPERVISE, str(script.parent)]
    import inspect  # noqa: PLC0415 - for a zipped package alone

    source = inspect.getsource(pty_supervisor)
    return [*command, f"{source}\nimport sys; main(sys.argv[1:])"]


@contextmanager
def _unlinked_file(data: bytes) -> Iterator[int]:
    """A descriptor of a file without a name that holds ``data``."""
    if hasattr(os, "memfd_create"):
        fd = os.memfd_create("ptycassette-plan")
    else:  # pragma: no cover - macOS
        import tempfile  # noqa: PLC0415 - slow to load

        with tempfile.TemporaryFile() as file:
            fd = os.dup(file.fileno())
    try:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(fd, rest) :]
        yield fd
    finally:
        os.close(fd)


def _start(
    command: list[str], fds: tuple[int, int], streams: Streams
) -> tuple[int, socket.socket, bytes]:
    ours, theirs = socket.socketpair()
    copies: list[int] = []
    try:
        actions = []
        for number, fd in enumerate((*fds, theirs.fileno(), *streams)):
            if fd is not None:
                copies.append(raised_fd(fd))
                actions.append((os.POSIX_SPAWN_DUP2, copies[-1], number))
        pid = os.posix_spawn(
            command[0],
            command,
            os.environ,
            file_actions=actions,
            setsigmask=signal.valid_signals(),
            setsigdef=signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP} - _ignored(),
        )
    except BaseException:
        ours.close()
        raise
    finally:
        theirs.close()
        for fd in copies:
            os.close(fd)
    return pid, ours, ours.recv(4096)


def _ignored() -> set[signal.Signals]:
    """The signals that the program inherits as ignored, as after ``nohup`` or in a background job.

    Python itself ignores SIGPIPE and SIGXFSZ, and restores them for programs, as ``subprocess``
    does. The supervisor needs SIGCHLD.
    """
    kept = {signal.SIGPIPE, signal.SIGXFSZ, signal.SIGCHLD}
    return {one for one in signal.Signals if signal.getsignal(one) is signal.SIG_IGN} - kept


def none_to_be_had(plan: StartPlan, exc: OSError) -> SpawnError:
    """The error when the system has no process or no PTY for the program."""
    return SpawnError(
        f"{visible(plan.argv[0])}: no process or no PTY to be had ({exc})",
        exit_status=126,
        where="spawn",
        hint="end something, or raise the limits (ulimit -n, ulimit -u, kernel.pty.max); in a"
        " container, mount devpts at /dev/pts",
    )


__all__ = ["DEFAULT_GRACE_S", "PtyChild", "exit_status", "signal_name", "signal_number", "spawn"]

_NETWORK_VARIABLE = "PTYCASSETTE_DISABLE_NETWORK"  # of ``system.network``, which few need


def spawn(  # noqa: PLR0913 - one for each thing that a program is started with
    argv: Sequence[str],
    *,
    size: Size,
    cwd: str | os.PathLike[str] | None = None,
    env: Mapping[str, str] | None = None,
    grace_s: float = DEFAULT_GRACE_S,
    streams: Streams = (None, None, None),
    lingers: bool = False,
    like: TerminalTemplate | None = None,
    guard: Guard | None = None,
) -> PtyChild:
    """Start ``argv`` under a new PTY, supervised. The caller closes the result.

    Args:
        argv: the program and its arguments; no shell is involved. A name without
            a slash is looked up on the PATH of ``env``.
        size: the terminal's size, set before exec.
        cwd: where it starts; here when None.
        env: its whole environment; the caller's own when None.
        grace_s: how long other processes may take after SIGTERM, when the program or
            the recorder ends.
        streams: descriptors above 2 that become its stdin, stdout and stderr; None for the PTY.
            The caller closes its own.
        lingers: processes that the program leaves running are not ended with it, but by
            ``terminate`` or when the recorder ends. ``PtyChild.leave`` lets them live.
        like: the settings of the user's terminal, for the new one; when None the system's
            defaults, with IUTF8 unless the locale of ``env`` is not UTF-8.
        guard: keeps it off the network; when None only if PTYCASSETTE_DISABLE_NETWORK is set.

    Raises:
        PreflightError: that is set, and the program cannot be taken off the network here.
        SpawnError: not found (``exit_status`` 127) or not executable (126).
        ValueError: an empty argv, a NUL in a string, a size outside of 1 to 65535.
    """
    if not argv or any("\0" in word for word in argv):
        raise ValueError("argv must hold at least one word, and none with a NUL")
    winsize(size)
    environment = dict(os.environ if env is None else env)
    place = None if cwd is None else os.fspath(cwd)
    path, words = _resolve(argv[0], environment.get("PATH", os.defpath), place), list(argv)
    if guard is None and os.environ.get(_NETWORK_VARIABLE):
        from ptycassette.system.network import required_guard  # noqa: PLC0415 - few have it set

        guard = required_guard(words, environment)
    if guard is not None:
        words = guard.command(path, words)
        path = words[0]
    cores = NoCoreDumps()
    plan = StartPlan(
        path=path,
        argv=words,
        env=environment,
        cwd=place,
        grace_ms=max(0, round(grace_s * 1000)),
        cores=cores.hold().limits_of_programs,
        streams=streams,
        lingers=lingers,
    )
    try:
        master, slave = _open_pty(plan, size, like)
        try:
            tty = os.ttyname(slave)
            started = launch(plan, slave)
        except BaseException as exc:
            os.close(master)
            if isinstance(exc, OSError):
                raise none_to_be_had(plan, exc) from exc
            raise
        finally:
            os.close(slave)
        return _meet(master, tty, started, plan, cores)
    except BaseException:
        cores.release()
        raise


def _resolve(command: str, path: str, cwd: str | None) -> str:
    """The file to execute, absolute: POSIX's rules for PATH, seen from ``cwd``."""
    base = current_dir() / (cwd or "")
    if "/" in command:
        candidates = [base / command]
    else:
        entries = path.split(os.pathsep) if command else []
        candidates = [base / (entry or ".") / command for entry in entries]
    refused = None
    for candidate in candidates:
        # In this order, and not as paths: a directory on the PATH may be closed to us.
        if os.access(candidate, os.X_OK) and candidate.is_file():
            return str(candidate)
        if refused is None and os.path.exists(candidate):  # noqa: PTH110
            refused = candidate
    name = visible(command) or "''"
    if refused is None:
        hint = "give the path of a program" if "/" in command else "install it, or add it to PATH"
        raise SpawnError(f"{name}: there is no such program", where="spawn", hint=hint)
    what = "a directory" if refused.is_dir() else "not executable"
    raise SpawnError(
        f"{name}: {visible(str(refused))} is {what}",
        exit_status=126,
        where="spawn",
        hint="name a file that chmod +x has made executable",
    )


def _open_pty(plan: StartPlan, size: Size, like: TerminalTemplate | None) -> tuple[int, int]:
    """A new PTY with its settings, master and slave."""
    try:
        master, slave = os.openpty()
    except OSError as exc:
        raise none_to_be_had(plan, exc) from exc
    (like or TerminalTemplate.of_environment(plan.env)).give_to(slave)
    fcntl.ioctl(slave, termios.TIOCSWINSZ, winsize(size, like.pixels if like else (0, 0)))
    os.set_blocking(master, False)
    return master, slave


def _meet(
    master: int, tty: str, started: tuple[int, socket.socket, bytes], plan: StartPlan,
    cores: NoCoreDumps,
) -> PtyChild:  # fmt: skip
    """Return the started program, or raise the reason why it could not start."""
    supervisor, control, heard = started
    control.setblocking(False)
    if not heard:
        heard = b"P %d\nE %d exec\n" % (supervisor, errno.EAGAIN)
    hello, _, rest = heard.partition(b"\n")
    failure = rest.split(b"\n", 1)[0].split() if rest.startswith(b"E ") else None
    child = PtyChild(
        master,
        int(hello.removeprefix(b"P ")),
        tty=tty,
        supervisor=supervisor,
        control=control,
        heard=rest,
        cores=cores,
    )
    if failure is not None:
        child.close()
        raise _exec_error(plan, int(failure[1]), failure[2])
    if sys.platform == "darwin":  # pragma: no cover - measured on Linux
        child.hold_slave()
    return child


def _exec_error(plan: StartPlan, number: int, stage: bytes) -> SpawnError:
    name, reason = visible(plan.argv[0]), os.strerror(number)
    if stage == b"cwd":
        hint = "name a directory that exists and may be entered"
        text = f"cannot start in {visible(plan.cwd or '')}: {reason}"
        return SpawnError(text, exit_status=126, where="spawn", hint=hint)
    status, hint = 126, "run `file` on it to see what it is"
    if number == errno.ENOENT:
        status, hint = 127, "its first line (#!) or its loader names a file that does not exist"
    elif number == errno.ENOEXEC:
        hint = "a script needs a first line such as #!/bin/sh; no shell is put in between"
    elif number == errno.E2BIG:
        hint = "pass less in arguments and environment"
    return SpawnError(
        f"{name}: {visible(plan.path)}: {reason}", exit_status=status, where="spawn", hint=hint
    )


# A program whose stdin, stdout and stderr are pipes of ours, supervised like one under a PTY.


_NO_TERMINAL = "the program has no terminal, and so no size"


def spawn_piped(kinds: StreamKinds, start: Callable[[Streams], PtyChild]) -> PipedChild:
    """Start a program over pipes. The caller closes the result.

    Args:
        kinds: the kind of each stream: ``pipe`` or ``null``.
        start: starts it with these descriptors (``spawn(streams=, lingers=True)``).

    Raises:
        ValueError: a stream is something else.
        SpawnError: what ``start`` raises.
    """
    ours, theirs = [-1, -1, -1], [-1, -1, -1]
    try:
        for number, kind in enumerate((kinds.stdin, kinds.stdout, kinds.stderr)):
            if number == 2 and kinds.merged:
                theirs[2] = raised_fd(theirs[1])
            else:
                ours[number], theirs[number] = _ends(number, kind)
        stdin, stdout, stderr = theirs
        child = start((stdin, stdout, stderr))
    except BaseException:
        _close(ours)
        raise
    finally:
        _close(theirs)
    return PipedChild(child, ours)


def _ends(number: int, kind: str) -> tuple[int, int]:
    """Our end of a stream (-1 without one) and the program's."""
    if kind == "null":
        null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        try:
            return -1, raised_fd(null)
        finally:
            os.close(null)
    if kind != "pipe":
        raise ValueError(f"a stream is a pipe or null here, not {kind!r}")
    reader, writer = os.pipe()
    try:
        ours, theirs = (writer, reader) if number == 0 else (reader, writer)
        return raised_fd(ours, blocking=False), raised_fd(theirs)
    finally:
        os.close(reader)
        os.close(writer)


class PipedChild(Closing):
    """A running program and our ends of its pipes. See ``Pty`` for the calls that a session makes.

    Args:
        child: the program, which lingers; owned from here on.
        ours: our ends of stdin, stdout and stderr; -1 without one.
    """

    piped = True

    def __init__(self, child: PtyChild, ours: list[int]) -> None:
        self._child = child
        self._ours = ours

    # -- the program ---------------------------------------------------------------

    @property
    def pid(self) -> int:
        """Process id of the program, leader of its session and process group."""
        return self._child.pid

    @property
    def control_fd(self) -> int:
        """See ``PtyChild.control_fd``."""
        return self._child.control_fd

    @property
    def lost(self) -> str | None:
        """See ``PtyChild.lost``."""
        return self._child.lost

    @property
    def ended(self) -> ExitStatus | None:
        """See ``PtyChild.ended``."""
        return self._child.ended

    def poll(self) -> ExitStatus | None:
        """See ``PtyChild.poll``."""
        return self._child.poll()

    def send_signal(self, which: str | int) -> None:
        """Signal the program's process group."""
        self._child.send_signal(which)

    def request_end(self, grace_s: float) -> None:
        """See ``PtyChild.request_end``."""
        self._child.request_end(grace_s)

    def kill(self) -> ExitStatus:
        """End its whole process tree with SIGKILL."""
        return self._child.kill()

    def leave(self) -> None:
        """Let processes that the program left live; returns when the supervisor has exited."""
        self._child.leave()
        self._child.wait()

    def close(self) -> None:
        """End the processes that still run, and close the pipes. Idempotent."""
        _close(self._ours)
        self._child.close()

    # -- its streams ---------------------------------------------------------------

    @property
    def readers(self) -> list[int]:
        """The descriptors that output is read from."""
        return [fd for fd in self._ours[1:] if fd >= 0]

    @property
    def writer(self) -> int:
        """The descriptor that input is written to; -1 without one, or once it is closed."""
        return self._ours[0]

    @property
    def hung_up(self) -> bool:
        """Whether stdout and stderr have ended."""
        return not self.readers

    def read_stream(self, max_bytes: int) -> tuple[OutputStream | None, bytes] | None:
        """Output and its stream: empty at the end of a stream, None if there is nothing now."""
        for number, name in ((1, "stdout"), (2, "stderr")):
            if self._ours[number] < 0:
                continue
            with suppress(BlockingIOError):
                data = os.read(self._ours[number], max_bytes)
                if not data:
                    self._drop(number)
                return ("stdout" if name == "stdout" else "stderr"), data
        return None

    def read(self, max_bytes: int) -> bytes | None:
        """As ``read_stream``, without the stream."""
        piece = self.read_stream(max_bytes)
        return piece if piece is None else piece[1]

    def write(self, data: bytes) -> int:
        """How many bytes of ``data`` the pipe took; 0 when it is full.

        Raises:
            BrokenPipeError: the program has closed its stdin, or it has none.
        """
        if self._ours[0] < 0:
            raise BrokenPipeError(errno.EPIPE, "its stdin is closed")
        try:
            return os.write(self._ours[0], data)
        except BlockingIOError:
            return 0

    def unread(self) -> int:
        """How many bytes of its stdin it has not read yet."""
        return unread_bytes(self._ours[0]) if self._ours[0] >= 0 else 0

    @property
    def reader_gone(self) -> bool:
        """Whether the program has closed its stdin before we ended it."""
        if self._ours[0] < 0:
            return False
        poll = select.poll()
        poll.register(self._ours[0], 0)
        return bool(poll.poll(0))

    def end_input(self) -> None:
        """Close the program's stdin."""
        self._drop(0)

    def line_mode(self) -> LineMode:
        """Pipes have no line discipline: bytes go in unchanged."""
        return LineMode()

    def set_size(self, size: Size) -> None:
        """Pipes have no size.

        Raises:
            ValueError: always.
        """
        del size
        raise ValueError(_NO_TERMINAL)

    def _drop(self, number: int) -> None:
        _close([self._ours[number]])
        self._ours[number] = -1


def _close(fds: list[int]) -> None:
    for number, fd in enumerate(fds):
        if fd >= 0:
            with suppress(OSError):
                os.close(fd)
            fds[number] = -1


# A higher priority for the thread that timestamps output, where the system allows it.
#
# On a busy machine a recorder with output to read waits for the processor, and its timestamps are
# late by that. With a nice value lower by ten it runs at once. Linux allows that to root and to
# those who have CAP_SYS_NICE or RLIMIT_NICE (setpriority(2)); for all others nothing happens.
#
# On Linux each thread has its own nice value, so only the calling thread is raised. Processes that
# it starts while it is raised would inherit the value: start the program before.


_STEP = 10


@contextmanager
def raised_priority() -> Iterator[None]:
    """Raise the calling thread's priority for the duration of the block, if that is allowed."""
    if sys.platform != "linux":  # elsewhere it would be that of the whole process
        yield
        return
    before = os.getpriority(os.PRIO_PROCESS, 0)
    with suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, before - _STEP)
    try:
        yield
    finally:
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, 0, before)
