"""What is known of agent CLIs: one TOML file each; how it is read and checked."""

from __future__ import annotations

from ptycassette._faces import loads_on_first_use

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ptycassette.profiles.capability import capability_of
    from ptycassette.profiles.checked import Checked, check_regex, read_checked
    from ptycassette.profiles.predicate import Predicate
    from ptycassette.profiles.profile import HomeFile, Mode, Profile, Stroke, ToolCall
    from ptycassette.profiles.session_log import LogFacts, LogSource, read_rows, to_number
else:
    __getattr__ = loads_on_first_use(
        __name__,
        {
            "capability": ("capability_of",),
            "checked": ("Checked", "check_regex", "read_checked"),
            "predicate": ("Predicate",),
            "profile": ("HomeFile", "Mode", "Profile", "Stroke", "ToolCall"),
            "session_log": ("LogFacts", "LogSource", "read_rows", "to_number"),
        },
    )

__all__ = [
    "Checked",
    "HomeFile",
    "LogFacts",
    "LogSource",
    "Mode",
    "Predicate",
    "Profile",
    "Stroke",
    "ToolCall",
    "capability_of",
    "check_regex",
    "read_checked",
    "read_rows",
    "to_number",
]
