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

import json
from contextlib import suppress
from decimal import Decimal
from json.encoder import encode_basestring
from typing import Any

import msgspec

from ptycassette.cassette.layout import ARTIFACTS_KEY, MANIFEST, sha256_hex
from ptycassette.errors import DigestError, ManifestError
from ptycassette.model.records import Manifest
from ptycassette.model.resolved_types import resolved
from ptycassette.model.visible_text import visible

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
