"""Finds typed secrets in a session: prompts, hidden fields, edited lines."""

from __future__ import annotations

from ptycassette._faces import face

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._at_cursor import AtCursor as AtCursor
    from ._at_cursor import at_cursor as at_cursor
    from ._prompts import asks_for_secret as asks_for_secret
    from ._readings import SHORTEST_TYPED as SHORTEST_TYPED
    from ._readings import readings as readings
    from ._readings import text_of_line as text_of_line
    from ._secrets import LookAtScreen as LookAtScreen
    from ._secrets import TypedSecret as TypedSecret
    from ._secrets import TypedSecrets as TypedSecrets
    from ._watch import TypedWatch as TypedWatch
else:
    __getattr__, __all__ = face(
        __name__,
        {
            "_at_cursor": "AtCursor at_cursor",
            "_prompts": "asks_for_secret",
            "_readings": "SHORTEST_TYPED readings text_of_line",
            "_secrets": "LookAtScreen TypedSecret TypedSecrets",
            "_watch": "TypedWatch",
        },
    )
