"""A stand-in with a fault of the terminal between its recording and the driver. Pure.

Output, input, resizes and the end pass through the fault, which may change them
(``ptycassette.agents.faults``). The comparison with the recording stays the same: a driver that
recovers from the fault must then do what was recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

import msgspec

from ptycassette.agents.faults.fault import FaultSpec, scene_of
from ptycassette.agents.faults.registry import terminal_fault
from ptycassette.agents.faults.terminal import End, Show, TerminalFault
from ptycassette.cassette.timeline.terminal_answers import is_terminal_answer
from ptycassette.model.records import Event, InputRecord, OutputRecord
from ptycassette.model.screen import Size
from ptycassette.replaying.standin.comparison import (
    Halt,
    Listen,
    Play,
    RunEnded,
    StandinOptions,
    Unplayed,
)
from ptycassette.replaying.standin.engine import StandinEngine

_ENDING_SIGNALS = frozenset(("hup", "int", "quit", "term", "kill"))
_OURS = Event(0, 0, "output", OutputRecord(seq=0, t_ms=0, offset=0, length=0))
"""Stands for an output that nobody recorded."""
_PATIENCE_US = 600_000_000
"""How long a driver may take to find out that the fault took its Enter."""


class FaultyEngine(StandinEngine):
    """As ``StandinEngine``, with a fault.

    Args:
        fault: of this run.
        met: called once, when the driver meets it.
        args, options: as for ``StandinEngine``.
    """

    def __init__(
        self, fault: TerminalFault, met: Callable[[], None], *args: Any, **options: Any
    ) -> None:
        super().__init__(*args, **options)
        self._fault, self._met = fault, met
        self._reported = False
        self._acts: Iterator[Show | End | RunEnded] = fault.begin()
        self._next: tuple[int, Play] | None = None
        self._over: RunEnded | None = None
        self._like = _OURS
        self._held_since_us: int | None = None
        self._played = 0
        self._taken_us: int | None = None
        self._watched = True

    def step(self, now_us: int) -> Play | Listen | Halt | RunEnded:
        """Decide the action at ``now_us``."""
        decided = self._decided(now_us)
        if self._fault.met and not self._reported:
            self._reported = True
            self._met()
        return decided

    def feed(self, data: bytes, now_us: int, *, cooked: bool = False) -> None:
        """Take input, as the fault leaves it."""
        self._held_since_us = now_us
        typed = self._fault.typed(data, now_us)
        self._taken_us = now_us if typed.passed != data else None
        if typed.acts:
            self._acts = chain(typed.acts, self._acts)
        if typed.passed:
            super().feed(typed.passed, now_us, cooked=cooked)

    def resized(self, size: Size, now_us: int) -> None:
        """Take another size, unless the program ignores it."""
        if self.position == 0 or self._fault.resized():
            super().resized(size, now_us)
            self._fault.followed(size)

    def signalled(self, name: str, now_us: int) -> None:
        """Take a signal; one that ends programs ends a screen of the fault, too."""
        if self._fault.holds and name in _ENDING_SIGNALS:
            self._give_up(f"sent signal {name}", killed_by=name)
        else:
            super().signalled(name, now_us)

    def input_ended(self, *, of_pipe: bool = False) -> None:
        """Note the end of input, which ends a screen of the fault, too."""
        if self._fault.holds:
            self._give_up("closed the terminal")
        self._watched = of_pipe
        if self._next is not None and not of_pipe:
            self._next = 0, self._next[1]
        super().input_ended(of_pipe=of_pipe)

    def stop(self) -> None:
        """End the run, because the driver is gone: nothing more is written."""
        super().stop()
        self._end_now(RunEnded(None, complete=False))

    def unplayed(self) -> Unplayed:
        """The parts that were not played; none where the fault leaves no way to play them."""
        if self._fault.fatal and self._fault.met:
            return Unplayed()
        return super().unplayed()

    # -- inside --------------------------------------------------------------------

    def _decided(self, now_us: int) -> Play | Listen | Halt | RunEnded:
        while self._over is None:
            if self._next is not None:
                due_us, play = self._next
                if now_us < due_us:
                    return Listen(due_us - now_us)
                self._next = None
                return play
            act = next(self._acts, None)
            if act is not None:
                self._do(act, now_us)
            elif self._fault.holds:
                return self._hold(now_us)
            else:
                todo = self._recorded(now_us)
                if todo is not None:
                    return todo
        return self._over

    def _do(self, act: Show | End | RunEnded, now_us: int) -> None:
        match act:
            case Show(data=data, after_s=after_s):
                if data:
                    play = Play(msgspec.structs.replace(self._like, data=data))
                    # Nobody is kept waiting who has closed the terminal.
                    self._next = now_us + round(after_s * 1e6) * self._watched, play
            case End(exit=exit_status):
                self._note_missing("ended the program")
                self._over = RunEnded(exit_status)
            case _:
                self._over = act

    def _recorded(self, now_us: int) -> Play | Listen | Halt | None:
        """Continue with the recording; None if the fault decides the next act."""
        fault = self._fault
        before = fault.exchange
        if self._taken_us is not None and now_us - self._taken_us < _PATIENCE_US:
            self.driver.last_us = now_us  # its line is not at its end: the fault took the key
        todo = super().step(now_us)
        if not self.options.stdin_is_stream:
            fault.exchange = len(self.entries) - len(self._typed.upcoming)
        if fault.exchange != before:
            fault.offset = self._played = 0
        match todo:
            case Play(event=event):
                return self._output(event)
            case Halt():
                return todo
            case Listen():
                quiet = _any(fault.quiet()) if self._waits else None
                if quiet is None:
                    return todo
                self._like, self._acts = _OURS, quiet
            case RunEnded():
                exit_status = fault.ending(todo.exit) if todo.complete else todo.exit
                over = msgspec.structs.replace(todo, exit=exit_status)
                self._like, self._acts = _OURS, chain(fault.quiet(), [over])
        return None

    def _output(self, event: Event) -> Play | None:
        record = event.record
        if isinstance(record, OutputRecord) and record.eof:
            return Play(event)
        self._fault.offset += self._played
        self._played = len(event.data)
        self._fault.played(event)
        self._like, self._acts = event, self._fault.output(event)
        return None

    @property
    def _waits(self) -> bool:
        """Whether the recording goes on only when the driver acts."""
        event = self._scheduler.next_event
        return event is not None and event.kind == "input" and not is_terminal_answer(event)

    def _hold(self, now_us: int) -> Listen:
        """Wait for the driver at a screen of the fault, as long as for other input."""
        timeout_us = self.options.input_timeout_us
        if self._held_since_us is None:
            self._held_since_us = now_us
        if timeout_us is None:
            return Listen(None)
        left_us = self._held_since_us + timeout_us - now_us
        if left_us <= 0:
            self._give_up("did nothing for too long")
        return Listen(max(1, left_us))

    def _give_up(self, why: str, *, killed_by: str = "") -> None:
        """End at a screen of the fault, because the driver does not continue."""
        self._note_missing(why)
        self._end_now(RunEnded(None, complete=False, killed_by=killed_by))

    def _note_missing(self, why: str) -> None:
        """Report the next recorded input as missing, unless the fault makes it impossible."""
        upcoming = self._typed.upcoming
        event = self._scheduler.next_event
        if not self._fault.fatal and self._over is None and upcoming and event is not None:
            self._findings.missing(event, upcoming[0], why)

    def _end_now(self, ended: RunEnded) -> None:
        self._next, self._acts, self._over = None, iter(()), self._over or ended


def faulty_engine(
    spec: FaultSpec,
    events: Callable[[], Iterable[Event]],
    inputs: Sequence[InputRecord],
    *,
    recorded: Size,
    met: Callable[[], None],
    options: StandinOptions,
    **more: Any,
) -> StandinEngine:
    """A stand-in's engine with a fault; without, where the fault has no meaning for the program.

    Args:
        spec: the fault.
        events: gives a fresh pass over the recording.
        inputs: as for ``StandinEngine``.
        recorded: the size of the recording's terminal at its start.
        met: called once, when the driver meets the fault.
        options: as for ``StandinEngine``.
        more: as for ``StandinEngine``.

    Raises:
        UsageError: it is a fault of the provider.
        NotFoundError: there is no such input in the recording.
    """
    scene = scene_of(events(), size=recorded, stdin_is_stream=options.stdin_is_stream)
    fault = terminal_fault(spec, scene)
    if fault.needs_keys and options.stdin_is_stream:
        return StandinEngine(events(), inputs, options=options, **more)
    return FaultyEngine(fault, met, events(), inputs, options=options, **more)


def _any(acts: Iterator[Any]) -> Iterator[Any] | None:
    """The same acts; None if they are empty."""
    first = next(acts, None)
    return None if first is None else chain([first], acts)
