"""The request log of the fake provider: entries in memory, and lines of JSON in a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from ptycassette.errors import StorageError
from ptycassette.model.ports import Clock
from ptycassette.provider.fake import Exchange

__all__ = ["RequestLog"]


class RequestLog:
    """Collects what became of each request.

    Args:
        clock: ``t_ms`` counts from the moment the log was opened.
        path: a file to append to; None keeps entries in memory alone.

    Raises:
        StorageError: the file cannot be opened.
    """

    def __init__(self, clock: Clock, path: Path | None) -> None:
        self._clock = clock
        self._start_us = clock.now_us()
        self.entries: list[dict[str, Any]] = []
        try:
            # Line by line, so that whoever tails the file sees whole requests.
            self._file = path.open("ab", buffering=0) if path is not None else None
        except OSError as failed:
            raise StorageError(
                f"the request log cannot be written: {failed.strerror}", where=str(path)
            ) from failed

    def now_us(self) -> int:
        """Microseconds since the log was opened."""
        return self._clock.now_us() - self._start_us

    def add(self, exchange: Exchange, *, began_us: int, sent: int, outcome: str) -> None:
        """Note a request that is over.

        Args:
            exchange: what was planned.
            began_us: when the request had arrived.
            sent: bytes of the body that were handed to the connection.
            outcome: ``complete``, ``disconnect`` (as planned) or ``client-gone``.
        """
        entry = {
            **exchange.entry,
            "t_ms": began_us // 1000,
            "took_ms": (self.now_us() - began_us) // 1000,
            "sent_bytes": sent,
            "outcome": outcome,
        }
        self.entries.append(entry)
        if self._file is not None:
            self._file.write(msgspec.json.encode(entry) + b"\n")

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
