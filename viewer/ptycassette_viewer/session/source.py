"""Where a session comes from: a cassette, or a recording in progress."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from typing import Protocol

import msgspec

from ptycassette import Cassette, Event, FrameRecord, ServiceEventRecord, Size, streams_of
from ptycassette_viewer.session.traffic import Body, Traffic


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
