"""Forking: the run, its provider, the child."""

from __future__ import annotations

from ptycassette._faces import face

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .branch import AnswerSource as AnswerSource
    from .branch import Branch as Branch
    from .faulty_runs import run_with_fault as run_with_fault
    from .forking import fork as fork
    from .held import struck_entry as struck_entry
    from .listing import place_lines as place_lines
    from .live import LiveTail as LiveTail
    from .live import LiveTerms as LiveTerms
    from .options import ForkOptions as ForkOptions
    from .reading_lineage import ForkBetween as ForkBetween
    from .reading_lineage import fork_between as fork_between
    from .reading_lineage import fork_mark as fork_mark
    from .reading_lineage import manifest_sha256 as manifest_sha256
    from .reading_lineage import read_lineage as read_lineage
    from .tails import MadeTail as MadeTail
    from .tails import check_request as check_request
    from .tails import other_answer as other_answer
    from .tails import tail_of as tail_of
    from .tails import wire as wire
else:
    __getattr__, __all__ = face(
        __name__,
        {
            "branch": "AnswerSource Branch",
            "faulty_runs": "run_with_fault",
            "forking": "fork",
            "listing": "place_lines",
            "held": "struck_entry",
            "live": "LiveTail LiveTerms",
            "options": "ForkOptions",
            "reading_lineage": "ForkBetween fork_between fork_mark manifest_sha256 read_lineage",
            "tails": "MadeTail check_request other_answer tail_of wire",
        },
    )
