"""The journal codec, the finaliser, and frame and record policies."""

from __future__ import annotations

from ptycassette._faces import face

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._scrub_reports import REPORT_OPTION as REPORT_OPTION
    from ._scrub_reports import merged_reports as merged_reports
    from ._tape_option import TAPE_OPTION as TAPE_OPTION
    from ._tape_source import TapeSource as TapeSource
    from ._tape_source import compared_with_log as compared_with_log
    from .input_script import ScriptStep as ScriptStep
    from .input_script import parse_script as parse_script
    from .journal_events import event_of as event_of
else:
    __getattr__, __all__ = face(
        __name__,
        {
            "_scrub_reports": "REPORT_OPTION merged_reports",
            "_tape_option": "TAPE_OPTION",
            "_tape_source": "TapeSource compared_with_log",
            "input_script": "ScriptStep parse_script",
            "journal_events": "event_of",
        },
    )
