"""Agents that are functions: the model and tool calls of this process, recorded and served."""

from __future__ import annotations

from ptycassette._faces import face

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .active import activated as activated
    from .calls import ToolError as ToolError
    from .calls import recorded_tools as recorded_tools
    from .commands import blame_command as blame_command
    from .commands import call_places as call_places
    from .commands import fork_command as fork_command
    from .drifting import drift as drift
    from .drifting import semantic_drift as semantic_drift
    from .forking import TapeFork as TapeFork
    from .shown import with_turns as with_turns
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
            "commands": "blame_command fork_command call_places",
            "forking": "TapeFork",
            "drifting": "drift semantic_drift",
            "shown": "with_turns",
            "tools": "tape_tool tool_call",
            "using_tape": "OpenTape TapeResult UseTape use_tape",
        },
    )
