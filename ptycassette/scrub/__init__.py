"""Removes secrets from sessions: rules, views, known values, replacement, verification.

Its one public name loads on first use: who only asks what was declared secret needs no rules.
"""

from __future__ import annotations

from ptycassette._faces import face

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .rules import secret_name as secret_name
    from .session import SessionScrubber as SessionScrubber
    from .session import default_scrubber as default_scrubber
    from .tally import Replacement as Replacement
else:
    __getattr__, __all__ = face(
        __name__,
        {
            "rules": "secret_name",
            "session": "SessionScrubber default_scrubber",
            "tally": "Replacement",
        },
    )
