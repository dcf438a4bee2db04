"""Agent CLIs: profiles, probes, the scripted provider."""

from __future__ import annotations

from ptycassette._faces import loads_on_first_use

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ptycassette.harness.io.doctor import doctor_findings
    from ptycassette.harness.io.environment_of_scenario import scenario_environment
    from ptycassette.harness.io.fake_provider import FakeProviderServer, read_script
    from ptycassette.harness.io.files import (
        known_probes,
        known_profiles,
        load_probe,
        load_profile,
        similar_profiles,
    )
    from ptycassette.harness.io.foreground import run_in_foreground
    from ptycassette.harness.io.offline import OfflineRun, offline_run
    from ptycassette.harness.io.probe import (
        ProbeFailedError,
        probe_cassette,
        probe_live,
        with_freshness,
    )
    from ptycassette.harness.io.probe_watch import call_every, refresh_snapshot
    from ptycassette.harness.io.record import log_reader, plain_environment, reader_for
else:
    __getattr__ = loads_on_first_use(
        __name__,
        {
            "foreground": ("run_in_foreground",),
            "doctor": ("doctor_findings",),
            "environment_of_scenario": ("scenario_environment",),
            "fake_provider": ("FakeProviderServer", "read_script"),
            "files": (
                "known_probes",
                "known_profiles",
                "load_probe",
                "load_profile",
                "similar_profiles",
            ),
            "offline": ("OfflineRun", "offline_run"),
            "probe": ("ProbeFailedError", "with_freshness", "probe_cassette", "probe_live"),
            "probe_watch": ("refresh_snapshot", "call_every"),
            "record": ("log_reader", "plain_environment", "reader_for"),
        },
    )

__all__ = [
    "FakeProviderServer",
    "OfflineRun",
    "ProbeFailedError",
    "call_every",
    "doctor_findings",
    "known_probes",
    "known_profiles",
    "load_probe",
    "load_profile",
    "log_reader",
    "offline_run",
    "plain_environment",
    "probe_cassette",
    "probe_live",
    "read_script",
    "reader_for",
    "refresh_snapshot",
    "run_in_foreground",
    "scenario_environment",
    "similar_profiles",
    "with_freshness",
]
