"""Detaches a saver from the terminal and its signals, open files and core dumps."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress

from ptycassette.recording.io._saver_priority import Priority
from ptycassette.system.pty.core_dumps import NoCoreDumps

_PR_SET_DUMPABLE = 4  # linux/prctl.h
_MOST_FDS = 1 << 20
_IGNORED = (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGTSTP, signal.SIGUSR1)


def detach_process(kept_fd: int) -> None:
    """Detach this process; of its open descriptors only ``kept_fd`` stays."""
    with suppress(OSError):  # it leads a session already
        os.setsid()
    signal.set_wakeup_fd(-1)
    for number in _IGNORED:
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    os.closerange(3, kept_fd)
    os.closerange(kept_fd + 1, min(_MOST_FDS, os.sysconf("SC_OPEN_MAX")))
    NoCoreDumps().hold()
    Priority.prepare()
    if sys.platform == "linux":
        import ctypes

        # Unlike a limit, this also stops a program that collects cores (core(5)).
        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
