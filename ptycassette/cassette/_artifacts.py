"""``optional.artifacts``: for every file but the manifest and ``output.raw``, its digest and size.

The reference format pins ``output.raw`` alone; this pins the rest. A cassette
whose manifest has it is called *pinned*: each listed file must be there with
exactly those bytes, and no other file may be there but ``.gitattributes``. ``output.raw`` may be
listed too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

from ptycassette.cassette._digests import is_sha256
from ptycassette.cassette.layout import (
    GIT_ATTRIBUTES,
    MANIFEST,
    OUTPUT_RAW,
    REQUIRED_FILES,
    is_litter,
)
from ptycassette.errors import (
    DigestError,
    LimitError,
    ManifestError,
    MissingFileError,
    UnexpectedFileError,
)
from ptycassette.model.limits import DEFAULT_LIMITS, Limits
from ptycassette.model.manifest import Manifest
from ptycassette.model.resolved_types import resolved
from ptycassette.model.visible_text import visible

ARTIFACTS_KEY = "artifacts"

CHANGED_HINT = "the file was changed after recording: fetch the cassette again, or record it again"

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*\Z")


class Artifact(msgspec.Struct, frozen=True):
    """What pins one file: SHA-256 in hexadecimal, and the length in bytes."""

    sha256: str
    bytes: int


def read_artifacts(
    manifest: Manifest, *, where: str = MANIFEST, limits: Limits = DEFAULT_LIMITS
) -> dict[str, Artifact] | None:
    """The artifacts that the manifest pins, by name; None when the cassette is not pinned.

    Raises:
        ManifestError: the table is malformed, names a path instead of a file
            of the directory, or lacks a file that every cassette has.
        LimitError: too many or too long names.
    """
    table = (manifest.optional or {}).get(ARTIFACTS_KEY)
    if table is None:
        return None
    try:
        artifacts = msgspec.convert(table, resolved(dict[str, Artifact]))
    except msgspec.ValidationError as exc:
        raise ManifestError(
            f"optional.artifacts: {visible(str(exc), limit=300)}", where=where
        ) from exc
    if len(artifacts) > limits.max_entries:
        raise LimitError(
            f"{len(artifacts)} artifacts, and a reader accepts {limits.max_entries}", where=where
        )
    for name, artifact in artifacts.items():
        _check_entry(name, artifact, where, limits)
    for name in REQUIRED_FILES:
        if name != OUTPUT_RAW and name not in artifacts:
            raise ManifestError(f"optional.artifacts does not pin {name}", where=where)
    return artifacts


def _check_entry(name: str, artifact: Artifact, where: str, limits: Limits) -> None:
    if len(name) > limits.max_name_bytes:
        shown = visible(name, limit=80)
        raise LimitError(f"optional.artifacts: the name {shown!r} is too long", where=where)
    if not _NAME.match(name) or name == MANIFEST:
        shown = visible(name, limit=80)
        raise ManifestError(f"optional.artifacts may not name {shown!r}", where=where)
    if not is_sha256(artifact.sha256) or artifact.bytes < 0:
        raise ManifestError(
            f"optional.artifacts: {name!r} has no proper sha256 or bytes", where=where
        )


def with_artifacts(manifest: Manifest, artifacts: Mapping[str, Artifact]) -> Manifest:
    """The same manifest pinning ``artifacts``, whatever it pinned before."""
    optional = dict(manifest.optional or {})
    optional[ARTIFACTS_KEY] = {
        name: {"sha256": artifacts[name].sha256, "bytes": artifacts[name].bytes}
        for name in sorted(artifacts)
    }
    return msgspec.structs.replace(manifest, optional=optional)


def check_entries(
    entries: frozenset[str], artifacts: Mapping[str, Artifact] | None, *, place: str
) -> None:
    """Compare the files of a directory with those that must and those that may exist.

    Args:
        entries: all names in the directory.
        artifacts: what the manifest pins; None when it does not.
        place: what errors call the directory.

    Raises:
        MissingFileError: a required or pinned file is not there.
        UnexpectedFileError: the cassette is pinned, and there is another entry.
    """
    wanted = (*REQUIRED_FILES, *(name for name in artifacts or () if name not in REQUIRED_FILES))
    for name in wanted:
        if name not in entries:
            raise MissingFileError(
                f"{name} is missing",
                where=place,
                hint="the copy is incomplete: fetch the cassette again, or record it again",
            )
    if artifacts is None:
        return
    others = entries - set(wanted) - {MANIFEST, GIT_ATTRIBUTES}
    extra = sorted(name for name in others if not is_litter(name))
    if extra:
        shown = ", ".join(visible(name, limit=80) for name in extra[:3])
        more = f" and {len(extra) - 3} more" if len(extra) > 3 else ""
        raise UnexpectedFileError(
            f"{shown}{more}: not among the files that the manifest pins",
            where=place,
            hint="move what does not belong to the recording out of the directory",
        )


def check_artifact(
    name: str, artifacts: Mapping[str, Artifact] | None, *, sha256: str, size: int, place: str
) -> None:
    """Compare a whole file with what pins it, if something does.

    Raises:
        DigestError: it has other bytes.
    """
    pin = (artifacts or {}).get(name)
    if pin is None or (pin.sha256 == sha256 and pin.bytes == size):
        return
    if pin.bytes != size:
        reason = f"{size} bytes, and the manifest pins {pin.bytes}"
    else:
        reason = f"the sha256 is {sha256}, and the manifest pins {pin.sha256}"
    raise DigestError(reason, where=place, hint=CHANGED_HINT)
