"""Seal cassettes: hash every file, compare with what the manifest pins, sign."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec
from securesystemslib.signer import CryptoSigner

from ptycassette.cassette import MANIFEST, SCRUB_REPORT, check_pinned
from ptycassette.errors import CassetteError, ExistsError
from ptycassette.model import Clock, visible
from ptycassette.seal.envelope import signed
from ptycassette.seal.io._files import (
    SUFFIX,
    HashedFiles,
    hashed_files,
    read_seal,
    real_path,
)
from ptycassette.seal.judging import SealStatus, judged
from ptycassette.seal.keys import PublicKey
from ptycassette.seal.statement import SealStatement, encode_statement
from ptycassette.seal.trust import Trust, TrustedKey
from ptycassette.system import MonotonicClock
from ptycassette.system.files import write_whole
from ptycassette.version import __version__


class Sealed(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one cassette: ``seal`` is the file, ``error`` why there is none.

    ``kept``: a seal of the same key was there already, and holds.
    """

    path: str
    seal: str
    kept: bool = False
    error: CassetteError | None = None

    @property
    def ok(self) -> bool:
        """Whether it is sealed now."""
        return self.error is None


def seal_cassette(
    path: str,
    signer: CryptoSigner,
    public: PublicKey,
    *,
    overwrite: bool = False,
    allow_unscrubbed: bool = False,
    clock: Clock | None = None,
) -> Sealed:
    """Seal the cassette at ``path``; what is wrong is in the result.

    The files must be those that the manifest pins. Whether their lines keep the format is what
    ``verify`` says. The seal is not flushed to the disk: it can be made again.

    Args:
        path: the directory.
        signer: the private key.
        public: its public key.
        overwrite: replace a seal of another key, or one that holds no more.
        allow_unscrubbed: seal what was never scrubbed, too.
        clock: says when.
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
        if not overwrite and _is_sealed(path, real, files, public):
            return Sealed(path=path, seal=target, kept=True)
        statement = SealStatement(
            cassette=real.rpartition("/")[2],
            id=manifest.id,
            digests=files.digests,
            sealed_at=(clock or MonotonicClock()).wall().strftime("%Y-%m-%dT%H:%M:%SZ"),
            sealed_by=f"ptycassette {__version__}",
        )
        data = signed(encode_statement(statement), signer)
        write_whole(target, [data], overwrite=overwrite, durable=False)
    except CassetteError as error:
        return Sealed(path=path, seal=target, error=error)
    return Sealed(path=path, seal=target)


def _is_sealed(path: str, real: str, files: HashedFiles, public: PublicKey) -> bool:
    """Whether a seal of this key is there, and holds.

    Raises:
        ExistsError: a seal is there that is not to be replaced unasked.
    """
    seal = read_seal(real)
    if seal is None:
        return False
    own = Trust((TrustedKey("own", public),))
    verdict = judged(seal, path=path, absolute=real, digests=files.digests, trust=own)
    if verdict.ok:
        return True
    holds = verdict.status is SealStatus.UNKNOWN_KEY
    raise ExistsError(
        f"has a seal already, {'of another key' if holds else 'which does not hold any more'}",
        where=visible(path),
        hint="replace it with --overwrite, if you know why it differs",
    )


def seal_cassettes(
    paths: Iterable[str],
    signer: CryptoSigner,
    public: PublicKey,
    *,
    overwrite: bool = False,
    allow_unscrubbed: bool = False,
) -> Iterator[Sealed]:
    """Seal each, in order."""

    def one(path: str) -> Sealed:
        return seal_cassette(
            path, signer, public, overwrite=overwrite, allow_unscrubbed=allow_unscrubbed
        )

    return map(one, paths)
