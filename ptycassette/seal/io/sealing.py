"""Seal cassettes: hash every file, compare with the hashes in the manifest, sign."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache, lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any, Protocol

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from securesystemslib.dsse import Envelope
from securesystemslib.signer import CryptoSigner

from ptycassette.cassette.layout import GIT_ATTRIBUTES, MANIFEST, SCRUB_REPORT, Artifact
from ptycassette.cassette.manifest import check_pinned
from ptycassette.errors import (
    CassetteError,
    ExistsError,
    NotFoundError,
    RefusedError,
    TamperedError,
    UsageError,
)
from ptycassette.extras import needing_extra
from ptycassette.model.ports import Clock
from ptycassette.model.visible_text import visible
from ptycassette.seal.trust import (
    MAX_SEAL_BYTES,
    PAYLOAD_TYPE,
    OpenedSeal,
    PublicKey,
    SealStatement,
    SealStatus,
    SealVerdict,
    Trust,
    TrustedIdentity,
    TrustedKey,
    decode_bundle,
    encode_statement,
    is_bundle,
    judged,
    signed,
    unreadable,
    unsigned,
)
from ptycassette.system.clock import MonotonicClock
from ptycassette.system.files.directory_handle import DirectoryHandle, links_followed
from ptycassette.system.files.state_dirs import absolute
from ptycassette.system.files.whole_file import read_plain, write_whole
from ptycassette.version import __version__

# The files of a cassette as a seal sees them, and where the seal is.


SUFFIX = ".seal.json"
_DOCUMENTS = (MANIFEST, SCRUB_REPORT)


class HashedFiles(msgspec.Struct, frozen=True):
    """The digest and length of every file, and the bytes of two documents."""

    files: dict[str, Artifact]
    documents: dict[str, bytes]

    @property
    def digests(self) -> dict[str, str]:
        """The SHA-256 of every file."""
        return {name: file.sha256 for name, file in self.files.items()}


def digests_of(path: str) -> dict[str, str]:
    """The SHA-256 of every file of a cassette. Each file is read once; links are not followed.

    ``.gitattributes`` is left out: it is not part of the recording.

    Raises:
        CassetteError: it is missing, cannot be read, or contains anything but regular files.
    """
    with DirectoryHandle(path) as directory:
        return {name: directory.digest(name)[0] for name in directory.entries() - {GIT_ATTRIBUTES}}


def hashed_files(path: str) -> HashedFiles:
    """As ``digests_of``, with lengths and documents. Raises the same errors."""
    files: dict[str, Artifact] = {}
    documents: dict[str, bytes] = {}
    with DirectoryHandle(path) as directory:
        for name in directory.entries() - {GIT_ATTRIBUTES}:
            if name in _DOCUMENTS:
                with directory.open(name) as file:
                    data = documents[name] = file.read_document()
                files[name] = Artifact(sha256=sha256(data).hexdigest(), bytes=len(data))
            else:
                digest, size = directory.digest(name)
                files[name] = Artifact(sha256=digest, bytes=size)
    return HashedFiles(files, documents)


def real_path(path: str) -> str:
    """The path of a cassette, with links above it resolved and its own name kept."""
    above, name = os.path.split(os.path.normpath(absolute(path)))  # drops `..` and a last `/`
    return f"{_resolved(above).rstrip('/')}/{name}"


@lru_cache(maxsize=64)
def _resolved(directory: str) -> str:
    return os.path.realpath(directory)


def read_seal(real: str) -> bytes | None:
    """The bytes of the seal beside the cassette with this ``real_path``; None without one.

    Raises:
        CassetteError: it cannot be read, is too large, or is not a regular file.
    """
    try:
        return read_plain(
            f"{real}{SUFFIX}", max_bytes=MAX_SEAL_BYTES, follow_links=links_followed()
        )
    except NotFoundError:
        return None


# Check the seals of cassettes.


def check_seal(path: str, trust: Trust) -> SealVerdict:
    """Check that every byte of the cassette at ``path`` is what a trusted signer sealed."""
    try:
        digests = digests_of(path)
    except CassetteError as error:
        return unreadable(path, error)
    try:
        real = real_path(path)
        seal = read_seal(real)
    except CassetteError as error:
        wrong = TamperedError(error.message, where=visible(f"{path}.seal.json"))
        return SealVerdict(path=path, status=SealStatus.TAMPERED, error=wrong)
    if seal is None:
        return unsigned(path)
    return judged_seal(seal, path=path, absolute=real, digests=digests, trust=trust)


def judged_seal(seal: bytes, **of: Any) -> SealVerdict:
    """The verdict on a cassette with either kind of seal; the arguments are those of ``judged``.

    Raises:
        UsageError: the seal belongs to an identity, and the extra ``sigstore`` is missing.
    """
    if is_bundle(seal):
        return judged(seal, **of, opened_by=open_bundle)
    return judged(seal, **of)


def check_seals(paths: Iterable[str], trust: Trust) -> Iterator[SealVerdict]:
    """The verdict on each, in order."""
    return (check_seal(path, trust) for path in paths)


class Sealed(msgspec.Struct, frozen=True, kw_only=True):
    """The result for one cassette: ``seal`` is the file, ``error`` the reason without one.

    ``kept``: a valid seal of the same key was already there.
    """

    path: str
    seal: str
    kept: bool = False
    error: CassetteError | None = None

    @property
    def ok(self) -> bool:
        """Whether it is sealed now."""
        return self.error is None


class Sealer(Protocol):
    """Makes seals. ``own`` trusts only this signer."""

    own: Trust

    def sealed(self, payload: bytes) -> bytes:
        """The text of a seal around a statement."""


class KeySealer:
    """Seals with a private key."""

    def __init__(self, signer: CryptoSigner, public: PublicKey) -> None:
        self._signer = signer
        self.own = Trust((TrustedKey("own", public),))

    def sealed(self, payload: bytes) -> bytes:
        """See ``Sealer``."""
        return signed(payload, self._signer)


def seal_cassette(
    path: str,
    sealer: Sealer,
    *,
    overwrite: bool = False,
    allow_unscrubbed: bool = False,
    clock: Clock | None = None,
) -> Sealed:
    """Seal the cassette at ``path``; errors are in the result.

    The files must match the hashes in the manifest. Use ``verify`` to check that their lines keep
    the format. The seal is not flushed to the disk, because it can be made again.

    Args:
        path: the directory.
        sealer: makes the seal.
        overwrite: replace another signer's seal, or one that is no longer valid.
        allow_unscrubbed: also seal a recording that was never scrubbed.
        clock: gives the time of the seal.
    """
    real = real_path(path)
    target = f"{real}{SUFFIX}"
    try:
        files = hashed_files(path)
        manifest = check_pinned(
            files.files,
            manifest=files.documents.get(MANIFEST, b""),
            scrub_report=files.documents.get(SCRUB_REPORT, b""),
            place=visible(path),
            allow_unscrubbed=allow_unscrubbed,
        )
        if not overwrite and _is_sealed(path, real, files, sealer.own):
            return Sealed(path=path, seal=target, kept=True)
        statement = SealStatement(
            cassette=_place(real),
            id=manifest.id,
            digests=files.digests,
            sealed_at=(clock or MonotonicClock()).wall().strftime("%Y-%m-%dT%H:%M:%SZ"),
            sealed_by=f"ptycassette {__version__}",
        )
        data = sealer.sealed(encode_statement(statement))
        write_whole(target, [data], overwrite=overwrite, durable=False)
    except CassetteError as error:
        return Sealed(path=path, seal=target, error=error)
    return Sealed(path=path, seal=target)


def _place(real: str) -> str:
    """The path of a cassette from the top of its work tree, for the seal.

    Without git it is the path from the current folder; outside that folder it is only the name.
    """
    above = Path(real).parents
    top = next((one for one in above if (one / ".git").exists()), Path(real_path(".")))
    return (Path(real).relative_to(top) if top in above else Path(Path(real).name)).as_posix()


def _is_sealed(path: str, real: str, files: HashedFiles, own: Trust) -> bool:
    """Whether there is a valid seal of our own.

    Raises:
        ExistsError: there is another seal, which may not be replaced without ``overwrite``.
    """
    seal = read_seal(real)
    if seal is None:
        return False
    verdict = judged_seal(seal, path=path, absolute=real, digests=files.digests, trust=own)
    if verdict.ok:
        return True
    holds = verdict.status is SealStatus.UNKNOWN_KEY
    raise ExistsError(
        f"has a seal already, {'of somebody else' if holds else 'which does not hold any more'}",
        where=visible(path),
        hint="replace it with --overwrite, if you know why it differs",
    )


def seal_cassettes(
    paths: Iterable[str],
    sealer: Sealer,
    *,
    overwrite: bool = False,
    allow_unscrubbed: bool = False,
) -> Iterator[Sealed]:
    """Seal each, in order."""

    def one(path: str) -> Sealed:
        return seal_cassette(path, sealer, overwrite=overwrite, allow_unscrubbed=allow_unscrubbed)

    return map(one, paths)


# Seals of identities by ``sigstore``: verified without a network, made with one.


_MAX_CONFIG_BYTES = 1 << 20


def open_bundle(seal: bytes, trust: Trust, where: str) -> OpenedSeal:
    """The statement in a bundle, and the trusted identities that signed it.

    Raises:
        TamperedError: it is damaged, or its signature does not fit its certificate.
        UsageError: the extra is missing, or a file of trusted roots is invalid.
    """
    parts = decode_bundle(seal, where=where)
    with needing_extra("sigstore"):
        from sigstore.errors import VerificationError  # noqa: PLC0415 - takes a second
        from sigstore.models import Bundle  # noqa: PLC0415
        from sigstore.verify.policy import Identity  # noqa: PLC0415
    with _damages(where):
        bundle = Bundle.from_json(seal)
        certificate = bundle.signing_certificate
        key = certificate.public_key()
    _check_signature(key, parts.payload, parts.signature, where)
    signed_by, reason = [], ""
    for one in trust.identities:
        policy = Identity(identity=one.identity, issuer=one.issuer)
        verifier = _verifier(one.trusted_root)
        try:
            with _damages(where):
                kind, payload = verifier.verify_dsse(bundle, policy)
        except VerificationError as refused:
            reason = visible(str(refused), limit=300)
            continue
        if (kind, payload) == (PAYLOAD_TYPE, parts.payload):
            signed_by.append(one)
    return OpenedSeal(
        payload=parts.payload,
        keyids=tuple(_names_in(certificate)),
        signed_by=tuple(signed_by),
        reason=reason,
    )


@contextmanager
def _damages(where: str) -> Iterator[None]:
    """Turn what the libraries raise for an unreadable bundle or certificate into ``TamperedError``.

    They declare few of their errors (``UnsupportedAlgorithm``, ``InvalidVersion``, ... are not
    subclasses of ``ValueError``), and new versions raise others.
    """
    from sigstore.errors import VerificationError  # noqa: PLC0415 - takes a second

    try:
        yield
    except VerificationError:
        raise
    except Exception as wrong:
        reason = visible(str(wrong), limit=200)
        raise TamperedError(f"the seal is damaged: {reason}", where=where) from wrong


def _check_signature(key: Any, payload: bytes, signature: bytes, where: str) -> None:
    """Verify a signature with the certificate beside it, trusted or not."""
    pae = Envelope(payload, PAYLOAD_TYPE, {}).pae()
    wrong = TamperedError("the signature does not fit the statement", where=where)
    if not isinstance(key, ec.EllipticCurvePublicKey):
        raise wrong
    try:
        key.verify(signature, pae, ec.ECDSA(hashes.SHA256()))
    except InvalidSignature as exc:
        raise wrong from exc


def _names_in(certificate: Any) -> Iterator[str]:
    """The names in a certificate; they prove nothing by themselves."""
    from cryptography import x509  # noqa: PLC0415 - only bundles have certificates

    try:
        kind = x509.SubjectAlternativeName
        names = certificate.extensions.get_extension_for_class(kind).value
    except Exception:  # noqa: BLE001 - what cannot be read names nobody (see ``_damages``)
        return
    for name in names:
        if isinstance(name, x509.RFC822Name | x509.UniformResourceIdentifier):
            yield name.value


@cache
def _verifier(trusted_root: str | None) -> Any:
    from sigstore.errors import Error  # noqa: PLC0415
    from sigstore.models import ClientTrustConfig, TrustedRoot  # noqa: PLC0415
    from sigstore.verify import Verifier  # noqa: PLC0415

    if trusted_root is None:
        return Verifier(trusted_root=ClientTrustConfig.production(offline=True).trusted_root)
    text = read_plain(trusted_root, max_bytes=_MAX_CONFIG_BYTES)
    try:
        if b"clienttrustconfig" in text:
            return Verifier(trusted_root=ClientTrustConfig.from_json(text.decode()).trusted_root)
        return Verifier(trusted_root=TrustedRoot.from_file(trusted_root))
    except (OSError, ValueError, Error) as wrong:
        raise UsageError(
            f"not a file of trusted roots: {visible(str(wrong), limit=200)}",
            where=visible(trusted_root),
        ) from wrong


class IdentitySealer:
    """Seals with the identity of the running CI job, or of a token.

    Args:
        config: a file for a private instance (Sigstore's client trust config); None uses the public
            instance and fetches its keys.

    Raises:
        UsageError: the extra is missing, there is no identity, or the file is invalid.
    """

    def __init__(self, config: Path | None = None) -> None:
        with needing_extra("sigstore"):
            from sigstore.models import ClientTrustConfig  # noqa: PLC0415
            from sigstore.oidc import (  # noqa: PLC0415
                IdentityError,
                IdentityToken,
                detect_credential,
            )
            from sigstore.sign import Signer, SigningContext  # noqa: PLC0415
        try:
            raw = os.environ.get("SIGSTORE_IDENTITY_TOKEN") or detect_credential()
            token = None if raw is None else IdentityToken(raw)
        except IdentityError as wrong:
            raise UsageError(f"no identity: {visible(str(wrong), limit=300)}") from wrong
        if token is None:
            raise UsageError(
                "no identity: this is not a CI job that has one, and SIGSTORE_IDENTITY_TOKEN is not"
                " set",
                hint="GitHub gives one to jobs with the permission id-token: write",
            )
        try:
            if config is None:
                trust = ClientTrustConfig.production()
            else:
                text = read_plain(config, max_bytes=_MAX_CONFIG_BYTES)
                trust = ClientTrustConfig.from_json(text.decode())
            self._signer = Signer(token, SigningContext.from_trust_config(trust))
        except CassetteError:
            raise
        except Exception as wrong:  # its errors have no class in common
            raise _not_signed(wrong) from wrong
        own = TrustedIdentity(
            name="own",
            identity=token.identity,
            issuer=token.federated_issuer,
            trusted_root=None if config is None else str(config),
        )
        self.own = Trust(identities=(own,))

    def sealed(self, payload: bytes) -> bytes:
        """A bundle around a statement; the transparency log then has it, too.

        Raises:
            RefusedError: Sigstore refuses, or cannot be reached.
        """
        from sigstore.dsse import Statement  # noqa: PLC0415

        try:
            bundle = self._signer.sign_dsse(Statement(payload))
        except Exception as wrong:  # its errors have no class in common
            raise _not_signed(wrong) from wrong
        return f"{bundle.to_json()}\n".encode()


def _not_signed(wrong: Exception) -> RefusedError:
    return RefusedError(
        f"Sigstore did not sign: {visible(str(wrong), limit=300)}",
        hint="check that the instance can be reached and accepts the token",
    )
