"""Screens as pixels: what is drawn and when, and how."""

from __future__ import annotations

from ptycassette._faces import face

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .inks import UNCHANGED as UNCHANGED
    from .painter import MARGIN as MARGIN
    from .painter import Painter as Painter
    from .painter import Patch as Patch
    from .reel import Reel as Reel
    from .reel import reel_of as reel_of
    from .reel import reel_of_screen as reel_of_screen
    from .typeface import Metrics as Metrics
    from .typeface import Typeface as Typeface
else:
    __getattr__, __all__ = face(
        __name__,
        {
            "inks": "UNCHANGED",
            "painter": "MARGIN Painter Patch",
            "reel": "Reel reel_of reel_of_screen",
            "typeface": "Metrics Typeface",
        },
    )
