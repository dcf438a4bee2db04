"""Agents that are functions: the model and tool calls of this process, recorded and served."""

from __future__ import annotations

from ptycassette._faces import face

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .active import activated as activated
    from .calls import ToolError as ToolError
    from .calls import recorded_tools as recorded_tools
    from .tools import tape_tool as tape_tool
    from .tools import tool_call as tool_call
    from .using_tape import OpenTape as OpenTape
    from .using_tape import TapeResult as TapeResult
    from .using_tape import UseTape as UseTape
    from .using_tape import use_tape as use_tape
else:
    __getattr__, __all__ = face(
        __name__,
        {
            "active": "activated",
            "calls": "ToolError recorded_tools",
            "tools": "tape_tool tool_call",
            "using_tape": "OpenTape TapeResult UseTape use_tape",
        },
    )
