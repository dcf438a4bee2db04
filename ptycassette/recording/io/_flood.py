"""Detects a flood: a journal that grows so fast that following it does not pay.

A saver that follows a flood takes processor time and caches from the program, the recorder and
the terminal, and still has most of the work left to do at the end: the program writes ten times
faster than a saver reads. So it waits until the flood is over.
"""

from __future__ import annotations

from collections.abc import Callable

from ptycassette.system.clock import monotonic_s

_NEAR_BYTES = 4 << 20  # a reader that is not farther behind has nothing to gain by waiting
_SAMPLE_S = 0.05
_FACTOR = 3
_USUAL_PER_S = 6 << 20  # what a saver reads, until it was measured


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
