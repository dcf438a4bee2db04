"""Harness profiles and probes: what is known of each CLI, as checked data."""

from ptycassette.harness.predicate import Predicate
from ptycassette.harness.prepare import Place, PreparedRun, prepare
from ptycassette.harness.probe import Probe
from ptycassette.harness.probe_run import ProbeResult, ProbeRun
from ptycassette.harness.profile import Profile
from ptycassette.harness.session_log import LogFacts, LogSource, read_rows

__all__ = [
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
