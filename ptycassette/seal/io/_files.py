"""The files of a cassette as a seal sees them, and where the seal is."""

from __future__ import annotations

import os
from functools import lru_cache
from hashlib import sha256

import msgspec

from ptycassette.cassette._artifacts import Artifact
from ptycassette.cassette.layout import GIT_ATTRIBUTES, MANIFEST, SCRUB_REPORT
from ptycassette.errors import NotFoundError
from ptycassette.seal.envelope import MAX_SEAL_BYTES
from ptycassette.system.files.directory_handle import DirectoryHandle, links_followed
from ptycassette.system.files.plain_file import read_plain
from ptycassette.system.files.state_dirs import absolute

SUFFIX = ".seal.json"
_DOCUMENTS = (MANIFEST, SCRUB_REPORT)


class HashedFiles(msgspec.Struct, frozen=True):
    """The digest and length of every file, and the bytes of two documents."""

    files: dict[str, Artifact]
    documents: dict[str, bytes]

    @property
    def digests(self) -> dict[str, str]:
        """The SHA-256 of every file."""
        return {name: file.sha256 for name, file in self.files.items()}


def digests_of(path: str) -> dict[str, str]:
    """The SHA-256 of every file of a cassette, each read once; no link is followed.

    ``.gitattributes`` is left out: it is not part of the recording.

    Raises:
        CassetteError: it is not there, cannot be read, or holds anything but regular files.
    """
    with DirectoryHandle(path) as directory:
        return {name: directory.digest(name)[0] for name in directory.entries() - {GIT_ATTRIBUTES}}


def hashed_files(path: str) -> HashedFiles:
    """As ``digests_of``, with lengths and documents. Raises the same."""
    files: dict[str, Artifact] = {}
    documents: dict[str, bytes] = {}
    with DirectoryHandle(path) as directory:
        for name in directory.entries() - {GIT_ATTRIBUTES}:
            if name in _DOCUMENTS:
                with directory.open(name) as file:
                    data = documents[name] = file.read_document()
                files[name] = Artifact(sha256=sha256(data).hexdigest(), bytes=len(data))
            else:
                digest, size = directory.digest(name)
                files[name] = Artifact(sha256=digest, bytes=size)
    return HashedFiles(files, documents)


def real_path(path: str) -> str:
    """Where a cassette is, with the links above it resolved and its own name kept."""
    above, name = os.path.split(os.path.normpath(absolute(path)))  # drops `..` and a last `/`
    return f"{_resolved(above).rstrip('/')}/{name}"


@lru_cache(maxsize=64)
def _resolved(directory: str) -> str:
    return os.path.realpath(directory)


def read_seal(real: str) -> bytes | None:
    """The bytes of the seal beside a cassette, whose ``real_path`` this is; None without one.

    Raises:
        CassetteError: it cannot be read, is too large, a link, or no file.
    """
    try:
        return read_plain(
            f"{real}{SUFFIX}", max_bytes=MAX_SEAL_BYTES, follow_links=links_followed()
        )
    except NotFoundError:
        return None
