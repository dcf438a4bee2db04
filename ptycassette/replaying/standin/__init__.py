"""Poses as the recorded program, in a terminal or over pipes, and checks what the driver does.

Nothing is imported here: the start-up of the stand-in counts in milliseconds.
"""

from __future__ import annotations

from ptycassette._faces import loads_on_first_use

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ptycassette.replaying.standin.decisions import (
        Listen,
        Play,
        RunEnded,
        StandinOptions,
        Unplayed,
    )
    from ptycassette.replaying.standin.engine import StandinEngine
else:
    __getattr__ = loads_on_first_use(
        __name__,
        {
            "decisions": ("RunEnded", "Listen", "Play", "StandinOptions", "Unplayed"),
            "engine": ("StandinEngine",),
        },
    )

__all__ = [
    "Listen",
    "Play",
    "RunEnded",
    "StandinEngine",
    "StandinOptions",
    "Unplayed",
]
