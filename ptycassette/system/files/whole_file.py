"""Write a file whole or not at all; copy a folder."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

from ptycassette.errors import ExistsError, StorageError

_NO_SYNC = {errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP}
"""What file systems answer that cannot sync a file or directory (some FUSE, 9p, CIFS)."""


def write_whole(
    path: str | os.PathLike[str],
    parts: Iterable[bytes],
    *,
    mode: int = 0o666,
    overwrite: bool = True,
    durable: bool = True,
) -> None:
    """Write ``parts`` to ``path``: a temporary file beside it, fsync if ``durable``, one rename.

    Readers never see half of it; the old file stays until the new one is whole. A device, a pipe
    or a link is never replaced. The umask takes its bits away from ``mode``, which the file has
    from the beginning: some file systems refuse to change it later.

    Raises:
        ExistsError: something is there that may not be replaced; nothing was changed.
        StorageError: the disk or the directory refuses; nothing was changed.
    """
    target = os.fspath(path)
    check_replaceable(target, overwrite=overwrite)
    directory, name = os.path.split(target)
    # A name known before the file is there: whatever interrupts us, we know what to remove.
    aside = os.path.join(directory, f".{name[:100]}.{os.urandom(8).hex()}")  # noqa: PTH118
    try:
        with open(aside, "xb", opener=lambda at, flags: os.open(at, flags, mode)) as file:
            file.writelines(parts)
            file.flush()
            if durable:
                make_durable(file.fileno())
        check_replaceable(target, overwrite=overwrite)  # what came there meanwhile
        _replace(aside, target)
    except OSError as exc:
        _remove(aside)
        raise _refused(target, exc) from exc
    except BaseException:
        _remove(aside)
        raise


def copy_tree(
    source: Path,
    target: Path,
    *,
    ignore: Callable[[str, list[str]], Iterable[str]] | None = None,
    exists: bool = False,
) -> None:
    """Copy a folder. Links stay links; modes and times are kept where the file system keeps them.

    Args:
        source: the folder.
        target: the copy.
        ignore: as for ``shutil.copytree``.
        exists: whether ``target`` may be there already.

    Raises:
        OSError: something cannot be read or written.
    """
    import shutil  # noqa: PLC0415 - it loads three packers

    def copy(one: str, to: str) -> str:
        shutil.copyfile(one, to, follow_symlinks=False)
        with suppress(OSError):
            shutil.copystat(one, to, follow_symlinks=False)
        return to

    try:
        shutil.copytree(
            source,
            target,
            symlinks=True,
            ignore=ignore,
            copy_function=copy,
            dirs_exist_ok=exists,
        )
    except shutil.Error as exc:
        # Of a folder or a link that was made, only the mode or the times were refused.
        left = [(one, to, why) for one, to, why in exc.args[0] if not _is_copied(one, to)]
        if left:
            name, _, why = left[0]
            raise OSError(errno.EIO, f"{why} (and {len(left) - 1} more)", str(name)) from exc


def _is_copied(one: str, other: str) -> bool:
    source, made = Path(one), Path(other)
    if source.is_symlink():
        return made.is_symlink()
    return source.is_dir() and made.is_dir()


def check_replaceable(target: str | os.PathLike[str], *, overwrite: bool = True) -> None:
    """Check whether a file may be written there.

    Raises:
        ExistsError: something other than a regular file is there; or anything, unless
            ``overwrite``.
    """
    try:
        found = os.lstat(target)
    except OSError:
        return  # nothing is there, or writing will say what is wrong
    if not stat.S_ISREG(found.st_mode):
        raise ExistsError(
            "exists, and is not a regular file",
            where=os.fspath(target),
            hint="name another place; links, pipes and devices are never replaced",
        )
    if not overwrite:
        raise ExistsError(
            "is there already",
            where=os.fspath(target),
            hint="choose another path, or add --overwrite",
        )


def make_durable(fd: int) -> None:
    """Return when a file or directory is on the disk, where the file system can do that.

    Raises:
        OSError: the disk is full or failing, so the data may be lost.
    """
    try:
        os.fsync(fd)
    except OSError as exc:
        if exc.errno not in _NO_SYNC:
            raise


def _replace(aside: str, target: str) -> None:
    try:
        os.replace(aside, target)  # noqa: PTH105 - a path object takes longer than the rename
    except OSError:
        if not os.path.lexists(target):
            raise
        # Some network file systems never rename over a file: move the old one out of the way.
        old = f"{aside}.old"
        os.rename(target, old)  # noqa: PTH104
        try:
            os.rename(aside, target)  # noqa: PTH104
        except OSError:
            os.rename(old, target)  # noqa: PTH104
            raise
        _remove(old)


def _remove(name: str) -> None:
    with suppress(OSError):  # where it could not be made; the first error is the one to tell
        Path(name).unlink()


def _refused(target: str, exc: OSError) -> StorageError:
    return StorageError(
        f"cannot be written: {exc.strerror}",
        where=os.fspath(target),
        hint="name a place that exists, has room, and may be written",
    )
