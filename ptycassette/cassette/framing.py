"""Framed records: the form of journals on disk while they are written, and the kinds of damage.

Layout, all numbers little-endian::

    file   = magic[8] salt[4] record*
    record = mark[4] index:u32 length:u32 t_us:u64 kind:u8 crc:u32 body[length]

``mark`` starts every record; ``index`` counts records from 0; ``crc`` is the
CRC-32 of the record without the ``crc`` field itself, seeded with the salt.
Record 0 is the head. The last byte of ``magic`` is the version. Each journal defines its kinds and
their bodies: that of a session (``recording/io/journal_file.py``), of a tape
(``tape/journal_codec.py``).

A crash can only cut the file off, or leave blocks of its end unwritten: the
*torn tail*, which is dropped. Damage before complete records is not from a crash: it
is corruption, and an error. The decoder distinguishes the two by looking for a later
record: its mark, a higher ``index`` and the checksum must be right. The salt and the
index prevent confusion when a recorded program prints a journal (even its own).
"""

from __future__ import annotations

import struct
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import ClassVar, Generic, TypeVar
from zlib import crc32

import msgspec

from ptycassette.errors import JournalError

MARK = b"\xa7jr\xf1"

MAX_RECORD_BYTES = 16 << 20
"""Of a body: a service event or a paste may be large; a length above this is damage."""

_HEAD = struct.Struct("<4sIIQB")
_CRC = struct.Struct("<I")
_WHOLE_HEAD = struct.Struct("<4sIIQBI")
# Bytes after damage that look like a record are hashed first. A file full of such bytes would take
# forever: after this many bytes it counts as damaged.
_MAX_HASHED = 128 << 20

_RECORD_OVERHEAD = _HEAD.size + _CRC.size

T = TypeVar("T")


class EmptyJournalError(JournalError):
    """The recorder died before it wrote the head: there is nothing to recover."""


class RecordEncoder:
    """Frames records. Returns buffers, which the caller writes in order.

    Args:
        magic: eight bytes that begin the file, the last of which is the version.
        salt: any 32-bit number that differs between journals.
    """

    def __init__(self, magic: bytes, salt: int) -> None:
        self._magic = magic
        self.salt = salt & 0xFFFFFFFF
        self.index = 0
        """Of the next record."""

    def preamble(self) -> bytes:
        """The bytes before the first record."""
        return self._magic + _CRC.pack(self.salt)

    def record(self, t_us: int, kind: int, body: bytes) -> bytes:
        """A record.

        Raises:
            ValueError: the body is larger than a journal takes.
        """
        if len(body) > MAX_RECORD_BYTES:
            raise ValueError(f"an event of {len(body)} bytes; a journal takes {MAX_RECORD_BYTES}")
        return self.header(t_us, kind, body) + body

    def header(self, t_us: int, kind: int, *parts: bytes | memoryview) -> bytes:
        """The header of a record whose body is ``parts``, including the checksum."""
        head = _HEAD.pack(MARK, self.index, sum(map(len, parts)), t_us, kind)
        self.index += 1
        crc = crc32(head, self.salt)
        for part in parts:
            crc = crc32(part, crc)
        return head + _CRC.pack(crc)


class RecordDecoder(ABC, Generic[T]):
    """Reads a journal as its bytes come, in memory bounded by the largest record.

    Feed blocks of any size, then call ``finish``. ``torn_bytes`` is, after ``finish``, the size of
    the torn tail that was dropped; ``good_bytes`` is the end of the last complete record.
    """

    magic: ClassVar[bytes]

    def __init__(self) -> None:
        self.torn_bytes = 0
        self.good_bytes = 0
        self._buffer = bytearray()
        self._salt: int | None = None
        self._index = 0
        self._damaged = False
        self._skipped = 0  # bytes after good_bytes that were given up while damaged
        self._hashed = 0  # bytes after good_bytes that were hashed and did not fit

    @abstractmethod
    def take_head(self, kind: int, body: bytes) -> None:
        """Take record 0.

        Raises:
            ValueError, RecursionError, struct.error, JournalError: it cannot be understood.
        """

    @abstractmethod
    def events(self, t_us: int, kind: int, body: bytes) -> Sequence[T]:
        """The events of a record other than the head.

        Raises:
            ValueError, RecursionError, struct.error, JournalError: it cannot be understood.
        """

    def feed(self, block: bytes) -> Iterator[T]:
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
        if self._index == 0:
            raise EmptyJournalError(
                "the journal ends before its head: nothing was recorded",
                hint="delete it",
            )

    def _read_preamble(self) -> bool:
        magic = self.magic
        preamble = len(magic) + _CRC.size
        got = bytes(self._buffer[:preamble])
        if not magic.startswith(got[: len(magic)]):
            stem = magic[:-1]
            if got.startswith(stem):
                raise JournalError(
                    f"journal version {got[len(stem)]}, this program reads version {magic[-1]}",
                    hint="recover it with the version of ptycassette that recorded it",
                )
            raise JournalError("not a journal: it does not start as one")
        if len(got) < preamble:
            return False
        (self._salt,) = _CRC.unpack_from(got, len(magic))
        del self._buffer[:preamble]
        self.good_bytes = preamble
        return True

    def _read_records(self) -> Iterator[T]:
        """Take the complete records at the start of the buffer; returns their events."""
        at = 0
        try:
            if self._first_is_whole():
                # A copy, once a block, so that records are cut out of it without another one.
                data = bytes(self._buffer)
                view, size, salt = memoryview(data), len(data), self._salt or 0
                while size - at >= _RECORD_OVERHEAD:
                    mark, index, length, t_us, kind, crc = _WHOLE_HEAD.unpack_from(data, at)
                    if mark != MARK or index != self._index or length > MAX_RECORD_BYTES:
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
                    found = self._understood(index, t_us, kind, data[body:end])
                    self._index = index + 1
                    yield from found
        finally:
            del self._buffer[:at]
        if self._damaged:
            self._look_for_later_record()

    def _first_is_whole(self) -> bool:
        """Whether the first record is complete. Cheap, because 16 MiB come in many blocks."""
        if len(self._buffer) < _RECORD_OVERHEAD:
            return False
        mark, _, length, _, _ = _HEAD.unpack_from(self._buffer)
        if mark != MARK or length > MAX_RECORD_BYTES:
            return True  # to find that out
        return len(self._buffer) >= _RECORD_OVERHEAD + int(length)

    def _understood(self, index: int, t_us: int, kind: int, body: bytes) -> Sequence[T]:
        try:
            if index:
                return self.events(t_us, kind, body)
            self.take_head(kind, body)
        except (msgspec.DecodeError, ValueError, RecursionError, struct.error) as exc:
            # The checksum fits, so these bytes were written so: another version, or a forgery.
            # (Text that is no UTF-8 is a ValueError, nesting without end a RecursionError.)
            raise JournalError(f"cannot be understood: {exc}", where=f"record {index}") from exc
        return ()

    def _record_at(self, at: int, low: int, high: int) -> tuple[int, bool] | None:
        """The length of the record at ``at``, and whether it is complete; None without a record.

        If it is incomplete, only the mark and the index are checked.
        """
        mark, index, length, _, _ = _HEAD.unpack_from(self._buffer, at)
        if mark != MARK or not low <= index <= high or length > MAX_RECORD_BYTES:
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
