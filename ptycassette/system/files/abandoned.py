"""Temporary folders in one private place, which their makers hold by a lock (flock).

The kernel drops the lock of a maker that dies, however it dies. So a folder that is not locked was
left behind, and the next command that makes one removes it. The place (``run_dirs``) is below the
user's cache folder, because some CLIs refuse a home below the system's temporary folder.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from ptycassette.errors import CassetteError, RefusedError, StorageError
from ptycassette.system.files.locks import try_lock
from ptycassette.system.files.state_dirs import is_own_dir, private_dir, run_dirs
from ptycassette.system.ownership import owned_context

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
    """Remove, as far as possible, the directories that nobody holds. Follows no link."""
    for place in places:
        with contextlib.suppress(OSError):
            if not stat.S_ISDIR(place.stat(follow_symlinks=False).st_mode):
                continue  # to open a pipe would be to wait
            fd = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                if try_lock(fd):  # where there are no locks, its maker may be at work
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
