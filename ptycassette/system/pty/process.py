"""A program under a PTY of its own, supervised: ``spawn`` starts it, ``PtyChild`` holds it.

The recorded program gets: argv as given (no shell), the size set before exec, a
session of its own with the PTY as controlling terminal, every signal at its default
and none blocked, no file descriptor besides 0, 1 and 2. If all three are others than
the PTY, it has no controlling terminal.

Between the recorder and the program stands one small process, the supervisor
(``_supervisor.py``; docs/decisions/0030): ptyprocess forks, the fork gives up the
terminal, becomes the subreaper and starts the program in a session that takes
the terminal; then it becomes the supervisor.

ptyprocess opens the PTY, sizes it and forks. We do without the rest of it: its
``close`` and ``__del__`` sleep, its ``spawn`` looks at the PATH of the recorder
instead of the child's, raises in the child when the directory is missing, and
puts the resolved path into ``argv[0]``.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import gc
import os
import select
import signal
import socket
import sys
import termios
import threading
import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

import msgspec
from ptyprocess.ptyprocess import PtyProcess

from ptycassette.errors import SpawnError
from ptycassette.model import Size, visible
from ptycassette.system.pty import _supervisor as pty_supervisor
from ptycassette.system.pty._child import DEFAULT_GRACE_S, PtyChild, winsize
from ptycassette.system.pty.core_dumps import NoCoreDumps, set_limits
from ptycassette.system.pty.signals import exit_status, signal_name, signal_number

__all__ = ["DEFAULT_GRACE_S", "PtyChild", "exit_status", "signal_name", "signal_number", "spawn"]

Streams = tuple[int | None, int | None, int | None]

_PR_SET_CHILD_SUBREAPER = 36  # linux/prctl.h
_PRCTL = ctypes.CDLL(None).prctl if sys.platform == "linux" else None
_SPAWN_LOCK = threading.Lock()
_SHORT_MS = 250
_SUPERVISE = (
    "import sys; sys.path.append(sys.argv[1])\nfrom _supervisor import main; main(sys.argv[2:])"
)
"""Imports the supervisor, which is compiled already; a script would be compiled each time."""


def spawn(
    argv: Sequence[str],
    *,
    size: Size,
    cwd: str | os.PathLike[str] | None = None,
    env: Mapping[str, str] | None = None,
    echo: bool = True,
    grace_s: float = DEFAULT_GRACE_S,
    streams: Streams = (None, None, None),
    lingers: bool = False,
) -> PtyChild:
    """Start ``argv`` under a new PTY, supervised. The caller closes what it gets.

    Args:
        argv: the program and its arguments; no shell is involved. A name without
            a slash is looked up on the PATH of ``env``.
        size: the terminal's size, set before exec.
        cwd: where it starts; here when None.
        env: its whole environment; the caller's own when None.
        echo: whether the terminal echoes what is typed until the program says otherwise.
        grace_s: how long other processes may take after SIGTERM, when the program or
            the recorder ends.
        streams: descriptors above 2 that become its stdin, stdout and stderr; None for the PTY.
            The caller closes its own.
        lingers: processes that the program leaves running are not ended with it, but by
            ``terminate`` or when the recorder ends. ``PtyChild.leave`` lets them live.

    Raises:
        SpawnError: not found (``exit_status`` 127) or not executable (126).
        ValueError: an empty argv, a NUL in a string, a size outside of 1 to 65535.
    """
    if not argv or any("\0" in word for word in argv):
        raise ValueError("argv must hold at least one word, and none with a NUL")
    winsize(size)
    environment = dict(os.environ if env is None else env)
    place = None if cwd is None else os.fspath(cwd)
    cores = NoCoreDumps()
    plan = _Plan(
        path=_resolve(argv[0], environment.get("PATH", os.defpath), place),
        argv=list(argv),
        env=environment,
        cwd=place,
        grace_ms=max(0, round(grace_s * 1000)),
        recorder=os.getpid(),
        supervisor=_supervisor_argv(),
        cores=cores.hold().limits_of_programs,
        streams=streams,
        lingers=lingers,
    )
    try:
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                supervisor, fd = _fork(plan, theirs.fileno(), size, echo=echo)
            except BaseException:
                ours.close()
                raise
        return _meet(supervisor, fd, ours, plan, cores)
    except BaseException:
        cores.release()
        raise


class _Plan(msgspec.Struct, frozen=True, kw_only=True):
    """All that the forked processes need, prepared before the fork."""

    path: str
    argv: list[str]
    env: dict[str, str]
    cwd: str | None
    grace_ms: int
    recorder: int
    supervisor: list[str] | None
    cores: tuple[int, int] | None = None
    streams: Streams = (None, None, None)
    lingers: bool = False


def _resolve(command: str, path: str, cwd: str | None) -> str:
    """The file to execute, absolute: POSIX's rules for PATH, seen from ``cwd``."""
    base = Path.cwd() / (cwd or "")
    if "/" in command:
        candidates = [base / command]
    else:
        candidates = [base / (entry or ".") / command for entry in path.split(os.pathsep)]
    refused = None
    for candidate in candidates:
        # In this order, and not as paths: a directory on the PATH may be closed to us.
        if os.access(candidate, os.X_OK) and candidate.is_file():
            return str(candidate)
        if refused is None and os.path.exists(candidate):  # noqa: PTH110
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
    """The argv of the supervisor; None where there is no interpreter to start."""
    script = Path(pty_supervisor.__file__).resolve()
    if not sys.executable or getattr(sys, "frozen", False) or not script.is_file():
        return None
    return [sys.executable, "-I", "-S", "-B", "-c", _SUPERVISE, str(script.parent)]


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
                pass_fds=(control, *(fd for fd in plan.streams if fd is not None)),
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


def _meet(
    supervisor: int, fd: int, control: socket.socket, plan: _Plan, cores: NoCoreDumps
) -> PtyChild:
    """Wait for the outcome of the start, and return what was started."""
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
        cores=cores,
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


# The rest runs in the forked process, where coverage is not measured.


def _in_child(plan: _Plan, control: int) -> NoReturn:  # pragma: no cover
    """In the forked process: fork into the supervisor and the program."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # giving up the terminal sends it
    # If the recorder ignores it, the system would discard the program's status (wait(2)).
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    fcntl.ioctl(0, termios.TIOCNOTTY)
    if _PRCTL is not None:
        _PRCTL(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    try:
        if plan.cores is not None:
            set_limits(plan.cores)
        program = _spawn_program(plan, control) if sys.platform == "linux" else os.fork()
        if program == 0:
            _become_program(plan, control)
        if plan.cores is not None:
            set_limits((0, plan.cores[1]))
        _become_supervisor(plan, control, program)
    finally:
        os._exit(127)


def _spawn_program(plan: _Plan, control: int) -> int:  # pragma: no cover
    """Start the program without copying the recorder's memory (posix_spawn(3)).

    The leader of a new session gets the first terminal that it opens as its own (tty(4)).
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
            file_actions=_stream_actions(plan.streams, tty),
            setsid=True,
            setsigmask=[],
            setsigdef=signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP},
        )
    except OSError as exc:
        os.write(control, b"P %d %s\n" % (os.getpid(), os.fsencode(tty)))
        os.write(control, b"E %d %s\n" % (exc.errno or 0, stage))
        raise
    # The recorder may be gone already: then the program must have a supervisor to end it.
    with suppress(OSError):
        os.write(control, b"P %d %s\n" % (program, os.fsencode(tty)))
    return program


def _stream_actions(streams: Streams, tty: str) -> list[Any]:  # pragma: no cover
    """The file actions for the program's three streams (posix_spawn_file_actions_addopen(3))."""
    actions: list[Any] = []
    opened: int | None = None
    for number, fd in enumerate(streams):
        if fd is not None:
            actions.append((os.POSIX_SPAWN_DUP2, fd, number))
        elif opened is not None:
            actions.append((os.POSIX_SPAWN_DUP2, opened, number))
        else:
            actions.append((os.POSIX_SPAWN_OPEN, number, tty, os.O_RDWR, 0))
            opened = number
    return actions


def _become_program(plan: _Plan, control: int) -> None:  # pragma: no cover
    """Take the terminal and execute, on systems where opening it is not enough to get it.

    Reports a failure over the socket.
    """
    os.setsid()
    tty = os.ttyname(0)
    if None in plan.streams:
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    for number, fd in enumerate(plan.streams):
        if fd is not None:
            os.dup2(fd, number)
            os.close(fd)
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        with suppress(OSError, ValueError):  # libc keeps some for its threads
            signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    os.write(control, b"P %d %s\n" % (os.getpid(), os.fsencode(tty)))
    stage = b"cwd"
    try:
        if plan.cwd is not None:
            os.chdir(plan.cwd)
        stage = b"exec"
        os.execve(plan.path, plan.argv, plan.env)  # noqa: S606 - no shell is what we want
    except OSError as exc:
        os.write(control, b"E %d %s\n" % (exc.errno or 0, stage))


def _become_supervisor(plan: _Plan, control: int, program: int) -> None:  # pragma: no cover
    """Close all of the recorder's descriptors and the terminal, and supervise."""
    gc.disable()  # finalizers of what is garbage in the recorder must not run here, too
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())  # the supervisor takes them
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    os.closerange(3, control)
    os.closerange(control + 1, min(1 << 20, os.sysconf("SC_OPEN_MAX")))
    os.chdir("/")
    os.set_inheritable(control, True)
    numbers = (control, program, plan.recorder, plan.grace_ms, int(plan.lingers))
    words = [str(number) for number in numbers]
    if plan.supervisor is not None and (plan.lingers or not _ends_soon(program, control)):
        with suppress(OSError):
            os.execv(plan.supervisor[0], [*plan.supervisor, *words])  # noqa: S606
    pty_supervisor.main(words)
    os._exit(0)


def _ends_soon(program: int, control: int) -> bool:  # pragma: no cover
    """Whether the program ends, or the recorder has an order, before an interpreter is worth it.

    Starting one takes longer than many programs run. False at once where the system cannot say.
    """
    if not hasattr(os, "pidfd_open"):
        return False
    poll = select.poll()
    try:
        poll.register(os.pidfd_open(program), select.POLLIN)
    except OSError:
        return False
    poll.register(control, select.POLLIN)
    return bool(poll.poll(_SHORT_MS))
