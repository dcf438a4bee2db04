"""One file of a cassette that is being written: buffered, hashed as it grows."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from ptycassette.cassette._artifacts import Artifact
from ptycassette.cassette.io.staging import Staging, disk_errors
from ptycassette.cassette.layout import GIT_ATTRIBUTES, GIT_ATTRIBUTES_TEXT
from ptycassette.errors import LimitError
from ptycassette.system.files.whole_file import make_durable

_BUFFER_BYTES = 1 << 20


class StagedFile:
    """A file of ``staging``; ``size`` counts what was appended so far.

    Args:
        staging: where it is created.
        name: its name.
        max_bytes: how large it may become.
    """

    def __init__(self, staging: Staging, name: str, *, max_bytes: int) -> None:
        self._path: Path = staging.content / name
        self._name = name
        self._max_bytes = max_bytes
        self._parts: list[bytes] = []
        self._buffered = 0
        self._hash = hashlib.sha256()
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
        """Make it durable, unless the power may take it, and close it; return what pins it.

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
        file.finish(durable=False)  # a millisecond or more, for what ``verify --fix`` adds again
    finally:
        file.close()
