"""The real program run again offline: its keystrokes typed by screen, its model traffic served
from the tape, and everything that differs reported."""

from __future__ import annotations

from ptycassette._faces import loads_on_first_use

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ptycassette.rerun.desk import Asked, Desk, Piece, Refusal, Served
    from ptycassette.rerun.gates import Gates
    from ptycassette.rerun.report import (
        RequestMiss,
        RerunReport,
        ScreenChange,
        report_json,
        report_lines,
    )
    from ptycassette.rerun.screens import VOLATILE, ScreenJudge
    from ptycassette.rerun.script import RerunScript, RerunStep, script_of
else:
    __getattr__ = loads_on_first_use(
        __name__,
        {
            "desk": ("Asked", "Desk", "Piece", "Refusal", "Served"),
            "gates": ("Gates",),
            "report": (
                "RequestMiss",
                "RerunReport",
                "ScreenChange",
                "report_json",
                "report_lines",
            ),
            "screens": ("VOLATILE", "ScreenJudge"),
            "script": ("RerunScript", "RerunStep", "script_of"),
        },
    )

__all__ = [
    "VOLATILE",
    "Asked",
    "Desk",
    "Gates",
    "Piece",
    "Refusal",
    "RequestMiss",
    "RerunReport",
    "RerunScript",
    "RerunStep",
    "ScreenChange",
    "ScreenJudge",
    "Served",
    "report_json",
    "report_lines",
    "script_of",
]
