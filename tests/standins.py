"""A stand-in's engine with a clock, as its tests drive it."""

from __future__ import annotations

from collections.abc import Callable

from ptycassette.cassette.timeline.match import Matching
from ptycassette.model.records import FrameRecord, InputRecord, JournalEvent
from ptycassette.model.screen import Size
from ptycassette.replaying.standin.comparison import Halt, Listen, Play, StandinOptions
from ptycassette.replaying.standin.comparison import RunEnded as Over
from ptycassette.replaying.standin.engine import StandinEngine
from ptycassette.testing import events_of

SIZE = Size(rows=24, cols=80)
OTHER = Size(rows=30, cols=100)


class Rig:
    """An engine with a clock; ``run`` steps until it waits, and collects what is played."""

    def __init__(
        self,
        *items: JournalEvent | FrameRecord,
        strategy: str = "prompt",
        matching: Matching | None = None,
        size: Size | None = SIZE,
        screen: Callable[[int], tuple[str, ...]] | None = None,
        **options: object,
    ) -> None:
        events = events_of(*items)
        inputs = [event.record for event in events if isinstance(event.record, InputRecord)]
        self.now = 0
        self.output = b""
        self.engine = StandinEngine(
            events,
            inputs,
            options=StandinOptions(**options),  # type: ignore[arg-type]
            matching=matching or Matching(strategy),
            size=size,
            screen=screen,
        )

    def run(self, *, wait_us: int = 0) -> Listen | Halt | Over:
        """Step until the engine listens longer than ``wait_us`` in all, stops, or is finished."""
        while True:
            todo = self.engine.step(self.now)
            if isinstance(todo, Play):
                self.output += todo.event.data
            elif isinstance(todo, Listen) and todo.us is not None and todo.us <= wait_us:
                self.now += todo.us
                wait_us -= todo.us
            else:
                return todo

    def send(self, data: bytes, *, wait_us: int = 0) -> Listen | Halt | Over:
        """Type, and run."""
        self.engine.feed(data, self.now)
        return self.run(wait_us=wait_us)

    @property
    def kinds(self) -> list[str]:
        """The divergences found so far."""
        return [divergence.kind for divergence in self.engine.divergences]
