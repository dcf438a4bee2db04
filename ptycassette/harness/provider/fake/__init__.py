"""The scripted provider: scripts, choice of replies, planned answers. No sockets, no clocks."""

from __future__ import annotations

from ptycassette._faces import face

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .body import MAX_BODY_BYTES as MAX_BODY_BYTES
    from .body import too_large as too_large
    from .body import unpacked as unpacked
    from .engine import FakeProvider as FakeProvider
    from .exchange import AnswerPart as AnswerPart
    from .exchange import HttpRequest as HttpRequest
    from .exchange import PlannedAnswer as PlannedAnswer
    from .exchange import withheld_values as withheld_values
    from .script import Part as Part
    from .script import Reply as Reply
    from .script import Script as Script
    from .script import TokenCounts as TokenCounts
else:
    __getattr__, __all__ = face(
        __name__,
        {
            "body": "MAX_BODY_BYTES too_large unpacked",
            "engine": "FakeProvider",
            "exchange": "AnswerPart HttpRequest PlannedAnswer withheld_values",
            "script": "Part Reply Script TokenCounts",
        },
    )
