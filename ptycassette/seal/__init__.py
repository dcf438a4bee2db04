"""Seals: who says that a cassette is what it was.

A seal lies beside its cassette. It is a DSSE envelope around an in-toto Statement that names every
file of the cassette with its SHA-256 (``FORMAT.md``, section 14). Needs the extra ``[seal]``.
"""

from __future__ import annotations

from ptycassette._faces import face

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .judging import SealStatus as SealStatus
    from .judging import SealVerdict as SealVerdict
    from .keys import PublicKey as PublicKey
    from .statement import PREDICATE_TYPE as PREDICATE_TYPE
    from .statement import SealStatement as SealStatement
    from .trust import Trust as Trust
    from .trust import TrustedKey as TrustedKey
    from .trust import trust_of as trust_of
else:
    __getattr__, __all__ = face(
        __name__,
        {
            "judging": "SealStatus SealVerdict",
            "keys": "PublicKey",
            "statement": "PREDICATE_TYPE SealStatement",
            "trust": "Trust TrustedKey trust_of",
        },
    )
