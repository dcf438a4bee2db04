"""Run the recorder in our place: the driver's terminal and signals go to it as they came to us."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import Any, Self

from ptycassette.host.replaying.shims import find_real

__all__ = ["DriverSignals", "run_recorder"]

_FORWARDED = ("HUP", "INT", "QUIT", "TERM", "USR1", "USR2", "CONT")


class DriverSignals:
    """While entered, signals of the driver end nobody here: they are passed on.

    What comes before there is somebody to pass it to waits for that. SIGHUP of a
    terminal that is closed may reach the recorder twice, which is once too often and no harm.
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
        """Pass everything on to ``pid`` from now on, and what came before."""
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


def run_recorder(target: Path, program: str, args: Sequence[str], *, signals: DriverSignals) -> int:
    """Record the real ``program``, found further along PATH, into ``target``.

    Returns:
        The recorder's status, which is the program's.

    Raises:
        SpawnError: there is no such program.
    """
    words = _words(target, program, args)
    with subprocess.Popen(words, process_group=0) as recorder:
        _hand_over_terminal(recorder.pid)
        signals.pass_to(recorder.pid)
        return recorder.wait()


def _words(target: Path, program: str, args: Sequence[str]) -> list[str]:
    real = find_real(program, os.environ.get("PATH", ""))
    quiet = ["--quiet"] if os.isatty(0) and os.isatty(1) else ["--headless"]
    main = "import sys; from ptycassette.cli import main; sys.exit(main())"
    return [
        sys.executable, "-c", main, "rec", *quiet, "--pass-signals", "--overwrite",
        "--harness", program, str(target), "--", real, *args,
    ]  # fmt: skip


def _hand_over_terminal(pid: int) -> None:
    """Make the recorder the foreground of the terminal, so that it gets the signals of keys."""
    before = signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    with contextlib.suppress(OSError):  # there is no terminal, or it is not ours to give
        os.tcsetpgrp(0, pid)
        os.kill(pid, signal.SIGCONT)  # it may have touched the terminal too early, and stands
    signal.signal(signal.SIGTTOU, before)
