"""The journal of a tape read back, also while the proxy still writes to it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from ptycassette.errors import JournalError
from ptycassette.system import Closing
from ptycassette.system.files import open_plain
from ptycassette.tape.items import TapeItem
from ptycassette.tape.journal_codec import TapeDecoder, TapeHead

__all__ = ["TapeJournalReader"]

_BLOCK_BYTES = 256 << 10


class TapeJournalReader(Closing):
    """Reads a journal from its start. It may lose its name meanwhile.

    Args:
        path: the file; a link is not followed.
        salvage: let the items end before damage in the middle instead of raising.

    Raises:
        NotFoundError: there is none.
        JournalError: it cannot be opened.
    """

    def __init__(self, path: Path, *, salvage: bool = False) -> None:
        self._path, self._salvage = path, salvage
        self._decoder = TapeDecoder()
        self._at = 0
        self._damaged = False
        self._fd = open_plain(path, follow_links=False)

    @property
    def head(self) -> TapeHead | None:
        """The head; None before it was read."""
        return self._decoder.head

    def poll(self) -> Iterator[TapeItem]:
        """The items that are there by now, and were not given yet. Never waits.

        Raises:
            JournalError: it is damaged.
        """
        while self._fd >= 0 and not self._damaged:
            try:
                block = os.pread(self._fd, _BLOCK_BYTES, self._at)
            except OSError as exc:
                reason = f"cannot be read: {exc.strerror}"
                raise JournalError(reason, where=str(self._path)) from exc
            if not block:
                return
            self._at += len(block)
            try:
                yield from self._decoder.feed(block)
            except JournalError as exc:
                if not self._salvage:
                    where = f"{self._path}, {exc.where}" if exc.where else str(self._path)
                    raise JournalError(exc.message, where=where, hint=exc.hint) from exc
                self._damaged = True

    def close(self) -> None:
        """Close the file. Does nothing the second time."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)
