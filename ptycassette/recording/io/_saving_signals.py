"""Signals to ``rec`` between the end of the program and the end of the saving."""

from __future__ import annotations

import signal
from typing import Any, Self

from ptycassette.recording.io.recorder import Recorder
from ptycassette.system.pty.signals import QUIET, STOPPING, TAKEN, put_back


class SavingSignals:
    """How ``rec`` handles signals after the program has ended, until its recording is saved.

    SIGHUP does nothing: the terminal or the driver is gone, but the recording is still saved. So
    do signals that were for the program, such as SIGUSR1, and come late. ctrl-c aborts the
    saving. Before the saving begins it does nothing. SIGTERM that a shim passes on does nothing,
    too: it was for the program.
    """

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._before: dict[int, Any] = {}

    def hold(self) -> None:
        """Install the handlers. Call this after the start of the program."""
        ending = {signal.SIGQUIT, signal.SIGINT}
        if not self._recorder.has_owner:
            ending.add(signal.SIGTERM)
        for number in TAKEN - STOPPING - QUIET - ending:
            # A handler, because relays leave signals alone that are ignored.
            if signal.getsignal(number) is not signal.SIG_IGN:
                self._before[number] = signal.signal(number, _nothing)
        self._before[signal.SIGINT] = signal.signal(signal.SIGINT, self._interrupt)

    def _interrupt(self, *_: object) -> None:
        if self._recorder.saving:
            raise KeyboardInterrupt

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        put_back(self._before)


def _nothing(_number: int, _frame: object) -> None:
    """Do nothing."""
