"""Edits of a recording: a stretch out, several joined, other times, marks, masks.

Pure: sessions in, sessions out. ``io`` opens cassettes and publishes new ones; the old ones stay as
they are.
"""

from __future__ import annotations

from ptycassette._faces import face

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .annotating import annotate as annotate
    from .joining import join as join
    from .masking import Mask as Mask
    from .masking import Region as Region
    from .masking import mask as mask
    from .masking import masked_screen as masked_screen
    from .session import BadEditError as BadEditError
    from .session import Take as Take
    from .slices import cut as cut
    from .slices import trim as trim
    from .timing import change_speed as change_speed
    from .timing import limit_pauses as limit_pauses
else:
    __getattr__, __all__ = face(
        __name__,
        {
            "annotating": "annotate",
            "joining": "join",
            "masking": "Mask Region mask masked_screen",
            "session": "BadEditError Take",
            "slices": "cut trim",
            "timing": "change_speed limit_pauses",
        },
    )
