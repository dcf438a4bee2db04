"""Poses as the recorded program, in a terminal or over pipes, and checks what the driver does.

Nothing is imported here: the start-up of the stand-in counts in milliseconds.
"""

from __future__ import annotations

from ptycassette._faces import face

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .decisions import Halt as Halt
    from .decisions import Listen as Listen
    from .decisions import Play as Play
    from .decisions import RunEnded as RunEnded
    from .decisions import StandinOptions as StandinOptions
    from .decisions import Unplayed as Unplayed
    from .engine import StandinEngine as StandinEngine
    from .faulty import faulty_engine as faulty_engine
    from .reported import ReportedDivergence as ReportedDivergence
    from .reported import reported_divergences as reported_divergences
else:
    __getattr__, __all__ = face(
        __name__,
        {
            "decisions": "Halt Listen Play RunEnded StandinOptions Unplayed",
            "engine": "StandinEngine",
            "faulty": "faulty_engine",
            "reported": "ReportedDivergence reported_divergences",
        },
    )
