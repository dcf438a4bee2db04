"""The journal codec: encode what is written *while* recording, and decode it.

``cassette/framing.py`` defines how records are framed. Record 0 is the head (``SessionMeta``); the
others are output or single events.
Typing and its echo have their own kinds, because the user waits for the echo: a
*key*, whose body is a byte of flags (1: masked) and the typed bytes, and a *read*,
whose body is the bytes that were read. Output to a stream that is not a terminal is a single event.

A batch holds any number of reads: ``count:u32``, then per read
``after_us:u32 length:u32`` (``after_us`` counts from the record's ``t_us``),
then all bytes together. So a recorder that drained several reads pays for one
checksum and one system call, and every read keeps its own time.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from ptycassette.cassette.framing import RecordDecoder, RecordEncoder
from ptycassette.errors import JournalError
from ptycassette.model.records import (
    JournalEvent,
    Output,
    SessionMeta,
    Typed,
    as_msgpack,
    from_msgpack,
)

MAGIC = b"\x89PTYJ\r\n\x01"

MAX_BATCH_BYTES = 1 << 20
"""Most bytes that one batch of output may hold."""

_COUNT = struct.Struct("<I")
_READ = struct.Struct("<II")

_KIND_META, _KIND_BATCH, _KIND_EVENT, _KIND_KEY, _KIND_READ = range(5)

_MASKED = 1  # flags of a key

_MAX_AFTER_US = (1 << 32) - 1


class JournalEncoder(RecordEncoder):
    """Turns a session into journal bytes. Returns buffers, which the caller writes in order.

    Args:
        salt: any 32-bit number that differs between journals.
    """

    def __init__(self, salt: int) -> None:
        super().__init__(MAGIC, salt)

    def begin(self, meta: SessionMeta) -> bytes:
        """The preamble and the head record."""
        body = as_msgpack(meta)
        return self.preamble() + self.header(0, _KIND_META, body) + body

    def event(self, event: JournalEvent) -> bytes:
        """One event that is not output.

        Raises:
            ValueError: the event is larger than a journal takes.
        """
        if isinstance(event, Output) and event.stream is None:
            return b"".join(self.batch([(event.t_us, len(event.data))], event.data))
        return self.record(event.t_us, _KIND_EVENT, as_msgpack(event))

    def key(self, t_us: int, data: bytes, *, masked: bool = False) -> bytes:
        """Typed input: as ``event`` of a ``Typed``, but faster."""
        body = (b"\x01" if masked else b"\x00") + data
        return self.header(t_us, _KIND_KEY, body) + body

    def batch(
        self, reads: Sequence[tuple[int, int]], data: bytes | memoryview
    ) -> tuple[bytes, bytes | memoryview]:
        """A batch of reads, ready for ``writev``: the framing, and ``data`` untouched.

        Args:
            reads: per read its time in microseconds and its length; one or more.
            data: the bytes of all reads together, at most ``MAX_BATCH_BYTES``.
        """
        t_us = reads[0][0]
        if len(reads) == 1:
            return self.header(t_us, _KIND_READ, data), data
        pack = _READ.pack
        table = _COUNT.pack(len(reads)) + b"".join(
            [pack(min(at_us - t_us, _MAX_AFTER_US), length) for at_us, length in reads]
        )
        return self.header(t_us, _KIND_BATCH, table, data) + table, data


class JournalDecoder(RecordDecoder[JournalEvent]):
    """Reads a journal as its bytes come; ``meta`` is set once the head was read."""

    magic = MAGIC

    def __init__(self) -> None:
        super().__init__()
        self.meta: SessionMeta | None = None

    def take_head(self, kind: int, body: bytes) -> None:
        """Take record 0."""
        if kind != _KIND_META:
            raise JournalError("the head is in the wrong place", where="record 0")
        self.meta = from_msgpack(body, SessionMeta)

    def events(self, t_us: int, kind: int, body: bytes) -> Sequence[JournalEvent]:
        """Decode a record other than the head."""
        if kind == _KIND_READ:
            return (Output(t_us, body),)
        if kind == _KIND_BATCH:
            return _reads(t_us, body)
        if kind == _KIND_EVENT:
            return (from_msgpack(body, JournalEvent),)
        if kind == _KIND_KEY:
            return (_key(t_us, body),)
        raise ValueError(
            "the head is in the wrong place" if kind == _KIND_META else f"unknown kind {kind}"
        )


def _key(t_us: int, content: bytes) -> Typed:
    if not content:
        raise struct.error("a key without flags")
    return Typed(t_us, content[1:], masked=bool(content[0] & _MASKED))


def _reads(t_us: int, content: bytes) -> list[Output]:
    (count,) = _COUNT.unpack_from(content)
    at = _COUNT.size + count * _READ.size
    if at > len(content):
        raise struct.error(f"{count} reads announced in {len(content)} bytes")
    found = []
    for number in range(count):
        after_us, length = _READ.unpack_from(content, _COUNT.size + number * _READ.size)
        found.append(Output(t_us + after_us, content[at : at + length]))
        at += length
    if at != len(content):
        raise struct.error(f"the reads make {at} bytes of {len(content)}")
    return found
