"""Agent CLIs: profiles, probes, the scripted provider."""

from __future__ import annotations

from ptycassette._faces import loads_on_first_use

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ptycassette.harness.io.doctor import examine
    from ptycassette.harness.io.environment_of_scenario import scenario_environment
    from ptycassette.harness.io.fake_provider import FakeProviderServer, read_script
    from ptycassette.harness.io.files import known_probes, known_profiles, load_probe, load_profile
    from ptycassette.harness.io.foreground import run_in_foreground
    from ptycassette.harness.io.offline import OfflineRun, offline_run
    from ptycassette.harness.io.probe import ProbeFailedError, how_fresh, probe_cassette, probe_live
    from ptycassette.harness.io.probe_watch import refresh, watch
    from ptycassette.harness.io.record import log_reader, plain_environment, reader_for
else:
    __getattr__ = loads_on_first_use(
        __name__,
        {
            "foreground": ("run_in_foreground",),
            "doctor": ("examine",),
            "environment_of_scenario": ("scenario_environment",),
            "fake_provider": ("FakeProviderServer", "read_script"),
            "files": ("known_probes", "known_profiles", "load_probe", "load_profile"),
            "offline": ("OfflineRun", "offline_run"),
            "probe": ("ProbeFailedError", "how_fresh", "probe_cassette", "probe_live"),
            "probe_watch": ("refresh", "watch"),
            "record": ("log_reader", "plain_environment", "reader_for"),
        },
    )

__all__ = [
    "FakeProviderServer",
    "OfflineRun",
    "ProbeFailedError",
    "examine",
    "how_fresh",
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
    "refresh",
    "run_in_foreground",
    "scenario_environment",
    "watch",
]
