"""Encode and decode the journal of a tape: framed records (``cassette/framing.py``) of items.

Record 0 is the head; every other record is one ``TapeItem`` in MessagePack.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from ptycassette.cassette.framing import RecordDecoder, RecordEncoder
from ptycassette.model.resolved_types import resolved
from ptycassette.tape.items import TapeItem

MAX_ITEM_BYTES = 15 << 20
"""The most data in one item: the limit of a record, less the other fields of the item."""

_MAGIC = b"\x89PTYT\r\n\x01"
_KIND_HEAD, _KIND_ITEM = range(2)


class TapeHead(msgspec.Struct, frozen=True, kw_only=True):
    """The head of a tape's journal: the moment of the monotonic clock at which ``t_us`` is 0."""

    origin_us: int


class TapeEncoder(RecordEncoder):
    """Turns a tape into journal bytes.

    Args:
        salt: any 32-bit number that differs between journals.
    """

    def __init__(self, salt: int) -> None:
        super().__init__(_MAGIC, salt)
        self._encode = msgspec.msgpack.Encoder().encode

    def begin(self, head: TapeHead) -> bytes:
        """The preamble and the head record."""
        return self.preamble() + self.record(0, _KIND_HEAD, self._encode(head))

    def item(self, item: TapeItem) -> bytes:
        """One item as a record.

        Raises:
            ValueError: it is larger than a journal allows.
        """
        return self.record(item.t_us, _KIND_ITEM, self._encode(item))


class TapeDecoder(RecordDecoder[TapeItem]):
    """Decodes a tape's journal from bytes as they arrive; sets ``head`` once it has read it."""

    magic = _MAGIC

    def __init__(self) -> None:
        super().__init__()
        self.head: TapeHead | None = None
        self._decode = msgspec.msgpack.Decoder(resolved(TapeItem)).decode

    def take_head(self, kind: int, body: bytes) -> None:
        """Take record 0."""
        if kind != _KIND_HEAD:
            raise ValueError(f"the head is of kind {kind}")
        self.head = msgspec.msgpack.decode(body, type=resolved(TapeHead))

    def events(self, t_us: int, kind: int, body: bytes) -> Sequence[TapeItem]:
        """The item of a record."""
        del t_us
        if kind != _KIND_ITEM:
            raise ValueError(f"unknown kind {kind}")
        return (self._decode(body),)
