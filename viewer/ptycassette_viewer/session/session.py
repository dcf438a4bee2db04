"""An open recording: usable at once, indexed and emulated in the background.

Two threads. The first reads the events and fills the index, the exchanges and the
summaries. The second runs the emulator over the output and
keeps its state now and then; it pauses whenever somebody waits for a
screen (``with session.foreground():``), and at the end it checks every byte.

Memory: the budget minus the program itself is divided, and everything that grows is
limited to its part.
"""

from __future__ import annotations

import hashlib
import json
import sys
import threading
import time
import zlib
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Protocol, Self

import msgspec

from ptycassette import CassetteError, Screen, __version__
from ptycassette.viewing import (
    Event,
    ExchangeCutter,
    FinalRecord,
    InputRecord,
    PyteEmulator,
    ServiceEventRecord,
    default_emulator,
    load_emulator,
    printable,
    save_emulator,
    visible,
    visible_bytes,
)
from ptycassette_viewer.cache import Cache
from ptycassette_viewer.session.index import BYTES_PER_EVENT

from .index import EventIndex, IndexState, Kind
from .source import Source

# Saved states of the emulator, compressed, within a budget.


class CheckpointsState(msgspec.Struct, frozen=True, array_like=True):
    """Where states lie, and the states."""

    seqs: bytes
    states: list[bytes]
    every_s: float


class Checkpoints:
    """Saved states by ``seq``.

    Args:
        max_bytes: how much the compressed states may take.
        every_s: how much work (seconds of emulation) may be between two states.
    """

    def __init__(self, *, max_bytes: int, every_s: float = 0.006) -> None:
        self._max_bytes = max_bytes
        self.every_s = every_s
        self.bytes = 0
        self._seqs: list[int] = []
        self._states: list[bytes] = []
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._seqs)

    def keep(self, seq: int, emulator: PyteEmulator) -> None:
        """Save the state after event ``seq``, which is later than all saved ones."""
        state = zlib.compress(save_emulator(emulator), 1)
        with self._lock:
            self._seqs.append(seq)
            self._states.append(state)
            self.bytes += len(state)
            while self.bytes > self._max_bytes and self._seqs:
                del self._seqs[::2], self._states[::2]
                self.bytes = sum(map(len, self._states))
                self.every_s *= 2

    def before(self, seq: int) -> int:
        """The ``seq`` of the last state at or before ``seq``; 0 when there is none."""
        with self._lock:
            place = bisect_right(self._seqs, seq)
            return self._seqs[place - 1] if place else 0

    def load(self, seq: int) -> tuple[int, PyteEmulator] | None:
        """The last state at or before ``seq``, as an emulator that continues from there."""
        with self._lock:
            place = bisect_right(self._seqs, seq)
            if not place:
                return None
            found, state = self._seqs[place - 1], self._states[place - 1]
        return found, load_emulator(zlib.decompress(state))

    def state(self) -> CheckpointsState:
        """All of its data."""
        with self._lock:
            return CheckpointsState(
                array("L", self._seqs).tobytes(), list(self._states), self.every_s
            )

    @classmethod
    def of(cls, state: CheckpointsState) -> Self:
        """Restore from a state.

        Raises:
            ValueError: the state is damaged.
        """
        self = cls(max_bytes=0, every_s=state.every_s)
        seqs = array("L")
        seqs.frombytes(state.seqs)
        if len(seqs) != len(state.states) or list(seqs) != sorted(set(seqs)):
            raise ValueError("not the state of checkpoints")
        self._seqs, self._states = list(seqs), state.states
        self.bytes = sum(map(len, state.states))
        return self

    def become(self, other: Checkpoints) -> None:
        """Take over the states of others; only while empty."""
        with self._lock:
            self._seqs, self._states = other._seqs, other._states
            self.bytes, self.every_s = other.bytes, other.every_s


# Finds where exchanges begin, event by event; no event is kept.


_TYPED: frozenset[Kind] = frozenset({"input", "resize", "signal"})


class CutsState(msgspec.Struct, frozen=True, array_like=True):
    """Cuts as bytes: the array of this machine."""

    starts: bytes
    opens_with_input: bool


class ExchangeCuts:
    """The first ``seq`` of every exchange. ``numbers[0]`` is 1 when input opens the recording."""

    def __init__(self) -> None:
        self.starts = array("L")
        self._cutter = ExchangeCutter()
        self._opens_with_input = False

    def add(self, event: Event, kind: Kind) -> None:
        """Take the next event."""
        if self._cutter.begins(event):
            self._opens_with_input = self._opens_with_input or (not self.starts and kind in _TYPED)
            self.starts.append(event.seq)

    def __len__(self) -> int:
        return len(self.starts)

    def number(self, place: int) -> int:
        """The number of the exchange at ``place``: 0 is before any input."""
        return place + 1 if self._opens_with_input else place

    def place_of(self, seq: int) -> int:
        """The place of the exchange that contains ``seq``; -1 before all."""
        return bisect_right(self.starts, seq) - 1

    def state(self) -> CutsState:
        """All of its data, once no event follows."""
        return CutsState(self.starts.tobytes(), self._opens_with_input)

    @classmethod
    def of(cls, state: CutsState) -> Self:
        """The cuts of a state.

        Raises:
            ValueError: it is not such a state.
        """
        self = cls()
        self.starts.frombytes(state.starts)
        self._opens_with_input = state.opens_with_input
        return self

    def become(self, other: ExchangeCuts) -> None:
        """Take over the cuts of ``other``; only while empty."""
        self._opens_with_input = other._opens_with_input
        self.starts.extend(other.starts)


# A playhead: an emulator positioned after one event, which can be moved to any other.


SLICE_BYTES = 16_384
"""How much is fed before asking whether somebody wants to be somewhere else by now."""

_HEARD_BYTES = 2_048
"""Fed at once where signals are wanted: an emulator keeps no more than some thousands."""


class Listener(Protocol):
    """Takes a signal that the output of event ``seq`` completed."""

    def __call__(self, seq: int, name: str, data: dict[str, str]) -> None:
        """Take it."""
        ...


class Head:
    """An emulator after event ``seq``. For one thread at a time.

    Args:
        source: where bytes come from.
        index: of the events.
        checkpoints: states to start from.
        listener: gets every signal; None for none.
    """

    def __init__(
        self,
        source: Source,
        index: EventIndex,
        checkpoints: Checkpoints,
        *,
        listener: Listener | None = None,
    ) -> None:
        self._source = source
        self._index = index
        self._checkpoints = checkpoints
        self._listener = listener
        self.seq = 0
        self._fed = 0
        self._emulator = default_emulator(index.size_at(0))
        self._screen: Screen | None = None

    @property
    def emulator(self) -> PyteEmulator:
        """The emulator at the current position; do not feed it."""
        return self._emulator

    @property
    def screen(self) -> Screen:
        """The screen at the current position."""
        if self._screen is None:
            self._screen = self._emulator.snapshot()
        return self._screen

    def distance(self, seq: int) -> int:
        """How many bytes must be fed to get to event ``seq``."""
        kept = self._checkpoints.before(seq)
        end = self._index.output_end(seq)
        distance = end - self._index.output_end(kept)
        return min(distance, end - self._fed) if self._can_go_on(seq) else distance

    def _can_go_on(self, seq: int) -> bool:
        """Whether ``seq`` is ahead."""
        return seq >= self.seq and self._index.output_end(seq) >= self._fed

    def move(self, seq: int, stop: Callable[[], bool] = lambda: False) -> bool:
        """Move to right after event ``seq``, which the index must contain.

        Returns:
            False when ``stop`` ended it; a later move continues from there.
        """
        kept = self._checkpoints.before(seq)
        if not self._can_go_on(seq) or self._index.output_end(kept) > self._fed + SLICE_BYTES:
            self._jump(seq)
        while self.seq < seq:
            resize = self._index.next_resize(self.seq)
            last = seq if resize is None or resize > seq else resize - 1
            if not self._feed_until(self._index.output_end(last), stop):
                return False
            self.seq = max(self.seq, last)
            if resize is not None and resize <= seq:
                self._emulator.resize(self._index.size_at(resize))
                self._screen = None
                self.seq = resize
        return True

    def _jump(self, seq: int) -> None:
        found = self._checkpoints.load(seq)
        self._screen = None
        self.seq, self._emulator = found or (0, default_emulator(self._index.size_at(0)))
        self._fed = self._index.output_end(self.seq)

    def _feed_until(self, end: int, stop: Callable[[], bool]) -> bool:
        if self._fed >= end:
            return True
        self._screen = None
        for block in self._source.read(self._fed, end - self._fed):
            for piece in self._pieces(block):
                if stop():
                    return False
                self._emulator.feed(piece.replace(b"\n", b"\r\n") if self._source.piped else piece)
                self._fed += len(piece)
                if self._listener is not None:
                    self._listen(self._listener)
        # Unread answers and signals must not pile up.
        self._emulator.answers()
        self._emulator.signals()
        return True

    def _pieces(self, block: bytes) -> Iterator[bytes]:
        """A block in pieces; with a listener, each ends with its event at the latest."""
        at = 0
        while at < len(block):
            end = at + SLICE_BYTES
            if self._listener is not None:
                left = self._index.output_end(self._index.output_at(self._fed)) - self._fed
                end = at + min(left, _HEARD_BYTES)
            yield block[at:end]
            at = end

    def _listen(self, listener: Listener) -> None:
        signals = self._emulator.signals()
        if signals:
            seq = self._index.output_at(self._fed - 1)
            for signal in signals:
                listener(seq, signal.name, signal.data)


# The signals of a recording, as lines by ``seq``, within a bound of memory.


ROUTINE = frozenset({"icon", "mode", "query", "synchronized"})
"""Names of signals that do not interest people. An icon's name comes with the title."""

_WIDTH = 120
_OVERHEAD = 120
_ENTRY_BYTES = 16


def signal_text(name: str, data: Mapping[str, str]) -> str:
    """A signal in one line, as the program sent it: not safe to show."""
    return name + "".join(f"  {key}={value}" for key, value in data.items())


class SignalsState(msgspec.Struct, frozen=True, array_like=True):
    """The distinct lines, and for both kinds the events and the numbers of their lines."""

    lines: list[str]
    notable: tuple[bytes, bytes]
    routine: tuple[bytes, bytes]
    dropped: int


class SignalLines:
    """Lines in order. One thread adds; other threads may read at the same time."""

    def __init__(self) -> None:
        self.seqs = array("L")
        self._lines: list[str] = []

    def __len__(self) -> int:
        return len(self.seqs)

    def add(self, seq: int, line: str) -> None:
        """Append a line about event ``seq``."""
        self._lines.append(line)
        self.seqs.append(seq)

    def line(self, number: int) -> str:
        """Line ``number``."""
        return self._lines[number]

    def numbered(self, numbers: dict[str, int]) -> tuple[bytes, bytes]:
        """The events and the numbers of their lines; new lines get a number in ``numbers``."""
        places = array("L", [numbers.setdefault(line, len(numbers)) for line in self._lines])
        return self.seqs.tobytes(), places.tobytes()

    @classmethod
    def of(cls, state: tuple[bytes, bytes], lines: list[str]) -> Self:
        """Restore from a state.

        Raises:
            ValueError: the state is damaged.
        """
        self, places = cls(), array("L")
        self.seqs.frombytes(state[0])
        places.frombytes(state[1])
        if len(places) != len(self.seqs) or max(places, default=-1) >= len(lines):
            raise ValueError("not the state of lines")
        self._lines = [lines[place] for place in places]
        return self

    def become(self, other: SignalLines) -> None:
        """Take over the cuts of ``other``; only while empty."""
        self._lines.extend(other._lines)
        self.seqs.extend(other.seqs)

    def between(self, first: int, last: int) -> int:
        """The number of lines of the events ``first..last``, both included."""
        return max(0, bisect_right(self.seqs, last) - bisect_left(self.seqs, first))


class Signals:
    """The signals of one recording.

    Args:
        max_bytes: how much memory they may take; further ones are only counted.

    Attributes:
        notable: the lines of signals that interest people.
        routine: the lines of all others.
        dropped: the number of signals that were not kept.
    """

    def __init__(self, max_bytes: int) -> None:
        self.notable, self.routine = SignalLines(), SignalLines()
        self.dropped = 0
        self._left = max_bytes
        self._known: dict[object, str] = {}

    def add(self, seq: int, name: str, data: Mapping[str, str]) -> None:
        """Take a signal that output ``seq`` completed."""
        key = (name, *data.items())  # most are said again and again
        line = self._known.get(key)
        cost = _ENTRY_BYTES
        if line is None:
            line = visible(signal_text(name, data), limit=_WIDTH)
            cost += _OVERHEAD + 2 * (len(line) + sum(map(len, data.values())))
        if cost > self._left:
            self.dropped += 1
            return
        self._left -= cost
        self._known.setdefault(key, line)
        (self.routine if name in ROUTINE else self.notable).add(seq, line)

    def state(self) -> SignalsState:
        """All of its data."""
        numbers: dict[str, int] = {}
        notable, routine = (lines.numbered(numbers) for lines in (self.notable, self.routine))
        return SignalsState(list(numbers), notable, routine, self.dropped)

    @classmethod
    def of(cls, state: SignalsState) -> Self:
        """Restore from a state.

        Raises:
            ValueError: the state is damaged.
        """
        self = cls(0)
        self.notable = SignalLines.of(state.notable, state.lines)
        self.routine = SignalLines.of(state.routine, state.lines)
        self.dropped = state.dropped
        return self

    def become(self, other: Signals) -> None:
        """Take over the signals of ``other``; there must be none yet."""
        self.dropped = other.dropped
        self.notable.become(other.notable)
        self.routine.become(other.routine)


# One line about each event that is not output, kept while indexing; bounded.


class Summaries:
    """Lines by ``seq``.

    Args:
        max_bytes: how much memory they may take; after that, no line is kept.
    """

    def __init__(self, max_bytes: int) -> None:
        self._lines: dict[int, str] = {}
        self._left = max_bytes

    def add(self, event: Event) -> None:
        """Keep a line about an event, except for output and frames."""
        if event.kind in {"output", "frame"} or self._left <= 0:
            return
        line = summary(event)
        self._left -= _OVERHEAD + 2 * len(line)
        self._lines[event.seq] = line

    def get(self, seq: int) -> str | None:
        """The line about event ``seq``, None when there is none."""
        return self._lines.get(seq)

    def state(self) -> dict[int, str]:
        """All lines."""
        return self._lines

    def become(self, lines: dict[int, str]) -> None:
        """Take over the lines of another session on the same recording."""
        self._lines.update(lines)


def summary(event: Event) -> str:
    """An event in one line, or none."""
    record = event.record
    if isinstance(record, InputRecord):
        return _input_line(record)
    if isinstance(record, ServiceEventRecord):
        return service_line(record.payload)
    if isinstance(record, FinalRecord):
        status = record.exit
        if status is None:
            return "the end; how is not known"
        if status.signaled:
            return f"ended by signal {visible(status.signal, limit=20)}"
        return f"exit status {status.code}"
    return ""


def _input_line(record: InputRecord) -> str:
    if record.kind == "resize" and record.size is not None:
        return str(record.size)
    if record.kind == "signal":
        return visible(record.signal or "?", limit=20)
    data = record.bytes or b""
    words = []
    if record.masked:
        words.append("masked")
    if record.paste:
        words.append(f"paste of {len(data)} bytes")
    if record.key:
        words.append(f"<{visible(record.key, limit=20)}>")
    words.append(visible_bytes(data[:_WIDTH], limit=_WIDTH))
    return " ".join(words)


def service_line(payload: object) -> str:
    """The payload of a service event: its type and as much as fits."""
    if isinstance(payload, dict):
        said = _tape_line(payload)
        if said:
            return printable(said, limit=_WIDTH)
        kind = payload.get("type") or payload.get("kind") or payload.get("event")
        if isinstance(kind, str):
            rest = {key: value for key, value in payload.items() if value is not kind}
            return printable(f"{kind} {_json(rest)}", limit=_WIDTH)
    return printable(_json(payload), limit=_WIDTH)


def _tape_line(payload: dict[str, object]) -> str:
    """An event of the tape in words; empty for any other."""
    entry = f"[{payload.get('entry')}]"
    match payload.get("type"):
        case "model-request":
            asked = payload.get("method"), payload.get("target"), payload.get("model")
            said = [str(word) for word in asked if word]
            return " ".join(("→", entry, *(said or ["message"])))
        case "model-answer":
            return f"← {entry} {payload.get('status', 'message')}"
        case "model-end":
            why = (payload.get("outcome"), payload.get("detail"), payload.get("close_code"))
            return " ".join(("·", entry, *(str(word) for word in why if word)))
        case "tool-call":
            return f"← {entry} calls {payload.get('name')} ({payload.get('call_id')})"
        case "tool-result":
            return f"→ {entry} result of {payload.get('call_id')}"
        case _:
            return ""


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


# The state of a session as bytes, and back, so that a recording is indexed only once.


class Known(msgspec.Struct, frozen=True, kw_only=True):
    """The index of a session, in parts. Every part is extended in place."""

    index: EventIndex
    exchanges: ExchangeCuts
    checkpoints: Checkpoints
    summaries: Summaries
    signals: Signals


class _State(msgspec.Struct, frozen=True, kw_only=True):
    index: IndexState
    exchanges: CutsState
    checkpoints: CheckpointsState
    summaries: dict[int, str]
    signals: SignalsState


def remembered(known: Known) -> bytes:
    """All parts as bytes."""
    return msgspec.msgpack.encode(
        _State(
            index=known.index.state(),
            exchanges=known.exchanges.state(),
            checkpoints=known.checkpoints.state(),
            summaries=known.summaries.state(),
            signals=known.signals.state(),
        )
    )


def recall(data: bytes, known: Known) -> bool:
    """Restore all parts, which must be empty; False if the data is damaged."""
    try:
        state = msgspec.msgpack.decode(data, type=_State)
        index = EventIndex.of(state.index)
        exchanges = ExchangeCuts.of(state.exchanges)
        checkpoints = Checkpoints.of(state.checkpoints)
        signals = Signals.of(state.signals)
    except (ValueError, RecursionError):
        return False
    known.exchanges.become(exchanges)
    known.checkpoints.become(checkpoints)
    known.summaries.become(state.summaries)
    known.index.become(index)
    known.signals.become(signals)  # behind the index: its events must be known
    return True


DEFAULT_MEMORY = 300_000_000
_PROGRAM_BYTES = 110_000_000
"""What Python, the libraries, two emulators and the blocks of files on their way take."""
_ASIDE_S = 0.002
_NOTIFY_EVENTS = 200


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """How far the background work is.

    ``indexed`` and ``emulated`` are shares of the whole, 0 to 1. ``verified``
    is None while not known. ``problem`` is what stopped it, safe to show.
    """

    indexed: float
    emulated: float
    verified: bool | None
    problem: str | None

    @property
    def done(self) -> bool:
        """Whether every seek is quick."""
        return self.emulated >= 1


class ViewerSession:
    """One recording.

    Args:
        source: taken over, and closed with the session.
        memory: bytes that the process may take; what is below the least that works is raised.
        sessions: how many sessions there are in the process.
        cache: where what was found out is kept for the next time; None to keep nothing.
        on_change: called from the background threads when there is news.
    """

    def __init__(
        self,
        source: Source,
        *,
        memory: int = DEFAULT_MEMORY,
        sessions: int = 1,
        cache: Cache | None = None,
        on_change: Callable[[], None] = lambda: None,
    ) -> None:
        self.source = source
        self.on_change = on_change
        share = max(memory - _PROGRAM_BYTES, memory // 10) // sessions
        max_events = max(1_000, share * 5 // 8 // BYTES_PER_EVENT)
        self.index = EventIndex(source.size, max_events=max_events)
        self.exchanges = ExchangeCuts()
        self.checkpoints = Checkpoints(max_bytes=share * 3 // 16)
        self.summaries = Summaries(share // 8)
        self.signals = Signals(share // 16)
        self._cache = cache
        self._key = _key(source, share) if cache is not None else None
        self._recalled = False
        self.problem: CassetteError | None = None
        self.indexed = threading.Event()
        self.emulated = threading.Event()
        self._verified: bool | None = None
        self._emulated_bytes = 0
        self._closing = threading.Event()
        self._waiting = 0
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []

    @property
    def duration_us(self) -> int:
        """How long the recording is."""
        return max(self.source.duration_us, self.index.duration_us)

    @property
    def progress(self) -> Progress:
        """How far the background work is."""
        known = self.index.output_bytes
        return Progress(
            indexed=1.0 if self.indexed.is_set() else self._indexed_share(),
            emulated=1.0
            if self.emulated.is_set()
            else self._emulated_bytes / max(1, known) * 0.999,
            verified=self._verified,
            problem=None if self.problem is None else str(self.problem),
        )

    def _indexed_share(self) -> float:
        return min(0.999, self.index.duration_us / max(1, self.duration_us))

    def start(self) -> None:
        """Start the background work."""
        for name, work in (("index", self._fill), ("emulate", self._emulate)):
            thread = threading.Thread(target=work, name=f"viewer-{name}", daemon=True)
            self._threads.append(thread)
            thread.start()

    def run(self) -> None:
        """Do the background work here and now, to its end (for tests and measurements)."""
        self._fill()
        self._emulate()

    def join(self) -> None:
        """Wait until the background work is done."""
        for thread in self._threads:
            thread.join()

    def close(self) -> None:
        """Stop, and close the source. Does nothing the second time."""
        self._closing.set()
        self.source.stop()
        for thread in self._threads:
            thread.join(timeout=5)
        self._threads.clear()
        self.source.close()

    def head(self) -> Head:
        """A playhead of its own."""
        return Head(self.source, self.index, self.checkpoints)

    @contextmanager
    def foreground(self) -> Iterator[None]:
        """Somebody waits: the background steps aside."""
        with self._lock:
            self._waiting += 1
        try:
            yield
        finally:
            with self._lock:
                self._waiting -= 1

    def aside(self) -> None:
        """Wait while somebody waits for a screen."""
        while self._waiting and not self._closing.is_set():
            time.sleep(_ASIDE_S)

    def _known(self) -> Known:
        return Known(
            index=self.index,
            exchanges=self.exchanges,
            checkpoints=self.checkpoints,
            summaries=self.summaries,
            signals=self.signals,
        )

    def _recall(self) -> bool:
        """Take what was found out the last time; every byte is verified all the same."""
        if self._cache is None or self._key is None:
            return False
        data = self._cache.get(self._key)
        self._recalled = data is not None and recall(data, self._known())
        return self._recalled

    def _remember(self) -> None:
        """Keep what was found out, if it is whole and every byte is what the manifest says."""
        if self._cache is None or self._key is None or self._recalled or self.problem is not None:
            return
        if self._verified and self.index.output_bytes >= self._cache.worth_bytes:
            self._cache.put(self._key, remembered(self._known()))

    def _fill(self) -> None:
        try:
            if self._recall():
                return
            for event in self.source.events():
                kind = self.index.add(event)
                self.exchanges.add(event, kind)
                self.summaries.add(event)
                if self.source.live or event.seq % _NOTIFY_EVENTS == 0:
                    self.on_change()
                    self.aside()
                if self._closing.is_set():
                    return
        except CassetteError as problem:
            self.problem = problem
        except (OSError, ValueError) as problem:  # a file that was closed under us, for one
            if not self._closing.is_set():
                self.problem = CassetteError(f"cannot be read any further: {problem}")
        finally:
            self.indexed.set()
            self.on_change()

    def _emulate(self) -> None:
        """Keep states along the whole of the output."""
        if not self.source.live:
            self._until(self.indexed)
        if not self._recalled:
            self._play()
        self.emulated.set()
        self.on_change()
        self._verify()
        self._remember()

    def _play(self) -> None:
        nothing_kept = Checkpoints(max_bytes=0)
        head = Head(self.source, self.index, nothing_kept, listener=self.signals.add)
        spent = 0.0
        while not self._closing.is_set():
            if head.seq >= self.index.count:
                if self.indexed.is_set():
                    break
                time.sleep(0.02)
                continue
            start = time.thread_time()
            target = self._next_stop(head.seq)
            try:
                whole = head.move(target, self._stop_background)
            except (CassetteError, OSError, ValueError) as problem:
                self.problem = self.problem or CassetteError(f"cannot be read: {problem}")
                break
            if not whole:
                break
            spent += time.thread_time() - start
            if spent >= self.checkpoints.every_s:
                if self.indexed.is_set() and self.index.next_resize(head.seq) is None:
                    # Only a resize brings rows back from there; without them a state is
                    # loaded much faster.
                    head.emulator.forget_scrollback()
                self.checkpoints.keep(head.seq, head.emulator)
                spent = 0.0
            self._emulated_bytes = self.index.output_end(head.seq)

    def _next_stop(self, seq: int) -> int:
        """The next event behind which a state may be kept: some kilobytes on, or one event."""
        index = self.index
        last = index.count
        wanted = index.output_end(seq) + SLICE_BYTES // 4
        low, high = seq + 1, last
        while low < high:
            middle = (low + high) // 2
            if index.output_end(middle) < wanted:
                low = middle + 1
            else:
                high = middle
        return low

    def _stop_background(self) -> bool:
        self.aside()
        return self._closing.is_set()

    def _until(self, event: threading.Event) -> None:
        while not event.wait(0.05) and not self._closing.is_set():
            pass

    def _verify(self) -> None:
        if self._closing.is_set() or self.problem is not None:
            return
        try:
            self._verified = self.source.verify(self.aside)
        except CassetteError as problem:
            self._verified = False
            self.problem = problem
        except (OSError, ValueError):  # closed while it was being read
            return
        self.on_change()


def _key(source: Source, share: int) -> str | None:
    """The name of all that can be known of a recording, by this program, in so much memory."""
    if source.identity is None:
        return None
    emulator = default_emulator(source.size).identity
    machine = sys.byteorder, array("L").itemsize
    parts = (__version__, emulator.name, emulator.version, share, machine)
    return hashlib.sha256(source.identity + repr(parts).encode()).hexdigest()
