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
import sys
import threading
import time
from array import array
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import msgspec

from ptycassette import CassetteError, __version__, default_emulator
from ptycassette_viewer.cache import Cache
from ptycassette_viewer.session.checkpoints import Checkpoints
from ptycassette_viewer.session.exchange_cuts import ExchangeCuts
from ptycassette_viewer.session.head import SLICE_BYTES, Head
from ptycassette_viewer.session.index import BYTES_PER_EVENT, EventIndex
from ptycassette_viewer.session.remembered import Known, recall, remembered
from ptycassette_viewer.session.signals import Signals
from ptycassette_viewer.session.source import Source
from ptycassette_viewer.session.summaries import Summaries

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
