"""Write the journal of a tape to disk before anything is passed on; read it after any crash.

When ``note`` returns, the kernel has the item. So a killed proxy loses nothing that it has passed
on. If the disk refuses an item, ``note`` raises, and the caller must not pass the bytes on.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from ptycassette.errors import JournalError, NotFoundError, StorageError
from ptycassette.system.ownership import Closing
from ptycassette.tape.items import TapeItem
from ptycassette.tape.journal_codec import TapeDecoder, TapeEncoder, TapeHead

_BLOCK = 1 << 20


Buffer = bytes | memoryview


class TapeSink(Protocol):
    """Takes the items that a proxy notes."""

    def note(self, item: TapeItem) -> None:
        """Keep an item; it is safe when this returns.

        Raises:
            StorageError: it cannot be kept.
        """


class TapeJournalFile(Closing):
    """Writes a tape's journal. A ``TapeSink``.

    Args:
        path: a file that does not exist yet, in a private directory.
        origin_us: the moment of the monotonic clock at which ``t_us`` is 0.
        write: ``os.write`` or a double of it.

    Raises:
        StorageError: from here and from ``note``: the disk refused. The file is then cut back to
            its last complete record, and stays.
    """

    def __init__(
        self, path: Path, *, origin_us: int, write: Callable[[int, Buffer], int] = os.write
    ) -> None:
        self.path = path
        self.size = 0
        """Bytes handed to the kernel so far."""
        self.failure: StorageError | None = None
        self._write = write
        self._encoder = TapeEncoder(secrets.randbits(32))
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
        try:
            self._fd = os.open(path, flags, 0o600)
        except OSError as exc:
            raise StorageError(
                f"cannot make the tape's journal: {exc.strerror}", where=str(path)
            ) from exc
        self._put(self._encoder.begin(TapeHead(origin_us=origin_us)))

    def note(self, item: TapeItem) -> None:
        """Append an item."""
        if self.failure is not None:
            raise self.failure
        self._put(self._encoder.item(item))

    def close(self) -> None:
        """Close the file, which stays. Does nothing the second time."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _put(self, record: bytes) -> None:
        rest = memoryview(record)
        try:
            while rest:
                rest = rest[self._write(self._fd, rest) :]
        except OSError as exc:
            self._fail(exc)
        self.size += len(record)

    def _fail(self, exc: OSError) -> None:
        with suppress(OSError):  # or a torn record stays at the end; readers drop it
            os.ftruncate(self._fd, self.size)
        self.failure = StorageError(
            f"cannot write the tape's journal: {exc.strerror or exc}",
            where=str(self.path),
            hint="make room, then record again; the notes up to here are complete",
        )
        raise self.failure from exc


class TapeJournalReader(Closing):
    """Reads a tape's journal, in memory bounded by the largest item.

    The journal may still be growing: call ``poll`` again. Strictly read-only.

    Args:
        path: the journal; a link is not followed.

    Raises:
        NotFoundError: there is no such file.
        JournalError: it cannot be opened.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._decoder = TapeDecoder()
        try:
            self._fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
        except FileNotFoundError as exc:
            raise NotFoundError("no such journal of a tape", where=str(path)) from exc
        except OSError as exc:
            raise JournalError(f"cannot be read: {exc.strerror}", where=str(path)) from exc

    @property
    def head(self) -> TapeHead | None:
        """The head; None before it is read."""
        return self._decoder.head

    @property
    def torn_bytes(self) -> int:
        """The size of the torn tail that was dropped; valid after ``finish``."""
        return self._decoder.torn_bytes

    def poll(self) -> Iterator[TapeItem]:
        """The items that were written since the last call. Never waits.

        Raises:
            JournalError: it is not a tape's journal, or damaged.
        """
        while block := self._read():
            yield from self._decoder.feed(block)

    def finish(self) -> None:
        """Note that nothing more will be written.

        Raises:
            JournalError: damage hides whole records, or even the head is missing.
        """
        self._decoder.finish()

    def close(self) -> None:
        """Close the file. Does nothing the second time."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _read(self) -> bytes:
        try:
            return os.read(self._fd, _BLOCK)
        except OSError as exc:
            raise JournalError(f"cannot be read: {exc.strerror}", where=str(self.path)) from exc
