"""The bodies of a tape, as a viewer shows and searches them: the first part of each, as text.

A cassette's tape is scrubbed already; what is shown of it is escaped where it is shown.
"""

from __future__ import annotations

import json
from threading import Lock
from typing import Any

import msgspec

from ptycassette import Cassette, CassetteError

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
