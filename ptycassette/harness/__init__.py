"""Harness profiles and probes: what is known of each CLI, as checked data."""

from __future__ import annotations

from ptycassette._faces import loads_on_first_use

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ptycassette.harness.drive import Drive
    from ptycassette.harness.preparing import Place, PreparedRun, prepare
    from ptycassette.harness.probe import Probe, parse_window
    from ptycassette.harness.probe_run import ProbeResult, ProbeRun
    from ptycassette.harness.step import DriveStep
else:
    __getattr__ = loads_on_first_use(
        __name__,
        {
            "drive": ("Drive",),
            "preparing": ("Place", "PreparedRun", "prepare"),
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
    "parse_window",
    "prepare",
]
