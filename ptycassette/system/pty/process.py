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
import socket
import sys
import termios
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ptycassette.errors import SpawnError
from ptycassette.model.geometry import Size
from ptycassette.model.visible_text import visible
from ptycassette.system.files.state_dirs import current_dir
from ptycassette.system.pty._child import DEFAULT_GRACE_S, PtyChild, winsize
from ptycassette.system.pty._launch import StartPlan, Streams, launch, none_to_be_had
from ptycassette.system.pty.core_dumps import NoCoreDumps
from ptycassette.system.pty.modes import TerminalTemplate
from ptycassette.system.pty.signals import exit_status, signal_name, signal_number

if TYPE_CHECKING:
    from ptycassette.system.network import Guard

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
    """Start ``argv`` under a new PTY, supervised. The caller closes what it gets.

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
    """Return what was started, or raise why it could not be."""
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
    """What went wrong between fork and exec, in words."""
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
