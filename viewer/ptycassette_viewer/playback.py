"""The position of the playhead during playback. No clock, no Textual.

Realtime keeps the recorded gaps, times the speed; an idle limit shortens pauses.
Collapsed does not wait: each tick shows the next events.
"""

from __future__ import annotations

from .session.index import EventIndex, Kind

SPEEDS = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 100.0)
IDLE_LIMITS_US = (None, 2_000_000, 1_000_000, 500_000, 100_000)
_HAPPENING: tuple[Kind, ...] = (
    "output",
    "input",
    "resize",
    "signal",
    "answer",
    "service-event",
    "final",
)
_MAX_TICK_S = 0.25


class Playback:
    """The playhead's place in time, whether it moves, and how fast."""

    def __init__(self, index: EventIndex) -> None:
        self._index = index
        self.t_us = 0
        self.seq = 0
        self.playing = False
        self.speed = 1.0
        self.collapsed = False
        self.idle_limit_us: int | None = None

    def place(self, t_us: int, seq: int | None = None) -> None:
        """Put the playhead somewhere; ``seq`` None is the last event at that time."""
        self.t_us = max(0, t_us)
        self.seq = self._index.at(self.t_us) if seq is None else seq

    def faster(self) -> None:
        """The next speed up."""
        self.speed = next((speed for speed in SPEEDS if speed > self.speed), SPEEDS[-1])

    def slower(self) -> None:
        """The next speed down."""
        self.speed = next((s for s in reversed(SPEEDS) if s < self.speed), SPEEDS[0])

    def next_idle_limit(self) -> None:
        """Switch to the next idle limit of the list, cyclically."""
        try:
            place = IDLE_LIMITS_US.index(self.idle_limit_us)
        except ValueError:
            place = 0
        self.idle_limit_us = IDLE_LIMITS_US[(place + 1) % len(IDLE_LIMITS_US)]

    def tick(self, elapsed_s: float, *, end_us: int) -> None:
        """Let time pass, up to ``end_us``."""
        if not self.playing:
            return
        if self.collapsed:
            self._tick_collapsed()
        else:
            self._tick_realtime(min(elapsed_s, _MAX_TICK_S))
        if self.t_us >= end_us:
            self.place(end_us)
            self.playing = False

    def _tick_collapsed(self) -> None:
        for _ in range(max(1, round(self.speed))):
            following = self._index.after(self.seq, *_HAPPENING)
            if following is None:
                return
            self.seq, self.t_us = following, self._index.time_of(following)

    def _tick_realtime(self, elapsed_s: float) -> None:
        left_us = round(elapsed_s * self.speed * 1_000_000)
        limit_us = self.idle_limit_us
        while limit_us is not None:
            seq = self._index.at(self.t_us)
            following = self._index.after(seq, *_HAPPENING)
            if following is None:
                break
            last = self._index.before(seq + 1, *_HAPPENING)
            pause_us = 0 if last is None else self._index.time_of(last)
            next_us = self._index.time_of(following)
            waits_until_us = max(self.t_us, min(next_us, pause_us + limit_us))
            if waits_until_us - self.t_us >= left_us:
                break
            left_us -= waits_until_us - self.t_us
            self.t_us = next_us
        self.t_us += left_us
        self.seq = self._index.at(self.t_us)


def clock_text(t_us: int) -> str:
    """A time as text: ``1:02.345``, with hours if there are any."""
    total_ms = t_us // 1000
    minutes, ms = divmod(total_ms, 60_000)
    hours, minutes = divmod(minutes, 60)
    seconds = f"{ms // 1000:02d}.{ms % 1000:03d}"
    return f"{hours}:{minutes:02d}:{seconds}" if hours else f"{minutes}:{seconds}"
