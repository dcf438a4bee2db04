"""Protection of a journal against power loss: synced to the disk from a thread.

A thread calls fdatasync once 100 ms or 64 KiB of unsynced bytes have gathered, off the path of the
recorded bytes. After a failed sync the kernel may have dropped pages and forgotten about it, so
nothing is tried again: every later call reports the failure.
"""

from __future__ import annotations

import errno
import fcntl
import os
import threading
from collections.abc import Callable

from ptycassette.errors import StorageError
from ptycassette.system.files.whole_file import make_durable

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
