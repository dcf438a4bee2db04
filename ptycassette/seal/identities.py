"""Seals of identities: a Sigstore bundle around the same statement, taken apart without trust.

Its signature is verified elsewhere, by Sigstore's own verifier (``io/sigstore_bundles.py``).
"""

from __future__ import annotations

from typing import Any

import msgspec

from ptycassette.errors import TamperedError
from ptycassette.seal.envelope import PAYLOAD_TYPE, strict_base64
from ptycassette.seal.statement import strict_object

MEDIA_TYPE = "application/vnd.dev.sigstore.bundle"


class Bundle(msgspec.Struct, frozen=True):
    """The envelope in a bundle: what is sealed, and the one signature, both as bytes."""

    payload: bytes
    signature: bytes


def is_bundle(seal: bytes) -> bool:
    """Whether a seal is of an identity rather than of a key."""
    return b'"mediaType"' in seal


def decode_bundle(data: bytes, *, where: str) -> Bundle:
    """What a bundle holds; nothing of it is verified yet.

    Raises:
        TamperedError: it is no bundle around a statement.
    """
    value = strict_object(data, where=where)
    kind = value.get("mediaType")
    if not isinstance(kind, str) or not kind.startswith(MEDIA_TYPE):
        raise _damaged("it is no bundle of Sigstore", where)
    envelope = value.get("dsseEnvelope")
    if not isinstance(envelope, dict) or envelope.get("payloadType") != PAYLOAD_TYPE:
        raise _damaged("its payload is no statement", where)
    payload = strict_base64(envelope.get("payload"))
    signature = strict_base64(_only_signature(envelope.get("signatures")))
    if payload is None or signature is None:
        raise _damaged("something is not base64, or it has not one signature", where)
    return Bundle(payload, signature)


def _only_signature(found: Any) -> Any:
    one = found[0] if isinstance(found, list) and len(found) == 1 else None
    return one.get("sig") if isinstance(one, dict) else None


def _damaged(reason: str, where: str) -> TamperedError:
    return TamperedError(
        f"the seal is damaged: {reason}",
        where=where,
        hint="fetch the cassette and its seal again, or seal it again",
    )
