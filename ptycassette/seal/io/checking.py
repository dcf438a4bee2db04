"""Check the seals of cassettes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ptycassette.errors import CassetteError, TamperedError
from ptycassette.model.visible_text import visible
from ptycassette.seal.identities import is_bundle
from ptycassette.seal.io._files import digests_of, read_seal, real_path
from ptycassette.seal.judging import SealStatus, SealVerdict, judged, unreadable, unsigned
from ptycassette.seal.trust import Trust


def check_seal(path: str, trust: Trust) -> SealVerdict:
    """Whether the cassette at ``path`` is what somebody trusted has sealed: every byte of it."""
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
    """The verdict on a cassette with a seal of either kind; the arguments are those of ``judged``.

    Raises:
        UsageError: it is an identity's, and the extra ``sigstore`` is missing.
    """
    if is_bundle(seal):
        # Imported here, because only seals of identities need it.
        from ptycassette.seal.io.sigstore_bundles import open_bundle  # noqa: PLC0415

        return judged(seal, **of, opened_by=open_bundle)
    return judged(seal, **of)


def check_seals(paths: Iterable[str], trust: Trust) -> Iterator[SealVerdict]:
    """The verdict on each, in order."""
    return (check_seal(path, trust) for path in paths)
