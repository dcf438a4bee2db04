"""Scrubbing with what this machine knows."""

from __future__ import annotations

from ptycassette._faces import loads_on_first_use

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ptycassette.scrub.io.auditors import audit
    from ptycassette.scrub.io.conceal import (
        concealed,
        concealed_head,
        concealed_screen,
        concealed_words,
        process_scrubber,
    )
    from ptycassette.scrub.io.process_secrets import remember
    from ptycassette.scrub.io.setup import known_lines, load_config, session_scrubber
else:
    __getattr__ = loads_on_first_use(
        __name__,
        {
            "auditors": ("audit",),
            "conceal": (
                "concealed",
                "concealed_head",
                "concealed_screen",
                "concealed_words",
                "process_scrubber",
            ),
            "process_secrets": ("remember",),
            "setup": ("known_lines", "load_config", "session_scrubber"),
        },
    )

__all__ = [
    "audit",
    "concealed",
    "concealed_head",
    "concealed_screen",
    "concealed_words",
    "known_lines",
    "load_config",
    "process_scrubber",
    "remember",
    "session_scrubber",
]
