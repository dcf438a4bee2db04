"""Signals to ``rec`` between the end of the program and the end of the saving."""

from __future__ import annotations

import signal
from typing import Any, Self

from ptycassette.recording.io.recorder import Recorder

__all__ = ["SavingSignals"]


class SavingSignals:
    """What signals mean to ``rec`` when the program is over, until its recording is saved.

    A hang-up is ignored: the terminal or the driver is gone, and what is recorded is worth
    saving all the same. ctrl-c breaks the saving off; before that there is nothing to
    break off, and it is ignored as well.
    """

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._before: dict[int, Any] = {}

    def hold(self) -> None:
        """From now on. After the program was started, which would inherit some of it."""
        self._before[signal.SIGHUP] = signal.signal(signal.SIGHUP, signal.SIG_IGN)
        self._before[signal.SIGINT] = signal.signal(signal.SIGINT, self._interrupt)

    def _interrupt(self, *_: object) -> None:
        if self._recorder.saving:
            raise KeyboardInterrupt

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
