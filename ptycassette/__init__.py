"""Record a coding-agent CLI once through a real PTY; test against the recording for ever.

Public names load on first use (PEP 562): importing this package loads none of pyte, textual, pytest
or aiohttp.
"""

from __future__ import annotations

from importlib import import_module

from ptycassette.version import __version__

TYPE_CHECKING = False  # importing typing takes 8 ms, too long for the start of the stand-in
if TYPE_CHECKING:
    from ptycassette.agents.fork.io.reading_lineage import (
        ForkBetween,
        fork_between,
        fork_mark,
        read_lineage,
    )
    from ptycassette.agents.fork.report import ForkRecord, fork_of, lineage_lines
    from ptycassette.agents.harness.io.environment_of_scenario import scenario_environment
    from ptycassette.agents.inprocess.calls import ToolError
    from ptycassette.agents.inprocess.drifting import drift, semantic_drift, with_turns
    from ptycassette.agents.inprocess.forking import TapeFork
    from ptycassette.agents.inprocess.tools import tape_tool, tool_call
    from ptycassette.agents.inprocess.using_tape import OpenTape, TapeResult, UseTape, use_tape
    from ptycassette.agents.rerun.io.driving import rerun_cassette
    from ptycassette.agents.rerun.report import RerunReport
    from ptycassette.cassette.io.reader import Cassette, open_cassette
    from ptycassette.cassette.io.writer import CassetteWriter
    from ptycassette.cassette.timeline.exchange_cutting import Exchange, ExchangeCutter, exchanges
    from ptycassette.cassette.timeline.match import Matching
    from ptycassette.cassette.timeline.match_text import semantic_match
    from ptycassette.cassette.timeline.signal_events import TerminalSignal, terminal_signals
    from ptycassette.errors import CassetteError
    from ptycassette.formats.editing.io.editing import mask_cassette, preview_mask
    from ptycassette.formats.editing.masking import Mask, Region
    from ptycassette.formats.export.html import screen_html
    from ptycassette.formats.export.registry import export_of_file, exports_of
    from ptycassette.formats.export.svg import still_svg
    from ptycassette.keys.quantities import parse_time
    from ptycassette.model.records import (
        Event,
        FinalRecord,
        FrameRecord,
        InputRecord,
        OutputRecord,
        ServiceEventRecord,
        SessionMeta,
        StreamKinds,
        painted_bytes,
        streams_of,
    )
    from ptycassette.model.screen import Cursor, Screen, Size, Style, StyleRun
    from ptycassette.model.stored_screen import screen_of
    from ptycassette.model.visible_text import printable, visible, visible_bytes
    from ptycassette.recording.io.async_record import AsyncRecording, arecord
    from ptycassette.recording.io.journal_follower import JournalFollower, live_journals
    from ptycassette.recording.io.recording import Recording, record
    from ptycassette.recording.session.async_session import AsyncSession
    from ptycassette.recording.session.session import Session
    from ptycassette.replaying.divergence import Drift, drift_lines
    from ptycassette.replaying.io.embeddings import embeddings_scorer
    from ptycassette.replaying.io.replayer import areplay, replay
    from ptycassette.replaying.io.using import Use, UseResult, use
    from ptycassette.replaying.paint import Cell, cells_of_row
    from ptycassette.replaying.standin.io.process import read_reports
    from ptycassette.replaying.standin.reported import ReportedDivergence, reported_divergences
    from ptycassette.system.pty.process import spawn
    from ptycassette.terminal.emulator import PyteEmulator, default_emulator
    from ptycassette.terminal.render import render_ansi, render_text
    from ptycassette.terminal.state import load_emulator, save_emulator

_MODULES = {
    "cassette.io.reader": "Cassette open_cassette",
    "cassette.io.writer": "CassetteWriter",
    "formats.editing.io.editing": "mask_cassette preview_mask",
    "formats.editing.masking": "Mask Region",
    "errors": "CassetteError",
    "formats.export.html": "screen_html",
    "formats.export.registry": "export_of_file exports_of",
    "formats.export.svg": "still_svg",
    "agents.fork.io.reading_lineage": "ForkBetween fork_between fork_mark read_lineage",
    "agents.fork.report": "ForkRecord fork_of lineage_lines",
    "agents.harness.io.environment_of_scenario": "scenario_environment",
    "agents.inprocess.calls": "ToolError",
    "agents.inprocess.drifting": "drift semantic_drift with_turns",
    "agents.inprocess.forking": "TapeFork",
    "agents.inprocess.tools": "tape_tool tool_call",
    "agents.inprocess.using_tape": "OpenTape TapeResult UseTape use_tape",
    "keys.quantities": "parse_time",
    "model.records": (
        "Event FinalRecord FrameRecord InputRecord OutputRecord ServiceEventRecord "
        "SessionMeta StreamKinds painted_bytes streams_of"
    ),
    "model.screen": "Cursor Screen Size Style StyleRun",
    "model.stored_screen": "screen_of",
    "model.visible_text": "printable visible visible_bytes",
    "recording.io.async_record": "AsyncRecording arecord",
    "recording.io.journal_follower": "JournalFollower live_journals",
    "recording.io.recording": "Recording record",
    "replaying.divergence": "Drift drift_lines",
    "replaying.io.embeddings": "embeddings_scorer",
    "replaying.io.replayer": "areplay replay",
    "replaying.io.using": "Use UseResult use",
    "replaying.paint": "Cell cells_of_row",
    "replaying.standin.io.process": "read_reports",
    "replaying.standin.reported": "ReportedDivergence reported_divergences",
    "agents.rerun.io.driving": "rerun_cassette",
    "agents.rerun.report": "RerunReport",
    "recording.session.async_session": "AsyncSession",
    "recording.session.session": "Session",
    "system.pty.process": "spawn",
    "terminal.emulator": "PyteEmulator default_emulator",
    "terminal.render": "render_ansi render_text",
    "terminal.state": "load_emulator save_emulator",
    "cassette.timeline.exchange_cutting": "Exchange ExchangeCutter exchanges",
    "cassette.timeline.match": "Matching",
    "cassette.timeline.match_text": "semantic_match",
    "cassette.timeline.signal_events": "TerminalSignal terminal_signals",
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names.split()}

__all__ = [
    "AsyncRecording",
    "AsyncSession",
    "Cassette",
    "CassetteError",
    "CassetteWriter",
    "Cell",
    "Cursor",
    "Drift",
    "Event",
    "Exchange",
    "ExchangeCutter",
    "FinalRecord",
    "ForkBetween",
    "ForkRecord",
    "FrameRecord",
    "InputRecord",
    "JournalFollower",
    "Mask",
    "Matching",
    "OpenTape",
    "OutputRecord",
    "PyteEmulator",
    "Recording",
    "Region",
    "ReportedDivergence",
    "RerunReport",
    "Screen",
    "ServiceEventRecord",
    "Session",
    "SessionMeta",
    "Size",
    "StreamKinds",
    "Style",
    "StyleRun",
    "TapeFork",
    "TapeResult",
    "TerminalSignal",
    "ToolError",
    "Use",
    "UseResult",
    "UseTape",
    "__version__",
    "arecord",
    "areplay",
    "cells_of_row",
    "default_emulator",
    "drift",
    "drift_lines",
    "embeddings_scorer",
    "exchanges",
    "export_of_file",
    "exports_of",
    "fork_between",
    "fork_mark",
    "fork_of",
    "lineage_lines",
    "live_journals",
    "load_emulator",
    "mask_cassette",
    "open_cassette",
    "painted_bytes",
    "parse_time",
    "preview_mask",
    "printable",
    "read_lineage",
    "read_reports",
    "record",
    "render_ansi",
    "render_text",
    "replay",
    "reported_divergences",
    "rerun_cassette",
    "save_emulator",
    "scenario_environment",
    "screen_html",
    "screen_of",
    "semantic_drift",
    "semantic_match",
    "spawn",
    "still_svg",
    "streams_of",
    "tape_tool",
    "terminal_signals",
    "tool_call",
    "use",
    "use_tape",
    "visible",
    "visible_bytes",
    "with_turns",
]


def __getattr__(name: str) -> object:
    """Import a public name on its first use."""
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """The public names, for completion."""
    return sorted(__all__)
