"""Further names for viewers and other tools, besides the public names of ``ptycassette``.

Records and events of a cassette, screens and their cells, recordings in progress, reports of
stand-ins, lineages, masks and exports. Names load on first use, as those of ``ptycassette`` do.
"""

from __future__ import annotations

from importlib import import_module

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
    from ptycassette.agents.inprocess.drifting import with_turns
    from ptycassette.agents.inprocess.using_tape import OpenTape, TapeResult, UseTape
    from ptycassette.agents.rerun.report import RerunReport
    from ptycassette.cassette.io.writer import CassetteWriter
    from ptycassette.cassette.timeline.exchange_cutting import (
        Exchange,
        ExchangeCutter,
        TerminalSignal,
        exchanges,
        terminal_signals,
    )
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
    from ptycassette.model.screen import Cursor, Style, StyleRun
    from ptycassette.model.stored_screen import screen_of
    from ptycassette.model.visible_text import printable, visible, visible_bytes
    from ptycassette.recording.io.async_record import AsyncRecording
    from ptycassette.recording.io.journal_follower import JournalFollower, live_journals
    from ptycassette.replaying.divergence import Drift, drift_lines
    from ptycassette.replaying.io.using import Use
    from ptycassette.replaying.paint import Cell, cells_of_row
    from ptycassette.replaying.standin.io.process import read_reports
    from ptycassette.replaying.standin.reported import ReportedDivergence, reported_divergences
    from ptycassette.system.files.whole_file import read_plain
    from ptycassette.terminal.emulator import PyteEmulator, default_emulator
    from ptycassette.terminal.render import render_ansi, render_text
    from ptycassette.terminal.state import load_emulator, save_emulator

_MODULES = {
    "agents.fork.io.reading_lineage": "ForkBetween fork_between fork_mark read_lineage",
    "agents.fork.report": "ForkRecord fork_of lineage_lines",
    "agents.harness.io.environment_of_scenario": "scenario_environment",
    "agents.inprocess.drifting": "with_turns",
    "agents.inprocess.using_tape": "OpenTape TapeResult UseTape",
    "agents.rerun.report": "RerunReport",
    "cassette.io.writer": "CassetteWriter",
    "cassette.timeline.exchange_cutting": (
        "Exchange ExchangeCutter TerminalSignal exchanges terminal_signals"
    ),
    "formats.editing.io.editing": "mask_cassette preview_mask",
    "formats.editing.masking": "Mask Region",
    "formats.export.html": "screen_html",
    "formats.export.registry": "export_of_file exports_of",
    "formats.export.svg": "still_svg",
    "keys.quantities": "parse_time",
    "model.records": (
        "Event FinalRecord FrameRecord InputRecord OutputRecord ServiceEventRecord "
        "SessionMeta StreamKinds painted_bytes streams_of"
    ),
    "model.screen": "Cursor Style StyleRun",
    "model.stored_screen": "screen_of",
    "model.visible_text": "printable visible visible_bytes",
    "recording.io.async_record": "AsyncRecording",
    "recording.io.journal_follower": "JournalFollower live_journals",
    "replaying.divergence": "Drift drift_lines",
    "replaying.io.using": "Use",
    "replaying.paint": "Cell cells_of_row",
    "replaying.standin.io.process": "read_reports",
    "replaying.standin.reported": "ReportedDivergence reported_divergences",
    "system.files.whole_file": "read_plain",
    "terminal.emulator": "PyteEmulator default_emulator",
    "terminal.render": "render_ansi render_text",
    "terminal.state": "load_emulator save_emulator",
}
MODULE_OF = {name: module for module, names in _MODULES.items() for name in names.split()}

__all__ = [
    "AsyncRecording",
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
    "OpenTape",
    "OutputRecord",
    "PyteEmulator",
    "Region",
    "ReportedDivergence",
    "RerunReport",
    "ServiceEventRecord",
    "SessionMeta",
    "StreamKinds",
    "Style",
    "StyleRun",
    "TapeResult",
    "TerminalSignal",
    "Use",
    "UseTape",
    "cells_of_row",
    "default_emulator",
    "drift_lines",
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
    "painted_bytes",
    "parse_time",
    "preview_mask",
    "printable",
    "read_lineage",
    "read_plain",
    "read_reports",
    "render_ansi",
    "render_text",
    "reported_divergences",
    "save_emulator",
    "scenario_environment",
    "screen_html",
    "screen_of",
    "still_svg",
    "streams_of",
    "terminal_signals",
    "visible",
    "visible_bytes",
    "with_turns",
]


def __getattr__(name: str) -> object:
    """Import a name on its first use."""
    if name not in MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"ptycassette.{MODULE_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """The names, for completion."""
    return sorted(__all__)
