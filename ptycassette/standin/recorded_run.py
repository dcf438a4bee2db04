"""Run the recorder in our place: the driver's terminal and signals go to it as they came to us."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from ptycassette.host.shims import find_real

__all__ = ["run_recorder"]

_FORWARDED = ("HUP", "INT", "QUIT", "TERM", "USR1", "USR2", "CONT")


def run_recorder(target: Path, program: str, args: Sequence[str]) -> int:
    """Record the real ``program``, found further along PATH, into ``target``.

    Returns:
        The recorder's status, which is the program's.

    Raises:
        SpawnError: there is no such program.
    """
    words = _words(target, program, args)
    with subprocess.Popen(words, process_group=0) as recorder:
        _hand_over_terminal(recorder.pid)
        at_terminal = os.isatty(0)

        def forward(number: int, frame: object) -> None:
            del frame
            if number == signal.SIGHUP and at_terminal and not os.isatty(0):
                return  # the terminal is gone: the system has told the recorder as well
            with contextlib.suppress(ProcessLookupError):
                os.kill(recorder.pid, number)

        for name in _FORWARDED:
            signal.signal(signal.Signals[f"SIG{name}"], forward)
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
