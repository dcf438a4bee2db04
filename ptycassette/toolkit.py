"""Parts of the product for tools of your own, besides the public names of ``ptycassette``.

The scripted provider, profiles and probes of agent CLIs, the scheduler of replays, transforms of
time, the matcher of tapes, rules of the scrubber, emulators, and bundles of agent-rerun. Names
load on first use, as those of ``ptycassette`` do.
"""

from __future__ import annotations

from importlib import import_module

from ptycassette.extras import needing_extra

TYPE_CHECKING = False  # as in ``ptycassette``
if TYPE_CHECKING:
    from ptycassette.agents.harness.io.fake_provider import FakeProviderServer
    from ptycassette.agents.harness.io.files import load_profile
    from ptycassette.agents.harness.io.logs import log_reader
    from ptycassette.agents.harness.io.offline import offline_run
    from ptycassette.agents.harness.probe import Probe
    from ptycassette.cassette.timeline.index import TimeIndex
    from ptycassette.cassette.timeline.transforms import between, chain, limit_idle, speed
    from ptycassette.model.ports import Emulator
    from ptycassette.profiles.profile import Profile
    from ptycassette.recording.io.options import RecordOptions
    from ptycassette.replaying.scheduler import AwaitInput, Done, Emit, Scheduler, Wait
    from ptycassette.scrub.rules.rule_set import Rule
    from ptycassette.scrub.session import default_scrubber
    from ptycassette.seal.bundle.exporting import (
        Demands,
        apply_bundle,
        capture_bundle,
        verify_bundle,
    )
    from ptycassette.tape.io.recorded_answers import load_matching_rules
    from ptycassette.tape.matching.matcher import Matcher
    from ptycassette.tape.matching.question import Question
    from ptycassette.terminal._conformance import differences
    from ptycassette.terminal.emulator import backend

_MODULES = {
    "agents.harness.io.fake_provider": "FakeProviderServer",
    "agents.harness.io.files": "load_profile",
    "agents.harness.io.logs": "log_reader",
    "agents.harness.io.offline": "offline_run",
    "agents.harness.probe": "Probe",
    "cassette.timeline.index": "TimeIndex",
    "cassette.timeline.transforms": "between chain limit_idle speed",
    "model.ports": "Emulator",
    "profiles.profile": "Profile",
    "recording.io.options": "RecordOptions",
    "replaying.scheduler": "AwaitInput Done Emit Scheduler Wait",
    "scrub.rules.rule_set": "Rule",
    "scrub.session": "default_scrubber",
    "seal.bundle.exporting": "Demands apply_bundle capture_bundle verify_bundle",
    "tape.io.recorded_answers": "load_matching_rules",
    "tape.matching.matcher": "Matcher",
    "tape.matching.question": "Question",
    "terminal._conformance": "differences",
    "terminal.emulator": "backend",
}
MODULE_OF = {name: module for module, names in _MODULES.items() for name in names.split()}
_EXTRA_OF = {
    "Demands": "seal",
    "FakeProviderServer": "provider",
    "apply_bundle": "seal",
    "capture_bundle": "seal",
    "offline_run": "provider",
    "verify_bundle": "seal",
}

__all__ = [
    "AwaitInput",
    "Demands",
    "Done",
    "Emit",
    "Emulator",
    "FakeProviderServer",
    "Matcher",
    "Probe",
    "Profile",
    "Question",
    "RecordOptions",
    "Rule",
    "Scheduler",
    "TimeIndex",
    "Wait",
    "apply_bundle",
    "backend",
    "between",
    "capture_bundle",
    "chain",
    "default_scrubber",
    "differences",
    "limit_idle",
    "load_matching_rules",
    "load_profile",
    "log_reader",
    "offline_run",
    "speed",
    "verify_bundle",
]


def __getattr__(name: str) -> object:
    """Import a name on its first use."""
    if name not in MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name in _EXTRA_OF:
        with needing_extra(_EXTRA_OF[name]):
            import_module(f"ptycassette.{MODULE_OF[name]}")
    value = getattr(import_module(f"ptycassette.{MODULE_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """The names, for completion."""
    return sorted(__all__)
