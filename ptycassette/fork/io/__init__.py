"""Forking: the run, its provider, the child."""

from __future__ import annotations

from ptycassette._faces import face

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .forking import ForkOptions as ForkOptions
    from .forking import fork as fork
    from .listing import place_lines as place_lines
    from .reading_lineage import read_lineage as read_lineage
else:
    __getattr__, __all__ = face(
        __name__,
        {
            "forking": "ForkOptions fork",
            "listing": "place_lines",
            "reading_lineage": "read_lineage",
        },
    )
