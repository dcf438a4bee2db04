"""Ends a stand-in as the recorded program ended, also by a signal."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from typing import NoReturn

from ptycassette.model.events import ExitStatus

_NO_END = {
    *(signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU, signal.SIGCONT),
    *(signal.SIGCHLD, signal.SIGURG, signal.SIGWINCH),
}
"""No program ends by these, whatever a recording says; some would stop the stand-in for ever."""


def signal_of_text(text: str) -> int | None:
    """The number of a signal as cassettes describe it: ``terminated``, ``TERM``, ``signal 15``."""
    wanted = text.strip().lower()
    digits = wanted.removeprefix("signal ").strip()
    if digits.isdecimal():
        number = int(digits) if len(digits) < 4 else 0
        return number if 0 < number < signal.NSIG else None
    short = wanted.removeprefix("sig")
    for known in signal.valid_signals():
        described = (signal.strsignal(known) or "").split(":")[0].lower()
        named = getattr(known, "name", "").removeprefix("SIG").lower()  # real-time ones have none
        if (described and wanted == described) or (named and short == named):
            return int(known)
    return None


def end_process(exit_status: ExitStatus) -> NoReturn:
    """End as the recorded program did: with its status, or by its signal."""
    sys.stdout.flush()
    sys.stderr.flush()
    if exit_status.signaled:
        number = signal_of_text(exit_status.signal)
        if number is not None:
            if number not in _NO_END:
                _raise_again(number)
            os._exit(128 + number)
    os._exit(exit_status.code & 0xFF if exit_status.exited else 125)


def _raise_again(number: int) -> None:
    import resource  # noqa: PLC0415 - rarely needed, and start-up counts

    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if number != signal.SIGKILL:
        signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [number])
    os.kill(os.getpid(), number)
