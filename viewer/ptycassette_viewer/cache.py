"""A cache of session states, in a private directory of the user; bounded.

It is optional: files that are missing, foreign, damaged or too large are ignored.
A file has a checksum over its name and its content. The directory must belong to the user
and be closed to others, or it is not used at all.
"""

from __future__ import annotations

import hashlib
import os
import stat
import tempfile
import zlib
from collections.abc import Mapping
from pathlib import Path

_MAGIC = b"ptycassette viewer 1\n"
_SUM_BYTES = 32
_MAX_PLAIN_BYTES = 256 << 20
SWITCH = "PTYCASSETTE_VIEWER_CACHE"


def user_cache(environment: Mapping[str, str]) -> Cache | None:
    """The user's cache, below ``XDG_CACHE_HOME``; None when it is switched off."""
    if environment.get(SWITCH, "").lower() in {"0", "off", "no"}:
        return None
    base = environment.get("XDG_CACHE_HOME", "")
    if Path(base).is_absolute():
        return Cache(Path(base) / "ptycassette" / "viewer")
    try:
        home = Path.home()
    except RuntimeError:  # it is not known where the user lives
        return None
    return Cache(home / ".cache" / "ptycassette" / "viewer") if home.is_dir() else None


class Cache:
    """Bytes by key. Never raises for errors of the disk.

    Args:
        folder: created, for the user only, when something is stored.
        max_bytes: how much all files together may take; the oldest are deleted first.
        max_files: how many there may be.
        worth_bytes: recordings with less output are not cached.
    """

    def __init__(
        self,
        folder: Path,
        *,
        max_bytes: int = 256 << 20,
        max_files: int = 100,
        worth_bytes: int = 1_000_000,
    ) -> None:
        self._folder = folder
        self._max_bytes = max_bytes
        self._max_files = max_files
        self.worth_bytes = worth_bytes

    def get(self, key: str) -> bytes | None:
        """The content stored under ``key``."""
        path = self._folder / key
        try:
            if not _is_private(os.lstat(self._folder), stat.S_ISDIR):
                return None
            fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
            with os.fdopen(fd, "rb") as file:
                if not _is_private(os.fstat(fd), stat.S_ISREG):
                    return None
                data = file.read(self._max_bytes + 1)
            os.utime(path)  # the oldest go first
        except OSError:
            return None
        return _opened(key, data)

    def put(self, key: str, content: bytes) -> None:
        """Store ``content``; the oldest files are deleted when there are too many."""
        data = _closed(key, content)
        if len(data) > self._max_bytes // 4 or len(content) > _MAX_PLAIN_BYTES:
            return
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not _is_private(os.lstat(self._folder), stat.S_ISDIR):
                return
            fd, name = tempfile.mkstemp(dir=self._folder, prefix=".")
            try:
                with os.fdopen(fd, "wb") as file:
                    file.write(data)
                os.replace(name, self._folder / key)  # noqa: PTH105 - a name made by mkstemp
            except OSError:
                Path(name).unlink(missing_ok=True)
                raise
            self._forget()
        except OSError:
            return

    def _forget(self) -> None:
        found = []
        with os.scandir(self._folder) as entries:
            for entry in entries:
                status = entry.stat(follow_symlinks=False)
                found.append((status.st_mtime_ns, status.st_size, entry.path))
        found.sort(reverse=True)
        left = self._max_bytes
        for number, (_, size, path) in enumerate(found):
            left -= size
            if left < 0 or number >= self._max_files:
                Path(path).unlink(missing_ok=True)


def _is_private(status: os.stat_result, kind: object) -> bool:
    """Whether it has the right type and owner, and is closed to others."""
    right = callable(kind) and kind(status.st_mode)
    return bool(right) and status.st_uid == os.geteuid() and not status.st_mode & 0o077


def _sum(key: str, packed: bytes) -> bytes:
    return hashlib.sha256(key.encode() + b"\n" + packed).digest()


def _closed(key: str, content: bytes) -> bytes:
    packed = zlib.compress(content, 1)
    return _MAGIC + _sum(key, packed) + packed


def _opened(key: str, data: bytes) -> bytes | None:
    start = len(_MAGIC) + _SUM_BYTES
    packed = data[start:]
    if data[:start] != _MAGIC + _sum(key, packed):
        return None
    unpacking = zlib.decompressobj()
    try:
        content = unpacking.decompress(packed, _MAX_PLAIN_BYTES)
    except zlib.error:
        return None
    return content if unpacking.eof else None
