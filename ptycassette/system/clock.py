"""The real clock, sleepers and id source.

Tests freeze time: freezegun replaces ``time.monotonic`` and its relatives wherever they are
imported, time-machine what reads the wall clock. Neither touches ``clock_gettime`` of
CLOCK_MONOTONIC or ``time.sleep``, so nothing here and nothing that waits uses anything else.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from types import BuiltinFunctionType


def _system_us() -> int:
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000


def is_frozen() -> bool:
    """Whether a test has replaced ``time.monotonic``, which event loops measure with."""
    return not isinstance(time.monotonic, BuiltinFunctionType)


class Steady:
    """A clock that does not go back when the clock that it reads does.

    It continues from its last value until the other clock has caught up; so one wrong reading adds
    nothing. Thread-safe: the last shown time is read first, so that a late thread does not look
    like a jump.

    Args:
        read_us: reads a clock, in microseconds.
    """

    def __init__(self, read_us: Callable[[], int]) -> None:
        self._read_us = read_us
        self._shown_us, self._behind_us = 0, 0

    def now_us(self) -> int:
        """Microseconds, never less than before."""
        shown_us, behind_us = self._shown_us, self._behind_us
        read_us = self._read_us()
        now_us = read_us if read_us >= shown_us else read_us + behind_us
        if now_us < shown_us:
            behind_us, now_us = shown_us - read_us, shown_us
        self._shown_us, self._behind_us = now_us, behind_us
        return now_us


class MonotonicClock:
    """Elapsed time from ``CLOCK_MONOTONIC``: a jump of the wall clock changes nothing.

    If the system's clock goes back (a machine that is migrated, a preloaded library that fakes
    time), this one goes on from where it was, so that nothing waits for the same moment again.
    """

    def __init__(self) -> None:
        self._steady = Steady(_system_us)

    def now_us(self) -> int:
        """Monotonic microseconds since an arbitrary moment."""
        return self._steady.now_us()

    def wall(self) -> datetime:
        """The wall clock in UTC."""
        return datetime.now(UTC)


_CLOCK = MonotonicClock()


def monotonic_s() -> float:
    """Monotonic seconds since an arbitrary moment, also where a test has frozen time."""
    return _CLOCK.now_us() / 1e6


class SystemSleeper:
    """Sleeps for real."""

    def sleep(self, seconds: float) -> None:
        """Return after ``seconds``; at once when it is 0 or less."""
        if seconds > 0:
            time.sleep(seconds)


class SystemAsyncSleeper:
    """Sleeps in the running event loop."""

    async def sleep(self, seconds: float) -> None:
        """Return after ``seconds``; yields to the loop once when it is 0 or less."""
        import asyncio  # noqa: PLC0415 - slow to load, and most who want a clock have no loop

        if seconds > 0 and is_frozen():
            await asyncio.to_thread(time.sleep, seconds)  # the loop's own clock does not advance
        else:
            await asyncio.sleep(max(0.0, seconds))


def random_id() -> str:
    """A random UUID (RFC 9562, version 4) in its canonical text form."""
    return str(uuid.uuid4())
