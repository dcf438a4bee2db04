"""What is known of agent CLIs: one TOML file each; how it is read and checked."""

from __future__ import annotations

from ptycassette._faces import loads_on_first_use

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ptycassette.profiles.capability import capability_of
    from ptycassette.profiles.checked import StrictTable, check_regex, read_checked
    from ptycassette.profiles.predicate import ScreenPredicate
    from ptycassette.profiles.profile import (
        HomeFile,
        OfflineMode,
        Profile,
        Stroke,
        TapePointing,
        ToolCall,
    )
    from ptycassette.profiles.session_log import LogFacts, LogSource, read_rows, to_number
else:
    __getattr__ = loads_on_first_use(
        __name__,
        {
            "capability": ("capability_of",),
            "checked": ("StrictTable", "check_regex", "read_checked"),
            "predicate": ("ScreenPredicate",),
            "profile": ("HomeFile", "OfflineMode", "Profile", "Stroke", "TapePointing", "ToolCall"),
            "session_log": ("LogFacts", "LogSource", "read_rows", "to_number"),
        },
    )

__all__ = [
    "HomeFile",
    "LogFacts",
    "LogSource",
    "OfflineMode",
    "Profile",
    "ScreenPredicate",
    "StrictTable",
    "Stroke",
    "TapePointing",
    "ToolCall",
    "capability_of",
    "check_regex",
    "read_checked",
    "read_rows",
    "to_number",
]
