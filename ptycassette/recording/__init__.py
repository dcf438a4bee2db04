"""The journal codec, the finaliser, and frame and record policies."""

from __future__ import annotations

from ptycassette._faces import loads_on_first_use

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ptycassette.recording.input_script import ScriptStep, parse_script, parse_size
    from ptycassette.recording.journal_events import event_of
else:
    __getattr__ = loads_on_first_use(
        __name__,
        {
            "input_script": ("ScriptStep", "parse_script", "parse_size"),
            "journal_events": ("event_of",),
        },
    )

__all__ = [
    "ScriptStep",
    "event_of",
    "parse_script",
    "parse_size",
]
