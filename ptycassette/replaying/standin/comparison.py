"""Compare the driver's input with the recorded entries, key by key."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import msgspec

from ptycassette.cassette.timeline.match import (
    Entry,
    EntryMatcher,
    Matching,
    RecordedSecrets,
    nearest_entry,
)
from ptycassette.keys.reader import AnswerExpectation, Key, KeyReader
from ptycassette.model.records import Event, ExitStatus, InputRecord
from ptycassette.model.screen import Size
from ptycassette.model.visible_text import printable, visible
from ptycassette.replaying.divergence import (
    INPUT_CHANGED,
    INPUT_EXTRA,
    INPUT_MISSING,
    RESIZE_CHANGED,
    SECRET_CHANGED,
    SIGNAL_EXTRA,
    SIZE_MISMATCH,
    STDIN_CHANGED,
    TIMING,
    Divergence,
    DivergenceKind,
    DivergenceSide,
    Nearest,
    changed_hint,
    divergence_lines,
    divergence_object,
)
from ptycassette.replaying.scheduler import ReplayMode
from ptycassette.replaying.stored import DriftPicture, picture_object

# Input of the driver that was not compared yet: keys, signals, the size.


ESCAPE_US = 50_000
"""How long bytes that may become a longer sequence wait for the rest of it."""

SIGNAL_KEYS = {
    "int": ("ctrl-c", b"\x03"),
    "quit": ("ctrl-\\", b"\x1c"),
    "tstp": ("ctrl-z", b"\x1a"),
}
"""What a line discipline makes of a key (POSIX termios ISIG), both ways round."""


class DriverInput:
    """Waiting input of the driver, without answers of the terminal."""

    def __init__(self, size: Size | None) -> None:
        self.keys: deque[Key] = deque()
        self.signals: deque[str] = deque()
        self.size = size
        self.size_changed_us: int | None = None
        self.ended = False
        self.last_us = 0
        self._reader = KeyReader()
        self._answers = AnswerExpectation()

    def output(self, data: bytes) -> None:
        """Note played output, which may contain queries."""
        self._answers.output(data)

    def feed(self, data: bytes, now_us: int, *, cooked: bool) -> None:
        """Take input."""
        self.last_us = now_us
        self._queue(self._reader.feed(data, cooked=cooked))

    def settle(self, now_us: int, wanted: bytes | None = None) -> int | None:
        """Decide about an unfinished sequence.

        Args:
            now_us: the time.
            wanted: the bytes that the recording expects. If these are pending, there is no
                need to wait, unless they could be the terminal's answer to a query.

        Returns:
            When to call again, or None when nothing is pending.
        """
        if not self._reader.ambiguous:
            return None  # only more bytes, or the end, decide about half a character or paste
        pending = self._reader.pending
        if len(pending) > 1 and self._may_go_on(pending, wanted):
            return None
        due = self.last_us + ESCAPE_US
        if now_us >= due or (pending == wanted and not self._answers.asked):
            self._queue(self._reader.settle())
            return None
        return due

    def _may_go_on(self, pending: bytes, wanted: bytes | None) -> bool:
        """Whether these bytes begin the recorded key, or an answer that the terminal owes.

        Slow drivers and connections may send them one by one.
        """
        wanted = wanted or b""
        begins = wanted != pending and wanted.startswith(pending)
        return begins or (self._answers.asked and pending[1] in b"[]P_")

    def flush(self) -> bool:
        """Take pending bytes as they are, since no more will come; True if there were any."""
        keys = self._reader.flush()
        self._queue(keys)
        return bool(keys)

    def end(self) -> None:
        """Note the end of input."""
        self.ended = True
        self._queue(self._reader.flush())

    def take_signal_key(self, name: str) -> bool:
        """Take the first key if it is the key of signal ``name``."""
        named = SIGNAL_KEYS.get(name)
        if named and self.keys and self.keys[0].name == named[0]:
            self.keys.popleft()
            return True
        return False

    def _queue(self, keys: list[Key]) -> None:
        for key in keys:
            if key.kind == "focus" or self._answers.takes(key.raw):
                continue
            if key.kind == "answer":
                self._answers.answered(key.raw)
            else:
                self.keys.append(key)


# The divergences of one run of the stand-in, as they are found.


Place = Entry | Event | None


class Findings:
    """Collects divergences; none is ever removed.

    Args:
        entries: all recorded entries, to name the nearest.
        screen: ``screen(seq)`` gives the rows shown after event ``seq``.
        conceal: scrubs a text as a recording would, because the driver's input may be secret.
    """

    def __init__(
        self,
        entries: Sequence[Entry],
        screen: Callable[[int], tuple[str, ...]] | None,
        conceal: Callable[[str], str] | None = None,
    ) -> None:
        self.divergences: list[Divergence] = []
        self.last: Event | None = None
        self._entries = entries
        self._screen = screen
        self._conceal = conceal

    def size(self, want: Size, got: Size) -> None:
        """Add: the terminal's size at the start differs."""
        self._add(
            SIZE_MISMATCH,
            expected=DivergenceSide(_size_text(want)),
            got=DivergenceSide(_size_text(got)),
        )

    def resize(self, want: Size | None, got: Size) -> None:
        """Add: a resize to another size, or one that was not recorded."""
        self._add(
            RESIZE_CHANGED,
            expected=DivergenceSide(_size_text(want) if want else "no resize"),
            got=DivergenceSide(_size_text(got)),
        )

    def timing(self, entry: Entry, recorded_us: int, took_us: int, tolerance_us: int) -> None:
        """Add: the driver was too early or too late."""
        self._add(
            TIMING,
            place=entry,
            expected=DivergenceSide(
                f"{recorded_us // 1000} ms, give or take {tolerance_us // 1000} ms"
            ),
            got=DivergenceSide(f"{took_us // 1000} ms"),
        )

    def changed(self, matcher: EntryMatcher) -> None:
        """Add: input differs from the recorded one."""
        entry = matcher.entry
        if matcher.only_secret:
            self._add(
                SECRET_CHANGED,
                place=entry,
                expected=_entry_said(entry),
                got=DivergenceSide("other masked input")
                if entry.masked
                else self._sent(matcher.shown, matcher.raw),
                number=entry.number,
                strategy=matcher.strategy,
            )
            return
        self._add(
            INPUT_CHANGED,
            place=entry,
            expected=_entry_said(entry),
            got=self._sent(matcher.shown, matcher.raw),
            nearest=_nearest(nearest_entry(self._entries, matcher.shown, number=entry.number)),
            hint=changed_hint(matcher.strategy),
            number=entry.number,
            strategy=matcher.strategy,
        )

    def stdin(
        self,
        event: Event,
        *,
        expected: DivergenceSide,
        got: DivergenceSide,
        offset: int,
        strategy: str,
    ) -> None:
        """Add: stdin that is not a terminal differs; secrets are removed from ``got``."""
        self._add(
            STDIN_CHANGED,
            place=event,
            expected=expected,
            got=got,
            offset=offset,
            strategy=strategy,
        )

    def extra_keys(self, keys: Sequence[Key]) -> None:
        """Add: input after the last recorded one."""
        text = "".join(key.text or f"<{key.name}>" for key in keys)
        self._add(
            INPUT_EXTRA,
            expected=DivergenceSide("no more input"),
            got=self._sent(text, b"".join(key.raw for key in keys)),
            nearest=_nearest(nearest_entry(self._entries, text, number=len(self._entries))),
        )

    def extra_signal(self, name: str) -> None:
        """Add: a signal that was not recorded."""
        self._add(
            SIGNAL_EXTRA,
            expected=DivergenceSide("no signal"),
            got=DivergenceSide(f"signal {name}"),
            signal=name,
        )

    def missing(self, event: Event, entry: Entry | None, why: str) -> None:
        """Add: the recorded input did not come."""
        self._add(
            INPUT_MISSING,
            place=entry or event,
            expected=_entry_said(entry) if entry else _event_said(event),
            got=DivergenceSide("nothing"),
            did=why,
        )

    def _sent(self, text: str, raw: bytes) -> DivergenceSide:
        shown = text if self._conceal is None else self._conceal(text)
        return DivergenceSide(shown, raw if shown == text else b"")

    def _add(
        self,
        kind: DivergenceKind,
        *,
        expected: DivergenceSide,
        got: DivergenceSide,
        place: Place = None,
        nearest: Nearest | None = None,
        hint: str = "",
        **words: object,
    ) -> None:
        """Add a divergence; ``words`` fill in the message of its kind."""
        at = place or self.last
        self.divergences.append(
            Divergence(
                kind=kind.name,
                message=kind.says.format(**words),
                seq=at.seq if at else 0,
                t_ms=at.t_us // 1000 if at else 0,
                exchange=at.number if isinstance(at, Entry) else 0,
                expected=expected,
                got=got,
                nearest=nearest,
                screen=self._screen(self.last.seq if self.last else 0) if self._screen else (),
                hint=hint or kind.hint,
            )
        )


def _entry_said(entry: Entry) -> DivergenceSide:
    return (
        DivergenceSide("masked input") if entry.masked else DivergenceSide(entry.shown, entry.raw)
    )


def _event_said(event: Event) -> DivergenceSide:
    record = event.record
    assert isinstance(record, InputRecord)  # noqa: S101 - only input can be missing
    if record.size is not None:
        return DivergenceSide(f"resize to {_size_text(record.size)}")
    if record.eof and not event.data:
        return DivergenceSide("the end of stdin")
    return DivergenceSide(
        f"signal {record.signal}" if record.kind == "signal" else "input", event.data
    )


def _nearest(found: tuple[Entry, float] | None) -> Nearest | None:
    if found is None or found[1] <= 0:
        return None
    entry, score = found
    return Nearest(entry.number, entry.seq, entry.t_us // 1000, entry.shown, round(score, 3))


def _size_text(size: Size) -> str:
    return f"{size.rows} rows x {size.cols} columns"


# The decisions of the stand-in engine, and its options.


class Play(msgspec.Struct, frozen=True):
    """Write the bytes of ``event``, an output event, now."""

    event: Event


class Listen(msgspec.Struct, frozen=True):
    """Wait for the driver, at most ``us`` microseconds (forever when None), then step again."""

    us: int | None


class Halt(msgspec.Struct, frozen=True):
    """Stop as the recorded program did, by ``signal`` (``tstp``), until it is continued."""

    signal: str


class RunEnded(msgspec.Struct, frozen=True):
    """The run is over.

    ``exit`` is the recorded end when the recording was played to it and holds one.
    ``killed_by`` is the signal by which the driver ended the program, if it was not recorded.
    """

    exit: ExitStatus | None
    complete: bool = True
    killed_by: str = ""


class Unplayed(msgspec.Struct, frozen=True):
    """The parts of the recording that were never reached."""

    inputs: int = 0
    outputs: int = 0
    output_bytes: int = 0
    first_seq: int = 0

    def __bool__(self) -> bool:
        return bool(self.inputs or self.outputs)


class StandinOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How to play and compare.

    ``recorded_size`` is None when sizes are not compared (over pipes).
    ``input_timeout_us`` is how long the driver may take to act; None is for ever.
    ``stdin_is_stream``: the program's stdin was not a terminal.
    ``timing_tolerance_us`` is how far its pause may be from the recorded one; None is any.
    """

    mode: ReplayMode = "collapsed"
    scale: float = 1.0
    lenient: bool = False
    recorded_size: Size | None = None
    input_timeout_us: int | None = 60_000_000
    timing_tolerance_us: int | None = None
    stdin_is_stream: bool = False


# The shared state of one run of the stand-in: the driver's side, the findings, the end.


class RunState:
    """One run.

    Attributes:
        finished: how it ended, once it has.
        last_us: when (on the caller's clock) the last event was played.
        notes: remarks that are not divergences.
    """

    def __init__(
        self,
        options: StandinOptions,
        matching: Matching,
        driver: DriverInput,
        findings: Findings,
        secrets: RecordedSecrets | None = None,
    ) -> None:
        self.options = options
        self.matching = matching
        self._secrets = secrets
        self.driver = driver
        self.findings = findings
        self.finished: RunEnded | None = None
        self.last_us = 0
        self.notes: list[str] = []

    def matcher(self, entry: Entry) -> EntryMatcher:
        """A fresh matcher for a recorded entry."""
        return self.matching.matcher(entry, self._secrets)

    def stop(self, *, killed_by: str = "") -> None:
        """End before the recording does."""
        self.finished = self.finished or RunEnded(None, complete=False, killed_by=killed_by)

    def stop_if_strict(self) -> None:
        """End after a divergence, unless ``lenient``."""
        if not self.options.lenient:
            self.stop()


class InputComparison:
    """Compares entries.

    Attributes:
        upcoming: the entries that are still to be sent, in the order in which they
            are expected; the first may have begun.
        preferred: another entry that the keys turned out to belong to, if another order is
            allowed. The engine then reorders the events and calls ``reorder``.
    """

    def __init__(self, state: RunState, entries: Sequence[Entry]) -> None:
        self.upcoming = deque(entries)
        self.preferred: EntryMatcher | None = None
        self._state = state
        self._matcher: EntryMatcher | None = None
        self._fed: list[Key] = []
        self._pipe_ended = False
        self._movable: frozenset[int] = frozenset()

    def allow_other_order(self, movable: frozenset[int]) -> None:
        """Let the entries with these numbers be sent before others that were recorded earlier."""
        self._movable = movable

    def pipe_ended(self) -> None:
        """Note the end of a pipe, which counts as each Ctrl-D that was recorded at its end."""
        self._pipe_ended = True

    @property
    def current(self) -> EntryMatcher | None:
        """The matcher of the next entry; None after the last."""
        if self._matcher is None and self.upcoming:
            self._matcher = self._state.matcher(self.upcoming[0])
        return self._matcher

    @property
    def wanted(self) -> bytes | None:
        """The bytes of the next recorded key."""
        matcher = self.current
        step = matcher.waiting if matcher else None
        return step.key.raw if step else None

    def arrived(self, event: Event, now_us: int) -> tuple[bool, int | None]:
        """Whether the record's keys were sent; else the time until which only a key can decide."""
        while True:
            matcher = self.current
            step = matcher.waiting if matcher else None
            if matcher is None or step is None or step.seq != event.seq:
                return True, None
            key = self._next_key(matcher)
            if key is None:
                return self._quiet(matcher, now_us)
            matcher.feed(key)
            self._fed.append(key)
            self._judge(matcher, now_us)
            if self._state.finished is not None or self.preferred is not None:
                return False, None

    def reorder(self, upcoming: Sequence[Entry], matcher: EntryMatcher, now_us: int) -> None:
        """Expect ``upcoming``; ``matcher`` has taken the keys of the first of them."""
        self.upcoming = deque(upcoming)
        self._matcher, self.preferred = matcher, None
        self._judge(matcher, now_us)

    def give_up(self) -> None:
        """Stop waiting for the next entry."""
        self._next()

    def settled(self, now_us: int) -> bool:
        """Whether the input so far is the whole next entry, since no more will come."""
        matcher = self.current
        if matcher is None or not matcher.raw:
            return False
        matcher.settle()
        if matcher.state == "matched":
            self._judge(matcher, now_us)
        return matcher.state == "matched"

    def _next(self) -> None:
        self.upcoming.popleft()
        self._matcher = None
        self._fed = []

    def mismatch_ahead(self) -> EntryMatcher | None:
        """The matcher of the entry that the waiting keys can no longer match; None if they may.

        Known before the recording reaches the entry, unless the order is loose or a signal may
        replace a key.
        """
        waiting = list(self._state.driver.keys)
        names = {name for name, _ in SIGNAL_KEYS.values()}
        if self._movable or self._state.driver.signals or any(k.name in names for k in waiting):
            return None
        keys = iter([*self._fed, *waiting])
        for entry in self.upcoming:
            matcher = self._state.matcher(entry)
            for key in keys:
                matcher.feed(key)
                if matcher.state != "open":
                    break
            if matcher.state != "matched":
                return matcher if matcher.state == "mismatch" else None
        return None

    # -- one key -------------------------------------------------------------------

    def _next_key(self, matcher: EntryMatcher) -> Key | None:
        driver = self._state.driver
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
            return Key("key", b"\x04", name="ctrl-d")
        return None

    def _quiet(self, matcher: EntryMatcher, now_us: int) -> tuple[bool, int | None]:
        if self._movable and matcher.astray:
            self.preferred = self._other(matcher)
            if self.preferred is not None:
                return False, None
        patience = matcher.patience_us
        if patience is None:
            return False, None
        until = self._state.driver.last_us + patience
        if now_us < until and not self._state.driver.ended:
            return False, until
        matcher.settle()
        self._judge(matcher, now_us)
        return self._matcher is None and self._state.finished is None, None

    # -- a whole entry ---------------------------------------------------------------

    def _judge(self, matcher: EntryMatcher, now_us: int) -> None:
        """Remove the entry once its comparison is decided."""
        state = self._state
        if matcher.state == "open":
            return
        if matcher.state == "mismatch":
            self.preferred = self._other(matcher)
            if self.preferred is not None:
                return
            state.findings.changed(matcher)
            state.stop_if_strict()
            matcher.satisfied = len(matcher.entry.steps)
            self._drop_line(matcher)
        else:
            if matcher.line_feed_for_return:
                state.notes.append(
                    f"input {matcher.entry.number}: a line feed was sent where a return was "
                    "recorded; programs in raw mode may tell them apart (compare with 'exact')"
                )
            if matcher.unchecked:
                state.notes.append(
                    f"input {matcher.entry.number}: a secret was typed there and masked, and could "
                    "be guessed from a digest, so that what was sent was not compared"
                )
            self._check_timing(matcher.entry, now_us)
        self._next()

    def _other(self, matcher: EntryMatcher) -> EntryMatcher | None:
        """Another entry that the keys so far match or begin; None if reordering is not allowed."""
        if matcher.entry.number not in self._movable:
            return None
        for entry in list(self.upcoming)[1:]:
            if entry.number not in self._movable:
                continue
            other = self._state.matcher(entry)
            for number, key in enumerate(self._fed, 1):
                other.feed(key)
                if other.state != "open" and number < len(self._fed):
                    break
            else:
                begun = other.state == "open" and other.satisfied > 0
                if other.state == "matched" or begun:
                    return other
        return None

    def _drop_line(self, matcher: EntryMatcher) -> None:
        """Drop the rest of a line that diverged, so that one mistake is one divergence."""
        keys = self._state.driver.keys
        while not matcher.action and matcher.entry.action and keys:
            key = keys.popleft()
            if key.kind == "key" and key.name == matcher.entry.action:
                return

    def _check_timing(self, entry: Entry, now_us: int) -> None:
        state = self._state
        tolerance = state.options.timing_tolerance_us
        last = state.findings.last
        if tolerance is None or state.options.mode == "collapsed" or last is None or self._movable:
            return
        recorded = round((entry.last_t_us - last.t_us) * state.options.scale)
        took = now_us - state.last_us
        if abs(took - recorded) > tolerance:
            state.findings.timing(entry, recorded, took, tolerance)
            state.stop_if_strict()


# The report of one stand-in: an object for programs, lines for people. Pure.


REPORT_VERSION = 1


class StandinReport(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a run.

    ``result`` is ``running`` (it was killed, if nothing else follows), ``passed``,
    ``diverged``, ``unplayed`` (no divergence, but not everything was played) or
    ``failed`` (the stand-in itself failed; ``error`` has the reason). Shims also report
    ``recorded``; if they recorded only to compare, they report ``passed`` or ``drifted`` (see
    ``notes``; ``drift`` has the screens before and now). ``fault`` is the injected fault
    (``--fault``), and ``fault_met`` whether the driver reached it.
    """

    result: str
    cassette: str
    cassette_id: str = ""
    argv: tuple[str, ...] = ()
    pid: int = 0
    divergences: tuple[Divergence, ...] = ()
    unplayed: Unplayed = Unplayed()
    early_eof: bool = False
    killed_by: str = ""
    exit: ExitStatus | None = None
    notes: tuple[str, ...] = ()
    drift: tuple[DriftPicture, ...] = ()
    error: str = ""
    fault: str = ""
    fault_met: bool = False


def report_object(report: StandinReport) -> dict[str, Any]:
    """The report as the documented JSON object."""
    return {
        "report": "ptycassette-stand-in",
        "version": REPORT_VERSION,
        "result": report.result,
        "cassette": report.cassette,
        "cassette_id": report.cassette_id,
        "argv": list(report.argv),
        "pid": report.pid,
        "divergences": [divergence_object(found) for found in report.divergences],
        "unplayed": msgspec.to_builtins(report.unplayed),
        "early_eof": report.early_eof,
        "killed_by": report.killed_by,
        "exit": msgspec.to_builtins(report.exit),
        "notes": list(report.notes),
        "drift": [picture_object(picture) for picture in report.drift],
        "error": report.error,
        "fault": report.fault,
        "fault_met": report.fault_met,
    }


def report_lines(report: StandinReport) -> Iterator[str]:
    """The report as lines of text, with control characters escaped."""
    yield f"stand-in for {visible(report.cassette)}: {report.result}"
    if report.argv:
        import shlex  # noqa: PLC0415 - few reports need it, and the stand-in starts fast

        yield f"  started as: {visible(shlex.join(report.argv))}"
    if report.fault:
        met = "" if report.fault_met else ", which was not met"
        yield f"  with the fault {visible(report.fault)}{met}"
    if report.error:  # put together from parts that are escaped; its lines are meant
        yield from (f"  {printable(line)}" for line in report.error.split("\n"))
    for found in report.divergences:
        yield from divergence_lines(found)
    left = report.unplayed
    if left:
        yield (
            f"  never played: {_counted(left.inputs, 'input')} and "
            f"{_counted(left.outputs, 'output')} ({_counted(left.output_bytes, 'byte')}), "
            f"from seq {left.first_seq} on"
        )
    if report.early_eof:
        yield "  the driver closed the terminal before everything was written"
    if report.killed_by:
        yield f"  ended by signal {visible(report.killed_by)}, which was not recorded"
    for note in report.notes:
        yield f"  note: {printable(note)}"  # parts of it are escaped already


def _counted(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


# The sizes of the driver's terminal, compared with the recorded ones: at the start and later.


SIZE_GRACE_US = 500_000
"""Drivers that set the size only after the start get so long to do it."""


class SizeComparison:
    """Compares sizes. Over pipes the driver has none, and recorded resizes are skipped."""

    def __init__(self, state: RunState, inputs: Iterable[InputRecord]) -> None:
        self._state = state
        self._since: int | None = None
        recorded, size = state.options.recorded_size, state.driver.size
        self._settled = recorded is None or size is None or size == recorded
        self._left: list[Size] = []
        self.expect(inputs)

    def expect(self, inputs: Iterable[InputRecord]) -> None:
        """Expect the resizes among ``inputs``, in that order."""
        self._left = [r.size for r in inputs if r.kind == "resize" and r.size is not None]

    def resized(self, size: Size, now_us: int) -> None:
        """The terminal has another size now."""
        driver = self._state.driver
        if size != driver.size:
            driver.size = size
            driver.size_changed_us = now_us

    def settle_start(self, now_us: int) -> int | None:
        """Microseconds to wait for the recorded size to be set; None when that is settled."""
        if self._settled:
            return None
        state = self._state
        want, got = state.options.recorded_size, state.driver.size
        if want is not None and got is not None and want != got:
            if self._since is None:
                self._since = now_us
            left = self._since + SIZE_GRACE_US - now_us
            if left > 0 and not state.driver.ended:
                return left
            state.findings.size(want, got)
            state.stop_if_strict()
        self._settled = True
        state.driver.size_changed_us = None
        return None

    def arrived(self, record: InputRecord, now_us: int) -> bool:
        """Whether the driver resized the terminal as recorded, or otherwise (which diverges)."""
        driver = self._state.driver
        if driver.size is None or driver.size in self._left[:1]:
            self.give_up()
            driver.size_changed_us = None
            return True
        changed = driver.size_changed_us
        if changed is None or record.size is None:
            return False
        if driver.size in self._left:  # the driver was faster: sizes in between were never seen
            self.give_up()
            return True
        self._state.findings.resize(record.size, driver.size)
        self._state.stop_if_strict()
        self.give_up()
        driver.size_changed_us = None
        return now_us >= changed

    def give_up(self) -> None:
        """Stop waiting for the next recorded size."""
        del self._left[:1]

    def check_unrecorded(self) -> None:
        """Report a resize that the rest of the recording does not expect."""
        driver = self._state.driver
        if driver.size_changed_us is not None and driver.size is not None and not self._left:
            driver.size_changed_us = None
            self._state.findings.resize(None, driver.size)
            self._state.stop_if_strict()
