"""Record a coding-agent CLI once through a real PTY; test against the recording for ever.

Public names load on first use (PEP 562): importing this package loads none of pyte, textual, pytest
or aiohttp.
"""

from __future__ import annotations

from importlib import import_module

from ptycassette.version import __version__

TYPE_CHECKING = False  # importing typing takes 8 ms, too long for the start of the stand-in
if TYPE_CHECKING:
    from ptycassette.agents.inprocess.calls import ToolError
    from ptycassette.agents.inprocess.drifting import drift, semantic_drift
    from ptycassette.agents.inprocess.forking import TapeFork
    from ptycassette.agents.inprocess.tools import tape_tool, tool_call
    from ptycassette.agents.inprocess.using_tape import use_tape
    from ptycassette.agents.rerun.io.driving import rerun_cassette
    from ptycassette.cassette.io.reader import Cassette, open_cassette
    from ptycassette.cassette.timeline.match import Matching, semantic_match
    from ptycassette.errors import CassetteError
    from ptycassette.model.screen import Screen, Size
    from ptycassette.operations import (
        blame_cassette,
        check_scenario,
        export_cassette,
        fork_cassette,
        scrub_cassette,
        seal_cassette,
        verify_cassette,
    )
    from ptycassette.recording.io.async_record import arecord
    from ptycassette.recording.io.recording import Recording, record
    from ptycassette.recording.session.async_session import AsyncSession
    from ptycassette.recording.session.session import Session
    from ptycassette.replaying.io.embeddings import embeddings_scorer
    from ptycassette.replaying.io.replayer import areplay, replay
    from ptycassette.replaying.io.using import UseResult, use
    from ptycassette.system.pty.process import spawn
    from ptycassette.tape.io.draw_log import open_draws

_MODULES = {
    "agents.inprocess.calls": "ToolError",
    "agents.inprocess.drifting": "drift semantic_drift",
    "agents.inprocess.forking": "TapeFork",
    "agents.inprocess.tools": "tape_tool tool_call",
    "agents.inprocess.using_tape": "use_tape",
    "agents.rerun.io.driving": "rerun_cassette",
    "cassette.io.reader": "Cassette open_cassette",
    "cassette.timeline.match": "Matching semantic_match",
    "errors": "CassetteError",
    "model.screen": "Screen Size",
    "operations": (
        "blame_cassette check_scenario export_cassette fork_cassette scrub_cassette seal_cassette "
        "verify_cassette"
    ),
    "recording.io.async_record": "arecord",
    "recording.io.recording": "Recording record",
    "recording.session.async_session": "AsyncSession",
    "recording.session.session": "Session",
    "replaying.io.embeddings": "embeddings_scorer",
    "replaying.io.replayer": "areplay replay",
    "replaying.io.using": "UseResult use",
    "system.pty.process": "spawn",
    "tape.io.draw_log": "open_draws",
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names.split()}
_EXTRA_OF = {"rerun_cassette": "tape"}

__all__ = [
    "AsyncSession",
    "Cassette",
    "CassetteError",
    "Matching",
    "Recording",
    "Screen",
    "Session",
    "Size",
    "TapeFork",
    "ToolError",
    "UseResult",
    "__version__",
    "arecord",
    "areplay",
    "blame_cassette",
    "check_scenario",
    "drift",
    "embeddings_scorer",
    "export_cassette",
    "fork_cassette",
    "open_cassette",
    "open_draws",
    "record",
    "replay",
    "rerun_cassette",
    "scrub_cassette",
    "seal_cassette",
    "semantic_drift",
    "semantic_match",
    "spawn",
    "tape_tool",
    "tool_call",
    "use",
    "use_tape",
    "verify_cassette",
]


def __getattr__(name: str) -> object:
    """Import a public name on its first use."""
    if name not in _MODULE_OF:
        return _moved(name)
    if name in _EXTRA_OF:
        from ptycassette.extras import needing_extra

        with needing_extra(_EXTRA_OF[name]):
            import_module(f"{__name__}.{_MODULE_OF[name]}")
    value = getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
    globals()[name] = value
    return value


def _moved(name: str) -> object:
    """A name that was public up to 0.2, from ``ptycassette.viewing``, with a warning."""
    if not name.startswith("_"):
        viewing = import_module(f"{__name__}.viewing")
        if name in viewing.MODULE_OF:
            import warnings

            text = f"ptycassette.{name} has moved: import it from ptycassette.viewing"
            warnings.warn(text, DeprecationWarning, stacklevel=3)
            return getattr(viewing, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """The public names, for completion."""
    return sorted(__all__)
