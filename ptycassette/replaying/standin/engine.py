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

import re
from codecs import getincrementaldecoder
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence

from ptycassette.cassette.timeline.match import Entry, Matching, RecordedSecrets, read_entries
from ptycassette.keys.reader import Key
from ptycassette.model.records import Event, FinalRecord, InputRecord
from ptycassette.model.screen import Size
from ptycassette.replaying.divergence import Divergence, DivergenceSide
from ptycassette.replaying.scheduler import AwaitInput, Emit, Scheduler, Wait
from ptycassette.replaying.standin.comparison import (
    SIGNAL_KEYS,
    DriverInput,
    Findings,
    Halt,
    InputComparison,
    Listen,
    Play,
    RunEnded,
    RunState,
    SizeComparison,
    StandinOptions,
    Unplayed,
)

# Reorders exchanges when the driver sends one early.


class ExchangeOrder:
    """The events of a recording by exchange.

    Args:
        events: inputs, outputs and the end, in order; all of them are kept.
        entries: the recorded entries.
    """

    def __init__(self, events: Iterable[Event], entries: Sequence[Entry]) -> None:
        self._groups: list[tuple[Entry, ...]] = []
        for entry in entries:
            if self._groups and entry.seq <= self._groups[-1][-1].last_seq:
                self._groups[-1] = (*self._groups[-1], entry)
            else:
                self._groups.append((entry,))
        self._starts = {group[0].number: group for group in self._groups}
        self.before: list[Event] = []
        self._events: dict[int, list[Event]] = {number: [] for number in self._starts}
        self.end: list[Event] = []
        self._sort(events)

    def _sort(self, events: Iterable[Event]) -> None:
        groups = iter(self._groups)
        following = next(groups, None)
        here = self.before
        for event in events:
            if event.kind == "final":
                here = self.end
            elif following is not None and event.seq >= following[0].seq:
                here = self._events[following[0].number]
                following = next(groups, None)
            here.append(event)

    @property
    def movable(self) -> frozenset[int]:
        """The numbers of the entries that begin an exchange."""
        return frozenset(self._starts)

    def moved(self, upcoming: Iterable[Entry], first: Entry) -> list[Entry]:
        """``upcoming`` with the exchange of ``first`` before all others."""
        group = self._starts[first.number]
        return [*group, *(entry for entry in upcoming if entry not in group)]

    def events(self, upcoming: Sequence[Entry], *, echoed: Sequence[str] = ()) -> list[Event]:
        """The events to play when ``upcoming`` are the entries to be sent.

        Args:
            upcoming: whole exchanges.
            echoed: the lines of the keys whose echo was played already.
        """
        found: list[Event] = []
        for entry in upcoming:
            found += self._events.get(entry.number, ())
        since = _behind_echo(upcoming[0], echoed)
        return [event for event in found if event.seq >= since or event.seq < upcoming[0].seq] + [
            *self.end
        ]


def _behind_echo(entry: Entry, echoed: Sequence[str]) -> int:
    """The ``seq`` of the first record of ``entry`` that is not yet echoed."""
    for step, line in zip(entry.steps, echoed, strict=False):
        if step.line != line:
            return step.seq
    at = min(len(echoed), len(entry.steps) - 1)
    return entry.steps[at].seq if at else entry.seq


# The signals that the driver sends, compared with the recorded ones.


UNCOMPARED = frozenset(("cont", "winch", "urg", "chld", "info"))
"""What does nothing to a program by default. CONT continues it, which the system does itself."""
STOPPING = frozenset(("tstp", "ttin", "ttou"))
"""What stops a program by default, until CONT."""


class SignalComparison:
    """Compares signals."""

    def __init__(self, state: RunState, inputs: Iterable[InputRecord]) -> None:
        self._state = state
        self._left: list[str] = []
        self._stopped_by = ""
        self.expect(inputs)

    def expect(self, inputs: Iterable[InputRecord]) -> None:
        """Expect the signals among ``inputs``, in that order."""
        self._left = [r.signal for r in inputs if r.kind == "signal" and r.signal]
        self._left = [name for name in self._left if name not in UNCOMPARED]

    def arrived(self, record: InputRecord) -> bool:
        """Whether the recorded signal came, as a signal or as its key."""
        name = record.signal or ""
        driver = self._state.driver
        if driver.signals and driver.signals[0] == name:
            driver.signals.popleft()
            self._stopped_by = name if name in STOPPING else ""
        elif self._state.matching.strategy == "exact" or not driver.take_signal_key(name):
            return False
        self.give_up(name)
        return True

    def stops_at(self, record: InputRecord) -> str:
        """The signal that stopped the recorded program until ``record``; empty for none.

        Only if the driver sent that signal, and at one record only.
        """
        if record.signal != "cont":
            return ""
        stopped_by, self._stopped_by = self._stopped_by, ""
        return stopped_by

    def give_up(self, name: str) -> None:
        """Stop waiting for this signal."""
        if name in self._left:
            self._left.remove(name)

    def waits_for_key(self, key: Key) -> bool:
        """Whether ``key`` produces a signal that is still expected."""
        return any(key.name == SIGNAL_KEYS.get(name, ("",))[0] for name in self._left)

    def check_unrecorded(self, entries: Iterable[Entry]) -> None:
        """End the run at a signal that neither the recording nor a key in ``entries`` expects."""
        driver = self._state.driver
        upcoming = tuple(entries) if driver.signals else ()
        for name in list(driver.signals):
            if name not in self._left and not self._is_key(name, upcoming):
                driver.signals.remove(name)
                self._state.findings.extra_signal(name)
                self._state.stop(killed_by=name)

    def _is_key(self, name: str, entries: tuple[Entry, ...]) -> bool:
        typed = SIGNAL_KEYS.get(name)
        matching = self._state.matching
        return typed is not None and any(
            entry.action == typed[0] and matching.strategy_for(entry) != "exact"
            for entry in entries
        )


# Compares a stdin that is not a terminal with the recorded program's input.


_MASKED = re.compile(rb"x{3,}|[^\x00-\x7f]{3,}")
_MASK_PART = re.compile(rb"[xX]{2,}|[^\x00-\x7f]+|e?Hh4?|78|88|120|00+")
"""What masks of all forms are made of (see ``scrub/mask.py``); much other text is, too."""
_MASK_REACH = 6
_LONGEST_NORMALISED = 1 << 16
_SHOWN_BYTES = 200
_WIDE_SPACES = "\x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(
    map(chr, range(0x2000, 0x200B))
)
"""What ``str.split`` takes for white space and UTF-8 writes in several bytes."""
_END = "no more bytes"


class StdinComparison:
    """Compares stdin. Its interface is that of ``InputComparison``, without entries.

    Attributes:
        most_bytes: how many bytes of stdin to read at most; None for all.
    """

    preferred = None
    current = None
    wanted = None

    def __init__(self, state: RunState, inputs: Sequence[InputRecord]) -> None:
        self.upcoming: deque[Entry] = deque()
        self._state = state
        self._want = b"".join(record.bytes or b"" for record in inputs if record.kind == "input")
        self._ends: dict[int, int] = {}
        at = 0
        for record in inputs:
            if record.kind == "input":
                at += len(record.bytes or b"")
                self._ends[record.seq] = at
        self._lines: dict[int, int] = {}  # where a part that ends inside of a line is compared
        for end in () if self._exact else reversed(self._ends.values()):
            at = end if self._want.endswith(b"\n", 0, end) else at
            self._lines[end] = at
        recorded_end = any(record.eof for record in inputs)
        self.most_bytes = None if recorded_end or not self._exact else len(self._want)
        self._masks = [match.span() for match in _MASKED.finditer(self._want)]
        self._got = bytearray()
        self._awaited = 0
        self._awaits_end = False
        self._ended = False
        self._since = 0  # the recorded input was compared up to here
        self._got_since = 0  # and the driver's input up to here
        self._alike = 0  # in this many bytes since then, no difference is certain

    @property
    def _exact(self) -> bool:
        return self._state.matching.strategy in {"exact", "prompt"}

    def feed(self, data: bytes) -> None:
        """Take input."""
        self._got += data

    def pipe_ended(self) -> None:
        """The driver has ended the stream."""
        self._ended = True

    def allow_other_order(self, movable: frozenset[int]) -> None:
        """Do nothing: a stream has one order."""

    def give_up(self) -> None:
        """Stop waiting for the next bytes; compare later input from here."""
        self._go_on(self._awaited, len(self._got))

    def settled(self, now_us: int) -> bool:
        """Whether the input is complete: always False, as a stream has its own end."""
        del now_us
        return False

    def _go_on(self, since: int, got_since: int) -> None:
        self._since, self._got_since, self._alike = since, got_since, 0

    def arrived(self, event: Event, now_us: int) -> tuple[bool, int | None]:
        """Whether the bytes of ``event`` were sent."""
        del now_us
        record = event.record
        assert isinstance(record, InputRecord)  # noqa: S101 - the engine asks for inputs only
        end = self._awaited = self._ends[event.seq]
        self._awaits_end = record.eof
        came = self._came(end, eof=record.eof)
        if came is None:
            return False, None
        if any(start < end < stop for start, stop in self._masks):
            return True, None
        if end < self._compared_at(end):
            if not self._differs():
                return True, None
            end, came = self._compared_at(end), len(self._got)
        end = max(end, self._since)
        want, got = self._want[self._since : end], bytes(self._got[self._got_since : came])
        self._go_on(end, came)
        if not (self._same(got, want) or self._same_to(end, came)):
            self._report(event, want, got)
            self._got_since = len(self._got)
            if self._state.finished is not None:
                return False, None
        return True, None

    def _came(self, end: int, *, eof: bool) -> int | None:
        """The end of the input for the recorded bytes up to ``end``; None while more may come."""
        over = len(self._got) if self._ended or self._differs() else None
        if eof:
            return over
        if self._exact:
            due = self._got_since + end - self._since
            return due if len(self._got) >= due else over
        lines, at = self._want[self._since : end], self._got_since
        for _ in range(lines.count(b"\n")):
            at = self._got.find(b"\n", at) + 1
            if at == 0:
                return over
        if lines.endswith(b"\n") or not lines:
            return at
        if len(self._got) > at and self._goes_on(lines):
            return over
        return len(self._got) if len(self._got) > at else over

    def _goes_on(self, last: bytes) -> bool:
        """Whether the input continues at the recorded end of input, which has no line end."""
        got = bytes(self._got[self._got_since :])
        matching, awaited = self._state.matching, self._awaited
        if awaited < self._compared_at(awaited) or matching.strategy != "normalised":
            return False
        return not self._same(got, last) and _may_begin(matching, got, _text(last))

    def _compared_at(self, end: int) -> int:
        """Where text that was read up to ``end`` is compared: there, or at its line's end."""
        return self._lines.get(end, end)

    def _differs(self) -> bool:
        """Whether the input can no longer become the recorded one."""
        if not self._exact:
            want = self._want[self._since : self._compared_at(self._awaited)]
            got = bytes(self._got[self._got_since :])
            if self._masks or len(got) > _LONGEST_NORMALISED:
                return False
            lines = want.count(b"\n") if want.endswith(b"\n") and not self._awaits_end else None
            if lines is not None and got.count(b"\n") >= lines:
                return False  # all of it is here, and is compared at its place
            return not _may_begin(self._state.matching, got, _text(want))
        if self._masks:
            return self._differs_outside_masks()
        begun = self._want[self._since : self._since + len(self._got) - self._got_since]
        if self.most_bytes is None:
            return begun != self._got[self._got_since :]
        return not self._got.startswith(begun, self._got_since)

    def _differs_outside_masks(self) -> bool:
        """Whether a byte differs where no mask can be.

        A mask is as long as the text that it replaces.
        """
        want, got, at = self._want, self._got, self._alike
        end = min(len(got) - self._got_since, len(want) - self._since)
        if want[self._since + at : self._since + end] == got[self._got_since + at :][: end - at]:
            self._alike = max(0, end - _MASK_REACH)
            return False
        for place in range(self._since + at, self._since + end):
            byte = got[self._got_since + place - self._since]
            if want[place] == byte or want[place] in b"0xX" or _in_mask(want, place):
                continue
            line = want.rfind(b"\n", 0, place) + 1
            masked = _MASK_PART.search(want, line, place)
            return masked is None or b"\n" in got[self._got_since + place - self._since :]
        self._alike = max(0, end - _MASK_REACH)
        return False

    def _same(self, got: bytes, want: bytes) -> bool:
        if got == want:
            return True
        matching = self._state.matching
        same: Callable[[str, str], bool] = matching.sameness
        shown, recorded = _text(got), _text(want)
        if same(shown, recorded):
            return True
        if matching.conceal is None or not self._masks:
            return False
        return same(matching.conceal(shown), recorded)

    def _same_to(self, end: int, came: int) -> bool:
        """Whether the input is the same up to here; a secret may need its context."""
        conceal = self._state.matching.conceal
        if conceal is None or not self._masks:
            return False
        recorded = _text(self._want[:end])
        return self._state.matching.sameness(conceal(_text(bytes(self._got[:came]))), recorded)

    def _report(self, event: Event, want: bytes, got: bytes) -> None:
        """Report both texts from shortly before the first difference, the driver's scrubbed."""
        matching = self._state.matching
        if matching.conceal is not None:
            got = matching.conceal(_text(got)).encode("utf-8", "surrogateescape")
        differing = (n for n, (a, b) in enumerate(zip(want, got, strict=False)) if a != b)
        at = next(differing, min(len(want), len(got)))
        shown = slice(max(0, at - _SHOWN_BYTES // 4), at + _SHOWN_BYTES)
        self._state.findings.stdin(
            event,
            expected=DivergenceSide(_text(want[shown]) or _END),
            got=DivergenceSide(_text(got[shown]) or _END),
            offset=self._since - len(want) + at,
            strategy=matching.strategy,
        )
        self._state.stop_if_strict()


def _in_mask(data: bytes, place: int) -> bool:
    """Whether the byte at ``place`` may be a part of a mask."""
    near = _MASK_PART.finditer(data, max(0, place - _MASK_REACH), place + _MASK_REACH + 1)
    return any(match.start() <= place < match.end() for match in near)


def _may_begin(matching: Matching, got: bytes, want: str) -> bool:
    """Whether ``got`` may be the beginning of a text that matches ``want``.

    A character at its end that has only begun may become any that begins so, or stay what it is.
    """
    decoder = getincrementaldecoder("utf-8")("surrogateescape")
    whole = decoder.decode(got)
    begun = decoder.getstate()[0]
    if not begun:
        return matching.may_begin(whole, want)
    chars = {char for char in {*want, *_WIDE_SPACES} if _bytes(char).startswith(begun)}
    return any(matching.may_begin(whole + char, want) for char in {*chars, _text(begun)})


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


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
        """Whether the next input was recorded masked."""
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
        """Decide the action at ``now_us``."""
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
        """Play the exchange that the driver has begun, before the next one in order."""
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

    # -- unrecorded input -------------------------------------------------------

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

    # -- missing input ---------------------------------------------------------

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
        """Go past the recorded input, which came or is treated as received."""
        self._waiting_since = None
        self._findings.last, self._state.last_us = event, now_us
        self._scheduler.input_arrived(now_us)


def _relevant(events: Iterable[Event]) -> Iterator[Event]:
    return (event for event in events if event.kind in {"input", "output", "final"})


def _typed(event: Event) -> bool:
    return isinstance(event.record, InputRecord) and event.record.kind == "input"
