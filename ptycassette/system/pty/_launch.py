"""Starts the supervisor of a program: ``launch.c``, or an interpreter where that was not built."""

from __future__ import annotations

import os
import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from ptycassette.errors import SpawnError
from ptycassette.model.visible_text import visible
from ptycassette.system.pty import _supervisor as pty_supervisor
from ptycassette.system.pty.polling import PURE_PYTHON, raised_fd

Streams = tuple[int | None, int | None, int | None]

LAUNCHER = Path(__file__).with_name("_launch")
_FORM = pty_supervisor.FORM
_SUPERVISE = (
    "import sys; sys.path.append(sys.argv[1])\nfrom _supervisor import main; main(sys.argv[2:])"
)
"""Imports the supervisor, which is compiled already; a script would be compiled each time."""


class StartPlan(msgspec.Struct, frozen=True, kw_only=True):
    """All that the supervisor needs to start the program. See ``launch.c``."""

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
    """A limit of resources as C has it: RLIM_INFINITY is -1 in Python."""
    return limit & 0xFFFF_FFFF_FFFF_FFFF


def launch(plan: StartPlan, slave: int) -> tuple[int, socket.socket, bytes]:
    """Start a supervisor on the PTY ``slave``, and through it the program.

    Returns:
        The supervisor's process id, the socket to it, and its first report. That is empty when
        the supervisor ended without one.

    Raises:
        SpawnError: there is no interpreter for it.
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
        SpawnError: there is no interpreter.
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
    """What the program inherits as ignored, as after ``nohup`` or from a shell's background job.

    Python itself ignores SIGPIPE and SIGXFSZ, and gives them back to programs, as ``subprocess``
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
