"""A directory that someone else made, opened so that nothing in it can lead out of it.

Everything is opened relative to the directory's own descriptor, without
following links, and only regular files are read. Descriptors are read by
position, so any number of threads may read the same file at once.

Bazel, Nix and DVC put links in place of files. There are two ways to read them:

- Every entry is a link to the file of the same name in one other directory (Bazel): that directory
  is opened instead, by the same rules.
- All other links are followed only if the user asks for it: ``follow_links``, or
  PTYCASSETTE_FOLLOW_LINKS. They must lead to regular files within the same limits.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from hashlib import sha256

from ptycassette.errors import (
    CassetteError,
    InvalidCassetteError,
    LimitError,
    MissingFileError,
    NotFoundError,
    TruncatedError,
    UnreadableError,
    UnsafeFileError,
    UsageError,
)
from ptycassette.model.limits import DEFAULT_LIMITS, Limits
from ptycassette.model.visible_text import visible
from ptycassette.system.files.near_names import hint_for_missing
from ptycassette.system.ownership import Closing

BLOCK_BYTES = 1 << 20
"""The most that is read at once."""

FOLLOW_LINKS_VARIABLE = "PTYCASSETTE_FOLLOW_LINKS"
"""``1``: links in place of a cassette or its files are followed."""

_READ = os.O_RDONLY | os.O_CLOEXEC
_SAFE = _READ | os.O_NOFOLLOW
_FOLLOW_HINT = (
    "if the link is yours (Bazel, Nix, DVC), say --follow-links or PTYCASSETTE_FOLLOW_LINKS=1"
)


def links_followed() -> bool:
    """Whether the user has asked to follow links.

    Raises:
        UsageError: the variable has a value that it cannot have.
    """
    value = os.environ.get(FOLLOW_LINKS_VARIABLE, "")
    if value not in {"", "0", "1"}:
        raise UsageError(
            f"{FOLLOW_LINKS_VARIABLE} is {visible(value, limit=40)!r}", hint="1 or 0 is allowed"
        )
    return value == "1"


class FileHandle(Closing):
    """A regular file, open for reading by position. ``size`` is what it was when opened.

    Closed by ``close``, or when the last reference to it is gone; an iterator over its blocks is
    one.
    """

    __slots__ = ("_fd", "place", "size")

    def __init__(self, fd: int, *, size: int, place: str) -> None:
        self._fd = fd
        self.size = size
        self.place = place

    def read_at(self, offset: int, length: int) -> bytes:
        """Exactly ``length`` bytes from ``offset``.

        Raises:
            TruncatedError: the file has become shorter since it was opened.
            UnreadableError: the disk refused.
            ValueError: the file is closed.
        """
        if self._fd < 0:
            raise ValueError("the cassette is closed")
        parts = []
        left = length
        while left:
            try:
                data = os.pread(self._fd, left, offset)
            except OSError as exc:
                raise UnreadableError(exc.strerror or str(exc), where=self.place) from exc
            if not data:
                raise TruncatedError(
                    f"the file ends at {offset}, and there were {self.size} bytes", where=self.place
                )
            parts.append(data)
            offset += len(data)
            left -= len(data)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def blocks(self, start: int = 0, end: int | None = None) -> Iterator[bytes]:
        """The bytes from ``start`` up to ``end`` (the size when None), in blocks."""
        stop = self.size if end is None else end
        for offset in range(start, stop, BLOCK_BYTES):
            yield self.read_at(offset, min(BLOCK_BYTES, stop - offset))

    def read_document(self, limits: Limits = DEFAULT_LIMITS) -> bytes:
        """The whole file, if it is no larger than a document may be.

        Raises:
            LimitError: it is larger.
        """
        self.check_size(limits.max_document_bytes)
        return self.read_at(0, self.size)

    def check_size(self, max_bytes: int) -> None:
        """Refuse a file of more than ``max_bytes``.

        Raises:
            LimitError: it is larger.
        """
        if self.size > max_bytes:
            raise LimitError(
                f"{self.size} bytes, and a reader accepts {max_bytes}", where=self.place
            )

    def close(self) -> None:
        """Close it; does nothing the second time."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    def __del__(self) -> None:
        self.close()


class DirectoryHandle(Closing):
    """An open directory.

    Args:
        path: the directory. The last part may not be a link, unless links are followed.
        follow_links: whether to follow links; the environment decides when None.

    Raises:
        NotFoundError: the path does not exist.
        UnsafeFileError: the path is a link.
        InvalidCassetteError: the path is a file.
        UnreadableError: the system refuses to open it.
        UsageError: the environment's setting is not valid.
    """

    def __init__(self, path: str | os.PathLike[str], *, follow_links: bool | None = None) -> None:
        self.place = os.fspath(path)
        if not self.place:
            raise NotFoundError(
                "the path of the cassette is empty", hint="give the directory of a cassette"
            )
        asked = links_followed() if follow_links is None else follow_links
        self._flags = _READ if asked else _SAFE
        trimmed = os.fspath(path).rstrip("/") or os.fspath(path)  # "link/" would be followed
        try:
            self._fd = os.open(trimmed, self._flags | os.O_DIRECTORY)
        except FileNotFoundError as exc:
            raise NotFoundError(
                "there is no cassette", where=self.place, hint=hint_for_missing(path)
            ) from exc
        except (OSError, ValueError) as exc:
            raise self._refusal(trimmed, exc) from exc

    def _refusal(self, path: str, exc: Exception) -> CassetteError:
        if isinstance(exc, ValueError):
            return NotFoundError("this cannot be a path", where=self.place)
        mode = 0
        with suppress(OSError):
            mode = os.lstat(path).st_mode
        if stat.S_ISLNK(mode):
            return UnsafeFileError(
                "this is a link, and links are not followed",
                where=self.place,
                hint=f"give the directory that it points to; {_FOLLOW_HINT}",
            )
        if mode and not stat.S_ISDIR(mode):
            return InvalidCassetteError(
                "this is a file, and a cassette is a directory",
                where=self.place,
                hint="give the directory of a cassette; import makes one from another tool's file",
            )
        reason = exc.strerror if isinstance(exc, OSError) else None
        return UnreadableError(reason or str(exc), where=self.place)

    def entries(self, limits: Limits = DEFAULT_LIMITS) -> frozenset[str]:
        """All names in it.

        Raises:
            LimitError: there are more than a reader accepts.
            UnreadableError: the system refuses to list it.
        """
        names: set[str] = set()
        try:
            with os.scandir(self._fd) as listing:
                for entry in listing:
                    names.add(entry.name)
                    if len(names) > limits.max_entries:
                        raise LimitError(
                            f"over {limits.max_entries} entries in the directory", where=self.place
                        )
        except OSError as exc:
            raise UnreadableError(exc.strerror or str(exc), where=self.place) from exc
        return frozenset(names)

    def open(self, name: str) -> FileHandle:
        """Open the regular file ``name``.

        Raises:
            MissingFileError: it does not exist.
            UnsafeFileError: it is a link, a device, a pipe, a socket or a directory.
            UnreadableError: the system refuses to open it.
        """
        fd, size = self._descriptor(name)
        return FileHandle(fd, size=size, place=f"{self.place}/{name}")

    def digest(self, name: str) -> tuple[str, int]:
        """The SHA-256 of the regular file ``name``, and its length; it is read once.

        Raises:
            CassetteError: as ``open`` and ``FileHandle.read_at``.
        """
        fd, size = self._descriptor(name)
        if size > BLOCK_BYTES:
            with FileHandle(fd, size=size, place=f"{self.place}/{name}") as file:
                whole = sha256()
                for block in file.blocks():
                    whole.update(block)
            return whole.hexdigest(), size
        try:
            data = os.read(fd, BLOCK_BYTES + 1)
        except OSError as exc:
            where = f"{self.place}/{name}"
            raise UnreadableError(exc.strerror or str(exc), where=where) from exc
        finally:
            os.close(fd)
        return sha256(data).hexdigest(), len(data)

    def _descriptor(self, name: str) -> tuple[int, int]:
        """A descriptor of the regular file ``name``, and its size."""
        try:
            # Without O_NONBLOCK, opening a pipe would wait for a writer.
            fd = os.open(name, self._flags | os.O_NONBLOCK, dir_fd=self._fd)
        except FileNotFoundError as exc:
            raise self._missing(name) from exc
        except OSError as exc:
            place = f"{self.place}/{name}"
            unsafe = self._unsafe(name, place)
            if unsafe is not None and self._moved():
                return self._descriptor(name)
            raise unsafe or UnreadableError(exc.strerror or str(exc), where=place) from exc
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            os.close(fd)
            raise UnsafeFileError("not a regular file", where=f"{self.place}/{name}")
        return fd, status.st_size

    def _missing(self, name: str) -> MissingFileError:
        with suppress(OSError):
            if stat.S_ISLNK(os.stat(name, dir_fd=self._fd, follow_symlinks=False).st_mode):
                return MissingFileError(
                    f"{visible(name)} is a link to a file that is not there",
                    where=self.place,
                    hint="fetch the files (git annex get, dvc pull, a build), or record it again",
                )
        return MissingFileError(f"{visible(name)} is missing", where=self.place)

    def _moved(self) -> bool:
        """If all entries are links into one directory, by their own names, go to that directory."""
        try:
            names = self.entries()
            targets = {self._target(name) for name in names}
            if len(targets) != 1 or None in targets:
                return False
            there = os.open(str(targets.pop()), _SAFE | os.O_DIRECTORY)
        except (OSError, CassetteError):
            return False
        os.close(self._fd)
        self._fd = there
        return True

    def _target(self, name: str) -> str | None:
        """The directory of the file that the link ``name`` leads to, if it has the same name."""
        link = os.readlink(name, dir_fd=self._fd)
        here = os.path.realpath(self.place)
        folder, last = os.path.split(os.path.realpath(os.path.join(here, link)))  # noqa: PTH118
        return folder if last == name and folder != here else None

    def _unsafe(self, name: str, place: str) -> UnsafeFileError | None:
        """The error for a name that is not a regular file; None for any other failure."""
        with suppress(OSError):
            mode = os.stat(name, dir_fd=self._fd, follow_symlinks=False).st_mode
            if stat.S_ISLNK(mode):
                return UnsafeFileError(
                    "this is a link, and links are not followed", where=place, hint=_FOLLOW_HINT
                )
            if not stat.S_ISREG(mode):
                return UnsafeFileError("not a regular file", where=place)
        return None

    def close(self) -> None:
        """Close it; the files opened through it stay open."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)
