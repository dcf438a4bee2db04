"""Read a file that a user named, write one whole or not at all, copy a folder."""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from ptycassette.errors import (
    ExistsError,
    LimitError,
    NotFoundError,
    StorageError,
    UnreadableError,
    UnsafeFileError,
    UsageError,
)
from ptycassette.system.files.near_names import hint_for_missing
from ptycassette.system.files.state_dirs import cache_dir, known_state_dirs, run_dirs

MAX_COPIED_ENTRIES, MAX_COPIED_BYTES = 200_000, 4 << 30
"""How much ``copy_tree`` copies: more is a mistake, or takes minutes for each run."""
IN_THE_MAKING = re.compile(
    r"\..*\.[0-9a-f]{12}\.staging(\.old)?|\.ptycassette-pending-.*", re.DOTALL
)
"""Names of the hidden folders that cassettes are put together in (``cassette.io``)."""
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
    """Write ``parts`` to ``path``: fsync if ``durable``, then one rename or link.

    Where the kernel can, the file has no name until it is whole (open(2), ``O_TMPFILE``), so that
    nothing is left if this process is killed. Elsewhere it is beside ``path`` meanwhile.
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
    # The name is known before the file exists: after any interruption we know which file to remove.
    aside = os.path.join(directory, f".{name[:100]}.{os.urandom(8).hex()}")  # noqa: PTH118
    try:
        with _unnamed(directory, mode) or open(
            aside, "xb", opener=lambda at, flags: os.open(at, flags, mode)
        ) as file:
            file.writelines(parts)
            file.flush()
            if durable:
                make_durable(file.fileno())
            check_replaceable(target, overwrite=overwrite)  # a file that appeared there meanwhile
            if isinstance(file.name, int):
                try:
                    if _linked(file.fileno(), target, aside):
                        return
                except OSError:  # a file system without links
                    _copy_named(file.fileno(), aside, mode, durable=durable)
        _replace(aside, target)
    except OSError as exc:
        _remove(aside)
        raise _refused(target, exc) from exc
    except BaseException:
        _remove(aside)
        raise


def _unnamed(directory: str, mode: int) -> BinaryIO | None:
    """A new file without a name; None if the kernel or the file system does not support it."""
    with suppress(OSError):  # a problem with the directory also shows with a named file
        if hasattr(os, "O_TMPFILE") and os.path.isdir("/proc/self/fd"):  # noqa: PTH112 - as below
            flags = os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC
            return os.fdopen(os.open(directory or ".", flags, mode), "wb")
    return None


def _linked(fd: int, target: str, aside: str) -> bool:
    """Give a file without a name the target's name; if that exists, the name ``aside``."""
    # With a directory Python calls linkat(2), which follows the link in /proc; link(2) does not.
    fds = os.open("/proc/self/fd", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.link(str(fd), target, src_dir_fd=fds)
    except FileExistsError:
        os.link(str(fd), aside, src_dir_fd=fds)  # it has this name until the rename, right after
        return False
    finally:
        os.close(fds)
    return True


def _copy_named(fd: int, aside: str, mode: int, *, durable: bool) -> None:
    with open(aside, "xb", opener=lambda at, flags: os.open(at, flags, mode)) as named:
        os.lseek(fd, 0, os.SEEK_SET)
        while piece := os.read(fd, 1 << 20):
            named.write(piece)
        named.flush()
        if durable:
            make_durable(named.fileno())


def copy_tree(
    source: Path, target: Path, *, without: Iterable[Path] = (), exists: bool = False
) -> None:
    """Copy a folder. Links stay links; modes and times are kept where the file system keeps them.

    Left out are the target itself, and what commands of ours keep or make meanwhile, copies of
    this folder among them: state, cache and temporary folders, cassettes in the making. Sockets
    and named pipes, too: their other ends are elsewhere.

    Args:
        source: the folder.
        target: the copy.
        without: paths that are left out, too.
        exists: whether ``target`` may be there already.

    Raises:
        UsageError: it has more than ``MAX_COPIED_ENTRIES`` or ``MAX_COPIED_BYTES``. Part of it
            was copied.
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
            ignore=_LeftOut(source, target, without),
            copy_function=copy,
            dirs_exist_ok=exists,
        )
    except shutil.Error as exc:
        # Of a folder or a link that was made, only the mode or the times were refused.
        left = [(one, to, why) for one, to, why in exc.args[0] if not _is_copied(one, to)]
        if left:
            name, _, why = left[0]
            raise OSError(errno.EIO, f"{why} (and {len(left) - 1} more)", str(name)) from exc


class _LeftOut:
    """The entries of a folder that are not copied, called for each folder; counts the others."""

    def __init__(self, source: Path, target: Path, without: Iterable[Path]) -> None:
        self._source, self._entries, self._bytes = source, 0, 0
        cache = cache_dir()
        places = (*known_state_dirs(), *run_dirs(), *([] if cache is None else [cache]))
        # By inode: a link or another mount is another path to the same folder.
        self._own = {
            (found.st_dev, found.st_ino)
            for path in (target, *without, *places)
            if (found := _stat(path)) is not None
        }
        self._paths = {os.path.abspath(path) for path in (target, *without)}  # noqa: PTH100 - no links

    def __call__(self, folder: str, names: list[str]) -> list[str]:
        """The names in a folder that are left out."""
        return [name for name in names if not self._is_copied(os.path.join(folder, name), name)]  # noqa: PTH118

    def _is_copied(self, path: str, name: str) -> bool:
        found = _stat(path)
        if found is None:
            return True  # copying it fails with the reason
        kind = found.st_mode
        if not (stat.S_ISDIR(kind) or stat.S_ISREG(kind) or stat.S_ISLNK(kind)):
            return False
        if (found.st_dev, found.st_ino) in self._own or os.path.abspath(path) in self._paths:  # noqa: PTH100
            return False
        if stat.S_ISDIR(kind) and IN_THE_MAKING.fullmatch(name):
            return False
        self._entries += 1
        self._bytes += found.st_size if stat.S_ISREG(kind) else 0
        if self._entries > MAX_COPIED_ENTRIES or self._bytes > MAX_COPIED_BYTES:
            raise UsageError(
                f"is too large to be copied: more than {MAX_COPIED_ENTRIES:,} files and folders, or"
                f" {MAX_COPIED_BYTES >> 30} GiB",
                where=os.fspath(self._source),
                hint="copy a smaller folder",
            )
        return True


def _stat(path: str | Path) -> os.stat_result | None:
    try:
        return os.lstat(path)
    except OSError:
        return None


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
        return  # nothing is there, or writing will show the problem
    if not stat.S_ISREG(found.st_mode):
        raise ExistsError(
            "exists, and is not a regular file",
            where=os.fspath(target),
            hint="name another place; links, pipes and devices are never replaced",
        )
    if not overwrite:
        raise ExistsError(
            "exists already",
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
    with suppress(OSError):  # if it could not be made; the first error is the one to report
        Path(name).unlink()


def _refused(target: str, exc: OSError) -> StorageError:
    return StorageError(
        f"cannot be written: {exc.strerror}",
        where=os.fspath(target),
        hint="name a place that exists, has room, and may be written",
    )


# Read a small file that a user named: a regular one, of bounded size, without waiting.
#
# A name may lead to a pipe (opening it would wait for ever), a device without an end, or a file
# that is far too large. Links are followed by default: the user, not a cassette, named the path.


def open_plain(path: str | os.PathLike[str], *, follow_links: bool = True) -> int:
    """Open a regular file for reading; returns its descriptor.

    Raises:
        NotFoundError: nothing is there.
        UnsafeFileError: a device, a pipe, a socket or a directory is, or an unwanted link.
        UnreadableError: the system refuses.
    """
    place = os.fspath(path)
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | (0 if follow_links else os.O_NOFOLLOW)
    try:
        fd = os.open(place, flags)
    except (FileNotFoundError, ValueError) as exc:
        raise NotFoundError(
            "there is no such file", where=place, hint=hint_for_missing(place)
        ) from exc
    except OSError as exc:
        raise UnreadableError(f"cannot be read: {exc.strerror}", where=place) from exc
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise UnsafeFileError(
            "not a regular file",
            where=place,
            hint="give a file; folders, pipes and devices are not read",
        )
    return fd


def read_plain(path: str | os.PathLike[str], *, max_bytes: int, follow_links: bool = True) -> bytes:
    """The bytes of a regular file.

    Raises:
        NotFoundError: nothing is there.
        UnsafeFileError: a device, a pipe, a socket or a directory is.
        UnreadableError: the system refuses, or an unwanted link is there.
        LimitError: it is larger than ``max_bytes``.
    """
    with os.fdopen(open_plain(path, follow_links=follow_links), "rb") as file:
        try:
            # A file whose size is too large is not read; one that grows meanwhile is cut.
            large = os.fstat(file.fileno()).st_size > max_bytes
            data = b"" if large else file.read(max_bytes + 1)
        except OSError as exc:
            raise UnreadableError(f"cannot be read: {exc.strerror}", where=os.fspath(path)) from exc
    if large or len(data) > max_bytes:
        raise LimitError(
            f"larger than {max_bytes} bytes",
            where=os.fspath(path),
            hint="no more than that is read: give a smaller file",
        )
    return data
