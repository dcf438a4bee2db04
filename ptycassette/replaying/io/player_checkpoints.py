"""Checkpoints of the emulator, so that seeking back need not start from the beginning."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from ptycassette.model.events import Event
from ptycassette.model.ports import Emulator

EVERY_BYTES = 500_000
KEEP = 32

E = TypeVar("E", bound=Emulator)


class Checkpoints(Generic[E]):
    """Saves a state every so many bytes; if there are too many, every second one is dropped.

    Args:
        save: the whole state of an emulator as bytes.
        load: an emulator that continues as the saved one would have.
        every_bytes: the first distance between two states.
    """

    def __init__(
        self,
        save: Callable[[E], bytes],
        load: Callable[[bytes], E],
        *,
        every_bytes: int = EVERY_BYTES,
    ) -> None:
        self._save = save
        self._load = load
        self._every = every_bytes
        self._since = 0
        self._states: list[tuple[int, int, bytes]] = []

    def fed(self, emulator: E, event: Event) -> None:
        """Save the state of ``emulator``, which has just seen ``event``, if that is due."""
        self._since += len(event.data)
        if self._since < self._every or (self._states and event.seq <= self._states[-1][0]):
            return
        self._since = 0
        self._states.append((event.seq, event.t_us, self._save(emulator)))
        if len(self._states) > KEEP:
            del self._states[::2]
            self._every *= 2

    def before(self, t_us: int) -> tuple[int, E] | None:
        """The last state at or before ``t_us``: the ``seq`` of its last event, and an emulator."""
        for seq, at_us, state in reversed(self._states):
            if at_us <= t_us:
                self._since = 0
                return seq, self._load(state)
        self._since = 0
        return None
