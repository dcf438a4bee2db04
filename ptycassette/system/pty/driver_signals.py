"""Runs a program in the place of this process: it gets the driver's signals and the terminal."""

from __future__ import annotations

import contextlib
import os
import signal
from types import FrameType
from typing import Any, Self

_FORWARDED = ("HUP", "INT", "QUIT", "TERM", "USR1", "USR2", "CONT")


class DriverSignals:
    """While entered, signals of the driver are passed to a program, and do not end this process.

    Signals that arrive before the program is started wait for it. The SIGHUP of a closed
    terminal may reach it twice, which is harmless.
    """

    def __init__(self) -> None:
        self._pid: int | None = None
        self._early: list[int] = []
        self._before: dict[int, Any] = {}
        self._mask: set[Any] = set()

    def __enter__(self) -> Self:
        for name in _FORWARDED:
            number = signal.Signals[f"SIG{name}"]
            self._before[number] = signal.signal(number, self._came)
        # The driver may have had them blocked when it started us.
        self._mask = signal.pthread_sigmask(signal.SIG_UNBLOCK, self._before)
        return self

    def __exit__(self, *_: object) -> None:
        signal.pthread_sigmask(signal.SIG_SETMASK, self._mask)
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def pass_to(self, pid: int) -> None:
        """Pass all signals to ``pid`` from now on, including those that waited."""
        self._pid = pid
        for number in self._early:
            self._send(number)

    def _came(self, number: int, frame: FrameType | None) -> None:
        del frame
        if self._pid is None:
            self._early.append(number)
        else:
            self._send(number)

    def _send(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._pid or 0, number)


def hand_over_terminal(pid: int) -> None:
    """Make a process the foreground of the terminal, so that it gets the signals of keys."""
    before = signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    with contextlib.suppress(OSError):  # there is no terminal, or it is not ours to give
        os.tcsetpgrp(0, pid)
        os.kill(pid, signal.SIGCONT)  # it may have touched the terminal too early, and stands
    signal.signal(signal.SIGTTOU, before)
