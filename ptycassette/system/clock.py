"""The real clock, sleepers and id source.

Tests freeze time: freezegun replaces ``time.monotonic`` and its relatives wherever they are
imported, time-machine what reads the wall clock. Neither touches ``clock_gettime`` of
CLOCK_MONOTONIC or ``time.sleep``, so nothing here and nothing that waits uses anything else.
"""

from __future__ import annotations

import time
import uuid
from datetime import UTC, datetime
from types import BuiltinFunctionType


def monotonic_s() -> float:
    """Monotonic seconds since an arbitrary moment, also where a test has frozen time."""
    return time.clock_gettime(time.CLOCK_MONOTONIC)


def is_frozen() -> bool:
    """Whether a test has replaced ``time.monotonic``, which event loops measure with."""
    return not isinstance(time.monotonic, BuiltinFunctionType)


class MonotonicClock:
    """Elapsed time from ``CLOCK_MONOTONIC``: a jump of the wall clock changes nothing.

    It never goes back, not even if the system's clock does (a machine that is migrated).
    """

    def __init__(self) -> None:
        self._latest_us = 0

    def now_us(self) -> int:
        """Monotonic microseconds since an arbitrary moment."""
        now_us = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
        if now_us < self._latest_us:
            return self._latest_us
        self._latest_us = now_us
        return now_us

    def wall(self) -> datetime:
        """The wall clock in UTC."""
        return datetime.now(UTC)


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
            await asyncio.to_thread(time.sleep, seconds)  # the loop's own clock stands still
        else:
            await asyncio.sleep(max(0.0, seconds))


def random_id() -> str:
    """A random UUID (RFC 9562, version 4) in its canonical text form."""
    return str(uuid.uuid4())
