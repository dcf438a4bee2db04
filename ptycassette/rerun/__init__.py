"""The real program run again offline: typed at by screen, answered from its tape, compared."""

from __future__ import annotations

from ptycassette._faces import face

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._tape_desk import TapeDesk as TapeDesk
    from .exit_messages import without_exit_messages as without_exit_messages
    from .gates import Gates as Gates
    from .made_answers import MadeAnswers as MadeAnswers
    from .made_answers import PacedHit as PacedHit
    from .made_answers import as_asked as as_asked
    from .made_answers import made_hit as made_hit
    from .made_answers import said as said
    from .report import RequestMiss as RequestMiss
    from .report import RerunFinding as RerunFinding
    from .report import RerunReport as RerunReport
    from .report import ScreenChange as ScreenChange
    from .report import VersionChange as VersionChange
    from .report import finding_lines as finding_lines
    from .report import findings_of as findings_of
    from .report import report_json as report_json
    from .report import report_lines as report_lines
    from .report import summary_lines as summary_lines
    from .screens import VOLATILE as VOLATILE
    from .screens import ScreenJudge as ScreenJudge
    from .script import RerunScript as RerunScript
    from .script import RerunStep as RerunStep
    from .script import script_of as script_of
else:
    __getattr__, __all__ = face(
        __name__,
        {
            "_tape_desk": "TapeDesk",
            "exit_messages": "without_exit_messages",
            "gates": "Gates",
            "made_answers": "MadeAnswers PacedHit as_asked made_hit said",
            "report": (
                "RequestMiss RerunFinding RerunReport ScreenChange VersionChange finding_lines "
                "findings_of report_json report_lines summary_lines"
            ),
            "screens": "VOLATILE ScreenJudge",
            "script": "RerunScript RerunStep script_of",
        },
    )
