"""Run a program in the foreground, with the caller's streams and terminal, to its end."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from ptycassette.errors import SpawnError
from ptycassette.system.network import guarded_command

# A terminal sends these to the program as well; the others are sent to us only.
_OF_THE_TERMINAL = (signal.SIGINT, signal.SIGQUIT)
_PASSED_ON = (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)


def run_in_foreground(
    argv: Sequence[str],
    *,
    env: Mapping[str, str],
    cwd: Path,
    held: int | None = None,
    ports: Sequence[int] = (),
) -> int:
    """Run a program; return its status as a shell does: its own, or 128 plus the signal's number.

    Args:
        argv: the command line.
        env: its whole environment.
        cwd: the folder in which it starts.
        held: a file descriptor that it inherits.
        ports: ports of servers here that it may reach if PTYCASSETTE_DISABLE_NETWORK is set.

    Raises:
        PreflightError: that is set, and the program cannot be taken off the network here.
        SpawnError: it could not be started.
    """
    command = guarded_command(argv, env, ports)
    started: list[subprocess.Popen[bytes]] = []
    early: list[int] = []
    with _signals(started, early):
        try:
            program = subprocess.Popen(
                command, env=dict(env), cwd=cwd, pass_fds=() if held is None else (held,)
            )
        except OSError as failed:
            missing = isinstance(failed, FileNotFoundError)
            raise SpawnError(
                f"cannot be started: {failed.strerror}",
                where=argv[0],
                exit_status=127 if missing else 126,
            ) from failed
        started.append(program)
        for number in early:
            program.send_signal(number)
        status = program.wait()
    return status if status >= 0 else 128 - status


@contextmanager
def _signals(started: Sequence[subprocess.Popen[bytes]], early: list[int]) -> Iterator[None]:
    """While entered, pass signals to the program. Those that come before its start are kept."""

    def pass_on(number: int, _frame: object) -> None:
        if not started:
            early.append(number)
        for program in started:
            program.send_signal(number)

    def leave_to_it(_number: int, _frame: object) -> None:
        """Do nothing. If we ignored the signal, the program would inherit that."""

    before = {number: signal.signal(number, leave_to_it) for number in _OF_THE_TERMINAL}
    before |= {number: signal.signal(number, pass_on) for number in _PASSED_ON}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
