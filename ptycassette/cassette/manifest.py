"""Read and write ``manifest.json``, and the digest by which it pins itself.

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

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from decimal import Decimal
from json.encoder import encode_basestring
from typing import Any

import msgspec

from ptycassette.cassette.layout import (
    ARTIFACTS_KEY,
    DIAGNOSTIC,
    FORMAT_VERSION,
    KNOWN_FEATURES,
    MANIFEST,
    OUTPUT_RAW,
    SCRUB_REPORT,
    Artifact,
    check_artifact,
    check_entries,
    decode_document,
    encode_document,
    is_sha256,
    parse_document,
    read_artifacts,
    sha256_hex,
)
from ptycassette.cassette.strict_json import check_keys, explain
from ptycassette.errors import (
    DiagnosticError,
    DigestError,
    DigestPinError,
    EmulatorMissingError,
    EmulatorPinError,
    IdPinError,
    ManifestError,
    MissingFileError,
    RequiredFeatureError,
    UnscrubbedError,
    VersionError,
)
from ptycassette.model.limits import DEFAULT_LIMITS, UINT16_MAX, Limits
from ptycassette.model.records import EmulatorId, Manifest, ScrubReport
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


# ``optional.manifest_digest``: the manifest pins itself, so that no byte of it changes unnoticed.
#
# The digest covers every field that this version knows, and those entries of ``optional`` whose
# names it lists; an entry that is not listed was added later and is refused. It leaves out what
# the files themselves prove (``content_digest``, ``optional.artifacts``) and fields that a later
# writer may add elsewhere, so unknown fields stay allowed.
#
# ``provenance.contract_version`` ``ptycassette-1`` promises ``optional.artifacts`` and this
# digest: a manifest with this version and without the digest was damaged.


# The canonical text of a JSON value (RFC 8785, JCS), for digests of values instead of bytes.


_KEYS = frozenset({str})
_PLAIN = frozenset({dict, list, tuple, str, int, bool, type(None)})
_FIXED_DIGITS = 21  # ECMA-262, Number::toString: from here on with an exponent
_FIXED_ZEROS = -6


def canonical_json(value: Any) -> bytes:
    """The canonical text of ``value``: dicts, lists, tuples, texts, numbers, booleans, None.

    Raises:
        ValueError: a number is not finite, or a text holds a lone surrogate.
        TypeError: another type, or a key that is not a text.
    """
    if _is_plain(value):
        with suppress(ValueError, OverflowError, RecursionError):
            text = msgspec.json.encode(value, order="sorted")
            if text.isascii():  # else its order of keys may not be that of UTF-16
                return text
    parts: list[str] = []
    _write(value, parts)
    return "".join(parts).encode("utf-8")


def _is_plain(value: Any) -> bool:
    """Whether msgspec already writes it in the right form: text keys, and no fractions."""
    level = [value]
    while level:
        if not _PLAIN.issuperset(map(type, level)):
            return False
        below: list[Any] = []
        for item in level:
            if type(item) is dict:
                if not _KEYS.issuperset(map(type, item)):
                    return False
                below += item.values()
            elif type(item) is list or type(item) is tuple:
                below += item
        level = below
    return True


def _write(value: Any, parts: list[str]) -> None:
    if isinstance(value, dict):
        opening, closing = "{", "}"
        for key in sorted(value, key=_utf16):
            parts += (opening, _text(key), ":")
            _write(value[key], parts)
            opening = ","
        parts.append("{}" if opening == "{" else closing)
    elif isinstance(value, list | tuple):
        opening = "["
        for item in value:
            parts.append(opening)
            _write(item, parts)
            opening = ","
        parts.append("[]" if opening == "[" else "]")
    elif isinstance(value, float):
        parts.append(_number(value))
    elif value is None or isinstance(value, bool | int | str):
        parts.append(_text(value))
    else:
        raise TypeError(f"{type(value).__name__} is not a JSON value")


def _utf16(key: Any) -> bytes:
    if not isinstance(key, str):
        raise TypeError(f"a key is not text but {type(key).__name__}")
    return key.encode("utf-16-be")


def _text(value: str | int | None) -> str:
    return encode_basestring(value) if isinstance(value, str) else json.dumps(value)


def _number(value: float) -> str:
    """``value`` as ECMA-262 prints a number (Number::toString, radix 10)."""
    decimal = Decimal(repr(value))
    if not decimal.is_finite():
        raise ValueError("a number is not finite")
    if not decimal:
        return "0"
    sign, numerals, exponent = decimal.normalize().as_tuple()
    digits = "".join(map(str, numerals))
    point = len(digits) + int(exponent)  # the place of the decimal point among the digits
    if len(digits) <= point <= _FIXED_DIGITS:
        text = digits.ljust(point, "0")
    elif 0 < point <= _FIXED_DIGITS:
        text = f"{digits[:point]}.{digits[point:]}"
    elif _FIXED_ZEROS < point <= 0:
        text = f"0.{digits.rjust(len(digits) - point, '0')}"
    else:
        fraction = f".{digits[1:]}" if len(digits) > 1 else ""
        text = f"{digits[0]}{fraction}e{point - 1:+d}"
    return f"-{text}" if sign else text


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
        DigestError: the manifest does not match its digest, or ``optional`` holds fields that the
            digest does not cover.
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


# Whether the files of a directory match the digests in its manifest.
#
# For callers that have the digests of all files and need no check of the streams: rules 4 to 17,
# 25, 27 and 31 of ``FORMAT.md``, and 19.


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
