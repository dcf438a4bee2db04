"""What a seal is worth: unsigned, tampered with, signed by an unknown key, or trusted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum

import msgspec

from ptycassette.errors import CassetteError, TamperedError, UnsealedError, UntrustedError
from ptycassette.model.visible_text import visible
from ptycassette.seal.envelope import decode_envelope, verified_keyids
from ptycassette.seal.statement import SealStatement, decode_statement
from ptycassette.seal.trust import Trust, TrustedIdentity, TrustedKey, may_seal

_SHOWN = 3


class SealStatus(StrEnum):
    """What a check of a seal found."""

    TRUSTED = "trusted"
    UNKNOWN_KEY = "unknown-key"
    UNSIGNED = "unsigned"
    TAMPERED = "tampered"
    UNREADABLE = "unreadable"
    """The cassette itself cannot be read, or is none."""


class SealVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one cassette.

    Attributes:
        path: as given.
        status: what was found.
        error: why it is not trusted; None when it is.
        signers: the names of the trusted keys that signed it.
        keyids: of all signatures, as the seal says; those that are not trusted prove nothing.
        statement: what is sealed; None when there is no seal or it is damaged.
    """

    path: str
    status: SealStatus
    error: CassetteError | None = None
    signers: tuple[str, ...] = ()
    keyids: tuple[str, ...] = ()
    statement: SealStatement | None = None

    @property
    def ok(self) -> bool:
        """Whether it is what somebody trusted has sealed."""
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
    """The verdict on something that is not there, or no cassette."""
    return SealVerdict(path=path, status=SealStatus.UNREADABLE, error=error)


class OpenedSeal(msgspec.Struct, frozen=True, kw_only=True):
    """A seal whose signatures were verified.

    Attributes:
        payload: the statement.
        keyids: who signed, as the seal says.
        signed_by: those who are trusted and did sign.
        reason: why a signature does not count; empty where it is just nobody's.
    """

    payload: bytes
    keyids: tuple[str, ...]
    signed_by: tuple[TrustedKey | TrustedIdentity, ...]
    reason: str = ""


def open_envelope(seal: bytes, trust: Trust, where: str) -> OpenedSeal:
    """The statement in an envelope, and which trusted keys signed it.

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

    The order: the envelope, the signatures of keys that are trusted, the statement, the files, and
    last whether any signature counts. So whatever was changed is called tampered with, whoever
    signed it.

    Args:
        seal: the bytes of the seal.
        path: of the cassette, as given.
        absolute: its real path.
        digests: the SHA-256 of every file that is in it now.
        trust: whose seals count.
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
    """Compare what is there with what was sealed.

    Raises:
        TamperedError: a file was changed, added or removed, or it is another cassette's seal.
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
