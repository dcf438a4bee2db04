"""Runs a program in the place of this process: it gets the driver's signals and the terminal."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable
from types import FrameType
from typing import Any, Self

from ptycassette.system.pty.terminal import STOPPING, TAKEN, WaitedSignals, put_back, stop_self


class DriverSignals:
    """While entered, signals of the driver are passed to a program, and do not end this process.

    Signals that arrive before the program is started wait for it. The SIGHUP of a closed
    terminal may reach it twice, which is harmless. Signals that this process ignores are not
    passed: the program would ignore them, too.
    """

    def __init__(self) -> None:
        self._pid: int | None = None
        self._early: list[int] = []
        self._before: dict[int, Any] = {}
        self._mask: set[Any] = set()
        self._waited = WaitedSignals(lambda number: self._came(number, None))
        self._continued = False

    def __enter__(self) -> Self:
        # The system sends TTIN and TTOU when a process in the background uses the terminal.
        uses_terminal = any(map(os.isatty, range(3)))
        for number in TAKEN - (STOPPING - {signal.SIGTSTP} if uses_terminal else set()):
            if signal.getsignal(number) is not signal.SIG_IGN:
                self._before[number] = signal.signal(number, self._came)
        # The driver may have had them blocked when it started us.
        self._mask = signal.pthread_sigmask(signal.SIG_UNBLOCK, self._before)
        self._waited.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._waited.stop()
        signal.pthread_sigmask(signal.SIG_SETMASK, self._mask)
        put_back(self._before)

    def pass_to(self, pid: int) -> None:
        """Pass all signals to ``pid`` from now on, including those that waited."""
        self._pid = pid
        for number in self._early:
            self._send(number)

    def wait(self, pid: int, *, continued: Callable[[], None] = lambda: None) -> int:
        """Wait until the child ``pid`` ends; stop when it stops, as its driver expects.

        Args:
            pid: the child.
            continued: called after a stop, before the child goes on.

        Returns:
            Its status as of wait(2).
        """
        while True:
            _, status = os.waitpid(pid, os.WUNTRACED)
            if not os.WIFSTOPPED(status):
                return status
            self._continued = False
            stop_self(
                signal.SIGTSTP if os.WSTOPSIG(status) == signal.SIGSTOP else os.WSTOPSIG(status)
            )
            continued()
            if not self._continued:  # nothing could stop us
                self._send(signal.SIGCONT)

    def _came(self, number: int, frame: FrameType | None) -> None:
        del frame
        self._continued = self._continued or number == signal.SIGCONT
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
        os.kill(pid, signal.SIGCONT)  # it may have touched the terminal too early, and is stopped
    signal.signal(signal.SIGTTOU, before)
