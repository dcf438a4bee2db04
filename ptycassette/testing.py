"""Public fakes for tests of programs that use ptycassette: clocks, scripted sessions, events."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

__all__ = ["ManualClock", "fixed_id"]


class ManualClock:
    """A clock that stands still until it is told to advance. Also a sleeper: sleeping advances it.

    Args:
        start_us: monotonic microseconds at the start.
        wall: the wall clock at the start; 2026-01-01T00:00:00Z when None.
    """

    def __init__(self, start_us: int = 0, wall: datetime | None = None) -> None:
        self._now_us = start_us
        self._wall = wall or datetime(2026, 1, 1, tzinfo=UTC)
        self.slept: list[float] = []

    def now_us(self) -> int:
        """Monotonic microseconds."""
        return self._now_us

    def wall(self) -> datetime:
        """The wall clock; moves with ``advance`` and jumps with ``jump_wall``."""
        return self._wall

    def advance(self, seconds: float) -> None:
        """Let ``seconds`` pass on both clocks."""
        step_us = round(seconds * 1_000_000)
        self._now_us += step_us
        self._wall += timedelta(microseconds=step_us)

    def jump_wall(self, seconds: float) -> None:
        """Set the wall clock forward or back, as an administrator or NTP would."""
        self._wall += timedelta(seconds=seconds)

    def sleep(self, seconds: float) -> None:
        """Advance instead of waiting; ``slept`` keeps what was asked for."""
        self.slept.append(seconds)
        self.advance(max(0.0, seconds))


def fixed_id(number: int = 1) -> str:
    """A well-formed UUID that is the same every time."""
    return f"00000000-0000-4000-8000-{number:012x}"
