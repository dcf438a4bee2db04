"""The real clock, sleepers and id source."""

from __future__ import annotations

import time
import uuid
from datetime import UTC, datetime


class MonotonicClock:
    """Elapsed time from ``CLOCK_MONOTONIC``: a jump of the wall clock changes nothing."""

    def now_us(self) -> int:
        """Monotonic microseconds since an arbitrary moment."""
        return time.monotonic_ns() // 1000

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

        await asyncio.sleep(max(0.0, seconds))


def random_id() -> str:
    """A random UUID (RFC 9562, version 4) in its canonical text form."""
    return str(uuid.uuid4())
