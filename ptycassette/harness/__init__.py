"""Probes, drives and prepared runs of agent CLIs, as checked data."""

from __future__ import annotations

from ptycassette._faces import face

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .drive import Drive as Drive
    from .example import example_script as example_script
    from .model_lists import model_list_of as model_list_of
    from .preparing import Place as Place
    from .preparing import PreparedRun as PreparedRun
    from .preparing import home_variables as home_variables
    from .preparing import prepare as prepare
    from .preparing import shown as shown
    from .probe import Probe as Probe
    from .probe_run import ProbeResult as ProbeResult
    from .probe_run import ProbeRun as ProbeRun
    from .step import DriveStep as DriveStep
    from .surroundings import CAUSES as CAUSES
    from .surroundings import DriftCause as DriftCause
    from .surroundings import DriftStatus as DriftStatus
else:
    __getattr__, __all__ = face(
        __name__,
        {
            "drive": "Drive",
            "example": "example_script",
            "model_lists": "model_list_of",
            "preparing": "Place PreparedRun home_variables prepare shown",
            "probe": "Probe",
            "probe_run": "ProbeResult ProbeRun",
            "step": "DriveStep",
            "surroundings": "CAUSES DriftCause DriftStatus",
        },
    )
