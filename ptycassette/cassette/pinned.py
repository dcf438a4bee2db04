"""Whether the files of a directory match the digests in its manifest.

For callers that have the digests of all files and need no check of the streams: rules 4 to 17,
25, 27 and 31 of ``FORMAT.md``, and 19.
"""

from __future__ import annotations

from collections.abc import Mapping

from ptycassette.cassette._manifest import decode_manifest
from ptycassette.cassette.layout import (
    DIAGNOSTIC,
    MANIFEST,
    OUTPUT_RAW,
    SCRUB_REPORT,
    Artifact,
    check_artifact,
    check_entries,
    decode_document,
)
from ptycassette.cassette.manifest_digest import check_manifest_digest
from ptycassette.errors import DiagnosticError, MissingFileError, UnscrubbedError
from ptycassette.model.records import Manifest, ScrubReport


def check_pinned(
    files: Mapping[str, Artifact],
    *,
    manifest: bytes,
    scrub_report: bytes,
    place: str,
    allow_unscrubbed: bool = False,
) -> Manifest:
    """The manifest, when the files match its pins.

    Args:
        files: the digest and length of every file of the directory.
        manifest: the bytes of ``manifest.json``.
        scrub_report: those of ``scrub-report.json``.
        place: the directory's name in errors.
        allow_unscrubbed: do not object to what was never scrubbed.

    Raises:
        InvalidCassetteError: the first rule that is broken.
    """
    if DIAGNOSTIC in files:
        raise DiagnosticError("the diagnostic directory of a failed run", where=place)
    if MANIFEST not in files:
        raise MissingFileError(f"{MANIFEST} is missing: this is not a cassette", where=place)
    page = decode_manifest(manifest, where=f"{place}/{MANIFEST}")
    pins = dict(page.artifacts or {})
    check_entries(frozenset(files), page.artifacts, place=place)
    raw = files[OUTPUT_RAW]
    pins.setdefault(OUTPUT_RAW, Artifact(page.manifest.content_digest.sha256, raw.bytes))
    for name in pins:
        found = files[name]
        where = f"{place}/{name}"
        check_artifact(name, pins, sha256=found.sha256, size=found.bytes, place=where)
    check_manifest_digest(page.manifest, where=f"{place}/{MANIFEST}")
    where = f"{place}/{SCRUB_REPORT}"
    report = decode_document(scrub_report, ScrubReport, where=where)
    if report.status == "unscrubbed" and not allow_unscrubbed:
        raise UnscrubbedError(
            "recorded without scrubbing: it may hold secrets",
            where=place,
            hint="scrub it (ptycassette scrub), or allow it on purpose",
        )
    return page.manifest
