"""The files of a cassette as a seal sees them, and where the seal is."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from hashlib import sha256
from typing import TypeVar

import msgspec

from ptycassette.cassette import MANIFEST, SCRUB_REPORT, Artifact
from ptycassette.errors import NotFoundError
from ptycassette.seal.envelope import MAX_SEAL_BYTES
from ptycassette.system.files import DirectoryHandle, read_plain

SUFFIX = ".seal.json"
T = TypeVar("T")
_DOCUMENTS = (MANIFEST, SCRUB_REPORT)
_AT_ONCE = 16
"""So many cassettes are read ahead of the one that is reported."""


class HashedFiles(msgspec.Struct, frozen=True):
    """The digest and length of every file, and the bytes of two documents."""

    files: dict[str, Artifact]
    documents: dict[str, bytes]

    @property
    def digests(self) -> dict[str, str]:
        """The SHA-256 of every file."""
        return {name: file.sha256 for name, file in self.files.items()}


def hashed_files(path: str) -> HashedFiles:
    """Read every file in a directory once; nothing in it is followed.

    Raises:
        CassetteError: it is not there, cannot be read, or holds anything but regular files.
    """
    files: dict[str, Artifact] = {}
    documents: dict[str, bytes] = {}
    with DirectoryHandle(path) as directory:
        for name in sorted(directory.entries()):
            with directory.open(name) as file:
                if name in _DOCUMENTS:
                    data = documents[name] = file.read_document()
                    digest = sha256(data)
                else:
                    digest = sha256()
                    for block in file.blocks():
                        digest.update(block)
                files[name] = Artifact(sha256=digest.hexdigest(), bytes=file.size)
    return HashedFiles(files, documents)


def real_path(path: str) -> str:
    """Where a cassette is, with the links above it resolved and its own name kept."""
    above, name = os.path.split(os.path.abspath(path))  # noqa: PTH100 - drops `..` and a last `/`
    return f"{_resolved(above).rstrip('/')}/{name}"


@lru_cache(maxsize=64)
def _resolved(directory: str) -> str:
    return os.path.realpath(directory)


def seal_path(path: str) -> str:
    """Where the seal of a cassette is: beside it, under its name."""
    return f"{real_path(path)}{SUFFIX}"


def read_seal(path: str) -> bytes | None:
    """The bytes of a cassette's seal; None when there is none.

    Raises:
        CassetteError: it cannot be read, is too large, a link, or no file.
    """
    try:
        return read_plain(seal_path(path), max_bytes=MAX_SEAL_BYTES, follow_links=False)
    except NotFoundError:
        return None


def for_each(function: Callable[[str], T], paths: list[str]) -> Iterator[T]:
    """The results of ``function`` in order, computed on as many processors as there are."""
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1
    if len(paths) < 2 or processors < 2:
        yield from map(function, paths)
        return
    with ThreadPoolExecutor(processors) as pool:
        for start in range(0, len(paths), _AT_ONCE):
            yield from pool.map(function, paths[start : start + _AT_ONCE])
