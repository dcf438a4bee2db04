"""Where a session comes from: a cassette, or a recording in progress."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Lock
from typing import Any, Protocol

import msgspec

from ptycassette import Cassette, CassetteError, Size
from ptycassette.viewing import (
    Event,
    FrameRecord,
    JournalFollower,
    ServiceEventRecord,
    SessionMeta,
    streams_of,
)

# The bodies of a tape, as a viewer shows and searches them: the first part of each, as text.


MOST_BYTES = 256 << 10
"""Of a body."""
_MOST_QUESTION = 8 << 20
_MOST_ENTRIES = 20_000


class Body(msgspec.Struct, frozen=True):
    """A body: what is shown of it, and how long it is in all."""

    data: bytes
    length: int

    @property
    def text(self) -> str:
        """As text."""
        return self.data.decode("utf-8", "replace")

    @property
    def document(self) -> Any:
        """As JSON; None where it is none, or not all there."""
        if len(self.data) < self.length:
            return None
        try:
            return json.loads(self.data)
        except (ValueError, RecursionError):
            return None


class Traffic:
    """The bodies of one cassette, by the service events that stand for them. Thread-safe.

    Args:
        cassette: open; with or without a tape.
    """

    def __init__(self, cassette: Cassette) -> None:
        self._cassette = cassette
        self._lock = Lock()
        self._moments: dict[int, tuple[Any, bool]] | None = None

    def body(self, seq: int) -> Body | None:
        """The body that belongs to a service event: a question's, or an answer's."""
        if not self._cassette.has_tape:
            return None
        try:
            with self._lock:
                if self._moments is None:
                    self._moments = self._found()
                exchange, asks = self._moments.get(seq, (None, False))
                return None if exchange is None else _read(exchange, asks=asks)
        except (CassetteError, OSError, ValueError):  # told by whoever reads all events
            return None

    def _found(self) -> dict[int, tuple[Any, bool]]:
        moments: dict[int, tuple[Any, bool]] = {}
        for number, exchange in enumerate(self._cassette.tape()):
            if number == _MOST_ENTRIES:
                break
            moments[exchange.entry.seq] = (exchange, True)
            if exchange.entry.answer is not None:
                moments[exchange.entry.answer.seq] = (exchange, False)
        return moments


def _read(exchange: Any, *, asks: bool) -> Body | None:
    place = exchange.entry.body if asks else exchange.entry.answer.body
    if place is None:
        return None
    if asks:
        data = exchange.question() if place.bytes <= _MOST_QUESTION else b""
        return Body(data[:MOST_BYTES], place.bytes)
    parts = bytearray()
    for _, data in exchange.pieces():
        parts += data
        if len(parts) >= MOST_BYTES:
            break
    return Body(bytes(parts[:MOST_BYTES]), place.bytes)


class Source(Protocol):
    """What the session model needs of a recording."""

    name: str
    size: Size
    live: bool
    piped: bool
    """Whether output went elsewhere than to a terminal: line feeds begin a line then, too."""

    @property
    def duration_us(self) -> int:
        """How long it is, as far as is known without reading the events."""
        ...

    @property
    def identity(self) -> bytes | None:
        """An identity of the recording that covers every byte; None without one.

        Also None for recordings that must leave no traces.
        """
        ...

    def events(self) -> Iterator[Event]:
        """The events in order; of a live source, until it ends or is closed."""
        ...

    def again(self, stop: Callable[[], bool]) -> Iterator[Event]:
        """The events again, for searches; of a live source until ``stop`` returns true."""
        ...

    def service_events(self) -> Iterator[ServiceEventRecord]:
        """The service events that are known."""
        ...

    def body(self, seq: int) -> Body | None:
        """The body of a question or an answer that a service event stands for."""
        ...

    def frame_at(self, t_us: int) -> FrameRecord | None:
        """The last stored frame at or before a moment, quickly."""
        ...

    def read(self, offset: int, length: int) -> Iterator[bytes]:
        """Bytes of the output, in blocks."""
        ...

    def verify(self, aside: Callable[[], None]) -> bool | None:
        """Check every byte, calling ``aside`` regularly.

        Returns:
            None when there is nothing to check, or it was stopped.

        Raises:
            CassetteError: what is wrong.
        """
        ...

    def stop(self) -> None:
        """End work in other threads soon."""
        ...

    def close(self) -> None:
        """Close everything."""
        ...


class _StoppedError(Exception):
    """The work was stopped."""


class CassetteSource:
    """A finished cassette. Takes over ``cassette``: closes it when it is closed."""

    live = False

    def __init__(self, cassette: Cassette) -> None:
        self.cassette = cassette
        self.name = cassette.path.name or str(cassette.path)
        self._stopped = False
        self._traffic = Traffic(cassette)
        self.piped = not streams_of(cassette.manifest).all_painted
        terminal = cassette.manifest.terminal
        self.size = Size(max(1, terminal.initial_rows), max(1, terminal.initial_cols))

    @property
    def duration_us(self) -> int:
        """When the final event happens."""
        final = self.cassette.final
        return final.t_us if final.t_us is not None else final.t_ms * 1000

    @property
    def identity(self) -> bytes | None:
        """The manifest's digest, if it pins every file; None if it was never scrubbed."""
        cassette = self.cassette
        if not cassette.pinned or cassette.scrub_report.status == "unscrubbed":
            return None
        return hashlib.sha256(msgspec.json.encode(cassette.document, order="sorted")).digest()

    def events(self) -> Iterator[Event]:
        """The events in order."""
        return self.cassette.events()

    def again(self, stop: Callable[[], bool]) -> Iterator[Event]:  # noqa: ARG002 - the protocol
        """The events once more."""
        return self.cassette.events()

    def service_events(self) -> Iterator[ServiceEventRecord]:
        """All of them."""
        return self.cassette.service_events()

    def body(self, seq: int) -> Body | None:
        """From the tape, if there is one."""
        return self._traffic.body(seq)

    def frame_at(self, t_us: int) -> FrameRecord | None:
        """From ``frames.jsonl``."""
        return self.cassette.frame_at(t_us)

    def read(self, offset: int, length: int) -> Iterator[bytes]:
        """Bytes of ``output.raw``."""
        return self.cassette.raw(offset, length)

    def verify(self, aside: Callable[[], None]) -> bool | None:
        """Check every byte, as ``ptycassette verify`` does."""

        def go_on(_bytes: int, _of: int) -> None:
            aside()
            if self._stopped:
                raise _StoppedError

        try:
            self.cassette.verify(go_on)
        except _StoppedError:
            return None
        return True

    def stop(self) -> None:
        """Stop verifying."""
        self._stopped = True

    def close(self) -> None:
        """Close the cassette."""
        self.cassette.close()


def body_text(source: Source, seq: int) -> str:
    """The text of the tape that belongs to a service event; empty where there is none."""
    body = source.body(seq)
    return "" if body is None else body.text


# A recording in progress as a source: its journal is read as it grows, and never touched.


_BLOCK = 1 << 20
_POLL_S = 0.03
_PATIENCE_POLLS = 10
_MAX_SERVICE_EVENTS = 5_000
_MAX_SERVICE_BYTES = 16 << 20


class LiveSource:
    """The journal at ``path``.

    Raises:
        CassetteError: there is none, or it has no head yet.
    """

    live = True
    identity = None
    duration_us = 0

    def __init__(self, path: Path) -> None:
        self._follower = JournalFollower(path)
        self._first = list(self._follower.poll())
        meta = self._follower.meta
        if meta is None:
            self._follower.close()
            raise CassetteError(
                "nothing was recorded yet", where=str(path), hint="try again in a moment"
            )
        self.name = Path(meta.target).name or path.name
        self.meta: SessionMeta = meta
        self.piped = meta.streams is not None and not meta.streams.all_painted
        self.size = Size(max(1, meta.size.rows), max(1, meta.size.cols))
        self._output = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 - closed in close
        self._stopping = threading.Event()
        self._ended = threading.Event()
        self._service: list[ServiceEventRecord] = []
        self._service_bytes = 0

    def events(self) -> Iterator[Event]:
        """The events as they come, until the final one, or until the recorder is gone."""
        try:
            yield from self._events()
        finally:
            self._ended.set()

    def _events(self) -> Iterator[Event]:
        quiet = 0
        pending: list[Event] = self._first
        while not self._stopping.is_set():
            for event in pending:
                if event.kind == "output":
                    self._output.write(event.data)
                elif isinstance(event.record, ServiceEventRecord):
                    self._keep(event.record)
                yield event
                if event.kind == "final":
                    return
            quiet = 0 if pending else quiet + 1
            if quiet > _PATIENCE_POLLS and self._follower.gone:
                return
            pending = []
            self._stopping.wait(_POLL_S)
            pending = list(self._follower.poll())

    def _keep(self, record: ServiceEventRecord) -> None:
        self._service_bytes += len(msgspec.json.encode(record.payload))
        if self._service_bytes <= _MAX_SERVICE_BYTES and len(self._service) < _MAX_SERVICE_EVENTS:
            self._service.append(record)

    def again(self, stop: Callable[[], bool]) -> Iterator[Event]:
        """The events from the start and as they come, until the end or ``stop``."""
        with self._follower.again() as follower:
            while not stop() and not self._stopping.is_set():
                ended = self._ended.is_set()
                yield from follower.poll()
                if ended:
                    return
                self._stopping.wait(_POLL_S)

    def service_events(self) -> Iterator[ServiceEventRecord]:
        """The service events so far, up to some megabytes."""
        return iter(tuple(self._service))

    def body(self, seq: int) -> Body | None:  # noqa: ARG002 - the protocol
        """The tape of a recording in progress is not read."""
        return None

    def frame_at(self, t_us: int) -> FrameRecord | None:  # noqa: ARG002 - the protocol
        """A journal has no frames."""
        return None

    def read(self, offset: int, length: int) -> Iterator[bytes]:
        """Output seen so far."""
        end = offset + length
        while offset < end:
            block = os.pread(self._output.fileno(), min(_BLOCK, end - offset), offset)
            if not block:
                return
            yield block
            offset += len(block)

    def verify(self, aside: Callable[[], None]) -> bool | None:  # noqa: ARG002 - the protocol
        """There is nothing to check yet."""
        return None

    def stop(self) -> None:
        """End ``events``."""
        self._stopping.set()

    def close(self) -> None:
        """Close the files."""
        self._stopping.set()
        self._follower.close()
        self._output.close()
