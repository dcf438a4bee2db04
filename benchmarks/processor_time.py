"""Seconds of the processor, as a quiet machine would count them.

Processor time is no constant: on cores and caches that others use, the same work takes up to twice
as long. So a small fixed piece of work is timed before and after, and what was measured is divided
by how much longer than on a quiet machine that took. A tracer, such as that of coverage, is off
meanwhile.
"""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Self

__all__ = ["Stopwatch"]

QUIET_S = 0.0100
"""What the piece of work takes on the machine where the limits were set, alone on it."""


class Stopwatch:
    """``with Stopwatch() as watch: ...``; then ``watch.seconds``, of this thread."""

    def __enter__(self) -> Self:
        self._tracer = sys.gettrace()
        sys.settrace(None)
        self._before = _work()
        self._began = time.thread_time()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        took = time.thread_time() - self._began
        slowness = (self._before + _work()) / 2 / QUIET_S
        self.seconds = took / max(1.0, slowness)
        sys.settrace(self._tracer)


def _work() -> float:
    """Do the piece of work; how long it took."""
    began = time.thread_time()
    counts: dict[tuple[str, int], int] = {}
    text = "a yardstick is three feet " * 40
    for number in range(200):
        for word in text.split():
            place = word, number % 7
            counts[place] = counts.get(place, 0) + len(word)
    return time.thread_time() - began
