"""Cuts a saver off: from the terminal and its signals, from open files, and from core dumps."""

from __future__ import annotations

import os
import resource
import signal
import sys
from contextlib import suppress

__all__ = ["core_dumps", "no_core_dumps", "seclude"]

_PR_SET_DUMPABLE = 4  # linux/prctl.h
_MOST_FDS = 1 << 20
_IGNORED = (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGTSTP, signal.SIGUSR1)


def seclude(kept_fd: int) -> None:
    """Make this process one of its own; of its descriptors only ``kept_fd`` stays open."""
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
    no_core_dumps()
    if sys.platform == "linux":
        import ctypes

        # A limit does not keep a core from a program that takes cores (core(5)), this does.
        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


def no_core_dumps() -> tuple[int, int]:
    """Let this process write none; returns the limits before, for ``core_dumps``."""
    before = resource.getrlimit(resource.RLIMIT_CORE)
    core_dumps((0, before[1]))
    return before


def core_dumps(limits: tuple[int, int]) -> None:
    """Set how large they may be."""
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CORE, limits)
