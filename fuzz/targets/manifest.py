"""The manifest: refused with an error of ours, or read, and then it survives being written."""

from __future__ import annotations

from ptycassette.cassette.layout import read_artifacts
from ptycassette.cassette.manifest import check_manifest_digest, decode_manifest, encode_manifest
from ptycassette.cassette.timeline.match import read_secrets
from ptycassette.errors import CassetteError


def check(data: bytes) -> None:
    """Read it, its pins and its extensions."""
    try:
        page = decode_manifest(data)
    except CassetteError:
        return
    written = encode_manifest(page.manifest)
    assert decode_manifest(written).manifest == page.manifest, "it changes by being written"
    for look in (
        lambda: read_artifacts(page.manifest),
        lambda: check_manifest_digest(page.manifest),
        lambda: read_secrets(page.manifest, where="manifest.json"),
    ):
        try:
            look()
        except CassetteError:
            continue
