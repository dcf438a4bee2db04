"""The name of a journal on disk: it appears together with a whole head, locked, or not at all.

The file is made under a hidden name and locked (flock) for as long as its recorder lives. It gets
its visible name only when its head is written, so ``recover`` can tell crashed from live.
"""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from pathlib import Path

from ptycassette.cassette.io.staging import disk_errors, fsync_directory
from ptycassette.errors import StorageError
from ptycassette.system.files.locks import try_lock

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
