"""Kinds of signals, their names and exit statuses, as journals and cassettes spell them."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

from ptycassette.model.events import ExitStatus


def _named(*names: str) -> frozenset[int]:
    return frozenset(
        int(getattr(signal, f"SIG{name}")) for name in names if hasattr(signal, f"SIG{name}")
    )


STOPPING = _named("TSTP", "TTIN", "TTOU")
"""Signals that stop a program by default, and may be caught."""
QUIET = _named("CHLD", "CONT", "URG", "WINCH", "INFO")
"""Signals that do not end a program by default."""
WAITED = _named("SEGV", "BUS", "FPE", "ILL", "PIPE", "XFSZ")
"""Signals that this process may cause itself, by a fault or a write.

A handler would run for those, too: after a fault it would be called again for ever. So these are
blocked, and a thread waits for those that others send (``SignalPipe``).
"""
TAKEN = frozenset(map(int, signal.valid_signals())) - _named("KILL", "STOP", "CHLD") - WAITED
"""All other signals that may be handled. SIGCHLD belongs to the processes of the recorder."""
_REAL_TIME = re.compile(r"rtmin\+([0-9]+)")

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
            return next(int(number) for number in signal.valid_signals() if number == which)
        name = which.lower().removeprefix("sig")
        if (real_time := _REAL_TIME.fullmatch(name)) and hasattr(signal, "SIGRTMIN"):
            return signal_number(int(signal.SIGRTMIN) + int(real_time[1]))
        return signal.Signals["SIG" + name.upper()]
    except (KeyError, ValueError, StopIteration) as exc:
        raise ValueError(f"no such signal: {which!r}") from exc


def signal_name(which: str | int) -> str:
    """The short lower-case name of a signal, as journals and cassettes hold it: ``int``.

    Real-time signals are ``rtmin+N``, but for ``rtmin`` and ``rtmax``.

    Raises:
        ValueError: there is no such signal here.
    """
    number = signal_number(which)
    try:
        return signal.Signals(number).name.removeprefix("SIG").lower()
    except ValueError:
        return f"rtmin+{number - signal.SIGRTMIN}"


def disposition(pid: int, number: int) -> Literal["default", "caught", "ignored", "ended"]:
    """What a process does with a signal, from ``/proc``; ``default`` where that is not known.

    ``ended`` is a child that nothing has waited for yet: it does nothing any more.
    """
    with suppress(OSError, ValueError):
        for line in Path(f"/proc/{pid}/status").read_bytes().splitlines():
            name, _, mask = line.partition(b":")
            if name == b"State" and mask.strip()[:1] == b"Z":
                return "ended"
            if name in {b"SigCgt", b"SigIgn"} and int(mask, 16) >> (number - 1) & 1:
                return "caught" if name == b"SigCgt" else "ignored"
    return "default"


def block_waited_signals() -> None:
    """Block ``WAITED`` in this thread and in those that it starts from now on."""
    signal.pthread_sigmask(signal.SIG_BLOCK, WAITED)


def put_back(handlers: Mapping[int, Any]) -> None:
    """Give signals the handlers that ``signal.signal`` returned.

    It returns None for a handler that is not Python's, such as that of ``faulthandler``, which
    PYTHONFAULTHANDLER=1 and PYTHONDEVMODE=1 switch on. It cannot be given back: the signal then
    ends the process, which is what that handler did last.
    """
    for number, handler in handlers.items():
        signal.signal(number, signal.SIG_DFL if handler is None else handler)


def stop_self(number: int) -> None:
    """Stop this process as ``number`` does by default; returns when it is continued.

    Returns at once where the system does not stop it: its process group has no parent in its
    session that could continue it (POSIX: an orphaned process group).
    """
    before = signal.signal(number, signal.SIG_DFL)
    mask = signal.pthread_sigmask(signal.SIG_UNBLOCK, [number])
    os.kill(os.getpid(), number)
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    put_back({number: before})
