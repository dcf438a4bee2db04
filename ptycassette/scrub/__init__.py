"""Removes secrets from sessions: rules, views, known values, replacement, verification.

Its one public name loads on first use: who only asks what was declared secret needs no rules.
"""

from __future__ import annotations

from ptycassette._faces import loads_on_first_use

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ptycassette.scrub.rules import secret_name
    from ptycassette.scrub.session import SessionScrubber, default_scrubber
    from ptycassette.scrub.tally import Replacement
else:
    __getattr__ = loads_on_first_use(
        __name__,
        {
            "rules": ("secret_name",),
            "session": ("SessionScrubber", "default_scrubber"),
            "tally": ("Replacement",),
        },
    )

__all__ = [
    "Replacement",
    "SessionScrubber",
    "default_scrubber",
    "secret_name",
]
