"""A program under a PTY of its own, supervised: ``spawn`` starts it, ``PtyChild`` holds it.

What the recorded program finds: argv as given (no shell), the size set before
exec, a session of its own with the PTY as controlling terminal, every signal at
its default and none blocked, no file descriptor besides 0, 1 and 2.

Between the recorder and the program stands one small process, the supervisor
(``pty_supervisor``; docs/decisions/0030): ptyprocess forks, the fork gives the
terminal up, becomes the subreaper and forks again; the inner process takes the
terminal and becomes the program, the outer one becomes the supervisor.

ptyprocess opens the PTY, sizes it and forks. We do without the rest of it: its
``close`` and ``__del__`` sleep, its ``spawn`` looks at the PATH of the recorder
instead of the child's, raises in the child when the directory is missing, and
puts the resolved path into ``argv[0]``.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import select
import signal
import socket
import struct
import sys
import termios
import threading
import time
import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn, Self

import msgspec
from ptyprocess.ptyprocess import PtyProcess

from ptycassette.errors import SpawnError
from ptycassette.host import pty_supervisor
from ptycassette.host.pty_port import LineMode
from ptycassette.model.events import ExitStatus
from ptycassette.model.geometry import Size
from ptycassette.model.visible import visible

__all__ = ["PtyChild", "exit_status", "signal_name", "signal_number", "spawn"]

DEFAULT_GRACE_S = 1.0
"""How long who is left may take to end after SIGTERM before SIGKILL."""

_PR_SET_CHILD_SUBREAPER = 36  # linux/prctl.h
_PRCTL = ctypes.CDLL(None).prctl if sys.platform == "linux" else None
_SPAWN_LOCK = threading.Lock()

# Go's names (package syscall, String of Signal), because that is what cassettes hold.
_SIGNAL_TEXTS: dict[int, str] = {
    signal.SIGHUP: "hangup",
    signal.SIGINT: "interrupt",
    signal.SIGQUIT: "quit",
    signal.SIGILL: "illegal instruction",
    signal.SIGTRAP: "trace/breakpoint trap",
    signal.SIGABRT: "aborted",
    signal.SIGBUS: "bus error",
    signal.SIGFPE: "floating point exception",
    signal.SIGKILL: "killed",
    signal.SIGUSR1: "user defined signal 1",
    signal.SIGSEGV: "segmentation fault",
    signal.SIGUSR2: "user defined signal 2",
    signal.SIGPIPE: "broken pipe",
    signal.SIGALRM: "alarm clock",
    signal.SIGTERM: "terminated",
}


class PtyChild:
    """A running program, its PTY, and the supervisor that watches over its process tree.

    Attributes:
        fd: the master side of the PTY, non-blocking and not inherited by others.
        pid: process id of the program itself, leader of its session and process group.
        tty: path of the slave side.

    Thread-safe except for ``close``. The program's end is known at once as
    ``ended``; ``poll`` and ``wait`` report it when nobody of its tree is left.
    Read ``fd`` meanwhile: a program that cannot write does not end.
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
    ) -> None:
        self.fd = fd
        self.pid = pid
        self.tty = tty
        self._supervisor = supervisor
        self._control = control
        self._lock = threading.Lock()
        self._heard = heard
        self._ended: ExitStatus | None = None
        self._gone = False
        self._slave = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def control_fd(self) -> int:
        """Readable when ``ended`` or ``poll`` may have changed; for ``select``, not for reading."""
        return self._control.fileno()

    @property
    def ended(self) -> ExitStatus | None:
        """How the program ended, as soon as it did; others of its tree may still be there."""
        self._listen()
        return self._ended

    def poll(self) -> ExitStatus | None:
        """How the program ended, when nobody of its tree is left; None before."""
        self._listen()
        return self._ended if self._gone else None

    def wait(self, timeout_s: float | None = None) -> ExitStatus | None:
        """As ``poll``, after at most ``timeout_s`` seconds; for ever when None."""
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        news = select.poll()
        news.register(self._control, select.POLLIN)
        while (status := self.poll()) is None:
            left_s = None if deadline is None else deadline - time.monotonic()
            if left_s is not None and left_s <= 0:
                return None
            news.poll(None if left_s is None else left_s * 1000)
        return status

    def read(self, max_bytes: int) -> bytes | None:
        """What the program wrote, at most ``max_bytes``; None when there is nothing now.

        Empty when nobody has the other side open (EIO on Linux). While the
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
            if exc.errno == errno.EIO:  # nobody has the other side open: nobody will ever read it
                return len(data)
            raise

    def line_mode(self) -> LineMode:
        """How the line discipline takes input just now (termios(3))."""
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

    def set_size(self, size: Size) -> None:
        """Give the terminal another size; the foreground process group gets SIGWINCH.

        Raises:
            ValueError: not within 1 to 65535.
        """
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, _winsize(size))

    def send_signal(self, which: str | int) -> None:
        """Signal the foreground process group, as the terminal does for ctrl-c.

        Falls back to the program's own group and then to the program. Does
        nothing when it is over.

        Args:
            which: ``int``, ``INT``, ``SIGINT`` or a number.

        Raises:
            ValueError: no such signal.
        """
        number = signal_number(which)
        if self.ended is not None:
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
        """As ``terminate``, but return at once; ``poll`` tells when it is done."""
        with suppress(OSError):
            self._control.send(b"T %d\n" % max(0, round(grace_s * 1000)))

    def terminate(self, grace_s: float = DEFAULT_GRACE_S) -> ExitStatus:
        """End everybody of the tree: SIGTERM, SIGHUP at half of ``grace_s``, SIGKILL after it.

        Returns when nobody is left. Idempotent.
        """
        self.request_end(grace_s)
        status = self.wait(grace_s + _STUCK_AFTER_S)
        if status is None:
            # Somebody stopped or starves the supervisor; its end is the end of the socket.
            with suppress(ProcessLookupError):
                os.kill(self._supervisor, signal.SIGKILL)
            self._end_alone()
            status = self.wait()
        return status or _LOST

    def kill(self) -> ExitStatus:
        """End everybody of the tree with SIGKILL."""
        return self.terminate(0)

    def close(self) -> None:
        """End what still runs and let go of the PTY. Unread output is lost. Idempotent."""
        if self.fd < 0:
            return
        if self.poll() is None:
            self.kill()
        self._control.close()
        self.release_slave()
        os.close(self.fd)
        self.fd = -1

    def hold_slave(self) -> None:
        """Keep the slave side open, so that unread output survives the last writer (macOS)."""
        with suppress(OSError):
            self._slave = os.open(self.tty, os.O_RDWR | os.O_NOCTTY)

    def release_slave(self) -> None:
        """Let the slave side go: everything has been read."""
        if self._slave >= 0:
            os.close(self._slave)
            self._slave = -1

    def _listen(self) -> None:
        """Take in what the supervisor said."""
        with self._lock:
            if self._gone:
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
                if line.startswith(b"X "):
                    self._ended = exit_status(int(line[2:]))

    def _farewell(self) -> None:
        """The supervisor is gone: collect it; if it was killed, what it left is ours to end."""
        for line in self._heard.split(b"\n"):
            if line.startswith(b"X "):
                self._ended = exit_status(int(line[2:]))
        if self._ended is None:
            self._end_alone()
            self._ended = _LOST
        with suppress(ChildProcessError):  # somebody else in this process waited for all
            os.waitpid(self._supervisor, 0)
        self._gone = True

    def _end_alone(self) -> None:
        """End the program's tree without the supervisor, as far as it can still be seen."""
        for pid in [*pty_supervisor.descendants(self.pid), self.pid]:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)


def spawn(
    argv: Sequence[str],
    *,
    size: Size,
    cwd: str | os.PathLike[str] | None = None,
    env: Mapping[str, str] | None = None,
    echo: bool = True,
    grace_s: float = DEFAULT_GRACE_S,
) -> PtyChild:
    """Start ``argv`` under a new PTY, supervised. The caller closes what it gets.

    Args:
        argv: the program and its arguments; never a shell's line. A name without
            a slash is looked up on the PATH of ``env``.
        size: the terminal's size, set before exec.
        cwd: where it starts; here when None.
        env: its whole environment; the caller's own when None.
        echo: whether the terminal echoes what is typed until the program says otherwise.
        grace_s: how long who is left may take after SIGTERM, when the program or
            the recorder ends.

    Raises:
        SpawnError: not found (``exit_status`` 127) or not executable (126).
        ValueError: an empty argv, a NUL in a string, a size outside of 1 to 65535.
    """
    if not argv or any("\0" in word for word in argv):
        raise ValueError("argv must hold at least one word, and none with a NUL")
    _winsize(size)
    environment = dict(os.environ if env is None else env)
    place = None if cwd is None else os.fspath(cwd)
    plan = _Plan(
        path=_resolve(argv[0], environment.get("PATH", os.defpath), place),
        argv=list(argv),
        env=environment,
        cwd=place,
        grace_ms=max(0, round(grace_s * 1000)),
        recorder=os.getpid(),
        supervisor=_supervisor_argv(),
    )
    ours, theirs = socket.socketpair()
    with theirs:
        try:
            supervisor, fd = _fork(plan, theirs.fileno(), size, echo=echo)
        except BaseException:
            ours.close()
            raise
    return _meet(supervisor, fd, ours, plan)


def exit_status(wait_status: int) -> ExitStatus:
    """How a program ended, from the status word of wait(2).

    After a signal ``code`` is -1 and ``signal`` is the description that the
    reference implementation writes: ``killed``, ``terminated``, ``hangup``,
    ``segmentation fault``; ``signal N`` where it knows none.
    """
    if os.WIFSIGNALED(wait_status):
        number = os.WTERMSIG(wait_status)
        text = _SIGNAL_TEXTS.get(number, f"signal {number}")
        return ExitStatus(code=-1, signal=text, exited=False, signaled=True)
    return ExitStatus(code=os.WEXITSTATUS(wait_status), exited=True, signaled=False)


def signal_number(which: str | int) -> int:
    """The number of a signal: ``2``, ``int``, ``INT`` and ``SIGINT`` are one.

    Raises:
        ValueError: there is no such signal here.
    """
    try:
        if isinstance(which, int):
            return signal.Signals(which)
        return signal.Signals["SIG" + which.upper().removeprefix("SIG")]
    except (KeyError, ValueError) as exc:
        raise ValueError(f"no such signal: {which!r}") from exc


def signal_name(which: str | int) -> str:
    """The short lower-case name of a signal, as journals and cassettes hold it: ``int``.

    Raises:
        ValueError: there is no such signal here.
    """
    return signal.Signals(signal_number(which)).name.removeprefix("SIG").lower()


_DISABLED = b"\0"  # _POSIX_VDISABLE on Linux; on macOS it is 0xff, which no line holds
_MAX_LINE = 1023 if sys.platform == "darwin" else 4095  # MAX_CANON and N_TTY_BUF_SIZE, less the end
_STUCK_AFTER_S = 5.0
_LOST = exit_status(signal.SIGKILL)


class _Plan(msgspec.Struct, frozen=True, kw_only=True):
    """All that the forked processes need, made ready before the fork."""

    path: str
    argv: list[str]
    env: dict[str, str]
    cwd: str | None
    grace_ms: int
    recorder: int
    supervisor: list[str] | None


def _winsize(size: Size) -> bytes:
    """``struct winsize`` (tty_ioctl(4)) without pixels."""
    if not (0 < size.rows <= 0xFFFF and 0 < size.cols <= 0xFFFF):
        raise ValueError(f"a terminal size is 1 to 65535 rows and columns, not {size}")
    return struct.pack("HHHH", size.rows, size.cols, 0, 0)


def _resolve(command: str, path: str, cwd: str | None) -> str:
    """The file to execute, absolute: POSIX's rules for PATH, seen from ``cwd``."""
    base = Path.cwd() / (cwd or "")
    if "/" in command:
        candidates = [base / command]
    else:
        candidates = [base / (entry or ".") / command for entry in path.split(os.pathsep)]
    refused = None
    for candidate in candidates:
        if candidate.is_file() and os.access(candidate, os.X_OK):
            return str(candidate)
        if refused is None and candidate.exists():
            refused = candidate
    name = visible(command)
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


def _supervisor_argv() -> list[str] | None:
    """How to start the supervisor afresh; None where there is no interpreter to start."""
    script = pty_supervisor.__file__
    if not sys.executable or getattr(sys, "frozen", False) or not Path(script).is_file():
        return None
    return [sys.executable, "-I", "-S", str(Path(script).resolve())]


def _fork(plan: _Plan, control: int, size: Size, *, echo: bool) -> tuple[int, int]:
    """Fork under a new PTY; the child's pid and the master side, when exec is over."""
    start: Any = PtyProcess.spawn  # it has no types
    with _SPAWN_LOCK, warnings.catch_warnings():
        # Python 3.12 warns of forking with threads. The fork here does system calls alone.
        warnings.simplefilter("ignore", DeprecationWarning)
        try:
            process = start(
                [plan.path],
                echo=echo,
                dimensions=(size.rows, size.cols),
                pass_fds=(control,),
                preexec_fn=lambda: _in_child(plan, control),
            )
        except OSError as exc:
            raise SpawnError(
                f"{visible(plan.argv[0])}: no process or no PTY to be had ({exc})",
                exit_status=126,
                where="spawn",
                hint="end something, or raise the limits (ulimit -u, kernel.pty.max)",
            ) from exc
        fd = os.dup(process.fd)
        process.fileobj.close()
        process.closed = True  # its __del__ would sleep and send signals
        return process.pid, fd


def _meet(supervisor: int, fd: int, control: socket.socket, plan: _Plan) -> PtyChild:
    """Hear how the start went, and hand over what was started."""
    os.set_blocking(fd, False)
    control.setblocking(False)
    try:
        heard = control.recv(4096)  # written before exec, which we have waited for
    except BlockingIOError:
        heard = b""
    if not heard:
        heard = b"P %d \nE %d exec\n" % (supervisor, errno.EAGAIN)
    hello, _, rest = heard.partition(b"\n")
    _, program, tty = hello.split(b" ", 2)
    failure = rest.split(b"\n", 1)[0].split() if rest.startswith(b"E ") else None
    child = PtyChild(
        fd,
        int(program),
        tty=os.fsdecode(tty),
        supervisor=supervisor,
        control=control,
        heard=rest,
    )
    if failure is not None:
        child.close()
        raise _exec_error(plan, int(failure[1]), failure[2])
    if sys.platform == "darwin":  # pragma: no cover - measured on Linux
        child.hold_slave()
    return child


def _exec_error(plan: _Plan, number: int, stage: bytes) -> SpawnError:
    """What went wrong between fork and exec, in words."""
    name, reason = visible(plan.argv[0]), os.strerror(number)
    if stage == b"cwd":
        hint = "name a directory that exists and may be entered"
        text = f"cannot start in {visible(plan.cwd or '')}: {reason}"
        return SpawnError(text, exit_status=126, where="spawn", hint=hint)
    status, hint = 126, "check the file: `file` says what it is"
    if number == errno.ENOENT:
        status, hint = 127, "its first line (#!) or its loader names a file that does not exist"
    elif number == errno.ENOEXEC:
        hint = "a script needs a first line such as #!/bin/sh; no shell is put in between"
    elif number == errno.E2BIG:
        hint = "pass less in arguments and environment"
    return SpawnError(
        f"{name}: {visible(plan.path)}: {reason}", exit_status=status, where="spawn", hint=hint
    )


# What follows runs in the forked process, where no coverage is measured.


def _in_child(plan: _Plan, control: int) -> NoReturn:  # pragma: no cover
    """In the forked process: divide into the supervisor and the program."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # giving up the terminal sends it
    fcntl.ioctl(0, termios.TIOCNOTTY)
    if _PRCTL is not None:
        _PRCTL(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    try:
        program = _spawn_program(plan, control) if sys.platform == "linux" else os.fork()
        if program == 0:
            _become_program(plan, control)
        _become_supervisor(plan, control, program)
    finally:
        os._exit(127)


def _spawn_program(plan: _Plan, control: int) -> int:  # pragma: no cover
    """Start the program without another copy of the recorder's memory (posix_spawn(3)).

    A leader of a new session without a terminal gets the first one that it opens (tty(4)).
    """
    tty = os.ttyname(0)
    stage = b"cwd"
    try:
        if plan.cwd is not None:
            os.chdir(plan.cwd)
        stage = b"exec"
        program = os.posix_spawn(
            plan.path,
            plan.argv,
            plan.env,
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, tty, os.O_RDWR, 0),
                (os.POSIX_SPAWN_DUP2, 0, 1),
                (os.POSIX_SPAWN_DUP2, 0, 2),
            ],
            setsid=True,
            setsigmask=[],
            setsigdef=signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP},
        )
    except OSError as exc:
        os.write(control, b"P %d %s\n" % (os.getpid(), os.fsencode(tty)))
        os.write(control, b"E %d %s\n" % (exc.errno or 0, stage))
        raise
    os.write(control, b"P %d %s\n" % (program, os.fsencode(tty)))
    return program


def _become_program(plan: _Plan, control: int) -> None:  # pragma: no cover
    """Take the terminal and execute, on systems where opening it is not enough to get it.

    What fails is said over the socket.
    """
    os.setsid()
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        with suppress(OSError, ValueError):  # libc keeps some for its threads
            signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    os.write(control, b"P %d %s\n" % (os.getpid(), os.fsencode(os.ttyname(0))))
    stage = b"cwd"
    try:
        if plan.cwd is not None:
            os.chdir(plan.cwd)
        stage = b"exec"
        os.execve(plan.path, plan.argv, plan.env)  # noqa: S606 - no shell is what we want
    except OSError as exc:
        os.write(control, b"E %d %s\n" % (exc.errno or 0, stage))


def _become_supervisor(plan: _Plan, control: int, program: int) -> None:  # pragma: no cover
    """Let everything of the recorder and of the terminal go, and watch."""
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    os.closerange(3, control)
    os.closerange(control + 1, min(1 << 20, os.sysconf("SC_OPEN_MAX")))
    os.chdir("/")
    os.set_inheritable(control, True)
    words = [str(number) for number in (control, program, plan.recorder, plan.grace_ms)]
    if plan.supervisor is not None:
        with suppress(OSError):
            os.execv(plan.supervisor[0], [*plan.supervisor, *words])  # noqa: S606
    pty_supervisor.main(words)
    os._exit(0)
