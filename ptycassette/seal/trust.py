"""Whose seals count: a TOML file with names, public keys, and what each key may seal.

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

from collections.abc import Callable
from typing import Any

import msgspec

from ptycassette.errors import UsageError
from ptycassette.model.resolved_types import resolved
from ptycassette.model.toml_text import suggest
from ptycassette.model.visible_text import visible
from ptycassette.seal.keys import PublicKey, public_key

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
    """A key, what people call it, and the directories in which its seals count (None: all)."""

    name: str
    key: PublicKey
    directories: tuple[str, ...] | None = None


class TrustedIdentity(msgspec.Struct, frozen=True, kw_only=True):
    """An identity of Sigstore, as ``TrustedKey`` has a key.

    ``identity`` is what its certificates name: a URI or a mail address; ``issuer`` is who proves
    it. ``trusted_root`` is a file, of the public instance when None.
    """

    name: str
    identity: str
    issuer: str
    directories: tuple[str, ...] | None = None
    trusted_root: str | None = None


def may_seal(signer: TrustedKey | TrustedIdentity, cassette: str) -> bool:
    """Whether its seals count for a cassette with this absolute path."""
    return signer.directories is None or any(
        cassette.startswith(f"{directory.rstrip('/')}/") for directory in signer.directories
    )


class Trust(msgspec.Struct, frozen=True):
    """All whose seals count. ``where`` is the file; empty when there is none."""

    keys: tuple[TrustedKey, ...] = ()
    where: str = ""
    identities: tuple[TrustedIdentity, ...] = ()


def trust_of(table: dict[str, Any], *, where: str, directory_of: Callable[[str], str]) -> Trust:
    """What a file says that was read as TOML.

    Args:
        table: the file.
        where: what errors call it.
        directory_of: makes an absolute path of one that is relative to the file.

    Raises:
        UsageError: a key that is not known, or a public key that is none.
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
