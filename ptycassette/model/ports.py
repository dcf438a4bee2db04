"""The ports: the protocols through which the pure layers get a clock, an emulator, a scrubber.

Whoever owns the loop owns the time. Everything that reads a clock, sleeps,
makes an id, renders or scrubs is passed in through one of these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import Any, Protocol, runtime_checkable

import msgspec

from ptycassette.model.records import (
    DiscoveryRecord,
    EmulatorId,
    JournalEvent,
    Manifest,
    QuotaRecord,
    ScrubReport,
    SessionMeta,
    TimedRecord,
)
from ptycassette.model.screen import Screen, Size
from ptycassette.model.tape import BodyPlace, TapeEntry


class Clock(Protocol):
    """Time, replaceable in tests. Elapsed time never comes from the wall clock."""

    def now_us(self) -> int:
        """Monotonic microseconds since an arbitrary moment."""
        ...

    def wall(self) -> datetime:
        """The wall clock, timezone-aware, for ``recorded_at`` alone."""
        ...


class Sleeper(Protocol):
    """Waiting, injectable."""

    def sleep(self, seconds: float) -> None:
        """Return after ``seconds`` (0 or more) of this sleeper's time."""
        ...


class AsyncSleeper(Protocol):
    """Waiting in an event loop, injectable."""

    async def sleep(self, seconds: float) -> None:
        """Return after ``seconds`` (0 or more) of this sleeper's time."""
        ...


IdSource = Callable[[], str]
"""Makes a new cassette id: a UUID in its canonical text form."""


@runtime_checkable
class Emulator(Protocol):
    """Turns bytes into screens. Splitting the input at any byte changes nothing."""

    @property
    def identity(self) -> EmulatorId:
        """Name and version, as pinned in manifests."""
        ...

    @property
    def size(self) -> Size:
        """The size now."""
        ...

    @property
    def pending(self) -> int:
        """How many bytes at the end of the input are an incomplete sequence or character."""
        ...

    def feed(self, data: bytes) -> None:
        """Consume output of the program. Never raises, whatever the bytes."""
        ...

    def resize(self, size: Size) -> None:
        """Take another size, as a terminal would."""
        ...

    def snapshot(self) -> Screen:
        """The screen now."""
        ...

    def answers(self) -> bytes:
        """Take what the terminal would have sent back since the last call."""
        ...


EmulatorFactory = Callable[[Size], Emulator]

EventSource = Callable[[], Iterator[JournalEvent]]
"""Starts a fresh pass over the same events; called as often as needed."""


class Scrubber(Protocol):
    """Removes secrets from one session. One object per session.

    ``events`` may pass over the source several times (learn, then replace).
    It yields the same events in the same order and number; output and input
    keep their byte length, so that offsets hold. After it is exhausted,
    ``text`` and ``value`` know everything it learnt, and ``report`` is whole.
    """

    def events(self, meta: SessionMeta, source: EventSource) -> Iterator[JournalEvent]:
        """The events, scrubbed."""
        ...

    def text(self, value: str, *, channel: str) -> str:
        """One string (argv, title, path), scrubbed with named placeholders."""
        ...

    def value(self, value: Any, *, channel: str) -> Any:
        """A JSON value with every string in it scrubbed, keys included."""
        ...

    def verify(self, meta: SessionMeta, source: EventSource) -> tuple[str, ...]:
        """Search scrubbed events again; a finding names channel, t_ms and rule, never the value."""
        ...

    def report(self) -> ScrubReport:
        """The report of the scrubbing. Never holds a secret."""
        ...


class ScrubStep(msgspec.Struct, frozen=True, gc=False):
    """An event on its way into a cassette.

    Attributes:
        event: with its output masked; all else is masked in ``StepScrubber.rest``.
        following: the one after it; None after the last.
        screen: the default emulator right after the event, until the next step is asked for.
            A ``StepScrubber`` always has one; None where a plain ``Scrubber`` gave the event.
    """

    event: JournalEvent
    following: JournalEvent | None
    screen: Emulator | None


class Secret(Protocol):
    """A secret value that a user typed."""

    @property
    def text(self) -> str:
        """The value."""
        ...

    @property
    def whole(self) -> bool:
        """Whether it is so short that it is removed only as a word of its own."""
        ...


class SecretWatch(Protocol):
    """Learns from the events of a session what is secret in it."""

    def begin(self) -> None:
        """The session begins, or is read again from the start."""
        ...

    def saw(self, event: JournalEvent, screen: Emulator | None) -> Sequence[Secret]:
        """The secrets that an event reveals; ``screen`` is the one right after typing."""
        ...

    def ended(self) -> Sequence[Secret]:
        """The secrets that the end of the session reveals."""
        ...


@runtime_checkable
class StepScrubber(Scrubber, Protocol):
    """A scrubber that keeps up with a session while it is recorded."""

    def steps(
        self, meta: SessionMeta, source: EventSource, watch: SecretWatch | None = None
    ) -> Iterator[ScrubStep | None]:
        """The events, as soon as they are known to be clean or masked.

        ``watch`` sees every event, with the screen right after it, and returns what is secret.

        ``None`` voids all steps before it: they are yielded once more. When the iterator
        ends, all that it yielded since then is verified, except for what ``left`` names.
        """
        ...

    def rest(self, source: EventSource) -> Iterator[JournalEvent]:
        """All events except output once more, masked, after ``steps`` has ended."""
        ...

    def check(self, texts: Any) -> None:
        """Search the strings of a JSON value that will be published as well; see ``left``."""
        ...

    @property
    def left(self) -> tuple[str, ...]:
        """The findings of verification: channel, t_ms and rule, never the value.

        Empty without any.
        """
        ...


class BodySink(Protocol):
    """Takes one body of the tape, piece by piece."""

    def write(self, data: bytes) -> None:
        """Append to it."""
        ...

    def finish(self) -> BodyPlace | None:
        """The place of the body; None if it is empty."""
        ...


class EntrySink(Protocol):
    """Takes the tape of a cassette."""

    def body(self) -> BodySink:
        """A new body; any number may be written at once."""
        ...

    def add(self, entry: TapeEntry) -> None:
        """Append an entry; they come in the order of their numbers."""
        ...

    def exchanges(self) -> Sequence[Any]:
        """The written exchanges, read back; nothing can be added afterwards."""
        ...


class CassetteSink(Protocol):
    """Takes the parts of a cassette in order and publishes it whole, or not at all."""

    def add(self, record: TimedRecord, data: bytes = b"") -> None:
        """Append a timed record; ``data`` are the bytes of an output record."""
        ...

    def reserve(self, seq: int, t_ms: int) -> None:
        """Reserve a ``seq`` for a record that is added later, in the order of the reservations."""
        ...

    def put(self, document: QuotaRecord | DiscoveryRecord | ScrubReport) -> None:
        """Set an untimed document."""
        ...

    def tape(self) -> EntrySink:
        """The tape, which the cassette has from now on; the same at each call."""
        ...

    def publish(self, manifest: Manifest) -> Manifest:
        """Fill in digests, make everything durable, and publish atomically.

        Returns the manifest as written. The ``content_digest`` handed in is ignored.
        """
        ...

    def abort(self) -> None:
        """Remove everything that was written. Does nothing after ``publish``."""
        ...


class SessionTap(Protocol):
    """Listens to a live session. The session sees a recorder as its tap.

    Called from whichever thread pumps the PTY, in order, never concurrently.

    Secret input reaches a tap as asterisks (``Typed.hidden``), unless the tap has a true
    attribute ``takes_secrets``. Only a journal has it: it is private, and the scrubber learns from
    it which secrets to remove.
    """

    def on_output(self, t_us: int, data: bytes) -> None:
        """Bytes as read from the PTY, before anybody is shown them. The hot path."""
        ...

    def on_event(self, event: JournalEvent) -> None:
        """Anything else that happened."""
        ...

    def on_idle(self) -> None:
        """The PTY has no more output for now: a good moment to flush."""
        ...


ScrubberFactory = Callable[[], Scrubber]
"""Makes a scrubber for one session."""
