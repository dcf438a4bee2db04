"""Names of signals and exit statuses, as journals and cassettes spell them."""

from __future__ import annotations

import os
import signal

from ptycassette.model import ExitStatus

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


def exit_status(wait_status: int) -> ExitStatus:
    """How a program ended, from the status word of wait(2).

    After a signal ``code`` is -1 and ``signal`` is the description that the
    reference implementation writes: ``killed``, ``terminated``, ``hangup``,
    ``segmentation fault``; ``signal N`` for others.
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
