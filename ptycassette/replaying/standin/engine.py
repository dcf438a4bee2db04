"""Plays a recording against a driver: output goes out, input is compared. No I/O, no clock.

Rules (DESIGN: replay, matching, divergence):

- Output plays until the recording has input; then the driver must act; then output continues.
- Early input waits, split input is joined, merged input is split.
- Answers of the terminal are never compared and never waited for, nor are signals that do nothing
  by default.
- With ``order='loose'``, exchanges are played in the order in which the driver sends them.
- Divergences are final: ``diverged`` stays true. Under ``lenient`` the
  recording continues as if the recorded input had come; otherwise the run ends.

The caller's loop::

    match engine.step(clock.now_us()):
        case Play(event=event): write(event.data)
        case Listen(us=us): wait for input, a resize, a signal, or at most us microseconds
        case Halt(signal=name): stop as this signal does by default, until continued
        case Finished(): end with .exit
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from ptycassette.model.events import Event, FinalRecord, InputRecord
from ptycassette.model.geometry import Size
from ptycassette.replaying.divergence import Divergence
from ptycassette.replaying.scheduler import AwaitInput, Emit, Scheduler, Wait
from ptycassette.replaying.standin._comparison import InputComparison
from ptycassette.replaying.standin._findings import Findings
from ptycassette.replaying.standin._input import DriverInput
from ptycassette.replaying.standin._order import ExchangeOrder
from ptycassette.replaying.standin._signals import UNCOMPARED, SignalComparison
from ptycassette.replaying.standin._sizes import SizeComparison
from ptycassette.replaying.standin._state import RunState
from ptycassette.replaying.standin._stdin import StdinComparison
from ptycassette.replaying.standin.decisions import (
    Halt,
    Listen,
    Play,
    RunEnded,
    StandinOptions,
    Unplayed,
)
from ptycassette.timeline.match import Matching
from ptycassette.timeline.match_entries import read_entries
from ptycassette.timeline.match_secrets import RecordedSecrets


class StandinEngine:
    """One run of a recording against one driver.

    Args:
        events: all events in order, with the bytes of output events. Read as needed, or
            all at once when the order is loose.
        inputs: the input records alone, in order (all of them, up front).
        options: see ``StandinOptions``.
        matching: how input is compared.
        size: the driver's terminal at the start; None over pipes or when unknown.
        screen: ``screen(seq)`` gives the rows shown after event ``seq``, for divergences.
        secrets: the digests of typed secrets in the cassette.
    """

    def __init__(
        self,
        events: Iterable[Event],
        inputs: Sequence[InputRecord],
        *,
        options: StandinOptions | None = None,
        matching: Matching | None = None,
        size: Size | None = None,
        screen: Callable[[int], tuple[str, ...]] | None = None,
        secrets: RecordedSecrets | None = None,
    ) -> None:
        self.options = options or StandinOptions()
        matching = matching or Matching()
        stream = self.options.stdin_is_stream
        self.entries = () if stream else read_entries(inputs)
        self.driver = DriverInput(size)
        self._findings = Findings(self.entries, screen, matching.conceal)
        self._state = RunState(self.options, matching, self.driver, self._findings, secrets)
        self._typed: InputComparison | StdinComparison = (
            StdinComparison(self._state, inputs)
            if stream
            else InputComparison(self._state, self.entries)
        )
        self._sizes = SizeComparison(self._state, inputs)
        self._signals = SignalComparison(self._state, inputs)
        self._order: ExchangeOrder | None = None
        self._events = iter(_relevant(events))
        if matching.order == "loose" and not stream:
            everything = list(self._events)
            self._order = ExchangeOrder(everything, self.entries)
            comparable = {e.number for e in self.entries if matching.strategy_for(e) != "any"}
            self._typed.allow_other_order(self._order.movable & comparable)
            self._events = iter(everything)
        self._scheduler = self._scheduled()
        self._waiting_since: int | None = None
        self._moved = False

    def _scheduled(self) -> Scheduler:
        options = self.options
        return Scheduler(self._events, mode=options.mode, scale=options.scale, await_input=True)

    @property
    def divergences(self) -> list[Divergence]:
        """All divergences, in order."""
        return self._findings.divergences

    @property
    def diverged(self) -> bool:
        """Whether anything diverged; never reset."""
        return bool(self.divergences)

    @property
    def notes(self) -> list[str]:
        """Remarks that are not divergences."""
        return self._state.notes

    def feed(self, data: bytes, now_us: int, *, cooked: bool = False) -> None:
        """Take input. ``cooked``: it passed a line discipline that turns CR into LF."""
        if isinstance(self._typed, StdinComparison):
            self.driver.last_us = now_us
            self._typed.feed(data)
        else:
            self.driver.feed(data, now_us, cooked=cooked)

    def judge_early(self) -> None:
        """Report early input that cannot match at once, unless ``lenient``."""
        if self.options.lenient or self._state.finished is not None or not self.driver.keys:
            return
        if isinstance(self._typed, StdinComparison):  # stdin has an end to wait for, not keys
            return
        matcher = self._typed.mismatch_ahead()
        if matcher is not None:
            self._findings.changed(matcher)
            self._state.stop()

    @property
    def position(self) -> int:
        """The ``seq`` of the event that was played last; 0 before the first."""
        return self._findings.last.seq if self._findings.last else 0

    @property
    def expects_masked(self) -> bool:
        """Whether the input that comes next was recorded masked."""
        return bool(self._typed.upcoming) and self._typed.upcoming[0].masked

    def resized(self, size: Size, now_us: int) -> None:
        """The terminal has another size now."""
        self._sizes.resized(size, now_us)

    def signalled(self, name: str, now_us: int) -> None:
        """Take a signal; ``name`` is its lower-case short name (``term``)."""
        if name in UNCOMPARED:
            return
        self.driver.last_us = now_us
        self.driver.signals.append(name)

    def ended_by(self, name: str, now_us: int) -> None:
        """Note that the driver ended the program with signal ``name``, and is done."""
        self.signalled(name, now_us)
        self.input_ended()

    def input_ended(self, *, of_pipe: bool = False) -> None:
        """Note the end of input: the driver closed its side of the terminal, or of a pipe.

        The end of a pipe counts as the Ctrl-D that was recorded at a terminal.
        """
        if of_pipe:
            self._typed.pipe_ended()
        if not (of_pipe and self.options.stdin_is_stream):
            self.driver.end()

    @property
    def most_input(self) -> int | None:
        """How many bytes of stdin the recorded program read; None for all, or for a terminal."""
        typed = self._typed
        return typed.most_bytes if isinstance(typed, StdinComparison) else None

    def step(self, now_us: int) -> Play | Listen | Halt | RunEnded:
        """What to do at ``now_us``."""
        while self._state.finished is None:
            todo = self._advance(now_us)
            if todo is not None:
                return todo
        return self._state.finished

    @property
    def awaits_kill(self) -> bool:
        """Whether the recording is at the place where the driver sent SIGKILL.

        A process cannot catch that signal, so the stand-in must report success before it.
        """
        event = self._scheduler.next_event
        record = event.record if event else None
        return isinstance(record, InputRecord) and record.signal == "kill"

    def unplayed(self) -> Unplayed:
        """The parts that were not played. Reads the remaining events; call it once, at the end."""
        left = self._scheduler.next_event
        if left is None:
            return Unplayed()
        inputs = outputs = size = 0
        for event in (left, *self._events):
            inputs += event.kind == "input"
            outputs += event.kind == "output"
            size += len(event.data) if event.kind == "output" else 0
        return Unplayed(inputs=inputs, outputs=outputs, output_bytes=size, first_seq=left.seq)

    def stop(self) -> None:
        """End the run, because the driver is gone."""
        self._state.stop()

    # -- one step --------------------------------------------------------------

    def _advance(self, now_us: int) -> Play | Listen | Halt | None:  # noqa: PLR0911 - one per decision
        """One decision; None to decide again."""
        grace = self._sizes.settle_start(now_us)
        if grace is not None:
            return Listen(grace)
        again_us = self.driver.settle(now_us, self._typed.wanted)
        self._check_unrecorded()
        if self._state.finished is not None:
            return None
        decision = self._scheduler.step(now_us)
        match decision:
            case Emit(event=event):
                return self._emit(event, now_us)
            case Wait() if self._moved and self._at_end:
                # Its recorded pause followed another exchange than the one played last.
                return self._emit(self._scheduler.skip(now_us), now_us)
            case Wait(us=us):
                return Listen(us if again_us is None else max(1, min(us, again_us - now_us)))
            case AwaitInput(event=event):
                return self._await(event, now_us, again_us)
            case _:
                self._end(None)
                return None

    def _emit(self, event: Event, now_us: int) -> Play | None:
        self._findings.last, self._state.last_us = event, now_us
        if event.kind == "output":
            self.driver.output(event.data)
            return Play(event)
        if isinstance(event.record, FinalRecord):
            self._end(event.record)
        return None

    def _await(self, event: Event, now_us: int, again_us: int | None) -> Listen | Halt | None:
        record = event.record
        assert isinstance(record, InputRecord)  # noqa: S101 - the scheduler awaits inputs only
        if record.signal in UNCOMPARED:
            self._pass(event, now_us)
            stopped_by = self._signals.stops_at(record)
            return Halt(stopped_by) if stopped_by else None
        if self._waiting_since is None:
            self._waiting_since = now_us
        until = None
        match record.kind:
            case "input":
                arrived, until = self._typed.arrived(event, now_us)
            case "resize":
                arrived = self._sizes.arrived(record, now_us)
            case _:
                arrived = self._signals.arrived(record)
        if self._state.finished is not None:
            return None
        if self._typed.preferred is not None:
            self._play_first(event, now_us)
            return None
        if arrived:
            self._pass(event, now_us)
            return None
        return self._listen(event, now_us, [again_us, until])

    def _listen(self, event: Event, now_us: int, untils: list[int | None]) -> Listen | None:
        """Wait for the driver, unless it is gone or its time is up."""
        since = now_us if self._waiting_since is None else self._waiting_since
        waited_from = max(since, self.driver.last_us)
        timeout = self.options.input_timeout_us
        if timeout is not None:
            untils = [*untils, waited_from + timeout]
        if self.driver.ended or (timeout is not None and now_us >= waited_from + timeout):
            if self.driver.flush():
                return None
            if _typed(event) and self._typed.settled(now_us):
                self._pass(event, now_us)
            else:
                self._missing(event, now_us)
            return None
        moments = [moment for moment in untils if moment is not None]
        return Listen(max(1, min(moments) - now_us) if moments else None)

    def _play_first(self, event: Event, now_us: int) -> None:
        """Play the exchange that the driver has begun, before the one that is next."""
        matcher, waiting = self._typed.preferred, self._typed.current
        assert matcher is not None and waiting is not None and self._order is not None  # noqa: S101, PT018 - only a loose order prefers
        before, entry = waiting.entry, matcher.entry
        echoed = [step.line for step in before.steps[: waiting.satisfied] if step.seq < event.seq]
        upcoming = self._order.moved(self._typed.upcoming, entry)
        events = self._order.events(upcoming, echoed=echoed)
        inputs = [e.record for e in events if isinstance(e.record, InputRecord)]
        self._sizes.expect(inputs)
        self._signals.expect(inputs)
        self._events = iter(events)
        self._scheduler = self._scheduled()
        self._moved = True
        self._state.notes.append(f"input {entry.number} came before input {before.number}")
        assert isinstance(self._typed, InputComparison)  # noqa: S101 - a stdin has one order
        self._typed.reorder(upcoming, matcher, now_us)

    @property
    def _at_end(self) -> bool:
        event = self._scheduler.next_event
        return event is not None and event.kind == "final"

    # -- what nobody recorded --------------------------------------------------

    def _check_unrecorded(self) -> None:
        """Report input that the rest of the recording does not expect."""
        keys = self.driver.keys
        if keys and not self._typed.upcoming and not self._signals.waits_for_key(keys[0]):
            self._extra_keys()
        self._signals.check_unrecorded(self._typed.upcoming)
        self._sizes.check_unrecorded()

    def _extra_keys(self) -> None:
        self._findings.extra_keys(self.driver.keys)
        self.driver.keys.clear()
        self._state.stop_if_strict()

    def _end(self, final: FinalRecord | None) -> None:
        self.driver.flush()
        if self.driver.keys:
            self._extra_keys()
        if self._state.finished is None:
            self._state.finished = RunEnded(final.exit if final else None)

    # -- what the driver failed to do ------------------------------------------

    def _missing(self, event: Event, now_us: int) -> None:
        matcher = self._typed.current if _typed(event) else None
        if matcher is not None and matcher.raw:
            self._findings.changed(matcher)
        else:
            why = "did nothing for too long"
            if self.driver.ended:
                stream = self.options.stdin_is_stream
                why = "ended the session" if stream else "closed the terminal"
            if self.driver.signals:
                why = f"sent signal {self.driver.signals[0]}"
            self._findings.missing(event, matcher.entry if matcher else None, why)
        if self.driver.ended:
            self._state.stop()
        self._state.stop_if_strict()
        if self._state.finished is None:
            self._give_up_on(event, now_us)

    def _give_up_on(self, event: Event, now_us: int) -> None:
        """Lenient: continue as if the recorded input had come."""
        record = event.record
        if _typed(event):
            self._typed.give_up()
        elif isinstance(record, InputRecord) and record.kind == "resize":
            self._sizes.give_up()
        elif isinstance(record, InputRecord) and record.signal:
            self._signals.give_up(record.signal)
        self._pass(event, now_us)

    def _pass(self, event: Event, now_us: int) -> None:
        """Go past the recorded input, which came or counts as if it had."""
        self._waiting_since = None
        self._findings.last, self._state.last_us = event, now_us
        self._scheduler.input_arrived(now_us)


def _relevant(events: Iterable[Event]) -> Iterator[Event]:
    return (event for event in events if event.kind in {"input", "output", "final"})


def _typed(event: Event) -> bool:
    return isinstance(event.record, InputRecord) and event.record.kind == "input"
