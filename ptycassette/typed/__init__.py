"""Finds typed secrets in a session: prompts, hidden fields, edited lines."""

from __future__ import annotations

from ptycassette._faces import loads_on_first_use

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ptycassette.typed._fields import AtCursor
    from ptycassette.typed._prompts import asks_for_secret
    from ptycassette.typed._readings import SHORTEST_TYPED, readings, text_of_line
    from ptycassette.typed._secrets import LookAtScreen, TypedSecret, TypedSecrets
    from ptycassette.typed._watch import TypedWatch, at_cursor
else:
    __getattr__ = loads_on_first_use(
        __name__,
        {
            "_fields": ("AtCursor",),
            "_prompts": ("asks_for_secret",),
            "_readings": ("SHORTEST_TYPED", "readings", "text_of_line"),
            "_secrets": ("LookAtScreen", "TypedSecret", "TypedSecrets"),
            "_watch": ("TypedWatch", "at_cursor"),
        },
    )

__all__ = [
    "SHORTEST_TYPED",
    "AtCursor",
    "LookAtScreen",
    "TypedSecret",
    "TypedSecrets",
    "TypedWatch",
    "asks_for_secret",
    "at_cursor",
    "readings",
    "text_of_line",
]
