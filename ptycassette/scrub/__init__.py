"""Removes secrets from sessions: rules, views, known values, replacement, verification.

Its one public name loads on first use: who only asks what was declared secret needs no rules.
"""

from __future__ import annotations

from ptycassette._faces import loads_on_first_use

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ptycassette.scrub._whole_json import whole_json
    from ptycassette.scrub.default import default_scrubber
    from ptycassette.scrub.discover import secret_name
    from ptycassette.scrub.session import SessionScrubber
    from ptycassette.scrub.tally import Replacement
else:
    __getattr__ = loads_on_first_use(
        __name__,
        {
            "_whole_json": ("whole_json",),
            "default": ("default_scrubber",),
            "discover": ("secret_name",),
            "session": ("SessionScrubber",),
            "tally": ("Replacement",),
        },
    )

__all__ = [
    "Replacement",
    "SessionScrubber",
    "default_scrubber",
    "secret_name",
    "whole_json",
]
