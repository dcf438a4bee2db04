"""The journal codec: what is written *while* recording, as bytes, and back.

Layout, all numbers little-endian::

    file   = magic[8] salt[4] record*
    record = mark[4] index:u32 length:u32 t_us:u64 kind:u8 crc:u32 body[length]

``mark`` starts every record; ``index`` counts records from 0; ``crc`` is the
CRC-32 of the record without the ``crc`` field itself, seeded with the salt.
Record 0 is the head (``SessionMeta``); the others are output or single events.
Typing and its echo have kinds of their own, because the user waits for the echo: a
*key*, whose body is a byte of flags (1: masked) and the typed bytes, and a *read*,
whose body is the bytes that were read. Output to a stream that is not a terminal is a single event.

A batch holds any number of reads: ``count:u32``, then per read
``after_us:u32 length:u32`` (``after_us`` counts from the record's ``t_us``),
then all bytes together. So a recorder that drained several reads pays for one
checksum and one system call, and every read keeps its own time.

A crash can only cut the file off, or leave blocks of its end unwritten: the
*torn tail*, which is dropped. Damage before complete records is not from a crash: it
is corruption, and an error. The decoder distinguishes the two by searching for a later
record with the mark, a higher ``index`` and a correct checksum. The salt and the
index prevent confusion when a recorded program prints a journal (even its own).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from zlib import crc32

import msgspec

from ptycassette.errors import JournalError
from ptycassette.model import JournalEvent, Output, SessionMeta, Typed, resolved

MAGIC = b"\x89PTYJ\r\n\x01"
_MAGIC_STEM = MAGIC[:-1]
MARK = b"\xa7jr\xf1"

MAX_BATCH_BYTES = 1 << 20
"""Most bytes that one batch of output may hold."""

_MAX_BODY = 16 << 20  # a service event or a paste may be large; a length above this is damage

_HEAD = struct.Struct("<4sIIQB")
_CRC = struct.Struct("<I")
_WHOLE_HEAD = struct.Struct("<4sIIQBI")
_COUNT = struct.Struct("<I")
_READ = struct.Struct("<II")
# A possible record after damage must have a correct checksum. A hostile file full of possible
# records would take for ever: after this many hashed bytes it counts as damaged.
_MAX_HASHED = 128 << 20

_RECORD_OVERHEAD = _HEAD.size + _CRC.size
_PREAMBLE = len(MAGIC) + _CRC.size

_KIND_META, _KIND_BATCH, _KIND_EVENT, _KIND_KEY, _KIND_READ = range(5)

_MASKED = 1  # flags of a key

_MAX_AFTER_US = (1 << 32) - 1


class EmptyJournalError(JournalError):
    """The recorder died before it wrote the head: there is nothing to recover."""


class JournalEncoder:
    """Turns a session into journal bytes. Returns buffers, which the caller writes in order.

    Args:
        salt: any 32-bit number that differs between journals.
    """

    def __init__(self, salt: int) -> None:
        self.salt = salt & 0xFFFFFFFF
        self.index = 0
        """Of the next record."""
        self._event_encoder = msgspec.msgpack.Encoder()

    def begin(self, meta: SessionMeta) -> bytes:
        """The preamble and the head record."""
        body = msgspec.msgpack.encode(meta)
        return MAGIC + _CRC.pack(self.salt) + self._record(0, _KIND_META, body)

    def event(self, event: JournalEvent) -> bytes:
        """One event that is not output.

        Raises:
            ValueError: the event is larger than a journal takes.
        """
        if isinstance(event, Output) and event.stream is None:
            return b"".join(self.batch([(event.t_us, len(event.data))], event.data))
        body = self._event_encoder.encode(event)
        if len(body) > _MAX_BODY:
            raise ValueError(f"an event of {len(body)} bytes; a journal takes {_MAX_BODY}")
        return self._record(event.t_us, _KIND_EVENT, body)

    def key(self, t_us: int, data: bytes, *, masked: bool = False) -> bytes:
        """Typed input: as ``event`` of a ``Typed``, but faster."""
        body = (b"\x01" if masked else b"\x00") + data
        return self._head(t_us, _KIND_KEY, body) + body

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
            return self._head(t_us, _KIND_READ, data), data
        pack = _READ.pack
        table = _COUNT.pack(len(reads)) + b"".join(
            [pack(min(at_us - t_us, _MAX_AFTER_US), length) for at_us, length in reads]
        )
        head = _HEAD.pack(MARK, self.index, len(table) + len(data), t_us, _KIND_BATCH)
        self.index += 1
        crc = crc32(data, crc32(table, crc32(head, self.salt)))
        return head + _CRC.pack(crc) + table, data

    def _record(self, t_us: int, kind: int, body: bytes) -> bytes:
        return self._head(t_us, kind, body) + body

    def _head(self, t_us: int, kind: int, body: bytes | memoryview) -> bytes:
        """The header of a record with ``body``, including the checksum."""
        head = _HEAD.pack(MARK, self.index, len(body), t_us, kind)
        self.index += 1
        return head + _CRC.pack(crc32(body, crc32(head, self.salt)))


class JournalDecoder:
    """Reads a journal as its bytes come, in memory bounded by the largest record.

    Feed blocks of any size, then call ``finish``. ``meta`` is set once the
    head was read; ``torn_bytes`` is, after ``finish``, the size of the torn tail
    that was dropped; ``good_bytes`` is the end of the last complete record.
    """

    def __init__(self) -> None:
        self.meta: SessionMeta | None = None
        self.torn_bytes = 0
        self.good_bytes = 0
        self._buffer = bytearray()
        self._salt: int | None = None
        self._index = 0
        self._damaged = False
        self._skipped = 0  # bytes after good_bytes that were given up while damaged
        self._hashed = 0  # bytes after good_bytes that were hashed and did not fit
        self._event_decoder = msgspec.msgpack.Decoder(resolved(JournalEvent))

    def feed(self, block: bytes) -> Iterator[JournalEvent]:
        """The events that are complete now. Exhaust the iterator before feeding again.

        Raises:
            JournalError: this is not a journal, or a newer one, or damaged in the middle.
        """
        self._buffer += block
        if self._salt is None and not self._read_preamble():
            return
        if self._damaged:
            self._look_for_later_record()
            return
        yield from self._read_records()

    def finish(self) -> None:
        """Note the end of the file.

        Raises:
            JournalError: the file ends before its head is complete, or a record
                whose length is damaged hides complete ones.
        """
        if not self._damaged and self._salt is not None:
            self._look_for_later_record()
        self.torn_bytes = self._skipped + len(self._buffer)
        if self.meta is None:
            raise EmptyJournalError(
                "the journal ends before its head: nothing was recorded",
                hint="delete it",
            )

    def _read_preamble(self) -> bool:
        got = bytes(self._buffer[:_PREAMBLE])
        if not MAGIC.startswith(got[: len(MAGIC)]):
            if got.startswith(_MAGIC_STEM):
                raise JournalError(
                    f"journal version {got[len(_MAGIC_STEM)]}, this program reads version 1",
                    hint="recover it with the version of ptycassette that recorded it",
                )
            raise JournalError("not a journal: it does not start as one")
        if len(got) < _PREAMBLE:
            return False
        (self._salt,) = _CRC.unpack_from(got, len(MAGIC))
        del self._buffer[:_PREAMBLE]
        self.good_bytes = _PREAMBLE
        return True

    def _read_records(self) -> Iterator[JournalEvent]:
        """Take the complete records at the start of the buffer; returns their events."""
        at = 0
        try:
            if self._first_is_whole():
                # One copy for each block, so that records can be sliced without another copy.
                data = bytes(self._buffer)
                view, size, salt = memoryview(data), len(data), self._salt or 0
                while size - at >= _RECORD_OVERHEAD:
                    mark, index, length, t_us, kind, crc = _WHOLE_HEAD.unpack_from(data, at)
                    if mark != MARK or index != self._index or length > _MAX_BODY:
                        self._damaged = True
                        break
                    body = at + _RECORD_OVERHEAD
                    end = body + length
                    if end > size:
                        break
                    head_crc = crc32(view[at : at + _HEAD.size], salt)
                    if crc32(view[body:end], head_crc) != crc:
                        self._hashed += length
                        self._damaged = True
                        break
                    at = end
                    self.good_bytes += _RECORD_OVERHEAD + length
                    self._index = index + 1
                    if kind == _KIND_READ and index:
                        yield Output(t_us, data[body:end])
                    else:
                        yield from self._events(index, t_us, kind, data[body:end])
        finally:
            del self._buffer[:at]
        if self._damaged:
            self._look_for_later_record()

    def _first_is_whole(self) -> bool:
        """Whether the first record is complete. Cheap, because 16 MiB come in many blocks."""
        if len(self._buffer) < _RECORD_OVERHEAD:
            return False
        mark, _, length, _, _ = _HEAD.unpack_from(self._buffer)
        if mark != MARK or length > _MAX_BODY:
            return True  # to find that out
        return len(self._buffer) >= _RECORD_OVERHEAD + int(length)

    def _record_at(self, at: int, low: int, high: int) -> tuple[int, bool] | None:
        """The length of the record at ``at``, and whether it is complete; None if there is none.

        Of an incomplete record only the mark and the index are checked.
        """
        mark, index, length, _, _ = _HEAD.unpack_from(self._buffer, at)
        if mark != MARK or not low <= index <= high or length > _MAX_BODY:
            return None
        body = at + _RECORD_OVERHEAD
        if len(self._buffer) < body + length:
            return length, False
        (crc,) = _CRC.unpack_from(self._buffer, at + _HEAD.size)
        with memoryview(self._buffer) as view:
            head_crc = crc32(view[at : at + _HEAD.size], self._salt or 0)
            fits = crc32(view[body : body + length], head_crc) == crc
        self._hashed += 0 if fits else length
        return (length, True) if fits else None

    def _events(self, index: int, t_us: int, kind: int, content: bytes) -> Iterator[JournalEvent]:
        where = f"record {index}"
        try:
            if (kind == _KIND_META) != (index == 0):
                raise JournalError("the head is in the wrong place", where=where)
            if kind == _KIND_META:
                self.meta = msgspec.msgpack.decode(content, type=resolved(SessionMeta))
            elif kind == _KIND_BATCH:
                yield from _reads(t_us, content)
            elif kind == _KIND_EVENT:
                yield self._event_decoder.decode(content)
            elif kind == _KIND_KEY:
                yield _key(t_us, content)
            elif kind == _KIND_READ:
                yield Output(t_us, content)
            else:
                raise JournalError(f"unknown kind {kind}", where=where)
        except (msgspec.DecodeError, ValueError, RecursionError, struct.error) as exc:
            # The checksum is right, so the bytes are as written: by another version, or forged.
            # (Invalid UTF-8 raises a ValueError, deep nesting a RecursionError.)
            raise JournalError(f"cannot be understood: {exc}", where=where) from exc

    def _look_for_later_record(self) -> None:
        """Raise if a complete record follows the damage; else keep what may become one."""
        buffer = self._buffer
        keep_from: int | None = None
        at = buffer.find(MARK, 1 if self._skipped == 0 else 0)
        while at != -1:
            if len(buffer) - at < _RECORD_OVERHEAD:
                keep_from = at if keep_from is None else keep_from
                break
            found = self._record_at(at, self._index + 1, self._index + (1 << 31))
            if self._hashed > _MAX_HASHED:
                raise self._damage("made to look like records")
            if found is not None:
                if found[1]:
                    raise self._damage("with whole records after it")
                keep_from = at if keep_from is None else keep_from
            at = buffer.find(MARK, at + 1)
        if keep_from is None:
            # The last bytes may be the start of a mark.
            keep_from = max(0, len(buffer) - len(MARK) + 1)
        self._skipped += keep_from
        del buffer[:keep_from]

    def _damage(self, how: str) -> JournalError:
        return JournalError(
            f"damaged at byte {self.good_bytes}, {how}",
            where=f"record {self._index}",
            hint="recover --salvage keeps everything before the damage",
        )


def _key(t_us: int, content: bytes) -> Typed:
    if not content:
        raise struct.error("a key without flags")
    return Typed(t_us, content[1:], masked=bool(content[0] & _MASKED))


def _reads(t_us: int, content: bytes) -> Iterator[Output]:
    (count,) = _COUNT.unpack_from(content)
    at = _COUNT.size + count * _READ.size
    if at > len(content):
        raise struct.error(f"{count} reads announced in {len(content)} bytes")
    for number in range(count):
        after_us, length = _READ.unpack_from(content, _COUNT.size + number * _READ.size)
        yield Output(t_us + after_us, content[at : at + length])
        at += length
    if at != len(content):
        raise struct.error(f"the reads make {at} bytes of {len(content)}")
