"""Ed25519 keys (RFC 8032), as ``ssh-keygen`` and ``openssl`` write them.

``cryptography`` takes any 32 bytes for a public key. There are eight points of small order, and
whoever trusts one of them trusts everybody: signatures of it that fit many messages can be made
without a secret. They are refused, and so is a spelling of a point that is not the shortest one
(section 5.1.3 has ``y < p``).
"""

from __future__ import annotations

import re

import msgspec
from cryptography.exceptions import InternalError, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
    load_pem_public_key,
    load_ssh_private_key,
    load_ssh_public_key,
)
from securesystemslib.signer import CryptoSigner, SSlibKey

from ptycassette.errors import UsageError

_P = 2**255 - 19
_ORDER_8 = 0x05FC536D880238B13933C6D305ACDFD5F098EFF289F4C345B027B2C28F95E826
_SMALL_ORDER = {0, 1, _P - 1, _ORDER_8, _P - _ORDER_8}
"""The ``y`` of every point whose order divides 8, the cofactor of the curve."""
_SSH_PRIVATE = b"-----BEGIN OPENSSH PRIVATE KEY-----"


class PublicKey(msgspec.Struct, frozen=True):
    """A public key: as the DSSE library wants it, and as one line of OpenSSH."""

    key: SSlibKey
    line: str

    @property
    def keyid(self) -> str:
        """The SHA-256 of it, by which seals name it."""
        return str(self.key.keyid)


_BEGINS = re.compile(rb"-----BEGIN|^[ \t]*ssh-", re.MULTILINE)
"""The beginnings of keys. The libraries read the first key and ignore what follows it."""


def public_key(text: str, *, where: str) -> PublicKey:
    """A public key in PEM, or a line ``ssh-ed25519 ...``.

    Raises:
        UsageError: it is not one, is more than one, or is one that anybody could sign with.
    """
    data = text.strip().encode()
    if len(_BEGINS.findall(data)) > 1:
        raise UsageError("more than one public key", where=where, hint="one entry for each key")
    try:
        load = load_pem_public_key if data.startswith(b"-----BEGIN") else load_ssh_public_key
        found = load(data)
    except (ValueError, UnsupportedAlgorithm, InternalError) as exc:
        raise UsageError("not a public key", where=where, hint=_HINT) from exc
    return checked(found, where=where)


def checked(key: object, *, where: str) -> PublicKey:
    """The key, if it is one that only its owner can sign with.

    Raises:
        UsageError: it is of another kind than Ed25519, of small order, or misspelt.
    """
    if not isinstance(key, Ed25519PublicKey):
        raise UsageError("not an Ed25519 key", where=where, hint=_HINT)
    fault = weakness(key.public_bytes(Encoding.Raw, PublicFormat.Raw))
    if fault is not None:
        raise UsageError(f"a public key that {fault}", where=where)
    line = key.public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode()
    return PublicKey(SSlibKey.from_crypto(key), line)


def weakness(raw: bytes) -> str | None:
    """Why nobody should trust a public key of 32 bytes; None if there is no reason."""
    y = int.from_bytes(raw, "little") & (2**255 - 1)
    if y >= _P:
        return "is spelt in a way that is not allowed"
    if y in _SMALL_ORDER:
        return "is of small order: anybody can sign with it"
    return None


def signer_of(data: bytes, *, where: str) -> tuple[CryptoSigner, PublicKey]:
    """What signs with a private key in PEM, or as ``ssh-keygen`` writes it, and its public key.

    Raises:
        UsageError: it is not one, or has a passphrase.
    """
    try:
        load = load_ssh_private_key if data.startswith(_SSH_PRIVATE) else load_pem_private_key
        key = load(data, password=None)
    except (TypeError, ValueError, UnsupportedAlgorithm, InternalError) as exc:
        encrypted = isinstance(exc, TypeError) or "encrypted" in str(exc).lower()
        what = "a key with a passphrase" if encrypted else "not a private key"
        raise UsageError(what, where=where, hint=_HINT) from exc
    if not isinstance(key, Ed25519PrivateKey):
        raise UsageError("not an Ed25519 key", where=where, hint=_HINT)
    public = checked(key.public_key(), where=where)
    return CryptoSigner(key, public.key), public


def new_private_key() -> bytes:
    """A new private key, as PKCS #8 in PEM."""
    key = Ed25519PrivateKey.generate()
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


_HINT = "make one with: ptycassette seal --new-key FILE"
