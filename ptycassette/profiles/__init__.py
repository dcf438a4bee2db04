"""Profiles of agent CLIs, one TOML file each, and how they are read and checked."""

from __future__ import annotations

from ptycassette._faces import face

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .capability import capability_of as capability_of
    from .checked import StrictTable as StrictTable
    from .checked import check_regex as check_regex
    from .checked import read_checked as read_checked
    from .predicate import ScreenPredicate as ScreenPredicate
    from .profile import ExitMessage as ExitMessage
    from .profile import HomeFile as HomeFile
    from .profile import OfflineMode as OfflineMode
    from .profile import Profile as Profile
    from .profile import Stroke as Stroke
    from .profile import Submit as Submit
    from .profile import TapePointing as TapePointing
    from .profile import ToolCall as ToolCall
    from .session_log import LogFacts as LogFacts
    from .session_log import LogSource as LogSource
    from .session_log import read_rows as read_rows
    from .session_log import to_number as to_number
else:
    __getattr__, __all__ = face(
        __name__,
        {
            "capability": "capability_of",
            "checked": "StrictTable check_regex read_checked",
            "predicate": "ScreenPredicate",
            "profile": (
                "ExitMessage HomeFile OfflineMode Profile Stroke Submit TapePointing ToolCall"
            ),
            "session_log": "LogFacts LogSource read_rows to_number",
        },
    )
