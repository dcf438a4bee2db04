"""Plays a recording against a driver: output goes out, input is compared. No I/O, no clock.

Rules (DESIGN: replay, matching, divergence):

- Output plays until the recording has input; then the driver must act; then it goes on.
- What comes early waits, what comes split is joined, what comes merged is taken apart.
- Answers of the terminal are never compared and never waited for.
- A divergence is kept for good: ``diverged`` stays true. Under ``lenient`` the
  recording goes on as if the recorded input had come; otherwise the run ends.

The caller's loop::

    match engine.step(clock.now_us()):
        case Play(event=event): write(event.data)
        case Listen(us=us): wait for input, a resize, a signal, or at most us microseconds
        case Finished(): end with .exit
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from ptycassette.model import Event, FinalRecord, InputRecord, Size
from ptycassette.replay.divergence import Divergence
from ptycassette.replay.scheduler import AwaitInput, Emit, Scheduler, Wait
from ptycassette.replay.standin_decisions import Finished, Listen, Play, StandinOptions, Unplayed
from ptycassette.replay.standin_findings import Findings
from ptycassette.replay.standin_input import SIGNAL_KEYS, DriverInput
from ptycassette.timeline.match import EntryMatcher, Matching
from ptycassette.timeline.match_entries import Entry, read_entries
from ptycassette.timeline.match_keys import Key

__all__ = ["StandinEngine"]

SIZE_GRACE_US = 500_000
"""Drivers that set the size only after the start get so long to do it."""


class StandinEngine:
    """One run of a recording against one driver.

    Args:
        events: all events in order, with the bytes of output events. Read as needed.
        inputs: the input records alone, in order (all of them, up front).
        options: see ``StandinOptions``.
        matching: how input is compared.
        size: the driver's terminal at the start; None over pipes or when unknown.
        screen: ``screen(seq)`` gives the rows shown after event ``seq``, for divergences.
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
    ) -> None:
        self.options = options or StandinOptions()
        self.notes: list[str] = []
        self.entries = read_entries(inputs)
        self._findings = Findings(self.entries, screen)
        self.driver = DriverInput(size)
        self._matching = matching or Matching()
        self._events = iter(_relevant(events))
        self._scheduler = Scheduler(
            self._events, mode=self.options.mode, scale=self.options.scale, await_input=True
        )
        self._sizes = [r.size for r in inputs if r.kind == "resize" and r.size is not None]
        self._signals = [r.signal for r in inputs if r.kind == "signal" and r.signal]
        self._next_entry = 0
        self._matcher: EntryMatcher | None = None
        self._last_us = 0
        self._waiting_since: int | None = None
        recorded = self.options.recorded_size
        self._size_checked = recorded is None or size is None or size == recorded
        self._finished: Finished | None = None
        self._pipe_ended = False

    @property
    def divergences(self) -> list[Divergence]:
        """All that was found, in order."""
        return self._findings.divergences

    @property
    def diverged(self) -> bool:
        """Whether anything ever diverged; sticky."""
        return bool(self.divergences)

    def feed(self, data: bytes, now_us: int, *, cooked: bool = False) -> None:
        """Bytes came. ``cooked``: through a line discipline that turns CR into LF."""
        self.driver.feed(data, now_us, cooked=cooked)

    def resized(self, size: Size, now_us: int) -> None:
        """The terminal has another size now."""
        if size != self.driver.size:
            self.driver.size = size
            self.driver.size_changed_us = now_us

    def signalled(self, name: str, now_us: int) -> None:
        """A signal came; ``name`` is its lower-case short name (``term``)."""
        self.driver.last_us = now_us
        self.driver.signals.append(name)

    def input_ended(self, *, of_pipe: bool = False) -> None:
        """No more input can come: the driver hung up, or a pipe is at its end.

        The end of a pipe counts as the Ctrl-D that was recorded at a terminal.
        """
        self.driver.end()
        self._pipe_ended = of_pipe

    def step(self, now_us: int) -> Play | Listen | Finished:
        """What to do at ``now_us``."""
        while self._finished is None:
            todo = self._advance(now_us)
            if todo is not None:
                return todo
        return self._finished

    @property
    def awaits_kill(self) -> bool:
        """Whether the recording is at the place where the driver sent SIGKILL.

        Nobody learns of that signal, so a stand-in has to say before that all went well.
        """
        event = self._scheduler.next_event
        record = event.record if event else None
        return isinstance(record, InputRecord) and record.signal == "kill"

    def unplayed(self) -> Unplayed:
        """What was never reached. Reads the rest of the events; call at the end, once."""
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
        """The driver is gone and nothing can be written any more."""
        self._finished = self._finished or Finished(None, complete=False)

    # -- one step --------------------------------------------------------------

    def _advance(self, now_us: int) -> Play | Listen | None:
        """One decision; None to decide again."""
        if not self._size_checked:
            grace = self._check_size(now_us)
            if grace is not None:
                return Listen(grace)
        again_us = self.driver.settle(now_us, self._wanted())
        if self._unrecorded():
            return None
        decision = self._scheduler.step(now_us)
        match decision:
            case Emit(event=event):
                return self._emit(event, now_us)
            case Wait(us=us):
                return Listen(us if again_us is None else max(1, min(us, again_us - now_us)))
            case AwaitInput(event=event):
                return self._await(event, now_us, again_us)
            case _:
                self._end(None, now_us)
                return None

    def _emit(self, event: Event, now_us: int) -> Play | None:
        self._findings.last, self._last_us = event, now_us
        if event.kind == "output":
            self.driver.output(event.data)
            return Play(event)
        if isinstance(event.record, FinalRecord):
            self._end(event.record, now_us)
        return None

    def _await(self, event: Event, now_us: int, again_us: int | None) -> Listen | None:
        record = event.record
        assert isinstance(record, InputRecord)  # noqa: S101 - the scheduler awaits inputs only
        if self._waiting_since is None:
            self._waiting_since = now_us
        match record.kind:
            case "input":
                arrived, until = self._keys_arrived(event, now_us)
            case "resize":
                arrived, until = self._resize_arrived(record, now_us), None
            case _:
                arrived, until = self._signal_arrived(record), None
        if self._finished is not None:
            return None
        if arrived:
            self._pass(event, now_us)
            return None
        return self._listen(event, now_us, [again_us, until])

    def _listen(self, event: Event, now_us: int, untils: list[int | None]) -> Listen | None:
        """Wait for the driver, unless it is gone or has had its time."""
        since = now_us if self._waiting_since is None else self._waiting_since
        waited_from = max(since, self.driver.last_us)
        timeout = self.options.input_timeout_us
        if timeout is not None:
            untils = [*untils, waited_from + timeout]
        if self.driver.ended or (timeout is not None and now_us >= waited_from + timeout):
            self._missing(event, now_us)
            return None
        moments = [moment for moment in untils if moment is not None]
        return Listen(max(1, min(moments) - now_us) if moments else None)

    # -- keys ------------------------------------------------------------------

    def _current(self) -> EntryMatcher | None:
        """The matcher of the entry that comes next; None behind the last."""
        if self._matcher is None and self._next_entry < len(self.entries):
            self._matcher = self._matching.matcher(self.entries[self._next_entry])
        return self._matcher

    def _wanted(self) -> bytes | None:
        """The bytes of the recorded key that comes next."""
        matcher = self._current()
        step = matcher.waiting if matcher else None
        return step.key.raw if step else None

    def _keys_arrived(self, event: Event, now_us: int) -> tuple[bool, int | None]:
        """Whether the record's keys were sent; else until when nothing but a key decides."""
        while True:
            matcher = self._current()
            step = matcher.waiting if matcher else None
            if matcher is None or step is None or step.seq > event.seq:
                return True, None
            key = self._next_key(matcher)
            if key is None:
                return self._quiet(matcher, now_us)
            matcher.feed(key)
            self._judge(matcher, now_us)
            if self._finished is not None:
                return False, None

    def _next_key(self, matcher: EntryMatcher) -> Key | None:
        driver = self.driver
        if driver.keys:
            return driver.keys.popleft()
        if matcher.strategy == "exact":
            return None
        if driver.signals:
            named = SIGNAL_KEYS.get(driver.signals[0])
            if named and named[0] == matcher.entry.action:
                driver.signals.popleft()
                return Key("key", named[1], name=named[0])
        if self._pipe_ended and matcher.entry.action == "ctrl-d":
            self._pipe_ended = False
            return Key("key", b"\x04", name="ctrl-d")
        return None

    def _quiet(self, matcher: EntryMatcher, now_us: int) -> tuple[bool, int | None]:
        patience = matcher.patience_us
        if patience is None:
            return False, None
        until = self.driver.last_us + patience
        if now_us < until and not self.driver.ended:
            return False, until
        matcher.quiet()
        self._judge(matcher, now_us)
        return self._matcher is None and self._finished is None, None

    def _judge(self, matcher: EntryMatcher, now_us: int) -> None:
        """Take the entry off when it is decided."""
        if matcher.state == "open":
            return
        if matcher.state == "mismatch":
            self._findings.changed(matcher)
            self._stop_if_strict()
            matcher.satisfied = len(matcher.entry.steps)
            self._drop_line(matcher)
        else:
            if matcher.line_feed_for_return:
                self.notes.append(
                    f"input {matcher.entry.number}: a line feed was sent where a return was "
                    "recorded; programs in raw mode may tell them apart (compare with 'exact')"
                )
            self._check_timing(matcher.entry, now_us)
        self._next_entry += 1
        self._matcher = None

    def _drop_line(self, matcher: EntryMatcher) -> None:
        """Leave out the rest of a line that diverged, so that one mistake is one divergence."""
        keys = self.driver.keys
        while not matcher.action and matcher.entry.action and keys:
            key = keys.popleft()
            if key.kind == "key" and key.name == matcher.entry.action:
                return

    def _check_timing(self, entry: Entry, now_us: int) -> None:
        tolerance = self.options.timing_tolerance_us
        last = self._findings.last
        if tolerance is None or self.options.mode == "collapsed" or last is None:
            return
        recorded = round((entry.last_t_us - last.t_us) * self.options.scale)
        took = now_us - self._last_us
        if abs(took - recorded) > tolerance:
            self._findings.timing(entry, recorded, took, tolerance)
            self._stop_if_strict()

    # -- resizes and signals ---------------------------------------------------

    def _resize_arrived(self, record: InputRecord, now_us: int) -> bool:
        driver = self.driver
        if driver.size is None or driver.size in self._sizes[:1]:
            del self._sizes[:1]
            driver.size_changed_us = None
            return True
        changed = driver.size_changed_us
        if changed is None or record.size is None:
            return False
        if driver.size in self._sizes:  # the driver was faster: sizes in between were never seen
            del self._sizes[:1]
            return True
        self._findings.resize(record.size, driver.size)
        self._stop_if_strict()
        del self._sizes[:1]
        driver.size_changed_us = None
        return now_us >= changed

    def _signal_arrived(self, record: InputRecord) -> bool:
        name = record.signal or ""
        driver = self.driver
        if driver.signals and driver.signals[0] == name:
            driver.signals.popleft()
        elif self._matching.strategy == "exact" or not driver.take_signal_key(name):
            return False
        self._signals.remove(name)
        return True

    def _check_size(self, now_us: int) -> int | None:
        """Microseconds to wait for the recorded size to be set; None when that is settled."""
        want, got = self.options.recorded_size, self.driver.size
        if want is not None and got is not None and want != got:
            if self._waiting_since is None:
                self._waiting_since = now_us
            left = self._waiting_since + SIZE_GRACE_US - now_us
            if left > 0 and not self.driver.ended:
                return left
            self._findings.size(want, got)
            self._stop_if_strict()
        self._size_checked = True
        self._waiting_since = None
        self.driver.size_changed_us = None
        return None

    # -- what nobody recorded --------------------------------------------------

    def _unrecorded(self) -> bool:
        """Whether something came that the rest of the recording has no place for."""
        driver = self.driver
        if self._finished is None and driver.keys and self._next_entry >= len(self.entries):
            if any(driver.keys[0].name == SIGNAL_KEYS.get(s, ("",))[0] for s in self._signals):
                return False
            self._extra_keys()
        for name in list(driver.signals):
            if not self._signal_expected(name):
                driver.signals.remove(name)
                self._findings.extra_signal(name)
                self._finished = Finished(None, complete=False, killed_by=name)
        changed = driver.size_changed_us
        if changed is not None and driver.size is not None and not self._sizes:
            driver.size_changed_us = None
            self._findings.resize(None, driver.size)
            self._stop_if_strict()
        return self._finished is not None

    def _signal_expected(self, name: str) -> bool:
        if name in self._signals:
            return True
        typed = SIGNAL_KEYS.get(name)
        rest = self.entries[self._next_entry :]
        return typed is not None and any(
            entry.action == typed[0] and self._matching.strategy_for(entry) != "exact"
            for entry in rest
        )

    def _extra_keys(self) -> None:
        self._findings.extra_keys(self.driver.keys)
        self.driver.keys.clear()
        self._stop_if_strict()

    def _end(self, final: FinalRecord | None, now_us: int) -> None:
        self.driver.settle(now_us + 10**9)
        if self.driver.keys:
            self._extra_keys()
        if self._finished is None:
            self._finished = Finished(final.exit if final else None)

    # -- what the driver failed to do ------------------------------------------

    def _missing(self, event: Event, now_us: int) -> None:
        matcher = self._current() if _typed(event) else None
        if matcher is not None and matcher.raw:
            self._findings.changed(matcher)
        else:
            why = "hung up" if self.driver.ended else "did nothing for too long"
            self._findings.missing(event, matcher.entry if matcher else None, why)
        if self.driver.ended or not self.options.lenient:
            self._finished = Finished(None, complete=False)
        else:
            self._give_up_on(event, now_us)

    def _give_up_on(self, event: Event, now_us: int) -> None:
        """Lenient: go on as if the recorded input had come."""
        record = event.record
        if _typed(event):
            self._next_entry += self._matcher is not None
            self._matcher = None
        elif isinstance(record, InputRecord) and record.kind == "resize":
            del self._sizes[:1]
        elif isinstance(record, InputRecord) and record.signal in self._signals:
            self._signals.remove(record.signal)
        self._pass(event, now_us)

    def _pass(self, event: Event, now_us: int) -> None:
        """The recorded input came, or counts as if it had."""
        self._waiting_since = None
        self._findings.last, self._last_us = event, now_us
        self._scheduler.input_arrived(now_us)

    def _stop_if_strict(self) -> None:
        if not self.options.lenient:
            self._finished = Finished(None, complete=False)


def _relevant(events: Iterable[Event]) -> Iterator[Event]:
    return (event for event in events if event.kind in {"input", "output", "final"})


def _typed(event: Event) -> bool:
    return isinstance(event.record, InputRecord) and event.record.kind == "input"
