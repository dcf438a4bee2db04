"""Agent CLIs: profiles, probes, the scripted provider."""

from __future__ import annotations

from ptycassette._faces import face

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._logs import read_log_file as read_log_file
    from .doctor import doctor_findings as doctor_findings
    from .drift import drift_causes as drift_causes
    from .environment_of_scenario import scenario_environment as scenario_environment
    from .fake_provider import FakeProviderServer as FakeProviderServer
    from .fake_provider import read_script as read_script
    from .files import known_probes as known_probes
    from .files import known_profiles as known_profiles
    from .files import load_probe as load_probe
    from .files import load_profile as load_profile
    from .files import similar_profiles as similar_profiles
    from .foreground import run_in_foreground as run_in_foreground
    from .offered_models import ModelsQuery as ModelsQuery
    from .offline import OfflineRun as OfflineRun
    from .offline import PlacedRun as PlacedRun
    from .offline import offline_run as offline_run
    from .offline import placed_run as placed_run
    from .probe import ProbeFailedError as ProbeFailedError
    from .probe import probe_cassette as probe_cassette
    from .probe import probe_live as probe_live
    from .probe import with_freshness as with_freshness
    from .probe_watch import call_every as call_every
    from .probe_watch import refresh_snapshot as refresh_snapshot
    from .profile_check import profile_findings as profile_findings
    from .record import log_reader as log_reader
    from .record import plain_environment as plain_environment
    from .record import reader_for as reader_for
    from .run_folders import run_place as run_place
    from .server_thread import ServerThread as ServerThread
else:
    __getattr__, __all__ = face(
        __name__,
        {
            "_logs": "read_log_file",
            "doctor": "doctor_findings",
            "drift": "drift_causes",
            "environment_of_scenario": "scenario_environment",
            "fake_provider": "FakeProviderServer read_script",
            "files": "known_probes known_profiles load_probe load_profile similar_profiles",
            "foreground": "run_in_foreground",
            "offline": "OfflineRun PlacedRun offline_run placed_run",
            "offered_models": "ModelsQuery",
            "probe": "ProbeFailedError probe_cassette probe_live with_freshness",
            "probe_watch": "call_every refresh_snapshot",
            "profile_check": "profile_findings",
            "record": "log_reader plain_environment reader_for",
            "run_folders": "run_place",
            "server_thread": "ServerThread",
        },
    )
