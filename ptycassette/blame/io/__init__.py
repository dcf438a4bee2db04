"""Blaming: the runs, the oracle, and the validation with planted causes."""

from __future__ import annotations

from ptycassette._faces import face

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .blaming import NEUTRAL as NEUTRAL
    from .blaming import BlameOptions as BlameOptions
    from .blaming import blame as blame
    from .validating import validate as validate
else:
    __getattr__, __all__ = face(
        __name__,
        {
            "blaming": "NEUTRAL BlameOptions blame",
            "validating": "validate",
        },
    )
