"""Harness profiles and probes: what is known of each CLI, as checked data."""

from ptycassette.harness.drive import Drive
from ptycassette.harness.prepare import Place, PreparedRun, prepare
from ptycassette.harness.probe import Probe
from ptycassette.harness.probe_run import ProbeResult, ProbeRun
from ptycassette.harness.step import DriveStep
from ptycassette.profiles.predicate import Predicate
from ptycassette.profiles.profile import Profile
from ptycassette.profiles.session_log import LogFacts, LogSource, read_rows

__all__ = [
    "Drive",
    "DriveStep",
    "LogFacts",
    "LogSource",
    "Place",
    "Predicate",
    "PreparedRun",
    "Probe",
    "ProbeResult",
    "ProbeRun",
    "Profile",
    "prepare",
    "read_rows",
]
