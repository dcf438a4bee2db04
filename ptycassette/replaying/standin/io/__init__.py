"""The stand-in as a program: its start, its terminal, its report, and the shims that start it."""

from __future__ import annotations

from ptycassette._faces import face

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .boot import main as main
    from .options import STANDIN_OPTIONS as STANDIN_OPTIONS
    from .options import parse_settings as parse_settings
    from .process import run as run
    from .report_file import read_reports as read_reports
else:
    __getattr__, __all__ = face(
        __name__,
        {
            "boot": "main",
            "options": "STANDIN_OPTIONS parse_settings",
            "process": "run",
            "report_file": "read_reports",
        },
    )
