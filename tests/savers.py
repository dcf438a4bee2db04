"""Which of a recorder's processes is its saver."""

from __future__ import annotations

import time
from contextlib import suppress

import psutil

PATIENCE_S = 30.0


def saver_of(recorder: psutil.Process) -> psutil.Process | None:
    """The saver of a recorder whose program runs; None if it has none.

    Both saver and supervisor are forks of it. The supervisor becomes an interpreter of its own when
    the program has run for a moment, and then a fork is the saver.
    """
    until_s = time.monotonic() + PATIENCE_S
    while True:
        words: dict[psutil.Process, list[str]] = {}
        for child in recorder.children():
            with suppress(psutil.NoSuchProcess):
                words[child] = child.cmdline()
        if any("_supervisor" in word for line in words.values() for word in line):
            return next((child for child, line in words.items() if "rec" in line), None)
        assert time.monotonic() < until_s, words
