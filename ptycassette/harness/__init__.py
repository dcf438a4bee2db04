"""Harness profiles and probes: what is known of each CLI, as checked data."""

from __future__ import annotations

from ptycassette._faces import loads_on_first_use

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ptycassette.harness.drive import Drive
    from ptycassette.harness.example import example_script
    from ptycassette.harness.preparing import Place, PreparedRun, prepare, shown
    from ptycassette.harness.probe import Probe, parse_window
    from ptycassette.harness.probe_run import ProbeResult, ProbeRun
    from ptycassette.harness.step import DriveStep
else:
    __getattr__ = loads_on_first_use(
        __name__,
        {
            "drive": ("Drive",),
            "example": ("example_script",),
            "preparing": ("Place", "PreparedRun", "prepare", "shown"),
            "probe": ("Probe", "parse_window"),
            "probe_run": ("ProbeResult", "ProbeRun"),
            "step": ("DriveStep",),
        },
    )

__all__ = [
    "Drive",
    "DriveStep",
    "Place",
    "PreparedRun",
    "Probe",
    "ProbeResult",
    "ProbeRun",
    "example_script",
    "parse_window",
    "prepare",
    "shown",
]
