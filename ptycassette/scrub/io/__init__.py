"""Scrubbing with what this machine knows."""

from __future__ import annotations

from ptycassette._faces import face

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .auditors import audit as audit
    from .conceal import concealed as concealed
    from .conceal import concealed_head as concealed_head
    from .conceal import concealed_screen as concealed_screen
    from .conceal import concealed_words as concealed_words
    from .conceal import process_scrubber as process_scrubber
    from .process_secrets import remember as remember
    from .setup import known_lines as known_lines
    from .setup import load_config as load_config
    from .setup import session_scrubber as session_scrubber
else:
    __getattr__, __all__ = face(
        __name__,
        {
            "auditors": "audit",
            "conceal": (
                "concealed concealed_head concealed_screen concealed_words process_scrubber"
            ),
            "process_secrets": "remember",
            "setup": "known_lines load_config session_scrubber",
        },
    )
