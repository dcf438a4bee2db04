"""A journal: the same events however it is cut, and nothing but its own error.

A checksum stands before each record, which no fuzzer guesses. So input that begins with ``R`` is
taken for records, each a byte for its kind and a body up to an empty line, and is framed here.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence

from ptycassette.cassette.framing import MARK
from ptycassette.errors import JournalError
from ptycassette.model.records import JournalEvent
from ptycassette.recording.io.journal_file import MAGIC, JournalDecoder
from ptycassette.recording.sink_writer import event_of

_HEAD = struct.Struct("<4sIIQB")
_SALT = 7


def check(data: bytes) -> None:
    """Decode it, whole and in pieces, and make events of it."""
    journal = _framed(data[1:]) if data[:1] == b"R" else data
    whole = _decoded([journal])
    third = len(journal) // 3
    assert _decoded([journal[:third], journal[third:]]) == whole, "it matters where it is cut"
    offset = 0
    for number, item in enumerate(whole if isinstance(whole, list) else [], 1):
        event = event_of(item, number, offset)
        offset += len(event.data) if event is not None and event.kind == "output" else 0


def _framed(data: bytes) -> bytes:
    parts = [MAGIC, struct.pack("<I", _SALT)]
    for number, record in enumerate(data.split(b"\n\n")):
        kind, body = (record[0] if record else 0), record[1:]
        head = _HEAD.pack(MARK, number, len(body), number, kind)
        parts += [head, struct.pack("<I", zlib.crc32(body, zlib.crc32(head, _SALT))), body]
    return b"".join(parts)


def _decoded(blocks: Sequence[bytes]) -> list[JournalEvent] | str:
    decoder = JournalDecoder()
    found: list[JournalEvent] = []
    try:
        for block in blocks:
            found += decoder.feed(block)
        decoder.finish()
    except JournalError as exc:
        return type(exc).__name__
    return found
