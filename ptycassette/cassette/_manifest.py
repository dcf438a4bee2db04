"""Read and write ``manifest.json``.

A reader checks these rules in this order; each has its own error:

1. it is JSON, within the limits (``ManifestError``, ``LimitError``);
2. ``version`` exists and is known (``VersionError``): checked before the rest, so that a newer
   cassette is reported as newer and not as broken;
3. it is strict JSON (``ManifestError``);
4. if the caller requires an emulator, the manifest names one (``EmulatorMissingError``);
5. ``id``, ``content_digest.sha256``, ``terminal.emulator`` and ``timing.resolution_ms``, in this
   order, exist and are valid (``ManifestError``);
6. every other required field exists and has its type; times are times (``ManifestError``);
7. ``required_features`` has no unknown name (``RequiredFeatureError``);
8. ``optional.artifacts`` is well formed (``ManifestError``);
9. the caller's pins hold (see ``_pins``).

Checks of the files and their content come after that.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any

import msgspec

from ptycassette.cassette.layout import (
    FORMAT_VERSION,
    KNOWN_FEATURES,
    MANIFEST,
    Artifact,
    encode_document,
    is_sha256,
    parse_document,
    read_artifacts,
)
from ptycassette.cassette.strict_json import check_keys, explain
from ptycassette.errors import (
    DigestPinError,
    EmulatorMissingError,
    EmulatorPinError,
    IdPinError,
    ManifestError,
    RequiredFeatureError,
    VersionError,
)
from ptycassette.model.limits import DEFAULT_LIMITS, UINT16_MAX, Limits
from ptycassette.model.records import EmulatorId, Manifest
from ptycassette.model.resolved_types import resolved
from ptycassette.model.visible_text import visible

# What a caller pins: this id, this digest, this emulator, and no other.


def require_any_emulator(document: Any, required: EmulatorId | None, *, where: str) -> None:
    """Check in a manifest not yet validated that it names an emulator, if one is required.

    Raises:
        EmulatorMissingError: it names none.
    """
    if required is None:
        return
    terminal = document.get("terminal") if isinstance(document, dict) else None
    emulator = terminal.get("emulator") if isinstance(terminal, dict) else None
    if isinstance(emulator, dict) and emulator.get("name") and emulator.get("version"):
        return
    raise EmulatorMissingError(
        f"the emulator {_shown(required)} is required, and the manifest names none",
        where=where,
        hint="record it again with an emulator, or do not require one",
    )


def check_pins(
    manifest: Manifest,
    *,
    where: str,
    expect_id: str | None = None,
    expect_sha256: str | None = None,
    require_emulator: EmulatorId | None = None,
) -> None:
    """Check a valid manifest against the caller's pins; None pins nothing.

    An empty ``version`` in ``require_emulator`` allows any version.

    Raises:
        IdPinError: another id.
        DigestPinError: another digest of ``output.raw``.
        EmulatorPinError: another emulator, or another version of it.
    """
    hint = "it was recorded again or replaced: look at what changed, then update the pin"
    if expect_id is not None and manifest.id != expect_id:
        raise IdPinError(
            f"expected the id {visible(expect_id)}, and it is {visible(manifest.id, limit=200)}",
            where=where,
            hint=hint,
        )
    digest = manifest.content_digest.sha256
    if expect_sha256 is not None and digest != expect_sha256.lower():
        raise DigestPinError(
            f"expected the digest {visible(expect_sha256)}, and it is {digest}",
            where=where,
            hint=hint,
        )
    if require_emulator is None:
        return
    found = manifest.terminal.emulator
    same_version = require_emulator.version in {"", found.version}
    if found.name != require_emulator.name or not same_version:
        raise EmulatorPinError(
            f"the emulator {_shown(require_emulator)} is required, "
            f"and the frames were made by {_shown(found)}",
            where=where,
            hint="derive the frames again with the required emulator, or record again",
        )


def _shown(emulator: EmulatorId) -> str:
    return visible(f"{emulator.name} {emulator.version}".strip(), limit=200)


# Times in a cassette: RFC 3339.


_TIME = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:[Zz]|[+-]\d\d:\d\d)")


def is_time(text: str) -> bool:
    """Whether ``text`` is an existing date and time, with a zone (RFC 3339, section 5.6)."""
    if not _TIME.fullmatch(text):
        return False
    try:
        datetime.fromisoformat(f"{text[:10]}T00:00:00+00:00")
    except ValueError:
        return False
    return True


class ManifestPage(msgspec.Struct, frozen=True):
    """A valid manifest.

    ``document`` is the whole JSON object, unknown fields included, for code that writes it again.
    ``artifacts`` is None when the cassette is not pinned.
    """

    manifest: Manifest
    document: dict[str, Any]
    artifacts: dict[str, Artifact] | None


def decode_manifest(
    data: bytes,
    *,
    where: str = MANIFEST,
    expect_id: str | None = None,
    expect_sha256: str | None = None,
    require_emulator: EmulatorId | None = None,
    limits: Limits = DEFAULT_LIMITS,
) -> ManifestPage:
    """The manifest in ``data``, checked by every rule that needs no other file.

    Raises:
        InvalidCassetteError: the first rule of the list above that it breaks.
        PinError: it is valid, but does not match the caller's pins.
    """
    version = peek_version(data, where=where, limits=limits)
    if version != FORMAT_VERSION:
        shown = visible(str(version), limit=20)
        raise VersionError(
            f"the format version is {shown}, and this reader supports {FORMAT_VERSION}",
            where=where,
            hint="install a newer ptycassette" if version > FORMAT_VERSION else None,
        )
    document = parse_document(data, where=where, error=ManifestError, limits=limits)
    check_keys(document, Manifest, where=where, error=ManifestError)
    require_any_emulator(document, require_emulator, where=where)
    _check_essentials(document, where)
    try:
        manifest = msgspec.convert(document, resolved(Manifest))
    except msgspec.ValidationError as exc:
        raise ManifestError(explain(exc), where=where) from exc
    _check_ranges(manifest, where)
    _check_times(manifest, where)
    _check_features(manifest, where)
    artifacts = read_artifacts(manifest, where=where, limits=limits)
    check_pins(
        manifest,
        where=where,
        expect_id=expect_id,
        expect_sha256=expect_sha256,
        require_emulator=require_emulator,
    )
    return ManifestPage(manifest, document, artifacts)


def encode_manifest(manifest: Manifest) -> bytes:
    """The bytes of ``manifest.json``: indented by 2, a newline at the end.

    Raises:
        ManifestError: a reader would refuse it.
    """
    data = encode_document(manifest, where=MANIFEST, error=ManifestError)
    decode_manifest(data)
    return data


def peek_version(data: bytes, *, where: str = MANIFEST, limits: Limits = DEFAULT_LIMITS) -> int:
    """The format version of a manifest, whatever else is in it.

    Raises:
        VersionError: it names none.
        ManifestError: it is not a JSON object.
        LimitError: it is too large or nests too deep.
    """
    document = parse_document(data, where=where, error=ManifestError, limits=limits, strict=False)
    version = document.get("version")
    if type(version) is not int or version < 1:
        raise VersionError("the manifest names no format version", where=where)
    return version


def _check_essentials(document: dict[str, Any], where: str) -> None:
    def field(*path: str) -> Any:
        value: Any = document
        for key in path:
            value = value.get(key) if isinstance(value, dict) else None
        return value

    identity = field("id")
    if not isinstance(identity, str) or not identity:
        raise ManifestError("id is missing", where=where)
    digest = field("content_digest", "sha256")
    if not isinstance(digest, str) or not digest:
        raise ManifestError("content_digest.sha256 is missing", where=where)
    if not is_sha256(digest):
        raise ManifestError(
            f"content_digest.sha256 is not a SHA-256 in lower-case hexadecimal: "
            f"{visible(digest, limit=80)}",
            where=where,
        )
    for key in ("name", "version"):
        value = field("terminal", "emulator", key)
        if not isinstance(value, str) or not value:
            raise ManifestError(f"terminal.emulator.{key} is missing", where=where)
    resolution_ms = field("timing", "resolution_ms")
    if type(resolution_ms) is not int or resolution_ms <= 0:
        raise ManifestError("timing.resolution_ms must be an integer above 0", where=where)


def _check_ranges(manifest: Manifest, where: str) -> None:
    terminal = manifest.terminal
    for name, value in (("rows", terminal.initial_rows), ("cols", terminal.initial_cols)):
        if not 0 <= value <= UINT16_MAX:
            raise ManifestError(
                f"terminal.initial_{name} {value} does not fit 16 bits", where=where
            )


def _check_times(manifest: Manifest, where: str) -> None:
    """Check that times are RFC 3339 with a time zone."""
    for name, value in (
        ("harness.captured_at", manifest.harness.captured_at),
        ("provenance.recorded_at", manifest.provenance.recorded_at),
    ):
        if value and not is_time(value):
            raise ManifestError(
                f"{name} is not an RFC 3339 time: {visible(value, limit=80)}", where=where
            )


def _check_features(manifest: Manifest, where: str) -> None:
    unknown = [name for name in manifest.required_features or () if name not in KNOWN_FEATURES]
    if unknown:
        shown = ", ".join(visible(name, limit=80) for name in unknown[:5])
        raise RequiredFeatureError(
            f"it requires what this reader does not know: {shown}",
            where=where,
            hint="install a newer ptycassette, or record without these features",
        )
