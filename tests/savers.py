"""Which of a recorder's processes is its saver, and what its journal holds so far."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress

import psutil

from ptycassette.model.records import Event
from ptycassette.recording.io.journal_follower import JournalFollower
from ptycassette.system.files.state_dirs import journal_dir

PATIENCE_S = 90.0


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


def wait_until_journaled(holds: Callable[[list[Event]], object]) -> None:
    """Wait until what the only recording here has in its journal is as wanted."""
    until_s = time.monotonic() + PATIENCE_S
    events: list[Event] = []
    while True:
        for path in journal_dir().glob("*.journal"):
            with JournalFollower(path) as follower:
                events = list(follower.poll())
        if holds(events):
            return
        assert time.monotonic() < until_s, events
        time.sleep(0.01)
