"""Choose the moments of a session that become frames. Pure: a policy sees events, never a clock.

The contract, for code that turns journal events into frames::

    policy = frame_policy("settled")
    for event, following in events_with_the_next_one:
        ...apply the event to the emulator...
        if policy.due(event, following, synchronized=emulator.synchronized):
            frame = emulator.snapshot()      # stamped with event.t_us, right after the event
            if it differs from the frame before and policy.affords(size, repaint=...):
                ...write it...

``due`` is called once per event, in order, after the event was applied;
``following`` is the next event, ``None`` after the last. One event of look-ahead
is all a policy needs, because a pause is known as soon as the next event's time
is. A frame is stamped with the time of the event that completed it, so that
"the screen at t" is the last frame at or before t.

While ``synchronized`` (DEC private mode 2026: the program is in the middle of
painting) ``settled`` and ``tick`` wait for the end of the update, at most one
second, and never past the end of the session.

``settled`` also has a budget, because a spinner that turns ten times a second is
ten screens and almost no output. The frames that others rely on (before an input,
after a resize, the last one) are always written and count against the budget. Any
other frame is written while the budget lasts; one that repaints a row or two of the
frame before must leave half of the fixed part for screens that are new. A frame that is left out
can be made from ``output.raw``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

from ptycassette.model.records import Finished, JournalEvent, Output, Resized, Typed

SETTLE_US: Final = 50_000
"""A pause this long means that the program has finished painting."""

MAX_GAP_US: Final = 1_000_000
"""Under continuous output there is a frame at least this often, and no update is held longer."""

FIXED_BUDGET: Final = 44 << 10
"""Bytes of frames that every session may have: a short one keeps every settled screen."""

BUDGET_PER_BYTE: Final = 0.6
"""Bytes of frames for each byte of output.

With the records of the output (up to half of it for a program that repaints cells) a long session
stays below three times its output. Measured on the recordings of ``fixtures/agents``
(``python -m benchmarks.sizes``).
"""


class FramePolicy(Protocol):
    """Decides after which events a frame is taken. One object per pass over a session."""

    @property
    def name(self) -> str:
        """One of ``POLICY_NAMES``."""
        ...

    def due(
        self, event: JournalEvent, following: JournalEvent | None, *, synchronized: bool = False
    ) -> bool:
        """Whether to take a frame now, right after ``event`` was applied."""
        ...

    def affords(self, size: int, *, repaint: bool) -> bool:
        """Whether to keep the frame that was just due.

        Args:
            size: about how many bytes it takes.
            repaint: it differs from the kept frame before it in a row or two only.
        """
        ...


def _ends(following: JournalEvent | None) -> bool:
    return following is None or isinstance(following, Finished)


class SettledPolicy:
    """When output pauses, before each input, after each resize, every second, and at the end.

    Args:
        settle_us: how long a pause makes the screen settled.
        max_gap_us: the longest stretch of continuous output without a frame.
        budget: bytes of frames besides those that the output pays for.
    """

    name = "settled"

    def __init__(
        self,
        settle_us: int = SETTLE_US,
        max_gap_us: int = MAX_GAP_US,
        budget: int = FIXED_BUDGET,
    ) -> None:
        self._settle_us = settle_us
        self._max_gap_us = max_gap_us
        self._dirty_since_us: int | None = None
        self._left: float = budget
        self._reserve = budget / 2
        self._needed = False

    def due(
        self, event: JournalEvent, following: JournalEvent | None, *, synchronized: bool = False
    ) -> bool:
        """Whether the screen is settled after ``event``."""
        if isinstance(event, Output):
            self._left += len(event.data) * BUDGET_PER_BYTE
        if isinstance(event, Output | Resized) and self._dirty_since_us is None:
            self._dirty_since_us = event.t_us
        if self._dirty_since_us is None:
            return False
        overdue = event.t_us - self._dirty_since_us >= self._max_gap_us
        settled = (
            isinstance(event, Resized)
            or isinstance(following, Typed)
            or (following is not None and following.t_us - event.t_us >= self._settle_us)
        )
        if not (_ends(following) or overdue or (settled and not synchronized)):
            return False
        self._dirty_since_us = None
        self._needed = (
            isinstance(event, Resized) or isinstance(following, Typed) or _ends(following)
        )
        return True

    def affords(self, size: int, *, repaint: bool) -> bool:
        """Whether the budget allows the frame, or others rely on it."""
        least = size + (self._reserve if repaint else 0)
        if not self._needed and self._left < least:
            return False
        self._left -= size
        return True


class TickPolicy:
    """At the end of each tick of the resolution in which something changed."""

    name = "tick"

    def __init__(self, resolution_ms: int = 100, max_gap_us: int = MAX_GAP_US) -> None:
        self._tick_us = resolution_ms * 1000
        self._max_gap_us = max_gap_us
        self._dirty_since_us: int | None = None

    def due(
        self, event: JournalEvent, following: JournalEvent | None, *, synchronized: bool = False
    ) -> bool:
        """Whether ``event`` is the last one of its tick, and something changed."""
        if isinstance(event, Output | Resized) and self._dirty_since_us is None:
            self._dirty_since_us = event.t_us
        if self._dirty_since_us is None:
            return False
        if following is not None and not _ends(following):
            if following.t_us // self._tick_us == event.t_us // self._tick_us:
                return False
            if synchronized and event.t_us - self._dirty_since_us < self._max_gap_us:
                return False
        self._dirty_since_us = None
        return True

    def affords(self, size: int, *, repaint: bool) -> bool:  # noqa: ARG002 - part of the contract
        """Always."""
        return True


class ChunkPolicy:
    """After each output and each resize."""

    name = "chunk"

    def due(
        self,
        event: JournalEvent,
        following: JournalEvent | None,  # noqa: ARG002 - part of the contract
        *,
        synchronized: bool = False,  # noqa: ARG002 - part of the contract
    ) -> bool:
        """Whether ``event`` could have changed the screen."""
        return isinstance(event, Output | Resized)

    def affords(self, size: int, *, repaint: bool) -> bool:  # noqa: ARG002 - part of the contract
        """Always."""
        return True


class FinalPolicy:
    """Once, when nothing more can change the screen."""

    name = "final"

    def __init__(self) -> None:
        self._taken = False

    def due(
        self,
        event: JournalEvent,  # noqa: ARG002 - part of the contract
        following: JournalEvent | None,
        *,
        synchronized: bool = False,  # noqa: ARG002 - part of the contract
    ) -> bool:
        """Whether the session ends after ``event``."""
        if self._taken or not _ends(following):
            return False
        self._taken = True
        return True

    def affords(self, size: int, *, repaint: bool) -> bool:  # noqa: ARG002 - part of the contract
        """Always."""
        return True


_POLICIES: Final[dict[str, Callable[[int], FramePolicy]]] = {
    "settled": lambda _: SettledPolicy(),
    "tick": TickPolicy,
    "chunk": lambda _: ChunkPolicy(),
    "final": lambda _: FinalPolicy(),
}
"""All policies, made with the resolution in milliseconds; the first is the default."""

POLICY_NAMES: Final = tuple(_POLICIES)


def frame_policy(name: str, *, resolution_ms: int = 100) -> FramePolicy:
    """The policy of that name, fresh.

    Raises:
        ValueError: no such policy.
    """
    if name not in _POLICIES:
        raise ValueError(f"unknown frame policy {name!r}; one of {', '.join(POLICY_NAMES)}")
    return _POLICIES[name](resolution_ms)
