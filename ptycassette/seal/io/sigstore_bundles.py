"""Seals of identities by ``sigstore``: verified without a network, made with one.

Needs the extra ``sigstore``. A seal is verified with a file of trusted roots: the one that the
package carries, of the public instance, or one that the trust file names.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from securesystemslib.dsse import Envelope

from ptycassette.errors import CassetteError, RefusedError, TamperedError, UsageError
from ptycassette.extras import needing_extra
from ptycassette.model.visible_text import visible
from ptycassette.seal.envelope import PAYLOAD_TYPE
from ptycassette.seal.identities import decode_bundle
from ptycassette.seal.judging import OpenedSeal
from ptycassette.seal.trust import Trust, TrustedIdentity
from ptycassette.system.files.plain_file import read_plain

_MAX_CONFIG_BYTES = 1 << 20


def open_bundle(seal: bytes, trust: Trust, where: str) -> OpenedSeal:
    """The statement in a bundle, and which trusted identities signed it.

    Raises:
        TamperedError: it is damaged, or its signature does not fit its certificate.
        UsageError: the extra is missing, or a file of trusted roots is none.
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
    """What the libraries raise for a bundle or certificate that they cannot read is damage of ours.

    They declare few of their errors (``UnsupportedAlgorithm``, ``InvalidVersion``, ... are no
    ``ValueError``), and new versions raise others.
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
    """Hold a signature against the certificate beside it, whoever that is of."""
    pae = Envelope(payload, PAYLOAD_TYPE, {}).pae()
    wrong = TamperedError("the signature does not fit the statement", where=where)
    if not isinstance(key, ec.EllipticCurvePublicKey):
        raise wrong
    try:
        key.verify(signature, pae, ec.ECDSA(hashes.SHA256()))
    except InvalidSignature as exc:
        raise wrong from exc


def _names_in(certificate: Any) -> Iterator[str]:
    """Whom a certificate names; proves nothing by itself."""
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
            f"no file of trusted roots: {visible(str(wrong), limit=200)}",
            where=visible(trusted_root),
        ) from wrong


class IdentitySealer:
    """Seals with the identity of the CI job that runs, or of a token.

    Args:
        config: a file of an own instance (Sigstore's client trust config); the public instance,
            whose keys are fetched, when None.

    Raises:
        UsageError: the extra is missing, there is no identity, or the file is none.
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
                "no identity: this is no CI job that has one, and SIGSTORE_IDENTITY_TOKEN is not"
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
        """A bundle around a statement, which is in the transparency log then.

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
