"""``optional.manifest_digest``: the manifest pins itself, so that no byte of it changes unnoticed.

The digest covers every field that this version knows, and those entries of
``optional`` whose names it lists; an entry that is not listed was added later and is
refused. It leaves out what the files themselves prove (``content_digest``,
``optional.artifacts``) and fields that a later writer may add elsewhere, so
unknown fields stay allowed.

``provenance.contract_version`` ``ptycassette-1`` promises ``optional.artifacts``
and this digest: a manifest with this version and without the digest was damaged.
"""

from __future__ import annotations

from typing import Any

import msgspec

from ptycassette.cassette._artifacts import ARTIFACTS_KEY
from ptycassette.cassette._canonical_json import canonical_json
from ptycassette.cassette._digests import sha256_hex
from ptycassette.cassette.layout import MANIFEST
from ptycassette.errors import DigestError, ManifestError
from ptycassette.model.manifest import Manifest
from ptycassette.model.resolved_types import resolved
from ptycassette.model.visible_text import visible

CONTRACT = "ptycassette-1"
MANIFEST_DIGEST_KEY = "manifest_digest"


_EDITED = "the manifest was edited after recording: fetch it again, or record again"


class ManifestDigest(msgspec.Struct, frozen=True):
    """The digest, and the names in ``optional`` that it covers besides the known fields."""

    sha256: str
    optional: tuple[str, ...]


def _digest(manifest: Manifest, names: tuple[str, ...]) -> str:
    value: dict[str, Any] = msgspec.to_builtins(manifest)
    del value["content_digest"]
    optional = manifest.optional or {}
    value["optional"] = {name: optional[name] for name in names if name in optional}
    return sha256_hex(canonical_json([value, list(names)]))


def with_manifest_digest(manifest: Manifest) -> Manifest:
    """The same manifest with its own digest, and the ``contract_version`` that promises one."""
    provenance = manifest.provenance
    if not provenance.contract_version:
        provenance = msgspec.structs.replace(provenance, contract_version=CONTRACT)
    optional = {
        name: value
        for name, value in (manifest.optional or {}).items()
        if name != MANIFEST_DIGEST_KEY
    }
    names = tuple(sorted(name for name in optional if name != ARTIFACTS_KEY))
    manifest = msgspec.structs.replace(manifest, provenance=provenance, optional=optional)
    digest = {"sha256": _digest(manifest, names), "optional": list(names)}
    return msgspec.structs.replace(manifest, optional={**optional, MANIFEST_DIGEST_KEY: digest})


def check_manifest_digest(manifest: Manifest, *, where: str = MANIFEST) -> None:
    """Compare a manifest with the digest in it, if it has one or must have one.

    Raises:
        ManifestError: the digest or the artifacts are promised but missing,
            or the digest is malformed.
        DigestError: the manifest is not what its digest says, or ``optional`` holds
            what it does not cover.
    """
    optional = manifest.optional or {}
    if manifest.provenance.contract_version == CONTRACT:
        for name in (ARTIFACTS_KEY, MANIFEST_DIGEST_KEY):
            if optional.get(name) is None:
                raise ManifestError(f"optional.{name} is missing: {CONTRACT} has it", where=where)
    value = optional.get(MANIFEST_DIGEST_KEY)
    if value is None:
        return
    try:
        digest = msgspec.convert(value, resolved(ManifestDigest))
    except msgspec.ValidationError as exc:
        raise ManifestError(
            f"optional.manifest_digest: {visible(str(exc), limit=300)}", where=where
        ) from exc
    covered = {*digest.optional, ARTIFACTS_KEY, MANIFEST_DIGEST_KEY}
    added = [name for name in optional if name not in covered]
    if added:
        raise DigestError(
            f"the digest of the manifest does not cover optional.{visible(added[0], limit=80)}",
            where=where,
            hint=_EDITED,
        )
    found = _digest(manifest, digest.optional)
    if found != digest.sha256:
        raise DigestError(
            f"the digest of the manifest is {found}, but the manifest has "
            f"{visible(digest.sha256, limit=80)}",
            where=where,
            hint=_EDITED,
        )
