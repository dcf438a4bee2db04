"""A program under a PTY of its own, supervised: ``spawn`` starts it, ``PtyChild`` holds it.

The recorded program gets: argv as given (no shell), the size set before exec, a
session of its own with the PTY as controlling terminal, every signal at its default
and none blocked, no file descriptor besides 0, 1 and 2. If all three are others than
the PTY, it has no controlling terminal.

Between the recorder and the program stands one small process, the supervisor
(``_supervisor.py``; docs/decisions/0030): ptyprocess forks, the fork gives up the
terminal, becomes the subreaper and starts the program in a session that takes
the terminal; then it becomes the supervisor (``_forked.py``).

ptyprocess opens the PTY, sizes it and forks. We do without the rest of it: its
``close`` and ``__del__`` sleep, its ``spawn`` looks at the PATH of the recorder
instead of the child's, raises in the child when the directory is missing, and
puts the resolved path into ``argv[0]``.
"""

from __future__ import annotations

import errno
import os
import socket
import sys
import threading
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ptyprocess.ptyprocess import PtyProcess

from ptycassette.errors import SpawnError
from ptycassette.model import Size, visible
from ptycassette.system.pty import _supervisor as pty_supervisor
from ptycassette.system.pty._child import DEFAULT_GRACE_S, PtyChild, winsize
from ptycassette.system.pty._forked import StartPlan, Streams, become_supervised
from ptycassette.system.pty.core_dumps import NoCoreDumps
from ptycassette.system.pty.signals import exit_status, signal_name, signal_number

__all__ = ["DEFAULT_GRACE_S", "PtyChild", "exit_status", "signal_name", "signal_number", "spawn"]

_SPAWN_LOCK = threading.Lock()
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
    plan = StartPlan(
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


def _fork(plan: StartPlan, control: int, size: Size, *, echo: bool) -> tuple[int, int]:
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
                preexec_fn=lambda: become_supervised(plan, control),
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
    supervisor: int, fd: int, control: socket.socket, plan: StartPlan, cores: NoCoreDumps
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


def _exec_error(plan: StartPlan, number: int, stage: bytes) -> SpawnError:
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
