"""Check seals, and decide whose seals count. A TOML file names the trusted keys.

::

    [keys.release]
    public_key = "ssh-ed25519 AAAA..."   # or PEM
    paths = ["tests/cassettes"]          # relative to the file; everything when left out

    [identities.ci]                      # of Sigstore: a job of a CI system, a person
    identity = "https://github.com/me/repo/.github/workflows/record.yml@refs/heads/main"
    issuer = "https://token.actions.githubusercontent.com"
    trusted_root = "trusted_root.json"   # that of the public instance when left out
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from typing import Any, TypeVar

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
from securesystemslib.dsse import Envelope
from securesystemslib.exceptions import VerificationError
from securesystemslib.signer import CryptoSigner, Signature, Signer, SSlibKey

from ptycassette.cassette.layout import MANIFEST
from ptycassette.cassette.strict_json import parse_strict
from ptycassette.errors import (
    CassetteError,
    RecordError,
    TamperedError,
    UnsealedError,
    UntrustedError,
    UsageError,
)
from ptycassette.model.limits import Limits
from ptycassette.model.records import NOT_JSON
from ptycassette.model.resolved_types import resolved
from ptycassette.model.toml_text import suggest
from ptycassette.model.visible_text import visible

# Ed25519 keys (RFC 8032), as ``ssh-keygen`` and ``openssl`` write them.


_P = 2**255 - 19
_ORDER_8 = 0x05FC536D880238B13933C6D305ACDFD5F098EFF289F4C345B027B2C28F95E826
_SMALL_ORDER = {0, 1, _P - 1, _ORDER_8, _P - _ORDER_8}
"""The ``y`` of every point whose order divides 8, the cofactor of the curve."""
_SSH_PRIVATE = b"-----BEGIN OPENSSH PRIVATE KEY-----"


class PublicKey(msgspec.Struct, frozen=True):
    """A public key, as an object of the DSSE library and as one line of OpenSSH."""

    key: SSlibKey
    line: str

    @property
    def keyid(self) -> str:
        """The SHA-256 of the key; seals name keys by it."""
        return str(self.key.keyid)


_BEGINS = re.compile(rb"-----BEGIN|^[ \t]*ssh-", re.MULTILINE)
"""The beginnings of keys. The libraries read the first key and ignore what follows it."""


def public_key(text: str, *, where: str) -> PublicKey:
    """Read a public key in PEM, or a line ``ssh-ed25519 ...``.

    Raises:
        UsageError: it is not a key, is more than one key, or anybody could sign with it.
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
    """The key, if only its owner can sign with it.

    Raises:
        UsageError: it is not Ed25519, has a small order, or is encoded wrongly.
    """
    if not isinstance(key, Ed25519PublicKey):
        raise UsageError("not an Ed25519 key", where=where, hint=_HINT)
    fault = weakness(key.public_bytes(Encoding.Raw, PublicFormat.Raw))
    if fault is not None:
        raise UsageError(f"a public key that {fault}", where=where)
    line = key.public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode()
    return PublicKey(SSlibKey.from_crypto(key), line)


def weakness(raw: bytes) -> str | None:
    """Why a public key of 32 bytes must not be trusted; None if it is sound."""
    y = int.from_bytes(raw, "little") & (2**255 - 1)
    if y >= _P:
        return "is spelt in a way that is not allowed"
    if y in _SMALL_ORDER:
        return "is of small order: anybody can sign with it"
    return None


def signer_of(data: bytes, *, where: str) -> tuple[CryptoSigner, PublicKey]:
    """A signer and its public key, from a private key in PEM or as ``ssh-keygen`` writes it.

    Raises:
        UsageError: it is not a private key, or has a passphrase.
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


_NAMES = ("keys", "public_key", "paths", "identities", "identity", "issuer", "trusted_root")


class _KeyTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    public_key: str
    paths: tuple[str, ...] | None = None


class _IdentityTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    identity: str
    issuer: str
    paths: tuple[str, ...] | None = None
    trusted_root: str | None = None


class _TrustTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    keys: dict[str, _KeyTable] = {}
    identities: dict[str, _IdentityTable] = {}


class TrustedKey(msgspec.Struct, frozen=True):
    """A key, its name for people, and the directories in which its seals count (None: all)."""

    name: str
    key: PublicKey
    directories: tuple[str, ...] | None = None


class TrustedIdentity(msgspec.Struct, frozen=True, kw_only=True):
    """A trusted identity of Sigstore, the counterpart of ``TrustedKey``.

    ``identity`` is the URI or mail address in its certificates; ``issuer`` proves the identity.
    ``trusted_root`` is a file; None means that of the public instance.
    """

    name: str
    identity: str
    issuer: str
    directories: tuple[str, ...] | None = None
    trusted_root: str | None = None


def may_seal(signer: TrustedKey | TrustedIdentity, cassette: str) -> bool:
    """Whether this signer's seals count for a cassette with this absolute path."""
    return signer.directories is None or any(
        cassette.startswith(f"{directory.rstrip('/')}/") for directory in signer.directories
    )


class Trust(msgspec.Struct, frozen=True):
    """All signers whose seals count. ``where`` is the file; empty if there is no file."""

    keys: tuple[TrustedKey, ...] = ()
    where: str = ""
    identities: tuple[TrustedIdentity, ...] = ()


def trust_of(table: dict[str, Any], *, where: str, directory_of: Callable[[str], str]) -> Trust:
    """Read trusted signers from a parsed TOML file.

    Args:
        table: the parsed file.
        where: the name of the file, for errors.
        directory_of: makes a path that is relative to the file absolute.

    Raises:
        UsageError: the file has an unknown name or an invalid public key.
    """
    try:
        found = msgspec.convert(table, resolved(_TrustTable))
    except msgspec.ValidationError as exc:
        hint = suggest(str(exc), _NAMES)
        raise UsageError(visible(str(exc), limit=300), where=where, hint=hint) from exc
    keys: dict[str, TrustedKey] = {}
    for name, one in found.keys.items():
        place = f"{where}: keys.{visible(name, limit=80)}"
        key = public_key(one.public_key, where=place)
        if key.keyid in keys:
            other = visible(keys[key.keyid].name, limit=80)
            raise UsageError(f"the same key as keys.{other}", where=place)
        paths = None if one.paths is None else tuple(map(directory_of, one.paths))
        keys[key.keyid] = TrustedKey(name, key, paths)
    identities = tuple(
        TrustedIdentity(
            name=name,
            identity=one.identity,
            issuer=one.issuer,
            directories=None if one.paths is None else tuple(map(directory_of, one.paths)),
            trusted_root=None if one.trusted_root is None else directory_of(one.trusted_root),
        )
        for name, one in found.identities.items()
    )
    return Trust(tuple(keys.values()), where, identities)


# The signed content: an in-toto Statement, version 1, whose subjects are the cassette's files.


STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE = "urn:ptycassette:seal:v1"
LIMITS = Limits(max_depth=8)
S = TypeVar("S", bound=msgspec.Struct)
_SHA256 = re.compile(r"[0-9a-f]{64}")


class _Digest(msgspec.Struct, frozen=True):
    sha256: str


class _Subject(msgspec.Struct, frozen=True):
    name: str
    digest: _Digest


class _Predicate(msgspec.Struct, frozen=True):
    cassette: str
    id: str
    sealed_at: str
    sealed_by: str


class _Statement(msgspec.Struct, frozen=True, rename={"type": "_type"}):
    type: str
    subject: tuple[_Subject, ...]
    predicateType: str  # noqa: N815 - in-toto's own name
    predicate: _Predicate


class SealStatement(msgspec.Struct, frozen=True, kw_only=True):
    """The statement that a seal signs.

    Attributes:
        cassette: the path of the directory from the top of its work tree, with ``/``. Seals of
            ptycassette 0.2 and before have only the name of the directory.
        id: the ``id`` in its manifest.
        digests: the SHA-256 of every file in it, by name.
        sealed_at: RFC 3339, by the clock of the machine that sealed it.
        sealed_by: the program and its version.
    """

    cassette: str
    id: str
    digests: dict[str, str]
    sealed_at: str
    sealed_by: str


def encode_statement(statement: SealStatement) -> bytes:
    """The JSON text to sign; subjects are ordered by name."""
    subjects = tuple(
        _Subject(name, _Digest(digest)) for name, digest in sorted(statement.digests.items())
    )
    predicate = _Predicate(
        statement.cassette, statement.id, statement.sealed_at, statement.sealed_by
    )
    return msgspec.json.encode(_Statement(STATEMENT_TYPE, subjects, PREDICATE_TYPE, predicate))


def decode_statement(payload: bytes, *, where: str) -> SealStatement:
    """Decode the statement in the payload of an envelope.

    Raises:
        TamperedError: it is not a statement of ptycassette.
    """
    found = exact(payload, _Statement) or _looked_at(payload, where)
    if found.type != STATEMENT_TYPE or found.predicateType != PREDICATE_TYPE:
        shown = visible(f"{found.type} with {found.predicateType}", limit=200)
        raise TamperedError(
            f"the seal is not a statement about a cassette but {shown}", where=where
        )
    digests = {subject.name: subject.digest.sha256 for subject in found.subject}
    if len(digests) != len(found.subject):
        raise TamperedError("the statement names a file twice", where=where)
    if MANIFEST not in digests:
        raise TamperedError(f"the statement does not name {MANIFEST}", where=where)
    if not found.predicate.cassette:
        raise TamperedError("the statement names no cassette", where=where)
    if not all(map(_SHA256.fullmatch, digests.values())):
        raise TamperedError("the statement has a digest that is not a SHA-256", where=where)
    return SealStatement(
        cassette=found.predicate.cassette,
        id=found.predicate.id,
        digests=digests,
        sealed_at=found.predicate.sealed_at,
        sealed_by=found.predicate.sealed_by,
    )


def _looked_at(payload: bytes, where: str) -> _Statement:
    """Decode a statement with another spelling than ours, or with extra fields."""
    try:
        return msgspec.convert(strict_object(payload, where=where), resolved(_Statement))
    except msgspec.ValidationError as exc:
        raise TamperedError(f"the statement: {visible(str(exc), limit=300)}", where=where) from exc


def exact(data: bytes, kind: type[S], *, indent: int = -1) -> S | None:
    """Decode ``data``, if encoding the struct gives exactly the same bytes; otherwise None.

    Data that survives this has no repeated key, no other fields and only one spelling, so nothing
    else needs to be checked (decision 0011).
    """
    try:
        found = msgspec.json.decode(data, type=resolved(kind))
    except NOT_JSON:
        return None
    text = msgspec.json.encode(found)
    same = data == (text if indent < 0 else msgspec.json.format(text, indent=indent) + b"\n")
    return found if same else None


def strict_object(data: bytes, *, where: str) -> dict[str, Any]:
    """Parse a JSON object, as strictly as a document of a cassette.

    Raises:
        TamperedError: it is not a valid object.
    """
    try:
        value = parse_strict(data, where=where, error=RecordError, limits=LIMITS)
    except CassetteError as exc:
        raise TamperedError(f"the seal is damaged: {exc.message}", where=where) from exc
    if not isinstance(value, dict):
        raise TamperedError("the seal is damaged: not a JSON object", where=where)
    return value


# The DSSE envelope (version 1.0.2) around a statement; ``securesystemslib`` signs and verifies.


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
    """The text of an envelope around ``payload`` with one signature."""
    envelope = Envelope(payload, PAYLOAD_TYPE, {})
    envelope.sign(signer)
    return msgspec.json.format(msgspec.json.encode(envelope.to_dict()), indent=2) + b"\n"


def decode_envelope(data: bytes, *, where: str) -> Envelope:
    """Parse an envelope without verifying its signatures.

    Raises:
        TamperedError: ``signed`` would write it differently.
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
        raise _damaged("a keyid is not a SHA-256", where)
    if len(raw) != _SIGNATURE_BYTES:
        raise _damaged("a signature has not 64 bytes", where)
    return Signature(keyid, raw.hex())


def _bytes_of(text: Any, where: str) -> bytes:
    """Decode base64 in its only valid spelling: RFC 4648 section 4, padded, no bits left over."""
    data = strict_base64(text)
    if data is None:
        raise _damaged("something is not base64", where)
    return data


def strict_base64(text: Any) -> bytes | None:
    """Decode ``text``; None if these bytes would be encoded differently."""
    if not isinstance(text, str):
        return None
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
    return data if base64.b64encode(data).decode() == text else None


def verified_keyids(envelope: Envelope, keys: Iterable[PublicKey], *, where: str) -> list[str]:
    """The ids of those ``keys`` that signed the envelope.

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
                "the signature does not fit the statement", where=where, hint=_NO_ENVELOPE_HINT
            ) from exc
        found.append(key.keyid)
    return found


def _damaged(reason: str, where: str) -> TamperedError:
    return TamperedError(f"the seal is damaged: {reason}", where=where, hint=_NO_ENVELOPE_HINT)


_NO_ENVELOPE_HINT = "fetch the cassette and its seal again, or seal it again"


# The verdict on a seal: unsigned, tampered with, signed by an unknown key, or trusted.


_SHOWN = 3


class SealStatus(StrEnum):
    """The result of checking a seal."""

    TRUSTED = "trusted"
    UNKNOWN_KEY = "unknown-key"
    UNSIGNED = "unsigned"
    TAMPERED = "tampered"
    UNREADABLE = "unreadable"
    """The cassette cannot be read, or is not a cassette."""


class SealVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """The result for one cassette.

    Attributes:
        path: the path as given.
        status: the result.
        error: why it is not trusted; None if it is.
        signers: the names of the trusted keys that signed it.
        keyids: the key ids of all signatures, as the seal has them; untrusted ones prove nothing.
        statement: the signed statement; None if there is no seal or it is damaged.
    """

    path: str
    status: SealStatus
    error: CassetteError | None = None
    signers: tuple[str, ...] = ()
    keyids: tuple[str, ...] = ()
    statement: SealStatement | None = None

    @property
    def ok(self) -> bool:
        """Whether a trusted signer sealed it and it is unchanged."""
        return self.status is SealStatus.TRUSTED and self.error is None


def unsigned(path: str) -> SealVerdict:
    """The verdict on a cassette that has no seal."""
    error = UnsealedError(
        "there is no seal: it was never signed, or the seal was removed",
        where=visible(path),
        hint="look at it, then seal it: ptycassette seal --key FILE CASSETTE",
    )
    return SealVerdict(path=path, status=SealStatus.UNSIGNED, error=error)


def unreadable(path: str, error: CassetteError) -> SealVerdict:
    """The verdict on a path that is missing or not a cassette."""
    return SealVerdict(path=path, status=SealStatus.UNREADABLE, error=error)


class OpenedSeal(msgspec.Struct, frozen=True, kw_only=True):
    """A seal whose signatures were verified.

    Attributes:
        payload: the statement.
        keyids: the key ids in the seal.
        signed_by: the trusted signers whose signatures are valid.
        reason: why a signature does not count; empty if its signer is simply not known.
    """

    payload: bytes
    keyids: tuple[str, ...]
    signed_by: tuple[TrustedKey | TrustedIdentity, ...]
    reason: str = ""


def open_envelope(seal: bytes, trust: Trust, where: str) -> OpenedSeal:
    """The statement in an envelope, and the trusted keys that signed it.

    Raises:
        TamperedError: it is damaged, or a signature of a trusted key does not verify.
    """
    envelope = decode_envelope(seal, where=where)
    verified = verified_keyids(envelope, (one.key for one in trust.keys), where=where)
    return OpenedSeal(
        payload=envelope.payload,
        keyids=tuple(envelope.signatures),
        signed_by=tuple(one for one in trust.keys if one.key.keyid in verified),
    )


def judged(
    seal: bytes,
    *,
    path: str,
    absolute: str,
    digests: Mapping[str, str],
    trust: Trust,
    opened_by: Callable[[bytes, Trust, str], OpenedSeal] = open_envelope,
) -> SealVerdict:
    """The verdict on a cassette with a seal.

    Checks the envelope, the signatures of trusted keys, the statement, the files, and last whether
    any signature counts. So every change is reported as tampering, no matter who signed.

    Args:
        seal: the bytes of the seal.
        path: the path of the cassette as given.
        absolute: its real path.
        digests: the SHA-256 of every file that is in it now.
        trust: the trusted signers.
        opened_by: verifies the signatures.
    """
    place = visible(f"{path}.seal.json")
    statement: SealStatement | None = None
    keyids: tuple[str, ...] = ()
    try:
        opened = opened_by(seal, trust, place)
        keyids = opened.keyids
        statement = decode_statement(opened.payload, where=place)
        _check_files(statement, absolute, digests, visible(path))
    except TamperedError as error:
        return SealVerdict(
            path=path,
            status=SealStatus.TAMPERED,
            error=error,
            keyids=keyids,
            statement=statement,
        )
    counted = tuple(one.name for one in opened.signed_by if may_seal(one, absolute))
    return SealVerdict(
        path=path,
        status=SealStatus.TRUSTED if counted else SealStatus.UNKNOWN_KEY,
        error=None if counted else _untrusted(opened, trust, place),
        signers=counted,
        keyids=keyids,
        statement=statement,
    )


def _check_files(
    statement: SealStatement, absolute: str, digests: Mapping[str, str], place: str
) -> None:
    """Compare the present files with the sealed ones.

    Raises:
        TamperedError: a file was changed, added or removed, or the seal is for another cassette.
    """
    sealed = statement.digests
    changed = [one for one in sealed if one in digests and digests[one] != sealed[one]]
    missing = [one for one in sealed if one not in digests]
    added = [one for one in digests if one not in sealed]
    for what, names in (("changed", changed), ("missing", missing), ("added", added)):
        if names:
            raise TamperedError(
                f"{what} since it was sealed: {_shown(names)}", where=place, hint=_LOOK
            )
    if not absolute.endswith(f"/{statement.cassette}"):
        raise TamperedError(
            f"sealed as {visible(statement.cassette, limit=200)!r}, which is another place",
            where=place,
            hint="if it was moved or renamed on purpose, seal it again",
        )


def _shown(names: list[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(visible(name, limit=80) for name in sorted(names)[:_SHOWN]) + more


def _untrusted(opened: OpenedSeal, trust: Trust, place: str) -> UntrustedError:
    if opened.signed_by:
        shown = visible(", ".join(one.name for one in opened.signed_by), limit=200)
        return UntrustedError(
            f"sealed by {shown}, whose seals do not count at this place",
            where=place,
            hint=f"see paths in {visible(trust.where)}",
        )
    names = [one.name for one in trust.keys] + [one.name for one in trust.identities]
    if not names:
        return UntrustedError(
            "no key is trusted: there is no trust file",
            where=place,
            hint="name a trust file with --trust, or as seal.trust in the project file",
        )
    hint = f"trusted are: {visible(', '.join(names), limit=200)}"
    if opened.reason:
        return UntrustedError(f"no identity counts: {opened.reason}", where=place, hint=hint)
    shown = visible(opened.keyids[0], limit=16) if opened.keyids else "without a name"
    return UntrustedError(f"sealed by {shown}, which is not trusted", where=place, hint=hint)


_LOOK = "see what changed (git diff), then seal it again or restore it"


# Seals of identities: a Sigstore bundle around the same statement, taken apart without trust.


MEDIA_TYPE = "application/vnd.dev.sigstore.bundle"


class Bundle(msgspec.Struct, frozen=True):
    """The envelope in a bundle: the signed statement and the only signature, both as bytes."""

    payload: bytes
    signature: bytes


def is_bundle(seal: bytes) -> bool:
    """Whether a seal belongs to an identity instead of a key."""
    return b'"mediaType"' in seal


def decode_bundle(data: bytes, *, where: str) -> Bundle:
    """Parse a bundle without verifying it.

    Raises:
        TamperedError: it is not a bundle around a statement.
    """
    value = strict_object(data, where=where)
    kind = value.get("mediaType")
    if not isinstance(kind, str) or not kind.startswith(MEDIA_TYPE):
        raise _damaged_identity("it is not a bundle of Sigstore", where)
    envelope = value.get("dsseEnvelope")
    if not isinstance(envelope, dict) or envelope.get("payloadType") != PAYLOAD_TYPE:
        raise _damaged_identity("its payload is not a statement", where)
    payload = strict_base64(envelope.get("payload"))
    signature = strict_base64(_only_signature(envelope.get("signatures")))
    if payload is None or signature is None:
        raise _damaged_identity("something is not base64, or it has not one signature", where)
    return Bundle(payload, signature)


def _only_signature(found: Any) -> Any:
    one = found[0] if isinstance(found, list) and len(found) == 1 else None
    return one.get("sig") if isinstance(one, dict) else None


def _damaged_identity(reason: str, where: str) -> TamperedError:
    return TamperedError(
        f"the seal is damaged: {reason}",
        where=where,
        hint="fetch the cassette and its seal again, or seal it again",
    )
