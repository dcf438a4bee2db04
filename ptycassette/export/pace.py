"""Which stretch of a recording is shown, and how fast: times of frames, without their pictures."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

import msgspec

from ptycassette.errors import UsageError

T = TypeVar("T")

IDLE_LIMIT_S = 2.0


class Pace(msgspec.Struct, frozen=True, kw_only=True):
    """Times in microseconds; those of the stretch and ``idle_limit_us`` are as recorded.

    ``end_us`` is included. Pauses longer than ``idle_limit_us`` are shortened to it. Frames that
    would be closer together than ``min_frame_us`` when shown are merged, the later one wins.
    """

    start_us: int = 0
    end_us: int | None = None
    speed: float = 1.0
    idle_limit_us: int = round(IDLE_LIMIT_S * 1_000_000)
    min_frame_us: int = 33_000


def pace_of(
    *, idle_limit: float | None, speed: float | None, start: float | None, end: float | None
) -> Pace:
    """The pace that options ask for, in seconds; None is the default.

    Raises:
        UsageError: the stretch ends before it starts.
    """
    if start is not None and end is not None and end < start:
        raise UsageError(f"--to {end:g} is before --from {start:g}", hint="swap the two times")
    return Pace(
        start_us=round((start or 0) * 1_000_000),
        end_us=None if end is None else round(end * 1_000_000),
        speed=1.0 if speed is None else speed,
        idle_limit_us=round((IDLE_LIMIT_S if idle_limit is None else idle_limit) * 1_000_000),
    )


def paced(frames: Iterable[tuple[int, T]], pace: Pace) -> list[tuple[int, T]]:
    """Frames ``(t_us, picture)`` in order of time as they are to be shown, from 0 on.

    The first one is what was there at the start of the stretch. A frame equal to the one before
    is left out.
    """
    shown: list[tuple[int, T]] = []
    now_us = last_us = 0
    for t_us, picture in frames:
        if pace.end_us is not None and t_us > pace.end_us and shown:
            break
        if t_us <= pace.start_us or not shown:
            now_us = last_us = max(t_us, pace.start_us)
            shown = [(now_us, picture)]
            continue
        now_us += min(max(0, t_us - last_us), pace.idle_limit_us)
        last_us = max(last_us, t_us)
        if picture == shown[-1][1]:
            continue
        if now_us - shown[-1][0] < pace.min_frame_us * pace.speed:
            shown[-1] = (shown[-1][0], picture)
        else:
            shown.append((now_us, picture))
    first_us = shown[0][0] if shown else 0
    return [(round((t_us - first_us) / pace.speed), picture) for t_us, picture in shown]
