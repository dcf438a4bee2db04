"""A recording in progress as a source: its journal is read as it grows, and never touched.

The output seen so far is kept in a temporary file without a name, because the
journal holds it in pieces. The journal is not scrubbed, and neither is this.
"""

from __future__ import annotations

import os
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from ptycassette import (
    CassetteError,
    Event,
    FrameRecord,
    JournalFollower,
    ServiceEventRecord,
    SessionMeta,
    Size,
)
from ptycassette_viewer.session.traffic import Body

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
