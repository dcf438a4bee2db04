"""Seal cassettes: hash every file, compare with what the manifest pins, sign."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Protocol

import msgspec
from securesystemslib.signer import CryptoSigner

from ptycassette.cassette.layout import MANIFEST, SCRUB_REPORT
from ptycassette.cassette.pinned import check_pinned
from ptycassette.errors import CassetteError, ExistsError
from ptycassette.model.ports import Clock
from ptycassette.model.visible_text import visible
from ptycassette.seal.envelope import signed
from ptycassette.seal.io._files import (
    SUFFIX,
    HashedFiles,
    hashed_files,
    read_seal,
    real_path,
)
from ptycassette.seal.io.checking import judged_seal
from ptycassette.seal.judging import SealStatus
from ptycassette.seal.keys import PublicKey
from ptycassette.seal.statement import SealStatement, encode_statement
from ptycassette.seal.trust import Trust, TrustedKey
from ptycassette.system.clock import MonotonicClock
from ptycassette.system.files.whole_file import write_whole
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


class Sealer(Protocol):
    """Who seals. ``own``: a trust in nobody else."""

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
    """Seal the cassette at ``path``; what is wrong is in the result.

    The files must be those that the manifest pins. Whether their lines keep the format is what
    ``verify`` says. The seal is not flushed to the disk: it can be made again.

    Args:
        path: the directory.
        sealer: who seals it.
        overwrite: replace a seal of somebody else, or one that holds no more.
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
    """The path of a cassette from the top of its work tree, as a seal names it.

    Without git it is the path from the current folder, or only the name of what is elsewhere.
    """
    above = Path(real).parents
    top = next((one for one in above if (one / ".git").exists()), Path(real_path(".")))
    return (Path(real).relative_to(top) if top in above else Path(Path(real).name)).as_posix()


def _is_sealed(path: str, real: str, files: HashedFiles, own: Trust) -> bool:
    """Whether an own seal is there, and holds.

    Raises:
        ExistsError: a seal is there that is not to be replaced unasked.
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
