"""The hidden directory beside the target in which a cassette is built.

Its name is ``.NAME.RANDOM.staging``; it is 0700, git ignores it, and its
owner holds an advisory lock on it, which the kernel drops when the owner dies.
The next writer in that folder removes unlocked staging directories, so a crash
leaves no litter for long. The files in it have their final mode from the
beginning, as the umask sets it: some file systems refuse to change modes.

Staged files have been scrubbed. Files that they replace may not have been; these are moved
into the hidden directory as well, and removed with it.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import stat
import sys
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

from ptycassette.cassette.layout import (
    DIAGNOSTIC,
    FORMAT_VERSION,
    GIT_ATTRIBUTES,
    GIT_ATTRIBUTES_TEXT,
    MANIFEST,
    OPTIONAL_FILES,
    REQUIRED_FILES,
    Artifact,
    is_litter,
)
from ptycassette.cassette.manifest import decode_manifest, peek_version
from ptycassette.errors import (
    CassetteError,
    ExistsError,
    LimitError,
    NewerCassetteError,
    StorageError,
    VersionError,
)
from ptycassette.model.records import Manifest
from ptycassette.model.visible_text import visible
from ptycassette.system.files.directory_handle import DirectoryHandle
from ptycassette.system.files.locks import remove_unheld, try_lock
from ptycassette.system.files.whole_file import make_durable

# Publishing a directory under a name: one system call, all or nothing.


_AT_FDCWD = -100
_RENAME_EXCHANGE = 2  # linux/fs.h
_RENAME_SWAP = 2  # macOS sys/stdio.h
_FATAL = frozenset((errno.ENOENT, errno.EACCES, errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO))
"""What a plain rename would meet, too. File systems have many other words for "not supported"."""


def exchange(one: Path, other: Path) -> bool:
    """Swap the names of two existing paths of one file system, atomically.

    Returns:
        True when they were swapped, False when this system cannot do it.

    Raises:
        OSError: the disk refuses, as it would refuse a plain rename.
    """
    call = _call(os.fsencode(one), os.fsencode(other))
    if call is None:
        return False
    function, arguments = call
    if function(*arguments) == 0:
        return True
    number = ctypes.get_errno()
    if number not in _FATAL:
        return False
    raise OSError(number, os.strerror(number), str(one), None, str(other))


def _call(one: bytes, other: bytes) -> tuple[ctypes._NamedFuncPointer, tuple[object, ...]] | None:
    """The function of the C library and its arguments; None if the library has none."""
    library = ctypes.CDLL(None, use_errno=True)
    try:
        if sys.platform == "darwin":
            return library.renamex_np, (one, other, ctypes.c_uint(_RENAME_SWAP))
        at = ctypes.c_int(_AT_FDCWD)
        return library.renameat2, (at, one, at, other, ctypes.c_uint(_RENAME_EXCHANGE))
    except AttributeError:
        return None


_SUFFIX = ".staging"
_NAME_CHARS = 50  # of the target's name; with them any name stays below 255 bytes
_IGNORE = ".gitignore"
_CONTENT = "content"
_MOST_RACES = 100  # that one writer loses before it gives up: a parent may be a link to nothing
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_HINTS = {
    errno.ENOSPC: "the disk is full: free some space and try again",
    errno.EDQUOT: "the disk quota is used up: free some space and try again",
    errno.EROFS: "the file system is read-only: choose another place",
    errno.EACCES: "permission denied: choose a place that you may write to",
    errno.EPERM: "permission denied: choose a place that you may write to",
    errno.EIO: "the disk is failing: choose another place and look at the system's log",
    errno.ENAMETOOLONG: "the name is too long: choose a shorter one",
    errno.EFBIG: "the file would be larger than is allowed: see ulimit -f",
    errno.EMFILE: "too many open files: see ulimit -n",
    errno.EXDEV: "what is there cannot be renamed on this file system: remove it, or choose another"
    " name",
    errno.EILSEQ: "this file system does not take such a name: choose another",
}


@contextlib.contextmanager
def disk_errors(doing: str, path: Path | str) -> Iterator[None]:
    """Turn an ``OSError`` into a ``StorageError`` with its cause, its place and a hint."""
    try:
        yield
    except OSError as exc:
        raise StorageError(
            f"{doing} failed: {exc.strerror or exc}",
            where=str(path),
            hint=_HINTS.get(exc.errno or 0, "nothing was published; try again or elsewhere"),
        ) from exc


def fsync_directory(path: Path) -> None:
    """Make the entries of a directory durable."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except PermissionError:
        return  # a directory may allow writing but not listing; then it cannot be synced either
    try:
        make_durable(fd)
    finally:
        os.close(fd)


def lost_race(target: Path) -> ExistsError:
    """The error for a target that another writer has published first."""
    return ExistsError(
        "another writer has published there in the meantime",
        where=str(target),
        hint="nothing was replaced: choose another name, or write again with overwrite",
    )


class Staging:
    """One staging directory, made and locked on construction.

    Args:
        target: where its content will be published. Parents are created.

    Raises:
        StorageError: it cannot be made.
    """

    def __init__(self, target: Path) -> None:
        self._target = target
        self._made_parents: list[Path] = []
        self.path, self.fd, self._content_fd = self._new_path(), -1, -1
        try:
            with disk_errors("creating the staging directory", target):
                self._make_parents()
                remove_abandoned_staging(target)
                self.fd = self._create()
            self._ignore()
            with disk_errors("creating the staging directory", target):
                self._content_fd = self._create_content()
        except BaseException:
            self.remove()
            raise

    def _make_parents(self) -> None:
        missing = []
        parent = self._target.parent
        while not parent.exists():
            missing.append(parent)
            parent = parent.parent
        for path in reversed(missing):
            with contextlib.suppress(FileExistsError):
                path.mkdir()
                self._made_parents.append(path)

    def _new_path(self) -> Path:
        name = f".{self._target.name[:_NAME_CHARS]}.{os.urandom(6).hex()}{_SUFFIX}"
        return self._target.parent / name

    def _create(self) -> int:
        left = _MOST_RACES
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
        while True:
            self.path = self._new_path()
            # Another writer may take it for a dead writer's before it is locked, and remove it, or
            # remove its own empty parent: then make them again.
            try:
                self.path.mkdir(mode=0o700)
                fd = os.open(self.path, flags)
            except FileNotFoundError:
                left -= 1
                if not left:
                    raise
                self._make_parents()
                continue
            if _lock(fd) and _is_same(self.path, fd):
                return fd
            os.close(fd)

    def _create_content(self) -> int:
        os.mkdir(_CONTENT, dir_fd=self.fd)  # the umask decides who may read the published files
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
        return os.open(_CONTENT, flags, dir_fd=self.fd)

    def _ignore(self) -> None:
        """Let git ignore the directory, in case it is left behind in a work tree."""
        with disk_errors("writing", self.path / _IGNORE):
            fd = os.open(_IGNORE, _NEW_FILE, 0o600, dir_fd=self.fd)
            try:
                os.write(fd, b"*\n")
            finally:
                os.close(fd)

    @property
    def content(self) -> Path:
        """The directory that will be published."""
        return self.path / _CONTENT

    def create(self, name: str) -> int:
        """Create a file of the content and return its descriptor, open for writing.

        Raises:
            StorageError: it cannot be created.
        """
        with disk_errors("creating a file", self.content / name):
            return os.open(name, _NEW_FILE, 0o666, dir_fd=self._content_fd)

    def publish(self, replaces: os.stat_result | None) -> None:
        """Make everything durable and rename it to the target.

        Args:
            replaces: the existing directory to replace, None without one.

        Raises:
            ExistsError: another writer was faster.
            StorageError: the disk refused.
        """
        with disk_errors("publishing the cassette", self._target):
            make_durable(self._content_fd)
            if replaces is None:
                self._rename()
            else:
                self._replace(replaces)
            fsync_directory(self._target.parent)
        self._made_parents.clear()
        self.remove()

    def _rename(self) -> None:
        try:
            self.content.rename(self._target)
        except OSError as exc:
            if exc.errno in {errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR}:
                raise lost_race(self._target) from exc
            raise

    def _replace(self, replaces: os.stat_result) -> None:
        # Its lock keeps other writers from replacing it too.
        fd = os.open(self._target, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            same = os.path.samestat(os.fstat(fd), replaces)
            if not (same and _lock(fd) and _is_same(self._target, fd)):
                raise lost_race(self._target)
            self._swap(replaces)
        finally:
            os.close(fd)

    def _swap(self, replaces: os.stat_result) -> None:
        if not exchange(self.content, self._target):
            self._rename_aside(replaces)
            return
        old = self.content.stat(follow_symlinks=False)
        if not os.path.samestat(old, replaces):  # a program that does not use locks
            exchange(self.content, self._target)
            raise lost_race(self._target)

    def _rename_aside(self, replaces: os.stat_result) -> None:
        # Not into the hidden directory: after a crash this would be the only copy.
        aside = self.path.with_name(f"{self.path.name}.old")
        self._target.rename(aside)
        if not os.path.samestat(aside.stat(follow_symlinks=False), replaces):
            aside.rename(self._target)
            raise lost_race(self._target)
        try:
            self._rename()
        except (OSError, CassetteError):
            with contextlib.suppress(OSError):
                aside.rename(self._target)
            raise
        _remove(aside)

    def remove(self) -> None:
        """Remove it and the parents that were made for it, as far as they are empty."""
        try:
            _remove(self.path)
        except BaseException:  # a key: its content may never have been scrubbed
            _remove(self.path)
            raise
        for fd in (self._content_fd, self.fd):
            with contextlib.suppress(OSError):
                os.close(fd)
        for path in reversed(self._made_parents):
            with contextlib.suppress(OSError):
                path.rmdir()


def _remove(place: Path) -> None:
    """Remove a directory; it is empty when all went well."""
    try:
        place.rmdir()
    except FileNotFoundError:
        pass
    except OSError:
        import shutil  # noqa: PLC0415 - it loads three packers

        shutil.rmtree(place, ignore_errors=True)


def _lock(fd: int) -> bool:
    """Take the lock; True when it is ours, or when the file system has no locks."""
    return try_lock(fd) is not False


def _is_same(path: Path, fd: int) -> bool:
    try:
        return os.path.samestat(path.stat(follow_symlinks=False), os.fstat(fd))
    except FileNotFoundError:
        return False


def remove_abandoned_staging(target: Path) -> None:
    """Remove recognisable staging directories of dead writers beside the target."""
    remove_unheld(target.parent.glob(f".*.{'[0-9a-f]' * 12}{_SUFFIX}"))


# One file of a cassette that is being written: buffered, and hashed as it grows.

_BUFFER_BYTES = 1 << 20


class StagedFile:
    """A file of ``staging``; ``size`` is its length so far.

    Args:
        staging: the directory in which it is created.
        name: its name.
        max_bytes: its largest length.
    """

    def __init__(self, staging: Staging, name: str, *, max_bytes: int) -> None:
        self._path: Path = staging.content / name
        self._name = name
        self._max_bytes = max_bytes
        self._parts: list[bytes] = []
        self._buffered = 0
        self._hash = sha256()
        self.size = 0
        self._fd = staging.create(name)

    def append(self, data: bytes) -> None:
        """Append ``data``; it reaches the disk in blocks of about 1 MiB.

        Raises:
            LimitError: the file would be larger than a reader accepts.
            StorageError: the disk refused.
        """
        self._parts.append(data)
        self.size += len(data)
        self._buffered += len(data)
        if self._buffered >= _BUFFER_BYTES:
            self._flush()

    def _flush(self) -> None:
        if self.size > self._max_bytes:
            raise LimitError(
                f"{self.size} bytes, and a reader accepts {self._max_bytes}",
                where=self._name,
                hint="record a shorter session",
            )
        block = b"".join(self._parts)
        self._parts, self._buffered = [], 0
        self._hash.update(block)
        rest = memoryview(block)
        with disk_errors("writing", self._path):
            while rest:
                rest = rest[os.write(self._fd, rest) :]

    def flush(self) -> None:
        """Hand everything to the kernel, so that the file can be read.

        Raises:
            LimitError, StorageError: as ``append``.
        """
        self._flush()

    def finish(self, *, durable: bool = True) -> Artifact:
        """Make it durable, unless the power may take it, and close it; return its pin.

        Raises:
            LimitError: the file is larger than a reader accepts.
            StorageError: the disk refused.
        """
        self._flush()
        with disk_errors("making durable", self._path):
            if durable:
                make_durable(self._fd)
        self.close()
        return Artifact(sha256=self._hash.hexdigest(), bytes=self.size)

    def close(self) -> None:
        """Close it as it is; does nothing the second time."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)


def stage_git_attributes(staging: Staging) -> None:
    """Add the ``.gitattributes`` that every cassette has.

    Raises:
        StorageError: the disk refused.
    """
    data = GIT_ATTRIBUTES_TEXT.encode()
    file = StagedFile(staging, GIT_ATTRIBUTES, max_bytes=len(data))
    try:
        file.append(data)
        file.finish(durable=False)  # a millisecond or more; ``verify --fix`` can add it again
    finally:
        file.close()


# Whether a cassette may be published at a target, which depends on the target's content.
#
# ===========================================  ==========================
# the target                                   with ``overwrite``
# ===========================================  ==========================
# nothing, or an empty directory               publish (also without)
# a cassette of this version or an older one   replace
# a diagnostic directory of a failed run       replace
# a cassette of a newer version                ``NewerCassetteError``
# anything else, a link included               ``ExistsError``
# ===========================================  ==========================
#
# Without ``overwrite`` everything but the first line is an ``ExistsError``, or a
# ``NewerCassetteError`` where that is more exact.


_LOOKS = 20  # each further look means that another writer published in between
_OWN = frozenset({MANIFEST, GIT_ATTRIBUTES, *REQUIRED_FILES, *OPTIONAL_FILES})


def check_target(target: Path, *, overwrite: bool) -> os.stat_result | None:
    """The directory that publishing will replace, None without one.

    Raises:
        ExistsError: something is there, and it may not be replaced.
        NewerCassetteError: a cassette of a newer version is there.
        StorageError: the disk refuses the check.
    """
    for _ in range(_LOOKS):
        found = _status(target)
        refused: CassetteError | None = None
        replaces: os.stat_result | None = None
        try:
            replaces = _look_at(target, found, overwrite=overwrite)
        except CassetteError as exc:
            refused = exc
        # A directory that another writer replaces loses its files while we look at it.
        if not _same(found, _status(target)):
            continue
        if refused is not None:
            raise refused
        return replaces
    raise lost_race(target)


def _look_at(
    target: Path, found: os.stat_result | None, *, overwrite: bool
) -> os.stat_result | None:
    if found is None:
        return None
    if not stat.S_ISDIR(found.st_mode):
        raise _exists(target, "there is something there that is not a directory")
    with DirectoryHandle(target) as directory:
        if not directory.entries():
            return None
        _check_replaceable(directory, target, overwrite=overwrite)
    return found


def _same(then: os.stat_result | None, now: os.stat_result | None) -> bool:
    if then is None or now is None:
        return then is now
    return os.path.samestat(then, now)


def _status(target: Path) -> os.stat_result | None:
    with disk_errors("looking at the target", target):
        try:
            return target.stat(follow_symlinks=False)
        except FileNotFoundError:
            return None


def _check_replaceable(directory: DirectoryHandle, target: Path, *, overwrite: bool) -> None:
    entries = directory.entries()
    if DIAGNOSTIC not in entries:
        _check_cassette(directory, entries, target)
    if not overwrite:
        raise ExistsError(
            "this cassette exists already",
            where=str(target),
            hint="choose another name, or overwrite it (--overwrite)",
        )


def _check_cassette(directory: DirectoryHandle, entries: frozenset[str], target: Path) -> None:
    """Refuse to replace other directories, newer cassettes, and cassettes with foreign files."""
    if MANIFEST not in entries:
        raise _exists(target, "the directory there is not a cassette: it has no manifest.json")
    with directory.open(MANIFEST) as file:
        data = file.read_document()
    try:
        version = peek_version(data)
    except VersionError as exc:
        raise _exists(target, "the manifest.json there is not that of a cassette") from exc
    if version > FORMAT_VERSION:
        raise NewerCassetteError(
            f"the cassette there has format version {version}, and this writes {FORMAT_VERSION}",
            where=str(target),
            hint="install a newer ptycassette, or choose another name",
        )
    pinned: dict[str, Artifact] = {}
    try:
        pinned = decode_manifest(data).artifacts or {}
    except CassetteError as exc:
        # A broken cassette may be replaced, but only if nothing but a cassette's files is there.
        if b'"content_digest"' not in data:
            raise _exists(target, "the manifest.json there is not that of a cassette") from exc
    extra = sorted(name for name in entries - _OWN - set(pinned) if not is_litter(name))
    if extra:
        raise _exists(
            target,
            f"the directory there has files that are not part of a cassette: "
            f"{visible(extra[0], limit=100)}",
        )


def _exists(target: Path, reason: str) -> ExistsError:
    return ExistsError(
        reason,
        where=str(target),
        hint="choose another name, or move away what is there",
    )


def published_manifest(target: Path, cassette_id: str) -> Manifest | None:
    """The manifest of the cassette at ``target`` if it has that id; None otherwise."""
    try:
        with DirectoryHandle(target) as directory, directory.open(MANIFEST) as file:
            page = decode_manifest(file.read_document())
    except CassetteError:
        return None
    return page.manifest if page.manifest.id == cassette_id else None
