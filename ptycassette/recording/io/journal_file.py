"""The journal on disk: written before anything is shown, readable after any crash.

Every call hands its bytes to the kernel before it returns, so killing the
recorder loses nothing. ``durability="disk"`` adds protection against power
loss: the directory entry is synced before anything is recorded (otherwise the
file may be complete, but in no directory), and the bytes soon after they were written
(``_journal_sync``).
"""

from __future__ import annotations

import errno
import fcntl
import os
import struct
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Literal

import msgspec

from ptycassette.cassette.framing import RecordDecoder, RecordEncoder
from ptycassette.cassette.io.staging import disk_errors, fsync_directory
from ptycassette.errors import JournalError, StorageError
from ptycassette.model.records import (
    JournalEvent,
    Output,
    SessionMeta,
    Typed,
    as_msgpack,
    from_msgpack,
)
from ptycassette.system.files.locks import process_mark, try_lock
from ptycassette.system.files.whole_file import make_durable

# The journal codec: encode what is written *while* recording, and decode it.
#
# ``cassette/framing.py`` defines how records are framed. Record 0 is the head (``SessionMeta``);
# the others are output or single events. Typing and its echo have their own kinds, because the
# user waits for the echo: a *key*, whose body is a byte of flags (1: masked) and the typed bytes,
# and a *read*, whose body is the bytes that were read. Output to a stream that is not a terminal
# is a single event.
#
# A batch holds any number of reads: ``count:u32``, then per read ``after_us:u32 length:u32``
# (``after_us`` counts from the record's ``t_us``), then all bytes together. So a recorder that
# drained several reads pays for one checksum and one system call, and every read keeps its own
# time.


MAGIC = b"\x89PTYJ\r\n\x01"

MAX_BATCH_BYTES = 1 << 20
"""Most bytes that one batch of output may hold."""

_COUNT = struct.Struct("<I")
_READ = struct.Struct("<II")

_KIND_META, _KIND_BATCH, _KIND_EVENT, _KIND_KEY, _KIND_READ = range(5)

_MASKED = 1  # flags of a key

_MAX_AFTER_US = (1 << 32) - 1


class JournalEncoder(RecordEncoder):
    """Turns a session into journal bytes. Returns buffers, which the caller writes in order.

    Args:
        salt: any 32-bit number that differs between journals.
    """

    def __init__(self, salt: int) -> None:
        super().__init__(MAGIC, salt)

    def begin(self, meta: SessionMeta) -> bytes:
        """The preamble and the head record."""
        body = as_msgpack(meta)
        return self.preamble() + self.header(0, _KIND_META, body) + body

    def event(self, event: JournalEvent) -> bytes:
        """One event that is not output.

        Raises:
            ValueError: the event is larger than a journal takes.
        """
        if isinstance(event, Output) and event.stream is None:
            return b"".join(self.batch([(event.t_us, len(event.data))], event.data))
        return self.record(event.t_us, _KIND_EVENT, as_msgpack(event))

    def key(self, t_us: int, data: bytes, *, masked: bool = False) -> bytes:
        """Typed input: as ``event`` of a ``Typed``, but faster."""
        body = (b"\x01" if masked else b"\x00") + data
        return self.header(t_us, _KIND_KEY, body) + body

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
            return self.header(t_us, _KIND_READ, data), data
        pack = _READ.pack
        table = _COUNT.pack(len(reads)) + b"".join(
            [pack(min(at_us - t_us, _MAX_AFTER_US), length) for at_us, length in reads]
        )
        return self.header(t_us, _KIND_BATCH, table, data) + table, data


class JournalDecoder(RecordDecoder[JournalEvent]):
    """Reads a journal as its bytes come; ``meta`` is set once the head was read."""

    magic = MAGIC

    def __init__(self) -> None:
        super().__init__()
        self.meta: SessionMeta | None = None

    def take_head(self, kind: int, body: bytes) -> None:
        """Take record 0."""
        if kind != _KIND_META:
            raise JournalError("the head is in the wrong place", where="record 0")
        self.meta = from_msgpack(body, SessionMeta)

    def events(self, t_us: int, kind: int, body: bytes) -> Sequence[JournalEvent]:
        """Decode a record other than the head."""
        if kind == _KIND_READ:
            return (Output(t_us, body),)
        if kind == _KIND_BATCH:
            return _reads(t_us, body)
        if kind == _KIND_EVENT:
            return (from_msgpack(body, JournalEvent),)
        if kind == _KIND_KEY:
            return (_key(t_us, body),)
        raise ValueError(
            "the head is in the wrong place" if kind == _KIND_META else f"unknown kind {kind}"
        )


def _key(t_us: int, content: bytes) -> Typed:
    if not content:
        raise struct.error("a key without flags")
    return Typed(t_us, content[1:], masked=bool(content[0] & _MASKED))


def _reads(t_us: int, content: bytes) -> list[Output]:
    (count,) = _COUNT.unpack_from(content)
    at = _COUNT.size + count * _READ.size
    if at > len(content):
        raise struct.error(f"{count} reads announced in {len(content)} bytes")
    found = []
    for number in range(count):
        after_us, length = _READ.unpack_from(content, _COUNT.size + number * _READ.size)
        found.append(Output(t_us + after_us, content[at : at + length]))
        at += length
    if at != len(content):
        raise struct.error(f"the reads make {at} bytes of {len(content)}")
    return found


# Protection of a journal against power loss: synced to the disk from a thread.


_SYNC_BYTES = 64 << 10
_SYNC_SECONDS = 0.1


def fdatasync(fd: int) -> None:
    """Return when the data of the file are on the disk."""
    # macOS has no fdatasync; its fsync leaves the drive's own cache alone, as F_FULLFSYNC does not.
    if hasattr(os, "fdatasync"):
        try:
            os.fdatasync(fd)
        except OSError as exc:
            if exc.errno not in {errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP}:
                raise
            make_durable(fd)  # some file systems have only the other
    else:
        fcntl.fcntl(fd, getattr(fcntl, "F_FULLFSYNC", 51))


class JournalSyncer:
    """Calls ``sync`` from a thread, once enough bytes or time have gathered.

    Args:
        fd: of the journal.
        sync: fdatasync or a double of it.
        unsynced: how many bytes are in the kernel already.
    """

    def __init__(self, fd: int, sync: Callable[[int], None], *, unsynced: int) -> None:
        self._fd, self._sync = fd, sync
        self._unsynced = unsynced
        self._failed: OSError | None = None
        self._wake = threading.Event()
        self._stop = False
        self._thread: threading.Thread | None = None

    def written(self, count: int) -> OSError | None:
        """``count`` more bytes are in the kernel; returns why a sync failed, if one did."""
        self._unsynced += count
        if self._thread is None:
            # Not earlier: a program is forked before this, and fork and threads do not mix.
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


# The name of a journal on disk: it appears together with a whole head, locked, or not at all.


JOURNAL_SUFFIX = ".journal"
TAPE_SUFFIX = ".tape"
"""Of the proxy's journal, which is called as the recorder's is otherwise."""
HIDDEN_SUFFIX = ".new"
"""Of a file that will become a journal when its head is in it."""

_DISK = {errno.EEXIST, errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.ENOENT}


class HiddenJournal:
    """A new file, locked, which has no visible name yet.

    Attributes:
        fd: open for appending; the caller closes it.
        locked: the file is locked; False where the file system has no locks.

    Raises:
        StorageError: from here and from every method: the disk refused.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._path = directory / f".{os.urandom(8).hex()}{HIDDEN_SUFFIX}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            self.fd = os.open(self._path, flags, 0o600)
        except OSError as exc:
            raise _not_created(exc, directory) from exc
        self.locked = bool(try_lock(self.fd))

    def remove(self) -> None:
        """Remove the hidden name, if it is still there."""
        self._path.unlink(missing_ok=True)

    def appear(self, name: str) -> Path:
        """Give the file its visible name, or another if a crash left a journal of that id."""
        for number in range(1000):
            path = self._directory / f"{f'{name}-{number}' if number else name}{JOURNAL_SUFFIX}"
            try:
                # link(2), unlike rename(2), never replaces an existing journal.
                self._link(path)
            except FileExistsError:
                continue
            except OSError as exc:
                raise _not_created(exc, path) from exc
            with suppress(OSError):  # a second name does no harm, and is swept up
                self.remove()
            return path
        raise StorageError("a thousand journals of one id", where=str(self._directory))

    def _link(self, path: Path) -> None:
        try:
            os.link(self._path, path)
        except OSError as exc:
            if exc.errno in _DISK:
                raise
            # A file system without links (EPERM, ENOTSUP, ENOSYS, EMLINK, EXDEV, ...). A race is
            # unlikely, because the id is random.
            if path.exists():
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST)) from exc
            self._path.rename(path)


def sync_name(path: Path) -> None:
    """Sync the directory entry of ``path``, and those of directories that may be new.

    Raises:
        StorageError: the disk refused. The name is removed.
    """
    directory = path.parent
    try:
        with disk_errors("syncing the journal's directory", directory):
            fsync_directory(directory)
            fsync_directory(directory.parent)
            with suppress(PermissionError):  # not ours to read: then it was there before
                fsync_directory(directory.parent.parent)
    except StorageError:
        with suppress(OSError):
            path.unlink(missing_ok=True)
        raise


def tape_journal_of(journal: Path) -> Path:
    """The proxy's journal beside a recorder's."""
    return journal.with_name(journal.name.removesuffix(JOURNAL_SUFFIX) + TAPE_SUFFIX)


def delete_journal(path: Path) -> None:
    """Delete a journal, and the proxy's beside it first.

    Raises:
        StorageError: the disk refused, and the unscrubbed journal is still there.
    """
    try:
        tape_journal_of(path).unlink(missing_ok=True)
        path.unlink(missing_ok=True)
    except OSError as exc:
        raise StorageError(
            f"the journal cannot be deleted: {exc.strerror}",
            where=str(path),
            hint="delete it yourself: it is not scrubbed, and not needed any more",
        ) from exc


def _not_created(exc: OSError, place: Path) -> StorageError:
    return StorageError(
        f"cannot create a journal: {exc.strerror}",
        where=str(place),
        hint="set PTYCASSETTE_STATE_DIR to a directory with room that you can write to",
    )


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
        """Descriptor, salt and next index, with which the compiled relay appends records itself.

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
