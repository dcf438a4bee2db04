"""The DSSE envelope (version 1.0.2) around a statement; ``securesystemslib`` signs and verifies.

It reads envelopes leniently. What is read here is exactly what is written here, so that an envelope
has one spelling: no other fields, base64 that encodes back to itself, one signature for a key.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable
from typing import Any

import msgspec
from securesystemslib.dsse import Envelope
from securesystemslib.exceptions import VerificationError
from securesystemslib.signer import Signature, Signer

from ptycassette.errors import TamperedError
from ptycassette.model.visible_text import visible
from ptycassette.seal.keys import PublicKey
from ptycassette.seal.statement import exact, strict_object

PAYLOAD_TYPE = "application/vnd.in-toto+json"
MAX_SEAL_BYTES = 1 << 20
_MAX_SIGNATURES = 16
_SIGNATURE_BYTES = 64
_KEYID = re.compile(r"[0-9a-f]{64}")
_FIELDS = {"payload", "payloadType", "signatures"}


class _Signature(msgspec.Struct, frozen=True):
    keyid: str
    sig: str


class _Envelope(msgspec.Struct, frozen=True):
    payload: str
    payloadType: str  # noqa: N815 - DSSE's own name
    signatures: tuple[_Signature, ...]


def signed(payload: bytes, signer: Signer) -> bytes:
    """The text of an envelope around ``payload``, with one signature."""
    envelope = Envelope(payload, PAYLOAD_TYPE, {})
    envelope.sign(signer)
    return msgspec.json.format(msgspec.json.encode(envelope.to_dict()), indent=2) + b"\n"


def decode_envelope(data: bytes, *, where: str) -> Envelope:
    """The envelope in ``data``; its signatures are not verified yet.

    Raises:
        TamperedError: it is not one as ``signed`` writes it.
    """
    given = exact(data, _Envelope, indent=2)
    value = strict_object(data, where=where) if given is None else msgspec.to_builtins(given)
    if value.keys() != _FIELDS:
        raise _damaged("its fields are not payload, payloadType and signatures", where)
    if value["payloadType"] != PAYLOAD_TYPE:
        shown = visible(str(value["payloadType"]), limit=80)
        raise _damaged(f"its payload is of the type {shown}", where)
    payload = _bytes_of(value["payload"], where)
    found = value["signatures"]
    if not isinstance(found, list | tuple) or not 1 <= len(found) <= _MAX_SIGNATURES:
        raise _damaged(f"it has not 1 to {_MAX_SIGNATURES} signatures", where)
    signatures: dict[str, Signature] = {}
    for item in found:
        signature = _signature_of(item, where)
        if signature.keyid in signatures:
            raise _damaged("two signatures are of one key", where)
        signatures[signature.keyid] = signature
    return Envelope(payload, PAYLOAD_TYPE, signatures)


def _signature_of(item: Any, where: str) -> Signature:
    if not isinstance(item, dict) or item.keys() != {"keyid", "sig"}:
        raise _damaged("the fields of a signature are not keyid and sig", where)
    keyid, raw = item["keyid"], _bytes_of(item["sig"], where)
    if not isinstance(keyid, str) or not _KEYID.fullmatch(keyid):
        raise _damaged("a keyid is no SHA-256", where)
    if len(raw) != _SIGNATURE_BYTES:
        raise _damaged("a signature has not 64 bytes", where)
    return Signature(keyid, raw.hex())


def _bytes_of(text: Any, where: str) -> bytes:
    """Base64 in its one spelling: the alphabet of RFC 4648 section 4, padded, no bits left over."""
    data = strict_base64(text)
    if data is None:
        raise _damaged("something is not base64", where)
    return data


def strict_base64(text: Any) -> bytes | None:
    """What ``text`` encodes; None if it is not exactly how these bytes are encoded."""
    if not isinstance(text, str):
        return None
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
    return data if base64.b64encode(data).decode() == text else None


def verified_keyids(envelope: Envelope, keys: Iterable[PublicKey], *, where: str) -> list[str]:
    """Those of ``keys`` that signed the envelope.

    Raises:
        TamperedError: a signature that names one of them does not verify.
    """
    found = []
    for key in keys:
        if key.keyid not in envelope.signatures:
            continue
        try:
            envelope.verify([key.key], 1)
        except VerificationError as exc:
            raise TamperedError(
                "the signature does not fit the statement", where=where, hint=_HINT
            ) from exc
        found.append(key.keyid)
    return found


def _damaged(reason: str, where: str) -> TamperedError:
    return TamperedError(f"the seal is damaged: {reason}", where=where, hint=_HINT)


_HINT = "fetch the cassette and its seal again, or seal it again"
