"""Ends a test that takes too long, by an exception in it.

As pytest-timeout's method ``signal``, but it is always there, and gives an earlier timer (of
pytest-timeout, too) back.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from ptycassette.keys.quantities import time_text

_AGAIN_S = 5.0


class HungError(BaseException):
    """The test took too long. No ``Exception``, so that a driver's retries do not catch it."""


@contextmanager
def bounded(seconds: float) -> Iterator[None]:
    """Raise in the block when it takes longer; again every 5 s, for whoever catches everything.

    Signals reach the main thread only: elsewhere nothing is bounded.

    Raises:
        HungError: it took longer.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def expired(_number: int, _frame: FrameType | None) -> None:
        raise HungError(f"no end after {time_text(seconds)}")

    began = time.monotonic()
    handler = signal.signal(signal.SIGALRM, expired)
    left_s, again_s = signal.setitimer(signal.ITIMER_REAL, seconds, _AGAIN_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)
        if left_s:
            took_s = time.monotonic() - began
            signal.setitimer(signal.ITIMER_REAL, max(0.001, left_s - took_s), again_s)
