"""One recorder per account and per target. The kernel releases the lock of a holder that dies.

A lock is a file in the state directory under flock(2). Its content says who has it, for
the message to whoever comes second.
"""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Self

import msgspec

from ptycassette.errors import LockedError, StorageError
from ptycassette.model import resolved
from ptycassette.system.ownership import Owner


class LockHolder(msgspec.Struct, frozen=True, kw_only=True):
    """Who holds a lock: process id, what it records, since when (RFC 3339)."""

    pid: int
    what: str
    since: str = ""


class Lock:
    """An exclusive lock, taken on entering. Never waits.

    Args:
        directory: where lock files lie (``lock_dir``).
        name: what is locked, for the message.
        key: tells locks apart; any text.
        holder: who takes it.

    Raises:
        LockedError: on entering, when somebody has it.
        StorageError: the lock file cannot be made.
    """

    def __init__(self, directory: Path, *, name: str, key: str, holder: LockHolder) -> None:
        self._name = name
        self._holder = holder
        self._fd = -1
        self._owner = Owner()
        self.path = directory / f"{sha256(key.encode()).hexdigest()[:32]}.lock"

    def __enter__(self) -> Self:
        while not self._take():
            pass
        # The content is only for messages; the lock holds also when it cannot be written.
        with suppress(OSError):
            os.ftruncate(self._fd, 0)
            os.pwrite(self._fd, msgspec.json.encode(self._holder), 0)
        return self

    def __exit__(self, *_: object) -> None:
        if self._fd >= 0 and self._owner.here:
            # Deleted while held, so that nobody can be waiting on a name that is gone: whoever
            # opened it before finds another file, or none, under the name and starts again.
            with suppress(OSError):
                self.path.unlink()
            os.close(self._fd)
            self._fd = -1

    def _take(self) -> bool:
        """Whether the file that has the name is locked by us."""
        try:
            fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        except OSError as exc:
            raise StorageError(f"cannot lock: {exc.strerror}", where=str(self.path)) from exc
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if not _same_file(fd, self.path):
                os.close(fd)
                return False
        except BlockingIOError as exc:
            content = os.pread(fd, 4096, 0)
            os.close(fd)
            raise LockedError(
                f"{self._name} is being recorded by {_describe(content)}",
                hint="wait until it ends, or end it",
            ) from exc
        except OSError as exc:
            os.close(fd)
            raise StorageError(f"cannot lock: {exc.strerror}", where=str(self.path)) from exc
        self._fd = fd
        return True


def account_lock(directory: Path, *, harness: str, account: str, holder: LockHolder) -> Lock:
    """The lock of one account of one harness: two recordings would use up one quota."""
    return Lock(
        directory,
        name=f"account {account} of {harness}",
        key=f"account\0{harness}\0{account}",
        holder=holder,
    )


def target_lock(directory: Path, *, target: Path, holder: LockHolder) -> Lock:
    """The lock of one target: a second recording could not be published there."""
    real = Path(os.path.realpath(target))
    return Lock(directory, name=str(target), key=f"target\0{real}", holder=holder)


def _same_file(fd: int, path: Path) -> bool:
    """Whether the name still leads to ``fd``; its holder may have deleted it."""
    try:
        named, opened = path.lstat(), os.fstat(fd)
    except FileNotFoundError:
        return False
    return (named.st_dev, named.st_ino) == (opened.st_dev, opened.st_ino)


def _describe(content: bytes) -> str:
    try:
        holder = msgspec.json.decode(content, type=resolved(LockHolder))
    except msgspec.MsgspecError:
        return "another process"  # it has the lock, and has not written yet
    since = f", since {holder.since}" if holder.since else ""
    return f"process {holder.pid} ({holder.what}{since})"
