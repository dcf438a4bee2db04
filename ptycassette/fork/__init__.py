"""A recording run again up to a place, with one thing changed there: a new recording."""

from __future__ import annotations

from ptycassette._faces import face

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .changes import CHANGES as CHANGES
    from .changes import Change as Change
    from .changes import Tail as Tail
    from .lineage import Descent as Descent
    from .lineage import lineage_json as lineage_json
    from .lineage import lineage_lines as lineage_lines
    from .places import Cut as Cut
    from .places import ForkPlace as ForkPlace
    from .record import FORK as FORK
    from .record import ForkRecord as ForkRecord
    from .record import ParentOf as ParentOf
    from .record import PrefixProof as PrefixProof
    from .record import fork_of as fork_of
    from .report import ForkReport as ForkReport
    from .report import fork_json as fork_json
    from .report import fork_lines as fork_lines
else:
    __getattr__, __all__ = face(
        __name__,
        {
            "changes": "CHANGES Change Tail",
            "lineage": "Descent lineage_json lineage_lines",
            "places": "Cut ForkPlace",
            "record": "FORK ForkRecord ParentOf PrefixProof fork_of",
            "report": "ForkReport fork_json fork_lines",
        },
    )
