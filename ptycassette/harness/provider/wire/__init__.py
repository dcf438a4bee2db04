"""The four provider APIs as pure functions: requests parsed strictly, answers as bytes."""

from __future__ import annotations

from ptycassette._faces import loads_on_first_use

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ptycassette.harness.provider.wire.neutral import (
        Answer,
        Api,
        Ask,
        Call,
        Message,
        Piece,
        Stamp,
        Stop,
        Text,
        Thought,
        ToolUse,
        Usage,
        WireError,
        estimate_tokens,
    )
else:
    __getattr__ = loads_on_first_use(
        __name__,
        {
            "neutral": (
                "Answer",
                "Api",
                "Ask",
                "Call",
                "Piece",
                "Stamp",
                "Stop",
                "Text",
                "Thought",
                "ToolUse",
                "Message",
                "Usage",
                "WireError",
                "estimate_tokens",
            ),
        },
    )

__all__ = [
    "Answer",
    "Api",
    "Ask",
    "Call",
    "Message",
    "Piece",
    "Stamp",
    "Stop",
    "Text",
    "Thought",
    "ToolUse",
    "Usage",
    "WireError",
    "estimate_tokens",
]
