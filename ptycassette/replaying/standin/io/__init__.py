"""The stand-in as a program: its start, its terminal, its report, and the shims that start it."""

from __future__ import annotations

from ptycassette._faces import loads_on_first_use

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ptycassette.replaying.standin.io.boot import main
    from ptycassette.replaying.standin.io.options import STANDIN_OPTIONS, parse_settings
    from ptycassette.replaying.standin.io.process import run
    from ptycassette.replaying.standin.io.report_file import read_reports
else:
    __getattr__ = loads_on_first_use(
        __name__,
        {
            "boot": ("main",),
            "options": ("STANDIN_OPTIONS", "parse_settings"),
            "process": ("run",),
            "report_file": ("read_reports",),
        },
    )

__all__ = [
    "STANDIN_OPTIONS",
    "main",
    "parse_settings",
    "read_reports",
    "run",
]
