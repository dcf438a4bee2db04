"""What runs between ``fork`` and ``exec``: the forked process becomes supervisor and program.

It is a copy of the recorder that must not run the recorder's code: no locks are taken, nothing
is logged, and all that it needs is in a plan that was made before the fork. It ends by ``exec``
or ``_exit``, so coverage is not measured here. What goes wrong is reported over the control
socket: ``P PID TTY`` names the program, ``E ERRNO STAGE`` says why there is none.
"""

from __future__ import annotations

import ctypes
import fcntl
import gc
import os
import select
import signal
import sys
import termios
from contextlib import suppress
from typing import Any, NoReturn

import msgspec

from ptycassette.system.pty import _supervisor as pty_supervisor
from ptycassette.system.pty.core_dumps import set_limits

Streams = tuple[int | None, int | None, int | None]

_PR_SET_CHILD_SUBREAPER = 36  # linux/prctl.h
_PRCTL = ctypes.CDLL(None).prctl if sys.platform == "linux" else None
_SHORT_MS = 250


class StartPlan(msgspec.Struct, frozen=True, kw_only=True):
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


def become_supervised(plan: StartPlan, control: int) -> NoReturn:  # pragma: no cover
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


def _spawn_program(plan: StartPlan, control: int) -> int:  # pragma: no cover
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


def _become_program(plan: StartPlan, control: int) -> None:  # pragma: no cover
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


def _become_supervisor(plan: StartPlan, control: int, program: int) -> None:  # pragma: no cover
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
