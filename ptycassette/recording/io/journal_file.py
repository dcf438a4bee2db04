"""The journal on disk: written before anything is shown, readable after any crash.

Every call hands its bytes to the kernel before it returns, so killing the
recorder loses nothing. ``durability="disk"`` adds protection against power
loss: the name is synced before anything is recorded (without that a file may be
whole and in no directory), and a thread calls fdatasync once 100 ms or 64 KiB of
unsynced bytes have gathered, off the path of the recorded bytes. After a failed sync the kernel may
have dropped pages and forgotten about it, so nothing is tried again: every
later call raises.

The file is locked (flock) as long as its recorder lives, and its locked name
appears only together with its head: ``recover`` can tell crashed from live.
"""

from __future__ import annotations

import errno
import fcntl
import os
import secrets
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Literal

import msgspec

from ptycassette.cassette.io import disk_errors, fsync_directory
from ptycassette.errors import (
    StorageError,
)
from ptycassette.model import JournalEvent, SessionMeta, Typed
from ptycassette.recording._journal_codec import MAX_BATCH_BYTES, JournalEncoder

__all__ = [
    "HIDDEN_SUFFIX",
    "JOURNAL_SUFFIX",
    "Durability",
    "JournalFile",
    "delete_journal",
]

JOURNAL_SUFFIX = ".journal"
HIDDEN_SUFFIX = ".new"
"""Of a file that will become a journal when its head is in it."""

Durability = Literal["os", "disk"]

_SYNC_BYTES = 64 << 10
_SYNC_SECONDS = 0.1
_NO_LINKS = {errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS}

Buffer = bytes | memoryview
Write = Callable[[int, Sequence[Buffer]], int]


def _fdatasync(fd: int) -> None:
    # macOS has no fdatasync; its fsync leaves the drive's own cache alone, as F_FULLFSYNC does not.
    if hasattr(os, "fdatasync"):
        os.fdatasync(fd)
    else:
        fcntl.fcntl(fd, getattr(fcntl, "F_FULLFSYNC", 51))


class JournalFile:
    """A journal being written. A ``SessionTap`` that takes secrets as they were typed.

    Args:
        meta: the head.
        directory: where to put it; private (``staging.journal_dir``).
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
        sync: Callable[[int], None] = _fdatasync,
    ) -> None:
        self._write, self._sync = write, sync
        self._encoder = JournalEncoder(secrets.randbits(32))
        self.size = 0
        """Bytes handed to the kernel so far."""
        self._failure: StorageError | None = None
        self._held = b""
        self._closed = False
        self.path = directory / f"{meta.id}{JOURNAL_SUFFIX}"
        self._open(directory)
        self._syncer = _Syncer(self._fd, self._sync) if durability == "disk" else None
        try:
            head = self._encoder.begin(meta)
            self._put((head,), len(head))
            self._appear(directory, meta.id)
            if durability == "disk":
                self._sync_name(directory)
        except BaseException:
            self._hidden.unlink(missing_ok=True)
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

    def lend(self) -> tuple[int, int, int] | None:
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

    def _open(self, directory: Path) -> None:
        self._hidden = directory / f".{secrets.token_hex(8)}{HIDDEN_SUFFIX}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            self._fd = os.open(self._hidden, flags, 0o600)
            try:
                fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BaseException:
                os.close(self._fd)
                self._hidden.unlink()
                raise
        except OSError as exc:
            raise StorageError(
                f"cannot create a journal: {exc.strerror}", where=str(directory)
            ) from exc

    def _appear(self, directory: Path, name: str) -> None:
        """Link the file under its visible name, or another if a crash left a journal of that id."""
        for number in range(1000):
            self.path = directory / (
                f"{name}-{number}{JOURNAL_SUFFIX}" if number else f"{name}{JOURNAL_SUFFIX}"
            )
            try:
                # link, unlike rename, never replaces a journal that is there.
                self._link()
            except FileExistsError:
                continue
            except OSError as exc:
                raise StorageError(
                    f"cannot create a journal: {exc.strerror}", where=str(self.path)
                ) from exc
            with suppress(OSError):  # a second name does no harm, and is swept up
                self._hidden.unlink(missing_ok=True)
            return
        raise StorageError("a thousand journals of one id", where=str(directory))

    def _sync_name(self, directory: Path) -> None:
        """Sync the directory entry, and those of directories that may have been created for it."""
        try:
            with disk_errors("syncing the journal's directory", directory):
                fsync_directory(directory)
                fsync_directory(directory.parent)
                with suppress(PermissionError):  # not ours to read: then it was there before
                    fsync_directory(directory.parent.parent)
        except StorageError:
            self._syncer = None  # nothing of it is wanted any more
            with suppress(OSError):
                self.path.unlink(missing_ok=True)
            raise

    def _link(self) -> None:
        try:
            os.link(self._hidden, self.path)
        except OSError as exc:
            if exc.errno not in _NO_LINKS:
                raise
            # A file system without links: the id is random, so a race is not to be expected.
            if self.path.exists():
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST)) from exc
            self._hidden.rename(self.path)

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


class _Syncer:
    """Calls ``sync`` from a thread, once enough bytes or time have gathered."""

    def __init__(self, fd: int, sync: Callable[[int], None]) -> None:
        self._fd, self._sync = fd, sync
        self._unsynced = 0
        self._failed: OSError | None = None
        self._wake = threading.Event()
        self._stop = False
        self._thread: threading.Thread | None = None

    def written(self, count: int) -> OSError | None:
        """``count`` more bytes are in the kernel; returns why a sync failed, if one did."""
        self._unsynced += count
        if self._thread is None:
            # Not earlier: a program is forked in between, and fork and threads do not mix.
            if self._unsynced == count:
                return None
            self._thread = threading.Thread(target=self._run, name="journal-sync", daemon=True)
            self._thread.start()
        if self._unsynced >= _SYNC_BYTES:
            self._wake.set()
        return self._failed

    def close(self) -> None:
        """Sync what is left.

        Raises:
            StorageError: this or an earlier sync failed.
        """
        self._stop = True
        self._wake.set()
        if self._thread is not None:
            self._thread.join()
        self._once()
        if self._failed is not None:
            raise StorageError(f"cannot sync the journal: {self._failed.strerror}")

    def _run(self) -> None:
        while not self._stop and self._failed is None:
            self._wake.wait(_SYNC_SECONDS)
            self._wake.clear()
            self._once()

    def _once(self) -> None:
        if self._unsynced and self._failed is None:
            self._unsynced = 0
            try:
                self._sync(self._fd)
            except OSError as exc:
                self._failed = exc


def delete_journal(path: Path) -> None:
    """Delete a journal.

    Raises:
        StorageError: the disk refused, and the unscrubbed journal is still there.
    """
    try:
        path.unlink(missing_ok=True)
    except OSError as exc:
        raise StorageError(
            f"the journal cannot be deleted: {exc.strerror}",
            where=str(path),
            hint="delete it yourself: it is not scrubbed, and not needed any more",
        ) from exc
