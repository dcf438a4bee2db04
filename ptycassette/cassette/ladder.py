"""The forms that a cassette can have, oldest first, and the step from each to the next.

=================  ============================================================================
form               meaning
=================  ============================================================================
``reference``      version 1 as the reference implementation writes it: ``output.raw`` is pinned
``ptycassette-1``  version 1 with every file and the manifest pinned (``FORMAT.md`` section 8)
=================  ============================================================================

A reader reads both. A new form is one entry of ``LADDER``: a test that recognises it, the step up
from the form below, and the step back down. A step changes only the manifest. The step back must
restore it byte for byte, so the old manifest is kept in ``optional.migrated``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from ptycassette.cassette.layout import ARTIFACTS_KEY, MANIFEST, Artifact, parse_document
from ptycassette.cassette.manifest import MANIFEST_DIGEST_KEY, decode_manifest, with_manifest_digest
from ptycassette.errors import ManifestError, RefusedError
from ptycassette.model.records import Manifest

MIGRATED_KEY = "migrated"
_MAX_KEPT_BYTES = 1 << 20
"""A manifest has at most 4 MiB, and holds the one of before with its quotes escaped."""


class Rung(msgspec.Struct, frozen=True, kw_only=True):
    """A form.

    Attributes:
        name: its name for ``migrate --to``.
        has: whether a manifest is of this form, or of a higher one.
        up: the fields of the manifest of this form, from the one of the form below. Gets the
            JSON object, unknown fields included, and what pins each file.
    """

    name: str
    has: Callable[[Manifest], bool]
    up: Callable[[dict[str, Any], Mapping[str, Artifact]], dict[str, Any]]


def _is_pinned(manifest: Manifest) -> bool:
    optional = manifest.optional or {}
    return all(optional.get(name) is not None for name in (ARTIFACTS_KEY, MANIFEST_DIGEST_KEY))


def _pinned(document: dict[str, Any], artifacts: Mapping[str, Artifact]) -> dict[str, Any]:
    table = {name: msgspec.to_builtins(artifacts[name]) for name in sorted(artifacts)}
    optional = {**(document.get("optional") or {}), ARTIFACTS_KEY: table}
    whole = decode_manifest(msgspec.json.encode({**document, "optional": optional})).manifest
    pinned = with_manifest_digest(whole)
    provenance = {
        **document["provenance"],
        "contract_version": pinned.provenance.contract_version,
    }
    return {**document, "provenance": provenance, "optional": pinned.optional}


LADDER = (
    Rung(name="reference", has=lambda _: True, up=lambda document, _: document),
    Rung(name="ptycassette-1", has=_is_pinned, up=_pinned),
)
"""The forms, oldest first."""

NEWEST = LADDER[-1].name


def form_of(manifest: Manifest) -> str:
    """The name of the highest form that a manifest has."""
    return next(rung.name for rung in reversed(LADDER) if rung.has(manifest))


def climbed(
    data: bytes, artifacts: Mapping[str, Artifact], *, to: str, by: str, where: str = MANIFEST
) -> bytes:
    """The manifest of a higher form, step by step.

    Args:
        data: the manifest.
        artifacts: the pin of each other file except ``output.raw``.
        to: the form.
        by: the name of the migrating program.
        where: its name in errors.

    Raises:
        InvalidCassetteError: it is not valid.
        RefusedError: it is too large to be kept.
    """
    names = [rung.name for rung in LADDER]
    while (form := form_of(decode_manifest(data, where=where).manifest)) != to:
        if len(data) > _MAX_KEPT_BYTES:
            raise RefusedError(
                f"the manifest has {len(data)} bytes, and at most {_MAX_KEPT_BYTES} are kept",
                where=where,
            )
        rung = LADDER[names.index(form) + 1]
        document = parse_document(data, where=where, error=ManifestError)
        optional = document.get("optional") or {}
        step = {"from": form, "by": by, "manifest": data.decode("utf-8")}
        kept = {**optional, MIGRATED_KEY: [*_steps(optional), step]}
        higher = rung.up({**document, "optional": kept}, artifacts)
        data = msgspec.json.format(msgspec.json.encode(higher), indent=2) + b"\n"
    return data


def descended(data: bytes, *, to: str, where: str = MANIFEST) -> bytes:
    """The manifest of a lower form that it was migrated from, byte for byte.

    Raises:
        InvalidCassetteError: it, or the one that it keeps, is not valid.
        RefusedError: it was not migrated from that form.
    """
    manifest = decode_manifest(data, where=where).manifest
    while form_of(manifest) != to:
        steps = _steps(manifest.optional or {})
        if not steps:
            raise RefusedError(
                f"it was not migrated from the form {to}",
                where=where,
                hint="readers of that form read this one, too, and ignore the new fields",
            )
        data = steps[-1]["manifest"].encode("utf-8")
        before = decode_manifest(data, where=f"{where} optional.{MIGRATED_KEY}").manifest
        same = before.id == manifest.id and before.content_digest == manifest.content_digest
        if not same or form_of(before) != steps[-1]["from"]:
            raise ManifestError(
                f"optional.{MIGRATED_KEY} keeps the manifest of another recording", where=where
            )
        manifest = before
    return data


def migrated_by(data: bytes) -> str:
    """The name of the last migrator in the manifest; empty if it was not migrated."""
    steps = _steps(decode_manifest(data).manifest.optional or {})
    return str(steps[-1].get("by", "")) if steps else ""


def _steps(optional: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The recorded steps, the first one first; empty if they are not well formed."""
    steps = optional.get(MIGRATED_KEY)
    good = isinstance(steps, list) and all(
        isinstance(step, dict)
        and isinstance(step.get("manifest"), str)
        and isinstance(step.get("from"), str)
        for step in steps
    )
    return list(steps) if good and isinstance(steps, list) else []
