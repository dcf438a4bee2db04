"""Removes secrets from sessions: rules, views, known values, replacement, verification.

Its one public name loads on first use: who only asks what was declared secret needs no rules.
"""

from __future__ import annotations

from ptycassette._faces import face

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._mask import mask_text as mask_text
    from ._masked_places import masked_places as masked_places
    from ._traffic import whole_json as whole_json
    from .rules import generated_parts as generated_parts
    from .rules import secret_name as secret_name
    from .session import SessionScrubber as SessionScrubber
    from .session import default_scrubber as default_scrubber
    from .tally import Replacement as Replacement
else:
    __getattr__, __all__ = face(
        __name__,
        {
            "_mask": "mask_text",
            "_masked_places": "masked_places",
            "_traffic": "whole_json",
            "rules": "generated_parts secret_name",
            "session": "SessionScrubber default_scrubber",
            "tally": "Replacement",
        },
    )
