"""A journal read while its recorder still writes to it, as a source of events.

Each iterator starts at the first event. At the live end it polls: checking the file costs
microseconds, so it checks again after 2 ms, then less and less often, down to every 50 ms.
The recorder has no part in it: no message, no lock, no system call. While output floods the
journal, it waits.

An iterator ends after the event ``Finished``. If the recorder is gone without one, it raises,
so that half a session never looks like a whole one.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol

from ptycassette.errors import JournalError
from ptycassette.model.records import Finished, JournalEvent
from ptycassette.recording._journal_codec import JournalDecoder
from ptycassette.system.clock import monotonic_s
from ptycassette.system.files.whole_file import open_plain

# Detects a flood: a journal that grows so fast that following it does not pay.


_NEAR_BYTES = 4 << 20  # a reader with a smaller lag gains nothing by waiting
_SAMPLE_S = 0.05
_FACTOR = 3
_USUAL_PER_S = 6 << 20  # the rate of a saver, until it was measured


class Flood:
    """Compares how fast a journal grows with how fast it is read.

    ``outruns`` is called after each piece that was read. Once it is true, the reader waits
    ``WAIT_S`` and calls ``goes_on``, until that is false. A reader that has read nothing yet calls
    ``goes_on`` alone.
    """

    WAIT_S = 0.05

    def __init__(self, now_s: Callable[[], float] = monotonic_s) -> None:
        self._now_s = now_s
        self._since_s, self._size, self._at = now_s(), 0, 0
        self._read_per_s: float = _USUAL_PER_S

    def outruns(self, size: int, at: int) -> bool:
        """Whether the journal of ``size`` bytes grew far faster than it was read, up to ``at``."""
        passed_s = self._now_s() - self._since_s
        if passed_s < _SAMPLE_S:
            return False
        growth, read = size - self._size, at - self._at
        self._read_per_s = read / passed_s
        self._note(size, at)
        return size - at > _NEAR_BYTES and growth > _FACTOR * read

    def goes_on(self, size: int) -> bool:
        """Whether it still grows far faster than it was read before, or than savers read."""
        passed_s = self._now_s() - self._since_s
        growth = size - self._size
        self._note(size, self._at)
        return growth > _FACTOR * self._read_per_s * passed_s

    def _note(self, size: int, at: int) -> None:
        self._since_s, self._size, self._at = self._now_s(), size, at


_BLOCK_BYTES = 64 << 10
_SHORTEST_WAIT_S, _LONGEST_WAIT_S = 0.002, 0.05


class Pace(Protocol):
    """Decides when to continue reading. Both methods may raise to end it."""

    def wait(self, seconds: float) -> None:
        """Called when there is nothing to read: return after that long, or when there may be."""

    def yield_to_others(self) -> None:
        """Called after each block: return when it is fair to continue."""


class Following:
    """The events of a journal as they are written. An ``EventSource``.

    Args:
        path: the journal; it may lose its name meanwhile.
        pace: decides when to continue.

    Attributes:
        read_bytes: how far the most advanced iterator has read.

    Raises:
        NotFoundError, JournalError: it cannot be opened.
    """

    def __init__(self, path: Path, pace: Pace) -> None:
        self._path, self._pace = path, pace
        self._fd = open_plain(path, follow_links=False)
        self.read_bytes = 0

    @property
    def size(self) -> int:
        """The current length of the journal in bytes."""
        return os.fstat(self._fd).st_size

    def __call__(self) -> Iterator[JournalEvent]:
        """The events, from the first. Waits for those that are not written yet.

        Raises:
            JournalError: damaged.
        """
        decoder, at, ended, wait_s = JournalDecoder(), 0, False, _SHORTEST_WAIT_S
        flood = Flood()
        while True:
            try:
                block = os.pread(self._fd, _BLOCK_BYTES, at)
            except OSError as exc:
                where = str(self._path)
                raise JournalError(f"cannot be read: {exc.strerror}", where=where) from exc
            if not block:
                if ended:
                    break
                self._pace.wait(wait_s)
                wait_s = min(2 * wait_s, _LONGEST_WAIT_S)
                continue
            wait_s = _SHORTEST_WAIT_S
            at += len(block)
            self.read_bytes = max(self.read_bytes, at)
            for event in decoder.feed(block):
                ended = ended or type(event) is Finished
                yield event
            self._pace.yield_to_others()
            if not ended and flood.outruns(self.size, at):
                self._pace.wait(flood.WAIT_S)
                while flood.goes_on(self.size):
                    self._pace.wait(flood.WAIT_S)
        decoder.finish()

    def close(self) -> None:
        """Close the file. Does nothing the second time."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)
