"""Whether a cassette has been published already, by a recorder that died afterwards."""

from __future__ import annotations

from pathlib import Path

from ptycassette.cassette._manifest import decode_manifest
from ptycassette.cassette.layout import MANIFEST
from ptycassette.errors import CassetteError
from ptycassette.model.records import Manifest
from ptycassette.system.files.directory_handle import DirectoryHandle


def published_manifest(target: Path, cassette_id: str) -> Manifest | None:
    """The manifest of the cassette at ``target`` if it has that id; None otherwise."""
    try:
        with DirectoryHandle(target) as directory, directory.open(MANIFEST) as file:
            page = decode_manifest(file.read_document())
    except CassetteError:
        return None
    return page.manifest if page.manifest.id == cassette_id else None
