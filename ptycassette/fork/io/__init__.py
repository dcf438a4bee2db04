"""Forking: the run, its provider, the child."""

from __future__ import annotations

from ptycassette._faces import face

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .faulty_runs import run_with_fault as run_with_fault
    from .faulty_runs import struck_entry as struck_entry
    from .forking import fork as fork
    from .listing import place_lines as place_lines
    from .live import LiveTerms as LiveTerms
    from .options import ForkOptions as ForkOptions
    from .reading_lineage import ForkBetween as ForkBetween
    from .reading_lineage import fork_between as fork_between
    from .reading_lineage import fork_mark as fork_mark
    from .reading_lineage import read_lineage as read_lineage
else:
    __getattr__, __all__ = face(
        __name__,
        {
            "faulty_runs": "run_with_fault struck_entry",
            "forking": "fork",
            "listing": "place_lines",
            "live": "LiveTerms",
            "options": "ForkOptions",
            "reading_lineage": "ForkBetween fork_between fork_mark read_lineage",
        },
    )
