"""One recorder per account and per target. The kernel releases the lock of a holder that dies.

A lock is a file in the state directory under flock(2). It holds the name of its owner, for the
message to a second recorder. Some file systems (NFS, Lustre, CIFS, FUSE) have no flock: then the
lock is in the first spare directory that has it. If none has it, the recording goes on without this
lock, and ``Lock.caution`` has a warning for the user. Publishing is still safe, because it is one
rename.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Self

import msgspec

from ptycassette.errors import CassetteError, LockedError, RefusedError, StorageError
from ptycassette.model.records import NOT_JSON, storable_text
from ptycassette.model.resolved_types import resolved
from ptycassette.system.files.state_dirs import is_own_dir, private_dir, run_dirs, spare_dirs
from ptycassette.system.ownership import Owner, owned_context

DEFAULT_ACCOUNT = "default"
"""The account of a harness for which nobody gave a name."""


def try_lock(fd: int, *, wait: bool = False) -> bool | None:
    """Take the lock (flock) of an open file or directory.

    Args:
        fd: the descriptor; closing its last copy releases the lock.
        wait: until it is free.

    Returns:
        True if it is ours, False if somebody has it, None if this file system has no locks.
    """
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    except OSError:  # ENOLCK, ENOSYS, EOPNOTSUPP, EINVAL, EBADF (NFS): each means the same
        return None
    return True


def process_mark() -> str:
    """A name for this process, which ``is_gone`` checks where a file system has no locks."""
    return " ".join(_facts(os.getpid()))


def is_gone(mark: str) -> bool:
    """Whether the process of a ``process_mark`` has certainly ended.

    False also where that cannot be seen from here: another machine, another container.
    """
    host, boot, space, pid, started = (*mark.split(" "), *([""] * 5))[:5]
    here = _facts(int(pid)) if pid.isdigit() else ()
    if not here or (host, space) != (here[0], here[2]):
        return False
    if boot != here[1]:
        return True  # this machine was started again
    if started:
        return started != here[4]
    try:
        os.kill(int(pid), 0)
    except OSError as exc:
        return isinstance(exc, ProcessLookupError)
    return False


def _facts(pid: int) -> tuple[str, str, str, str, str]:
    """The machine, its last start, the PID namespace, the pid, and when it started (ticks)."""
    boot = space = started = ""
    with suppress(OSError, IndexError):
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        space = str(Path("/proc/self/ns/pid").readlink())
        stat = Path(f"/proc/{pid}/stat").read_bytes()
        started = stat.rpartition(b")")[2].split()[19].decode()
    return os.uname().nodename.replace(" ", "_"), boot, space, str(pid), started


class LockHolder(msgspec.Struct, frozen=True, kw_only=True):
    """The holder of a lock: process id, what it records, since when (RFC 3339)."""

    pid: int
    what: str
    since: str = ""


class Lock:
    """An exclusive lock, taken on entering. Never waits.

    Args:
        directory: the directory of lock files (``lock_dir``).
        name: the locked thing, for the message.
        key: identifies the lock; any text.
        holder: the process that takes it.

    Attributes:
        caution: a warning for the user; None if all is well.

    Raises:
        LockedError: on entering, when another process holds it.
        StorageError: the lock file cannot be made.
    """

    def __init__(self, directory: Path, *, name: str, key: str, holder: LockHolder) -> None:
        self._name = name
        self._holder = holder
        self._fd = -1
        self._owner = Owner()
        self.caution: str | None = None
        self.path = directory / f"{sha256(os.fsencode(key)).hexdigest()[:32]}.lock"

    def __enter__(self) -> Self:
        while (taken := self._take()) is False:
            pass
        if taken is None and not self._elsewhere():
            self.caution = (
                f"{self.path.parent} is on a file system without locks: another recording of"
                f" {self._name} at the same time is not noticed (to have locks, set"
                " PTYCASSETTE_STATE_DIR to a directory on a local disk)"
            )
            return self
        # The content is only for messages; the lock holds also when it cannot be written.
        with suppress(OSError):
            os.ftruncate(self._fd, 0)
            os.pwrite(
                self._fd,
                msgspec.json.encode(
                    msgspec.structs.replace(self._holder, what=storable_text(self._holder.what))
                ),
                0,
            )
        return self

    def __exit__(self, *_: object) -> None:
        if self._fd >= 0 and self._owner.here:
            # Deleted while held, so that no process waits on a name that is gone: one that opened
            # it before finds another file, or no file, under the name and starts again.
            with suppress(OSError):
                self.path.unlink()
            os.close(self._fd)
            self._fd = -1

    def _elsewhere(self) -> bool:
        """Take the lock in a spare directory; False if none has locks."""
        usual = self.path
        for place in spare_dirs():
            with suppress(RefusedError, StorageError):
                self.path = private_dir(place / "locks", top=place) / usual.name
                while (taken := self._take()) is False:
                    pass
                if taken:
                    return True
        self.path = usual
        return False

    def _take(self) -> bool | None:
        """Whether we hold the lock on the file of that name; None if locks do not exist there."""
        try:
            fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        except OSError as exc:
            raise StorageError(
                f"cannot lock: {exc.strerror}",
                where=str(self.path),
                hint="set PTYCASSETTE_STATE_DIR to a directory that you can write to",
            ) from exc
        try:
            taken = try_lock(fd)
            if taken is False:
                raise LockedError(
                    f"{self._name} is being recorded by {_describe(os.pread(fd, 4096, 0))}",
                    hint="wait until it ends, or end it",
                )
            if taken and _same_file(fd, self.path):
                self._fd, fd = fd, -1
                return True
            if taken is None:
                with suppress(OSError):
                    self.path.unlink()
                return None
        except OSError as exc:
            raise StorageError(f"cannot lock: {exc.strerror}", where=str(self.path)) from exc
        finally:
            if fd >= 0:
                os.close(fd)
        return False


def account_lock(directory: Path, *, harness: str, account: str, holder: LockHolder) -> Lock:
    """The lock of one account: two recordings would share its quota, even with different programs.

    Only ``DEFAULT_ACCOUNT``, for a recording without a named account, is separate for each harness.
    """
    whose = harness if account == DEFAULT_ACCOUNT else ""
    return Lock(
        directory,
        name=f"account {account}" + (f" of {whose}" if whose else ""),
        key=f"account\0{whose}\0{account}",
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
    except NOT_JSON:
        return "another process"  # it has the lock, and has not written yet
    since = f", since {holder.since}" if holder.since else ""
    return f"process {holder.pid} ({holder.what}{since})"


# Temporary folders in one private place, which their makers hold by a lock (flock).


_HELD, _KEPT = "run-", "kept-"


class HeldFolder(msgspec.Struct, frozen=True, kw_only=True):
    """A private folder.

    ``lock`` is a file descriptor that holds it: a program that inherits it holds the folder, too.
    """

    path: Path
    lock: int


@owned_context
def temporary_folder() -> Iterator[Path]:
    """A private folder for the block.

    Raises:
        StorageError: the disk refuses.
    """
    with held_folder() as folder:
        yield folder.path


@owned_context
def held_folder(root: Path | None = None, *, keep: bool = False) -> Iterator[HeldFolder]:
    """A private folder for the block; those that killed processes left are removed.

    Args:
        root: where to make it; in the first of ``run_dirs`` that can be used when None.
        keep: leave it there.

    Raises:
        StorageError: the disk refuses.
    """
    path, lock = _made(_KEPT if keep else _HELD, root)
    try:
        yield HeldFolder(path=path, lock=lock)
    finally:
        if not keep:
            import shutil  # noqa: PLC0415 - it loads three packers

            # Processes that were started there may still write while they end.
            shutil.rmtree(path, ignore_errors=True)
        os.close(lock)


def remove_abandoned_folders() -> None:
    """Remove, as far as possible, what killed processes of this user left."""
    for place in run_dirs():
        if is_own_dir(place):
            remove_unheld(place.glob(f"{_HELD}*"))


def remove_unheld(places: Iterable[Path]) -> None:
    """Remove the unlocked directories, as far as possible. Follows no link."""
    for place in places:
        with contextlib.suppress(OSError):
            if not stat.S_ISDIR(place.stat(follow_symlinks=False).st_mode):
                continue  # to open a pipe would be to wait
            fd = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                if try_lock(fd):  # without locks, its maker may be at work
                    import shutil  # noqa: PLC0415 - there is seldom anything to remove

                    shutil.rmtree(place, ignore_errors=True)
            finally:
                os.close(fd)


def _made(prefix: str, root: Path | None) -> tuple[Path, int]:
    if root is not None:
        try:
            root.mkdir(parents=True, exist_ok=True)
            remove_unheld(root.glob(f"{_HELD}*"))
            return _held(root, prefix)
        except OSError as failed:
            raise _refused(str(failed.strerror), root) from failed
    remove_abandoned_folders()
    refused: CassetteError | None = None
    for place in run_dirs():
        try:
            return _held(private_dir(place, top=place), prefix)
        except (RefusedError, StorageError) as failed:
            refused = refused or failed
        except OSError as failed:
            refused = refused or _refused(str(failed.strerror), place)
    raise (
        _refused(refused.message, refused.where)
        if refused
        else StorageError("there is no place for a temporary folder", hint=_HINT)
    )


_HINT = "set XDG_CACHE_HOME to a directory that you can write to"


def _refused(why: str, where: object) -> StorageError:
    return StorageError(f"cannot be made: {why}", where=str(where), hint=_HINT)


def _held(parent: Path, prefix: str) -> tuple[Path, int]:
    """A new folder, and the lock on it."""
    import tempfile  # noqa: PLC0415 - slow to load, and few processes need it

    while True:
        path = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
        try:
            lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except FileNotFoundError:  # another run took it for one that is left
            continue
        try_lock(lock, wait=True)
        if path.is_dir():
            return path, lock
        os.close(lock)
