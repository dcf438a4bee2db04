"""The four provider APIs as pure functions: requests read strictly or not, answers as bytes."""

from __future__ import annotations

from ptycassette._faces import face

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .neutral import Answer as Answer
    from .neutral import Api as Api
    from .neutral import Ask as Ask
    from .neutral import Call as Call
    from .neutral import Message as Message
    from .neutral import Piece as Piece
    from .neutral import Stamp as Stamp
    from .neutral import Stop as Stop
    from .neutral import Text as Text
    from .neutral import Thought as Thought
    from .neutral import ToolResult as ToolResult
    from .neutral import Usage as Usage
    from .neutral import WireError as WireError
    from .neutral import estimate_tokens as estimate_tokens
else:
    __getattr__, __all__ = face(
        __name__,
        {
            "neutral": (
                "Answer Api Ask Call Message Piece Stamp Stop Text Thought ToolResult Usage "
                "WireError estimate_tokens"
            ),
        },
    )
