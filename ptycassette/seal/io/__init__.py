"""Seals on disk: made, checked; keys and trust files read."""

from __future__ import annotations

from ptycassette._faces import face

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .bundles import bundle_of as bundle_of
    from .bundles import bundle_of_step as bundle_of_step
    from .bundles import check_bundle as check_bundle
    from .bundles import read_embedding as read_embedding
    from .bundles import written as written
    from .checking import check_seal as check_seal
    from .checking import check_seals as check_seals
    from .key_files import read_signer as read_signer
    from .key_files import read_trust as read_trust
    from .key_files import write_new_key as write_new_key
    from .policy import require_seal as require_seal
    from .sealing import KeySealer as KeySealer
    from .sealing import Sealed as Sealed
    from .sealing import Sealer as Sealer
    from .sealing import seal_cassette as seal_cassette
    from .sealing import seal_cassettes as seal_cassettes
    from .sigstore_bundles import IdentitySealer as IdentitySealer
else:
    __getattr__, __all__ = face(
        __name__,
        {
            "bundles": "bundle_of bundle_of_step check_bundle read_embedding written",
            "checking": "check_seal check_seals",
            "key_files": "read_signer read_trust write_new_key",
            "policy": "require_seal",
            "sealing": "KeySealer Sealed Sealer seal_cassette seal_cassettes",
            "sigstore_bundles": "IdentitySealer",
        },
    )
