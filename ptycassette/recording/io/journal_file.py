"""The journal on disk: written before anything is shown, readable after any crash.

Every call hands its bytes to the kernel before it returns, so killing the
recorder loses nothing. ``durability="disk"`` adds protection against power
loss: the directory entry is synced before anything is recorded (otherwise the
file may be complete, but in no directory), and the bytes soon after they were written
(``_journal_sync``).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from ptycassette.errors import StorageError
from ptycassette.model.journal import JournalEvent, SessionMeta, Typed
from ptycassette.recording._journal_codec import MAX_BATCH_BYTES, JournalEncoder
from ptycassette.recording.io._journal_sync import JournalSyncer, fdatasync
from ptycassette.recording.io.journal_name import (
    JOURNAL_SUFFIX,
    HiddenJournal,
    delete_journal,
    sync_name,
)
from ptycassette.system.files.locks import process_mark

Durability = Literal["os", "disk"]

Buffer = bytes | memoryview
Write = Callable[[int, Sequence[Buffer]], int]


class JournalFile:
    """A journal being written. A ``SessionTap`` that gets the real bytes of secrets.

    Args:
        meta: the head.
        directory: where to put it; private (``journal_dir``).
        durability: ``os`` survives the death of the recorder, ``disk`` also that
            of the machine, but for the last 100 ms or 64 KiB.
        write: ``os.writev`` or a double of it.
        sync: fdatasync or a double of it.

    Raises:
        StorageError: from here and from every method: the disk refused. The
            file is then cut back to its last whole record, and stays.
    """

    takes_secrets = True
    """It is private, and what makes a cassette of it must know what to scrub."""

    def __init__(
        self,
        meta: SessionMeta,
        *,
        directory: Path,
        durability: Durability = "os",
        write: Write = os.writev,
        sync: Callable[[int], None] = fdatasync,
    ) -> None:
        self._write = write
        self._encoder = JournalEncoder(int.from_bytes(os.urandom(4), "little"))
        self.size = 0
        """Bytes handed to the kernel so far."""
        self._failure: StorageError | None = None
        self._held = b""
        self._closed = False
        self.path = directory / f"{meta.id}{JOURNAL_SUFFIX}"
        hidden = HiddenJournal(directory)
        self._fd = hidden.fd
        self._syncer: JournalSyncer | None = None
        try:
            if not hidden.locked:
                meta = msgspec.structs.replace(meta, holder=process_mark())
            head = self._encoder.begin(meta)
            self._put((head,), len(head))
            self.path = hidden.appear(meta.id)
            if durability == "disk":
                sync_name(self.path)
                self._syncer = JournalSyncer(self._fd, sync, unsynced=self.size)
        except BaseException:
            hidden.remove()
            self.close()
            raise

    def on_output(self, t_us: int, data: bytes) -> None:
        """Append one read."""
        if len(data) > MAX_BATCH_BYTES:
            view = memoryview(data)
            for at in range(0, len(data), MAX_BATCH_BYTES):
                part = view[at : at + MAX_BATCH_BYTES]
                self.append_batch([(t_us, len(part))], part)
        elif data:
            self.append_batch([(t_us, len(data))], data)

    def append_batch(self, reads: Sequence[tuple[int, int]], data: Buffer) -> None:
        """Append several reads with one checksum and one system call. The hot path.

        Args:
            reads: per read its ``t_us`` and its length.
            data: their bytes, one after the other; at most ``MAX_BATCH_BYTES``.
        """
        head, data = self._encoder.batch(reads, data)
        self._put((head, data), len(head) + len(data))

    def hold_key(self, t_us: int, data: bytes, *, masked: bool = False) -> None:
        """Hold typed input, and append it with the next output, so that the echo is faster.

        Call ``flush`` if no output comes for ten milliseconds.

        Args:
            t_us: its time.
            data: the bytes; at most ``MAX_BATCH_BYTES``.
            masked: it was typed without echo. ``data`` still has the real bytes.
        """
        self._held += self._encoder.key(t_us, data, masked=masked)

    @property
    def holding(self) -> bool:
        """Whether typed input waits for ``flush``."""
        return bool(self._held)

    def flush(self) -> None:
        """Append the typed input that waits, if any."""
        if self._held:
            self._put((), 0)

    def for_relay(self) -> tuple[int, int, int] | None:
        """What the compiled relay needs to append records itself: descriptor, salt, next index.

        None if every byte must go through this object. Call ``appended`` afterwards.
        """
        if self._syncer is not None or self._write is not os.writev:
            return None
        self.flush()
        return self._fd, self._encoder.salt, self._encoder.index

    def appended(self, *, records: int, written: int, error: int) -> None:
        """Note that the compiled relay has appended records.

        Args:
            records: how many were begun.
            written: the size in bytes of the complete ones.
            error: the ``errno`` of the write that failed; 0 for none.
        """
        self._encoder.index += records
        self.size += written
        if error:
            self._fail(OSError(error, os.strerror(error)))

    def on_event(self, event: JournalEvent) -> None:
        """Append any other event."""
        if isinstance(event, Typed) and len(event.data) > MAX_BATCH_BYTES:
            for at in range(0, len(event.data), MAX_BATCH_BYTES):
                part = event.data[at : at + MAX_BATCH_BYTES]
                record = self._encoder.event(msgspec.structs.replace(event, data=part))
                self._put((record,), len(record))
        else:
            record = self._encoder.event(event)
            self._put((record,), len(record))

    def on_idle(self) -> None:
        """Do nothing: every call above has already handed its bytes to the kernel."""

    @property
    def failure(self) -> StorageError | None:
        """Why nothing more can be written; None if it can. Earlier records are readable."""
        return self._failure

    def close(self) -> None:
        """Sync if asked to, release the lock, keep the file. Idempotent."""
        if self._closed:
            return
        self._closed = True
        if self._failure is None:
            self.flush()
        try:
            if self._syncer is not None:
                self._syncer.close()
        finally:
            os.close(self._fd)

    def discard(self) -> None:
        """Delete the file, because its contents are durable elsewhere or not wanted."""
        try:
            delete_journal(self.path)
        finally:
            self.close()

    def _put(self, buffers: Sequence[Buffer], total: int) -> None:
        if self._failure is not None:
            raise self._failure
        if self._held:
            buffers = (self._held, *buffers)
            total += len(self._held)
            self._held = b""
        try:
            done = self._write(self._fd, buffers)
            if done != total:
                self._put_rest(b"".join(buffers)[done:])
        except InterruptedError:
            self._put_rest(b"".join(buffers))
        except OSError as exc:
            self._fail(exc)
        self.size += total
        if self._syncer is not None:
            self._notify(total)

    def _put_rest(self, rest: bytes) -> None:
        """Write the rest after a short write or an interruption."""
        try:
            while rest:
                try:
                    done = self._write(self._fd, [rest])
                except InterruptedError:
                    continue
                rest = rest[done:]
        except OSError as exc:
            self._fail(exc)

    def _notify(self, total: int) -> None:
        assert self._syncer is not None  # noqa: S101 - narrows the type
        failed = self._syncer.written(total)
        if failed is not None:
            self._fail(failed)

    def _fail(self, exc: OSError) -> None:
        try:
            os.ftruncate(self._fd, self.size)
            rest = f"the recording up to here is in {self.path}"
        except OSError:
            # A torn record stays at the end; readers drop it.
            rest = f"the recording up to here is in {self.path}, with a torn end"
        self._failure = StorageError(
            f"cannot write the journal: {exc.strerror or exc}",
            where=str(self.path),
            hint=f"{rest}; make room, then: ptycassette recover {self.path}",
        )
        raise self._failure from exc
